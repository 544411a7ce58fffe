"""`isagen init`: writes the Meson fragment, isa.toml and options into a project, or a project into an empty folder.

A later run updates the fragment and isagen's block of options, and keeps isa.toml. After the user edited the fragment,
a run reports an error and writes nothing, unless --force is given.
"""

from __future__ import annotations

import hashlib
import json
import keyword
import os
import re
import shlex
import sys
import unicodedata
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from .. import __version__
from ..model.errors import ProjectError
from ..model.files import write_atomically, write_if_changed
from ..rendering import render
from .meson_files import EXTRAS, LINKS, MODULE, NAME, Sources, without_comments

# The files of the fragment, each with its template and a regular expression: a project uses the file if one of its
# meson.build files matches the expression. Every project uses a file whose expression is empty.
FRAGMENT_FILES = {
    "meson.build": ("meson.build.j2", ""),
    "extras/meson.build": ("extras.meson.build.j2", EXTRAS),
    "module/meson.build": ("module.meson.build.j2", MODULE),
    "audit/meson.build": ("audit.meson.build.j2", LINKS),
}
# The last line of a fragment; versions before 0.3.0 wrote an empty line before it.
CHECKSUM = re.compile(r"(?<![^\n])\n?# isagen-checksum: ([0-9a-f]{16})\n\Z")
OPTIONS_BEGIN = "# isagen: options, kept up to date by `isagen init`"
OPTIONS_END = "# isagen: end of options"
PROJECT_FILES = (
    *("pyproject.toml", "meson.build", "kernels/dot.h", "kernels/dot.cpp", "kernels/level.cpp", "src/core.cpp"),
    *("src/{name}/__init__.py", "tests/test_dot.py", "README.md", ".gitignore"),
)
# Folders of a new project: the package cannot have one of these names.
TAKEN_NAMES = ("isagen", "kernels", "src", "tests", "build")
# Files and folders beside which a new project may be written: hidden ones, and texts about a project.
HARMLESS = re.compile(
    r"\..*|(README|LICEN[CS]E|COPYING|NOTICE|AUTHORS|CONTRIBUTING|CHANGELOG|CHANGES|SECURITY)\b.*", re.I
)
PROJECT = re.compile(r"\bproject\s*\(\s*'((?:\\.|[^'\\\n])+)'")


def init_project(
    folder: Path, *, name: str | None = None, fragment: str = "isagen", force: bool = False
) -> Iterator[str]:
    """Set the project in `folder` up, or update it. Yield a line for each file, and then what remains to be done.

    A missing folder is made. `name` is the name of a new project's package. The override variable of a new isa.toml is
    named after `name`, in an existing project too. With a `name`, an isa.toml that exists is an error. `fragment` is
    the path of the folder for isagen's files, from `folder`. With `force`, edited files of the fragment are replaced,
    and kept under names that end in .orig. Every `ProjectError` is raised before anything is written.
    """
    parts = PurePosixPath(fragment).parts
    if not parts or ".." in parts or not re.fullmatch(r"\w[\w./-]*", fragment):
        raise ProjectError(
            f"{fragment!r} cannot be the fragment's folder",
            where="--fragment",
            remedy="name a folder inside the project",
        )
    fragment = "/".join(parts)
    fresh = not (folder / "meson.build").exists()
    package = package_name(name, folder) if fresh or name is not None else ""
    if fresh:
        check_empty(folder)
    scaffold = dict(_scaffold(folder, package, fragment)) if fresh else {}
    override = override_name(package or project_name(folder) or folder.resolve().name)
    fragment_texts = dict(_fragment(folder, fragment))
    there = [path for path in fragment_texts if (folder / path).exists()]
    changed = [path for path in there if not is_unchanged((folder / path).read_bytes())]
    if changed and not force:
        raise ProjectError(
            "was changed since isagen wrote it",
            where=str(folder / changed[0]),
            remedy="nothing was written; --force replaces it and keeps the changed one as meson.build.orig",
        )
    options_path, options_text = _options(folder)
    config = f"{fragment}/isa.toml"
    own_config = (folder / config).exists()
    if own_config and name is not None:
        message = f"names nothing here: {config} is there"
        raise ProjectError(message, where="--name", remedy="leave it out, and set override in isa.toml")
    texts = {
        **scaffold,
        **fragment_texts,
        config: "" if own_config else render("isa.toml.j2", variable=override),
        options_path.name: options_text,
    }
    for path in changed:
        write_atomically(folder / f"{path}.orig", (folder / path).read_bytes())
        yield f"kept     {path}.orig (your changed fragment)"
    for path, text in texts.items():
        yield f"kept     {path} (yours)" if path == config and own_config else _write(folder, path, text)
    yield from _advice(folder, fresh, fragment)


