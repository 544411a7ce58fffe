"""The build system that a project's pyproject.toml names."""

from __future__ import annotations

from pathlib import Path

from ..model.errors import IsagenError, ProjectError
from ..model.frozen import dataclass
from ..model.toml import parse_toml


@dataclass(frozen=True)
class BuildSystem:
    """The table `build-system`: what pip installs into its isolated environment, and what it calls there."""

    requires: tuple[str, ...]
    backend: str


def build_system(folder: Path) -> tuple[BuildSystem | None, IsagenError | None]:
    """Return the build system of the project in `folder`, None where it has none; or the error that it holds."""
    path = folder / "pyproject.toml"
    if not path.is_file():
        return None, None
    try:
        table = parse_toml(path, ProjectError, path.name).get("build-system")
    except ProjectError as error:
        return None, error
    requires = table.get("requires") if isinstance(table, dict) else None
    if not isinstance(requires, list) or not all(isinstance(entry, str) for entry in requires):
        return None, ProjectError(
            "is no list of strings",
            where="pyproject.toml: build-system.requires",
            remedy='write requires = ["meson-python", "isagen"]',
        )
    return BuildSystem(tuple(requires), str(table.get("build-backend", "")) if isinstance(table, dict) else ""), None
