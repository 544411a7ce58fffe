"""`isagen doctor`: checks the tools and files that a project needs for builds, audits and sdists.

Without most of them, a build fails before Meson calls isagen, which then cannot say why.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ..configure.limits import limits_of
from ..model.errors import IsagenError, ProjectError
from ..model.languages import LANGUAGE_OF_SUFFIX, LANGUAGES
from ..model.toml import read_toml
from ..model.versions import older
from ..planning.config import DEFAULT_TABLE
from ..probe.compiler import find_compiler
from ..processors.flags import compiler_family
from ..processors.registry import processor_of_family, this_cpu_family
from .meson_files import KERNELS, LINKS, MODULE, NAME, ONE_SET, SETS, Sources, without_comments

# The oldest versions that isagen is tested with.
MESON = "1.0.1"
COMPILERS = {"gcc": "11", "clang": "14"}
# By language: the environment variable that names the compiler, and the compiler if the variable is not set.
COMPILER_OF = {"cpp": ("CXX", "c++"), "fortran": ("FC", "gfortran"), "c": ("CC", "cc")}
OPTIONS_FILE = "meson_options.txt"
OPTIONS = ("isa_levels", "isa_editor", "isa_require", "isa_probe_cache", "isa_seal", "isa_audit")
ISOLATING = "mesonpy"  # the build backend of meson-python, which pip calls in an isolated environment
INIT = "run `isagen init`, and commit what it writes"


@dataclass(frozen=True)
class Check:
    """One check: whether it passed, its result as a sentence, and the remedy, which counts only if it failed."""

    ok: bool
    message: str
    remedy: str = ""


def examine(folder: Path) -> Iterator[Check]:
    """Yield the checks of the project in `folder`. Raises `ProjectError` if there is no meson.build."""
    if not (folder / "meson.build").is_file():
        raise ProjectError(
            "there is no meson.build: this folder is no Meson project",
            where=str(folder),
            remedy="name the project's folder, or make a project with `isagen init`",
        )
    yield from examine_tools(folder)
    yield from examine_files(folder)


def examine_tools(folder: Path) -> Iterator[Check]:
    """Yield the checks of the tools that build the project in `folder`."""
    isolated = False
    with suppress(ProjectError):  # `_pyproject` reports the error
        isolated = _build_system(folder)[0] == ISOLATING
    yield Check(True, f"Python {sys.version.split()[0]} ({sys.executable})")
    yield _program(("meson",), MESON, isolated)
    yield _program(("ninja", "ninja-build", "samu"), "", isolated)
    yield from (_compiler(language, folder) for language in _languages(Sources(folder)))
    decodable = processor_of_family(this_cpu_family()).decodable
    if decodable is not None and not decodable.installed:
        name = decodable.distribution
        message = f"{name} is not installed: no instruction is counted, and no link is audited"
        yield Check(False, message, f"pip install {name}")


def examine_files(folder: Path) -> Iterator[Check]:
    """Yield the checks of the files of the project in `folder`."""
    sources = Sources(folder)
    fragment = next(iter(sources.fragments), "isagen")
    yield from _pyproject(folder)
    yield from _statements(sources, fragment)
    yield from _files(sources, fragment)


def problem_of(error: IsagenError) -> Check:
    """Return a failed check with the message and the remedy of an error."""
    return Check(False, f"{error.where}: {error.message}" if error.where else error.message, error.remedy)


def _program(names: Sequence[str], minimum: str, isolated: bool) -> Check:
    name = names[0]
    program = next(filter(None, map(shutil.which, names)), None)
    if program is None and isolated:
        return Check(True, f"{name} is not installed; pip fetches it for isolated builds")
    if program is None:
        beside = shutil.which(name, path=str(Path(sys.executable).parent))
        if beside:
            return Check(False, f"{name} ({beside}) is not on PATH", "activate its environment, or add its folder")
        package = "ninja-build" if name == "ninja" else name  # the package's name in Debian and Fedora
        remedy = f"pip install {name}, or the distribution's package {package}"
        return Check(False, f"{name} is not installed", remedy)
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    except OSError as problem:  # a script's interpreter may be gone, with its environment
        return Check(False, f"{program} cannot be run: {problem.strerror}", f"install {name} again")
    version = (done.stdout.split() or ["?"])[0]
    if minimum and older(version, minimum):
        return Check(False, f"{name} {version} ({program}) is older than {minimum}", f"pip install --upgrade {name}")
    return Check(True, f"{name} {version} ({program})")


def _languages(sources: Sources) -> list[str]:
    """Return the languages of the compilers that the kernels need."""
    suffixes = {Path(name).suffix for name in sources.kernel_names()}
    languages = {LANGUAGE_OF_SUFFIX[suffix] for suffix in suffixes if suffix in LANGUAGE_OF_SUFFIX}
    if not languages:
        languages = {"cpp" if sources.has_cpp() else "c"}
    if "fortran" in languages:  # isagen registers Fortran procedures in C
        languages.add("c")
    return [language for language in COMPILER_OF if language in languages]


def _compiler(language: str, folder: Path) -> Check:
    variable, default = COMPILER_OF[language]
    try:
        compiler = find_compiler(language, os.environ.get(variable, default).split())
    except IsagenError as error:
        return problem_of(error)
    minimum = COMPILERS.get(compiler_family(compiler.id), "0")
    if older(compiler.version, minimum):
        return Check(
            False, f"{compiler.name} ({compiler.command[0]}) is older than {minimum}", f"name another in {variable}"
        )
    shown = f"{LANGUAGES[language]} compiler: {compiler.name} ({' '.join(compiler.command)})"
    reason = limits_of(compiler, DEFAULT_TABLE, folder, "table")[1].reason
    return Check(True, f"{shown}; only the baseline is built: {reason}" if reason else shown)


def _pyproject(folder: Path) -> Iterator[Check]:
    """Check that build-system.requires names isagen and meson-python, which pip installs for isolated builds."""
    try:
        backend, requires = _build_system(folder)
    except ProjectError as error:
        yield problem_of(error)
        return
    if backend != ISOLATING:
        shown = f"the build backend is {backend}" if backend else "there is none"
        yield Check(True, f"pyproject.toml: {shown}, so Meson uses the isagen of the environment that it runs in")
        return
    where = "pyproject.toml: build-system.requires"
    names = {re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", entry.strip())[0]).lower() for entry in requires}
    for name in ("isagen", "meson-python"):
        verb = "names" if name in names else "does not name"
        yield Check(name in names, f"{where} {verb} {name}", f'add "{name}" to the list')


def _statements(sources: Sources, fragment: str) -> Iterator[Check]:
    """Check that meson.build files set the kernels, enter the folder `fragment`, and use the kernels' dependency."""
    several = bool(sources.find(SETS))
    kernels, dependency = ("isa_sets", "isa_kernels_deps") if several else ("isa_kernels", "isa_kernels_dep")
    main, inner = sources.above(fragment)
    place = sources.find(KERNELS)
    if place:
        yield Check(True, f"{place}: {kernels} is set")
    else:
        remedy = f"write isa_kernels = files('kernels/one.cpp') before subdir('{inner}')"
        yield Check(False, f"{main}: isa_kernels is not set", remedy)
    place = sources.place_of_subdir(fragment)
    if place:
        yield Check(True, f"{place}: subdir('{fragment}')")
    else:
        remedy = f"write subdir('{inner}') after {kernels}, and before the target that takes {dependency}"
        yield Check(False, f"{main}: subdir('{inner}') is missing", remedy)
    use, module = sources.find(r"\bisa_kernels_deps?\b(?!\s*=[^=])"), sources.find(MODULE)
    last = sources.find(r"\bisa_kernels_dep\b") if several and not sources.find(ONE_SET) else ""
    if last:
        message = f"{last}: isa_kernels_dep contains only the last of isa_sets"
        yield Check(False, message, "write isa_kernels_deps['NAME']")
    elif use:
        yield Check(True, f"{use}: {dependency} is used")
    elif module:
        yield Check(True, f"{module}: the kernels are a whole module, which the fragment links")
    else:
        yield Check(
            False,
            f"{NAME}: no target takes {dependency}: no kernel is linked",
            f"give the target dependencies: {dependency}{'[' + repr('NAME') + ']' if several else ''}",
        )


