"""The build backend of isagen-kernels: calls meson-python in a temporary copy of the kernels' folders.

meson-python builds the folder that contains a pyproject.toml. The kernels consist of several folders of the repository,
but the pyproject.toml of the repository is that of isagen. So `_source_tree` copies the folders, and writes a
pyproject.toml above them: that of this folder, with meson-python as the backend. An sdist is a tar of this copy. There
is no hook for editable installs, because these would refer to the temporary folder.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import tarfile
import tempfile
import time
import tomllib
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Any

import mesonpy  # type: ignore[import-untyped]
from pyproject_metadata import StandardMetadata

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parent
PARTS = ("LICENSE", "meson.build", "meson_options.txt", "isagen", "kernels", "python", "templates")
Settings = dict[str, Any] | None
if not (CHECKOUT / "kernels").is_dir():
    raise FileNotFoundError(f"{HERE}: is not in a clone of isagen, whose kernels it needs; pip install CLONE/python")


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    """Return the requirements of meson-python, and those of isagen: the build runs the isagen of the checkout."""
    return [*_tool_dependencies(), *mesonpy.get_requires_for_build_wheel(config_settings)]


def build_wheel(wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None) -> str:
    """Build the wheel with meson-python, and return its name."""
    target = os.path.abspath(wheel_directory)
    with _source_tree() as tree, chdir(tree):
        return str(mesonpy.build_wheel(target, config_settings, metadata_directory))


def get_requires_for_build_sdist(config_settings: Settings = None) -> list[str]:
    """Return nothing: sdists are made without Meson, because `meson dist` packs a whole repository."""
    return []


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    """Write the sdist, and return its name. If SOURCE_DATE_EPOCH is set, the file is reproducible."""
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))

    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.mtime, member.uid, member.gid, member.uname, member.gname = seconds, 0, 0, "", ""
        member.mode = 0o755 if member.isdir() else 0o644
        return member

    with _source_tree() as tree:
        metadata = StandardMetadata.from_pyproject(tomllib.loads((tree / "pyproject.toml").read_text("utf-8")), tree)
        (tree / "PKG-INFO").write_bytes(bytes(metadata.as_rfc822()))
        name = f"{metadata.canonical_name.replace('-', '_')}-{metadata.version}"
        path = Path(sdist_directory, f"{name}.tar.gz")
        with gzip.GzipFile(path, "wb", mtime=seconds) as file, tarfile.open(fileobj=file, mode="w") as tar:
            tar.add(tree, name, filter=plain)  # sorted by name
    return path.name


@contextmanager
def _source_tree() -> Iterator[Path]:
    ignored = shutil.ignore_patterns(".*", "__pycache__", "pyproject.toml", Path(__file__).name)
    with tempfile.TemporaryDirectory(prefix="isagen-kernels-") as folder:
        tree = Path(folder).resolve()
        for part in PARTS:
            source = CHECKOUT / part
            if source.is_dir():
                shutil.copytree(source, tree / part, ignore=ignored)
            else:
                shutil.copy(source, tree)
        text = (HERE / "pyproject.toml").read_text("utf-8")
        own = tomllib.loads(text)["build-system"]["requires"]
        build_system = f'requires = {json.dumps([*own, *_tool_dependencies()])}\nbuild-backend = "mesonpy"\n'
        project = text[text.index("[project]") :]
        (tree / "pyproject.toml").write_text(f"[build-system]\n{build_system}\n{project}", "utf-8")
        yield tree


def _tool_dependencies() -> list[str]:
    return list(tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"])
