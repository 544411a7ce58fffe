"""`isagen doctor`: checks the tools and files without which a build fails before Meson calls isagen."""

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

from .. import __version__
from ..configure.limits import choose_table, limits_of
from ..configure.request import FRAGMENT_FORMAT
from ..model.errors import IsagenError, ProjectError
from ..model.languages import LANGUAGE_OF_SUFFIX, LANGUAGES
from ..model.toml import read_toml
from ..model.versions import older
from ..planning.config import DEFAULT_TABLE, load_config
from ..planning.levels import check_levels
from ..probe.compiler import Compiler, find_compiler
from ..processors.flags import compiler_family
from ..processors.registry import processor_of_family, this_cpu_family
from .meson_files import KERNELS, LINKS, MODULE, NAME, SETS, Sources, fragment_folder, without_comments

# The oldest versions that the project is tested with.
MESON = "1.0.1"
COMPILERS = {"gcc": "11", "clang": "14"}
# Packages in Debian and Fedora whose names differ from the program's.
PACKAGED = {"ninja": "ninja-build"}
# By language: the environment variable that names the compiler, and the compiler if the variable is not set.
COMPILER_OF = {"cpp": ("CXX", "c++"), "fortran": ("FC", "gfortran"), "c": ("CC", "cc")}
OPTIONS = ("isa_levels", "isa_editor", "isa_require", "isa_probe_cache", "isa_seal", "isa_audit")
ISOLATING = "mesonpy"  # the build backend of meson-python, which pip calls in an isolated environment
INIT = "run `isagen init`, and commit what it writes"


@dataclass(frozen=True)
class Check:
    """One check: whether it passed, its result as a sentence, and the remedy if it failed."""

    ok: bool
    message: str
    remedy: str = ""


def examine(folder: Path) -> Iterator[Check]:
    """Yield the checks of the project in `folder`. Raises `ProjectError` if there is no meson.build."""
    if not (folder / "meson.build").is_file():
        raise ProjectError(
            "there is no meson.build, so no project that could be checked",
            where=str(folder),
            remedy="name the project's folder, or make a project with `isagen init`",
        )
    yield from examine_tools(folder)
    yield from examine_files(folder)


def examine_tools(folder: Path) -> Iterator[Check]:
    """Yield the checks of the tools that build the project in `folder`."""
    isolated = False
    with suppress(ProjectError):  # `_pyproject` reports it
        isolated = _build_system(folder)[0] == ISOLATING
    yield Check(True, f"Python {sys.version.split()[0]} ({sys.executable})")
    yield _program(("meson",), MESON, isolated)
    yield _program(("ninja", "ninja-build", "samu"), "", isolated)
    yield from (_compiler(language, folder) for language in _languages(Sources(folder)))
    yield from _decoder()


def _decoder() -> Iterator[Check]:
    """Yield a line if the decoder for this machine's code is not installed: then builds work, but are not audited."""
    decodable = processor_of_family(this_cpu_family()).decodable
    if decodable is not None and not decodable.installed:
        name = decodable.distribution
        yield Check(True, f"{name} is not installed: no instruction is counted, no link audited (pip install {name})")


def examine_files(folder: Path) -> Iterator[Check]:
    """Yield the checks of the files of the project in `folder`."""
    sources = Sources(folder)
    fragment = fragment_folder(sources)
    yield from _pyproject(folder)
    yield _kernels(sources, fragment)
    yield _subdir(sources, fragment)
    yield _dependency(sources, fragment)
    yield _options(folder)
    yield _fragment(folder, fragment)
    yield _config(folder, fragment)
    use, audit = sources.find(LINKS), f"{fragment}/audit/{NAME}"
    if use is not None and not (folder / audit).is_file():
        yield Check(False, f"{use}: isa_links needs {audit}, which is missing", INIT)


def problem_of(error: IsagenError) -> Check:
    """Return a failed check with the message and the remedy of an error."""
    return Check(False, f"{error.where}: {error.message}" if error.where else error.message, error.remedy)


def _program(names: Sequence[str], minimum: str, isolated: bool) -> Check:
    """Check a program. It must be on PATH, unless builds are `isolated`: pip then installs it."""
    program = next(filter(None, map(shutil.which, names)), None)
    if program is None:
        beside = shutil.which(names[0], path=str(Path(sys.executable).parent))
        if beside and not isolated:
            return Check(False, f"{names[0]} ({beside}) is not on PATH", "activate its environment, or add its folder")
        if isolated:
            return Check(True, f"{names[0]} is not installed; pip fetches it for isolated builds")
        package = PACKAGED.get(names[0], names[0])
        return Check(
            False, f"{names[0]} is not installed", f"pip install {names[0]}, or the distribution's package {package}"
        )
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    version = (done.stdout.split() or ["?"])[0]
    if minimum and older(version, minimum):
        return Check(False, f"{names[0]} {version} ({program}) is older than {minimum}", "pip install --upgrade meson")
    return Check(True, f"{names[0]} {version} ({program})")


def _languages(sources: Sources) -> list[str]:
    """Return the languages of the kernels that meson.build names. If it names no kernels, return C++ or C."""
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
    reason = _limit(compiler, folder)
    return Check(True, f"{shown}; only the baseline is built: {reason}" if reason else shown)


def _limit(compiler: Compiler, folder: Path) -> str:
    """Return why a compiler can build only the baseline of the table that isa.toml names; "" if it can build more."""
    place = folder / fragment_folder(Sources(folder))
    try:
        return limits_of(compiler, load_config(place / "isa.toml").table, place, "table")[1].reason
    except IsagenError:  # the table or isa.toml cannot be read: `_config` reports it
        return limits_of(compiler, DEFAULT_TABLE, place, "table")[1].reason


