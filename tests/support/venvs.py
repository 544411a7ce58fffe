"""Virtual environments for pip to install into, from outside."""

import subprocess
import sys
from pathlib import Path

from support.projects import Project


def make_venv(folder: Path) -> Path:
    """Make a virtual environment without pip, which costs seconds: `pip` below works on it from outside."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    return folder / "bin/python"


def pip(project: Project, python: Path, *arguments: str, **environment: str) -> str:
    """Run pip in a project's folder, for the environment of another Python."""
    return project.run(sys.executable, "-m", "pip", "--python", str(python), *arguments, **environment).stdout