def _fragment(folder: Path, fragment: str) -> Iterator[tuple[str, str]]:
    """Yield the fragment's files with their texts; optional files only if the project uses them or has them already."""
    sources = Sources(folder)
    for file, (template, use) in FRAGMENT_FILES.items():
        path = f"{fragment}/{file}"
        if not use or (folder / path).exists() or sources.find(use):
            yield path, signed(render(f"fragment/{template}", version=__version__))


def package_name(name: str | None, folder: Path) -> str:
    """Return `name`, or a name made from the folder's if `name` is None.

    Raises `ProjectError` if a new project's package cannot have this name.
    """
    package = _plain(folder.resolve().name).lower() if name is None else name
    if not re.fullmatch(r"[A-Za-z]\w*", package, re.ASCII):
        problem, remedy = "it is no name in Python", "use letters, digits and _, and start with a letter"
    elif keyword.iskeyword(package) or package in sys.stdlib_module_names or package in TAKEN_NAMES:
        problem = "Python, its standard library or the project uses this name"
        remedy = f"take another name: {package}_package"
    else:
        return package
    raise ProjectError(f"{package!r} cannot name the package: {problem}", where="--name", remedy=remedy)


def _plain(text: str) -> str:
    """Return a text as a word of ASCII letters, digits and underscores."""
    letters = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"\W+", "_", letters).strip("_")


def signed(text: str) -> str:
    """Return `text` and a last line with its checksum, by which `is_unchanged` detects edits."""
    return f"{text}# isagen-checksum: {_checksum(text)}\n"


def is_unchanged(content: bytes) -> bool:
    """Return whether a file's content is a text that `signed` returned. Line ends may differ."""
    text = content.decode(errors="replace").replace("\r\n", "\n")
    line = CHECKSUM.search(text)
    return line is not None and _checksum(text[: line.start()]) == line[1]


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _scaffold(folder: Path, package: str, fragment: str) -> Iterator[tuple[str, str]]:
    for pattern in PROJECT_FILES:
        if not (HARMLESS.fullmatch(pattern) and (folder / pattern).exists()):
            template = f"project/{PurePosixPath(pattern).name.lstrip('.')}.j2"
            yield pattern.format(name=package), render(template, name=package, fragment=fragment)


def _options(folder: Path) -> tuple[Path, str]:
    """Return the path and the new text of the options file, in which isagen's block is added or updated."""
    path = folder / "meson.options"
    if not path.exists():
        path = folder / "meson_options.txt"  # the only name that Meson 1.0 knows
    text = path.read_bytes().decode(errors="surrogateescape") if path.exists() else ""
    block = render("meson_options.j2", begin=OPTIONS_BEGIN, end=OPTIONS_END)
    newline = "\r\n" if "\r\n" in text else "\n"
    block = block.replace("\n", newline)
    start, end = text.find(OPTIONS_BEGIN), text.find(OPTIONS_END)
    if start >= 0 and end >= start:
        end = text.find("\n", end) + 1 or len(text)
        return path, text[:start] + block + text[end:]
    if "'isa_levels'" in text:
        return path, text  # unchanged, because the project declares isagen's options itself
    gap = "" if not text else newline if text.endswith("\n") else 2 * newline
    return path, text + gap + block