def _pyproject(folder: Path) -> Iterator[Check]:
    """Check that build-system.requires names the packages that pip has to install for isolated builds."""
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
        if name in names:
            yield Check(True, f"{where} names {name}")
        else:
            yield Check(False, f"{where} does not name {name}", f'add "{name}" to the list')


def _kernels(sources: Sources, fragment: str) -> Check:
    place = sources.find(KERNELS)
    if place is None:
        main, inner = sources.above(fragment)
        remedy = f"write isa_kernels = files('kernels/one.cpp') before subdir('{inner}')"
        return Check(False, f"{main}: isa_kernels is not set", remedy)
    if re.match(r"\s*\[?\s*'", sources.text_after(place)):
        return Check(False, f"{place}: isa_kernels holds strings", "write isa_kernels = files('kernels/one.cpp')")
    if re.match(r"\s*files\s*\(", sources.text_after(place)):
        folder = sources.folder / Path(place.file).parent
        lacking = [name for name in sources.kernel_names() if not (folder / name).is_file()]
        if lacking:
            return Check(False, f"{place}: there is no kernel source {lacking[0]}", "correct its path in files()")
    return Check(True, f"{place}: {_variables(sources)[0]} is set")


def _variables(sources: Sources) -> tuple[str, str]:
    """Return the names of two variables: the one with the kernels, which the project sets, and the dependency."""
    return ("isa_sets", "isa_kernels_deps") if sources.find(SETS) else ("isa_kernels", "isa_kernels_dep")


def _subdir(sources: Sources, fragment: str) -> Check:
    place, kernels = sources.place_of_subdir(fragment), sources.find(KERNELS)
    kernels_variable, dependency = _variables(sources)
    if place is None:
        main, inner = sources.above(fragment)
        remedy = f"write subdir('{inner}') after {kernels_variable}, and before the target that takes {dependency}"
        return Check(False, f"{main}: subdir('{inner}') is missing", remedy)
    if kernels is not None and kernels.file == place.file and kernels.line > place.line:
        message = f"{place}: subdir('{fragment}') stands before {kernels_variable} is set"
        return Check(False, message, "put it after that line")
    return Check(True, f"{place}: subdir('{fragment}')")


def _dependency(sources: Sources, fragment: str) -> Check:
    use, module = sources.find(r"\bisa_kernels_deps?\b(?!\s*=[^=])"), sources.find(MODULE)
    dependency = _variables(sources)[1]
    if use is None and module is not None:
        return Check(True, f"{module}: the kernels are a whole module, which the fragment links")
    if use is None:
        return Check(
            False,
            f"{sources.main}: no target takes {dependency}: its sources do not find isa_dispatch.h, "
            "and no kernel is linked",
            f"give the target dependencies: {dependency}" + ("['NAME']" if dependency.endswith("s") else ""),
        )
    place = sources.place_of_subdir(fragment)
    if place is not None and use.file == place.file and use.line < place.line:
        return Check(
            False,
            f"{use}: {dependency} is used before subdir('{fragment}') sets it",
            f"move subdir('{fragment}') up, from line {place.line}",
        )
    return Check(True, f"{use}: {dependency} is used")


def _options(folder: Path) -> Check:
    names = [name for name in ("meson.options", "meson_options.txt") if (folder / name).is_file()]
    if not names:
        return Check(False, "meson_options.txt: isagen's options are missing", INIT)
    text = without_comments((folder / names[0]).read_text(encoding="utf-8", errors="replace"))
    lacking = [option for option in OPTIONS if f"'{option}'" not in text]
    if lacking:
        return Check(False, f"{names[0]}: {', '.join(lacking)} {'is' if len(lacking) == 1 else 'are'} missing", INIT)
    return Check(True, f"{names[0]}: isagen's options are there")


def _fragment(folder: Path, fragment: str) -> Check:
    name = f"{fragment}/meson.build"
    try:
        text = (folder / name).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return Check(False, f"{name}: there is no such file", INIT)
    option = re.search(r"--fragment-format=(\d+)", text)
    if option is None or int(option[1]) != FRAGMENT_FORMAT:
        own = f"format {option[1]}" if option else "no format"
        return Check(False, f"{name}: is of {own}, and isagen {__version__} reads format {FRAGMENT_FORMAT}", INIT)
    return Check(True, f"{name}: is of this version's format, {FRAGMENT_FORMAT}")


def _config(folder: Path, fragment: str) -> Check:
    name = f"{fragment}/isa.toml"
    if not (folder / name).is_file():
        return Check(False, f"{name}: there is no such file", INIT)
    try:
        config = load_config(folder / name)
        table, _ = choose_table(config.table, this_cpu_family(), folder / fragment, f"{config.shown}: table")
        check_levels(config, table)
    except IsagenError as error:
        return Check(False, f"{fragment}/{error.where}: {error.message}", error.remedy or "correct the file")
    return Check(True, f"{name}: can be read, and its levels are in the table")


def _build_system(folder: Path) -> tuple[str, tuple[str, ...]]:
    """Return the build backend and the requirements in pyproject.toml; both are empty if there is no such file.

    Raises `ProjectError` if the file cannot be read.
    """
    path = folder / "pyproject.toml"
    if not path.is_file():
        return "", ()
    table = read_toml(path, ProjectError, path.name).section("build-system")
    return table.string("build-backend", "setuptools"), table.strings("requires", ())
