"""The arguments that the Meson fragment gives `isagen configure`, each --NAME=VALUE, and the request that they form."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import __version__
from ..model.errors import ConfigError
from ..model.languages import LANGUAGE_OF_SUFFIX
from ..probe.compiler import CLANG_CL, Compiler
from .answer import SEPARATOR

# The version of the arguments and of the answer; raise it when either changes.
FRAGMENT_FORMAT = 15

PATHS = ("config", "project-root", "build-root", "output")
# The fields of `Request` by the names of arguments: texts, and those that are true or false.
TEXTS = {
    "name": "name",
    "set": "config_set",
    "label": "kernel_set",
    "cpu-family": "cpu_family",
    "system": "system",
    "isa_levels": "levels",
    "isa_editor": "editor",
    "isa_require": "require",
    "isa_audit": "audit",
    "optimization": "optimization",
}
SWITCHES = {"isa_probe_cache": "cache", "isa_seal": "seal", "reached": "reached", "b_lto": "lto"}
# The names of arguments: given once; given for each set, after --of=SET; given for each compiler, after --language.
ONCE = (*PATHS, *TEXTS, *SWITCHES, "source-root", "depfile")
OF_SET = ("has", "kernel", "string", "generated", "module", "pch")
OF_COMPILER = ("id", "version", "syntax", "linker", "command", "args")

# The order of a build's compilers. The last one links; the Fortran compiler links only if there is no other.
ORDER = ("fortran", "c", "cpp")
EXTRAS, MODULE = "extras/meson.build", "module/meson.build"
# The keys of a set, each with the additional fragment files that it needs.
SET_KEYS = {
    **dict.fromkeys(("kernels", "dependencies", "include_directories", "gnu_symbol_visibility"), ()),
    **dict.fromkeys(("c_args", "cpp_args", "fortran_args"), ()),
    **dict.fromkeys(("generated", "c_pch", "cpp_pch"), (EXTRAS,)),
    **dict.fromkeys(("module", "subdir", "python_installation", "cython_args", "cython_language"), (EXTRAS, MODULE)),
}


@dataclass(frozen=True)
class Request:
    """The request to configure one set of kernels: folders, machine, compilers, options.

    `config` is the path of isa.toml, and `output` the folder that the files for the build are written to. `kernels` are
    relative to `project_root`; `generated` maps generated kernels to paths relative to `build_root`. `other_kernels`
    are the kernels of other sets. `kernel_set` is the set's name in files and symbols: this name is unique in a
    project. `config_set` is the set's name in isa.toml, and `sets` are the names of the fragment's sets. `module` names
    the extension module that the kernels form, and is "" for kernels behind stubs. `precompiled` are the languages with
    a precompiled header. `reached` is false if the compilers do not call isagen's scripts in the linker's place.
    """

    config: Path
    project_root: Path
    build_root: Path
    output: Path
    cpu_family: str
    system: str
    compilers: tuple[Compiler, ...]
    kernels: tuple[str, ...]
    generated: Mapping[str, str] = field(default_factory=dict)
    other_kernels: tuple[str, ...] = ()
    name: str = "project"
    kernel_set: str = ""
    config_set: str = ""
    sets: tuple[str, ...] = ()
    module: str = ""
    precompiled: tuple[str, ...] = ()
    editor: str = "none"
    levels: str = ""
    require: str = ""
    cache: bool = True
    seal: bool = True
    audit: str = "error"
    reached: bool = True
    optimization: str = ""
    lto: bool = False

    @property
    def full_name(self) -> str:
        """The project's name, and the set's if it has one; unique in a program."""
        return f"{self.name}.{self.kernel_set}" if self.kernel_set else self.name


@dataclass(frozen=True)
class Arguments:
    """The values of arguments: those given `once`, those of `sets` and of `compilers`, and `unknown` arguments."""

    once: dict[str, str]
    sets: dict[str, dict[str, list[str]]]
    compilers: list[dict[str, str]]
    unknown: list[str]


def read_arguments(words: Iterable[str]) -> Arguments:
    """Parse the arguments of the command."""
    arguments = Arguments({}, {}, [], [])
    of_set: dict[str, list[str]] = {}
    for word in words:
        option, equals, value = word.partition("=")
        name = option.removeprefix("--")
        if name == "of":
            of_set = arguments.sets.setdefault(value, {})
        elif name == "language":
            arguments.compilers.append({"language": value})
        elif name in OF_SET:
            of_set.setdefault(name, []).append(value)
        elif name in OF_COMPILER and arguments.compilers:
            arguments.compilers[-1][name] = value
        elif equals and name in (*ONCE, "fragment-format"):
            arguments.once[name] = value
        else:
            arguments.unknown.append(word)
    return arguments


def request_of(arguments: Arguments) -> Request:
    """Return the request. Raises `ConfigError` for a wrong fragment, set or isa_levels, and without isa.toml."""
    check_version(arguments)
    values, sets = arguments.once, arguments.sets
    check_sets(sets, Path(values["config"]))
    if not Path(values["config"]).is_file():
        raise ConfigError(
            "there is no such file: run `isagen init`, which writes it, and commit it",
            where=os.path.relpath(values["config"], values["project-root"]),
        )
    if not values["isa_levels"].strip(" \t\r\n,+"):
        raise ConfigError("is empty: use all, or none for only the lowest level", where="Meson option isa_levels")
    source_root, project_root = values["source-root"], values["project-root"]
    paths = {name: _kernels(of_set, source_root, project_root) for name, of_set in sets.items()}
    kernels, of_set = paths[values["set"]], sets[values["set"]]
    subproject = os.path.relpath(project_root, source_root)
    generated = {path: os.path.normpath(os.path.join(subproject, path)) for path in of_set.get("generated", ())}
    options: dict[str, Any] = {name.replace("-", "_"): Path(values[name]) for name in PATHS}
    options |= {field: values[name] for name, field in TEXTS.items()}
    options |= {field: values[name] == "true" for name, field in SWITCHES.items()}
    return Request(
        **options,
        compilers=_compilers(arguments.compilers, kernels),
        kernels=tuple(kernels),
        generated=generated,
        other_kernels=tuple(path for name, others in paths.items() if name != values["set"] for path in others),
        sets=tuple(sets) if values["set"] else (),
        module="".join(of_set.get("module", ())),
        precompiled=tuple(of_set.get("pch", ())),
    )


def check_version(arguments: Arguments) -> None:
    """Raise `ConfigError` for a fragment whose format or arguments differ from those that this isagen writes."""
    number = arguments.once.get("fragment-format", "unknown")
    complete = all(name in arguments.once for name in ONCE) and arguments.once["set"] in arguments.sets
    if complete and not arguments.unknown and number == str(FRAGMENT_FORMAT):
        return
    raise ConfigError(
        f"the Meson fragment was not written by isagen {__version__}, which writes format {FRAGMENT_FORMAT}: "
        f"its format is {number}",
        where=f"{Path(arguments.once.get('config', 'isagen/isa.toml')).parent.name}/meson.build",
        remedy="run `isagen init` in the project to rewrite it, and commit it; or, if a later isagen wrote it, update "
        "isagen: pip install --upgrade isagen",
    )


def check_sets(sets: Mapping[str, Mapping[str, Sequence[str]]], config: Path) -> None:
    """Raise `ConfigError` for a set of kernels that the fragment cannot build. The fragment is beside `config`."""
    folder = config.parent
    for name, given in sets.items():
        words = given["has"][0].split(SEPARATOR) if given["has"][0] else []
        where = f"isa_sets: {name}" if name else "meson.build"
        if not name and not {"kernels", "generated"}.intersection(words):
            raise ConfigError(
                f"isa_kernels is not set: write isa_kernels = files('kernels/one.cpp') before subdir('{folder.name}')",
                where=where,
            )
        for word in words:
            if word not in SET_KEYS:
                raise ConfigError(f"{word} is unknown: keys are {', '.join(SET_KEYS)}", where=where)
            for file in SET_KEYS[word]:
                if not (folder / file).is_file():
                    raise ConfigError(
                        f"{word if name else f'isa_{word}'} needs {folder.name}/{file}",
                        where=where,
                        remedy="run `isagen init`, which writes it, and commit it",
                    )
        for path in given.get("string", ()):
            variable = "isa_sets" if name else "isa_kernels"
            raise ConfigError(
                "is a string: name kernels with files(), such as files('kernels/one.cpp'), with paths from the "
                f"folder of the meson.build that sets {variable}",
                where=f"{f'isa_sets: {name}' if name else variable}: {posixpath.normpath(path)}",
            )


def _kernels(of_set: Mapping[str, Sequence[str]], source_root: str, project_root: str) -> list[str]:
    """Return the kernels' paths from the project's root; Meson's are from `source_root`, the outermost project's."""
    paths = (os.path.relpath(os.path.join(source_root, path), project_root) for path in of_set.get("kernel", ()))
    return [*(path.replace(os.sep, "/") for path in paths), *of_set.get("generated", ())]


def _compilers(given: Sequence[Mapping[str, str]], kernels: Sequence[str]) -> tuple[Compiler, ...]:
    """Return the compilers of `given` that the `kernels` need, in `ORDER`; if they need none, the last in `ORDER`."""
    needed = {LANGUAGE_OF_SUFFIX.get(os.path.splitext(path)[1]) for path in kernels}  # planning refuses other suffixes
    if "fortran" in needed:
        needed.add("c")
    compilers = {
        one["language"]: Compiler(
            language=one["language"],
            command=_items(one["command"]),
            id=one["id"],
            version=one["version"],
            dialect="msvc" if one["syntax"] == "msvc" and one["id"] != CLANG_CL else "gnu",
            linker=one["linker"],
            args=_items(one["args"]),
        )
        for one in given
    }
    ordered = [compilers[language] for language in ORDER if language in compilers]
    return tuple(one for one in ordered if one.language in needed) or tuple(ordered[-1:])


def _items(text: str) -> tuple[str, ...]:
    return tuple(text.split(SEPARATOR)) if text else ()