def _files(sources: Sources, fragment: str) -> Iterator[Check]:
    """Check that files of `isagen init` are there and tracked by git, and that isagen's options are declared."""
    folder, use = sources.folder, sources.find(LINKS)
    options = next((name for name in ("meson.options", OPTIONS_FILE) if (folder / name).is_file()), OPTIONS_FILE)
    for name in (options, f"{fragment}/{NAME}", f"{fragment}/isa.toml", *([f"{fragment}/audit/{NAME}"] if use else [])):
        is_there = (folder / name).is_file()
        yield Check(is_there, f"{name}: {'is there' if is_there else 'there is no such file'}", INIT)
    if (folder / options).is_file():
        text = without_comments((folder / options).read_text(encoding="utf-8", errors="replace"))
        lacking = [option for option in OPTIONS if f"'{option}'" not in text]
        declared = f"does not declare {', '.join(lacking)}" if lacking else "declares isagen's options"
        yield Check(not lacking, f"{options}: {declared}", INIT)
    yield from _tracked(folder, (options, fragment))


def _tracked(folder: Path, names: Sequence[str]) -> Iterator[Check]:
    """Yield a failed check for each file of isagen that git does not track: an sdist contains what git tracks."""
    git = shutil.which("git")
    if git is None:
        return
    listing = [git, "-C", str(folder), "ls-files", "-z"]
    done = subprocess.run([*listing, "--", NAME], capture_output=True, check=False)
    if done.returncode or not done.stdout:
        return  # nothing to report: git does not track the project
    lacking = subprocess.run([*listing, "--others", "--", *names], capture_output=True, check=False).stdout
    for path in map(os.fsdecode, filter(None, lacking.split(b"\0"))):
        if path.endswith(("meson.build", "isa.toml", *names)):
            yield Check(False, f"{path}: git does not track it, so an sdist lacks it", f"git add -f {path}, and commit")


def _build_system(folder: Path) -> tuple[str, tuple[str, ...]]:
    """Return backend and requirements, empty without pyproject.toml. Raises `ProjectError` if the file is invalid."""
    path = folder / "pyproject.toml"
    if not path.is_file():
        return "", ()
    table = read_toml(path, ProjectError, path.name).section("build-system")
    return table.string("build-backend", "setuptools"), table.strings("requires", ())
