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


def make_sdist(project: Project) -> Path:
    """Commit the project's files, and return the sdist that meson-python makes of them."""
    author = {f"GIT_{who}_{what}": "a" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    for command in (["git", "init", "-q"], ["git", "add", "-A"], ["git", "commit", "-qm", "first"]):
        project.run(*command, **author)
    project.run(sys.executable, "-m", "build", "-q", "--sdist", "--no-isolation")
    (made,) = (project.folder / "dist").glob("*.tar.gz")
    return made


def set_for_pip(project: Project, wheelhouse: Path, *options: str) -> None:
    """Let pip find isagen, and give Meson options in pyproject.toml: pip before 23.1 passes on one alone."""
    project.environment |= {"PIP_FIND_LINKS": str(wheelhouse), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    path = project.folder / "pyproject.toml"
    text, _, rest = path.read_text().partition("\n[tool.meson-python.args]\n")
    given = "".join(line for line in rest.splitlines(keepends=True) if not line.startswith("setup = "))
    words = ", ".join(f'"{option}"' for option in options)
    path.write_text(f"{text}\n[tool.meson-python.args]\nsetup = [{words}]\n{given}")