def _where_pip_finds_isagen() -> Iterator[str]:
    """Yield the commands that let pip's isolated builds find this isagen, if it was installed from a folder or file.

    Nothing is yielded if a folder of PIP_FIND_LINKS contains a wheel of isagen.
    """
    folder = _installed_from()
    searched = map(Path, os.environ.get("PIP_FIND_LINKS", "").split())
    if folder and not any(any(place.expanduser().glob("isagen-*.whl")) for place in searched):
        yield (
            f"\nThis isagen was installed from {folder}. For pip to find it, run:\n\n"
            f"  pip wheel --no-deps --wheel-dir ~/.cache/isagen/wheels {shlex.quote(folder)}\n"
            "  export PIP_FIND_LINKS=~/.cache/isagen/wheels"
        )


def _installed_from() -> str:
    """Return the folder or file from which isagen was installed, by isagen's direct_url.json (PEP 610); "" if none."""
    try:
        origin = json.loads(metadata.distribution("isagen").read_text("direct_url.json") or "{}")
    except (metadata.PackageNotFoundError, ValueError):
        return ""
    # On Windows, the URL of C:/folder is file:///C:/folder.
    url, of_files = re.subn(r"^file://(/(?=[A-Za-z]:))?", "", origin.get("url", ""))
    return unquote(url) if of_files else ""


def _write(folder: Path, path: str, text: str) -> str:
    """Write a file if its text changed, and return the line to print about it."""
    existed = (folder / path).exists()
    changed = write_if_changed(folder / path, text)
    return f"{('updated' if existed else 'wrote') if changed else 'kept':<8} {path}{'' if changed else ' (up to date)'}"


def _advice(folder: Path, fresh: bool, fragment: str) -> Iterator[str]:
    has_package, sources = (folder / "pyproject.toml").exists(), Sources(folder)
    only = sources.fragments == [fragment]
    is_used = sources.place_of_subdir(fragment) or (only and sources.find(r"\bisa_kernels_deps?\b"))
    if not (fresh or is_used):
        above, inner = sources.above(fragment)
        where = ", after project()," if above == NAME else ""
        suffix = "cpp" if sources.has_cpp() else "c"
        yield (
            f"\nAdd two lines to {above}{where} and isa_kernels_dep to a target's dependencies:\n\n"
            f"  isa_kernels = files('kernels/one.{suffix}')   # your kernel sources\n"
            f"  subdir('{inner}')\n"
        )
        if has_package:
            yield 'build-system.requires in pyproject.toml must name "isagen".'
        yield "`isagen doctor` checks all of it."
        if has_package:
            yield "\nmodule.isa says in Python which level runs, if the module's source includes isa_python.h"
            yield "and calls isa_add_to_module(module)."
    if has_package:
        yield from _where_pip_finds_isagen()
    if fresh:
        place = "." if folder == Path() else shlex.quote(f"{'' if folder.is_absolute() else './'}{folder}")
        yield f"\nBuild and install it:  pip install {place}"


def check_empty(folder: Path) -> None:
    """Raise `ProjectError` if a folder contains anything but virtual environments and what `HARMLESS` matches."""
    names = sorted(path.name for path in folder.iterdir()) if folder.exists() else []
    names = [name for name in names if not HARMLESS.fullmatch(name) and not (folder / name / "pyvenv.cfg").exists()]
    if names:
        raise ProjectError(
            "exists already, but there is no meson.build",
            where=str(folder / names[0]),
            remedy="isagen works in projects that Meson builds: write a meson.build, and run `isagen init` again. "
            "For a new project, name a new folder: `isagen init NEW_FOLDER`",
        )


def project_name(folder: Path) -> str:
    """Return the name of a project from its meson.build; "" if project() with a name is not found in the text."""
    path = folder / NAME
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    call = PROJECT.search(without_comments(text))
    return re.sub(r"\\(.)", r"\1", call[1]) if call else ""


def override_name(project: str) -> str:
    """Return the name of the override variable for a project's name."""
    plain = _plain(project).upper()
    return "_".join(part for part in ("" if plain[:1].isalpha() else "MY", plain, "ISA") if part)
