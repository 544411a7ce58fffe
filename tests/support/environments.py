"""Virtual environments, and pip for them from outside."""

import subprocess
import sys
from pathlib import Path

from support.projects import Project


def make_venv(folder: Path) -> Path:
    """Make a virtual environment without pip, which costs seconds: `pip` works on it from outside."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    return folder / "bin/python"


def pip(project: Project, python: Path, *arguments: str, **environment: str) -> str:
    """Run pip for the environment of `python`, in the project's folder."""
    return project.run(sys.executable, "-m", "pip", "--python", str(python), *arguments, **environment).stdout


def equip(python: Path, wheelhouse: Path, *packages: str) -> Path:
    """Install isagen and `packages` for builds without isolation."""
    command = [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--find-links", wheelhouse]
    subprocess.run([*map(str, command), "isagen", "meson-python", "ninja", *packages], check=True)
    return python
