"""The checkout under test, and copies of it."""

import shutil
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Files of builds, tools and version control: in the checkout's own folder, and in any folder.
LEFTOVERS_OF_ROOT = (".git", ".venv*", "build*", "dist", ".mesonpy-*", ".hypothesis")
LEFTOVERS = ("__pycache__", ".*_cache", "*.egg-info")


def copy_checkout(folder: Path, *, without: tuple[str, ...] = ()) -> None:
    """Copy the checkout's sources to `folder`, which does not exist yet; `without` names entries of its own folder."""

    def ignored(place: str, names: list[str]) -> set[str]:
        patterns = LEFTOVERS if Path(place) != ROOT else (*LEFTOVERS, *LEFTOVERS_OF_ROOT, *without)
        return {name for name in names if any(fnmatchcase(name, pattern) for pattern in patterns)}

    shutil.copytree(ROOT, folder, ignore=ignored)
