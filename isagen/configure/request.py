"""The request of the Meson fragment to `isagen configure`, and the arguments that make it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..model.frozen import dataclass, field
from ..probe.compiler import Compiler

# The version of the arguments and of the answer to them; raise it when either changes.
FRAGMENT_FORMAT = 6
PATHS = ("config", "source-root", "project-root", "build-root", "output", "depfile", "depfile-target")
# Options that describe a compiler. Each follows its --language, so their order matters.
COMPILER_WORDS = ("language", "id", "version", "syntax", "linker", "command", "arg")
# Options that name a kernel: of this set in the project or generated, and of another set.
KERNEL_WORDS = ("kernel", "generated", "elsewhere")
AUDIT_MODES = ("error", "warn", "off", "unreached")


@dataclass(frozen=True)
class Request:
    """The build of one set of kernels, as the fragment knows it: folders, machine, compilers, options.

    Kernels start at `source_root`. `generated` gives the paths of those that Meson makes, from `build_root`.
    `elsewhere` are the kernels of other sets, and `editor` is the level at which editors see a kernel. `kernel_set` is
    the set's name in files and symbols, `config_set` the one in isa.toml, where each fragment has sets of its own.
    `module` is the extension module that the kernels are as a whole.
    """

    config: Path
    source_root: Path
    build_root: Path
    output: Path
    cpu_family: str
    system: str
    compilers: tuple[Compiler, ...]
    kernels: tuple[str, ...]
    generated: Mapping[str, str] = field(default_factory=dict)
    elsewhere: tuple[str, ...] = ()
    name: str = "project"
    kernel_set: str = ""
    config_set: str = ""
    sets: tuple[str, ...] = ()
    module: str = ""
    editor: str = "none"
    levels: str = ""
    require: str = ""
    cache: bool = True
    seal: bool = True
    audit: str = "error"
    optimization: str = ""
    lto: bool = False

    @property
    def full_name(self) -> str:
        """The project's name, and that of the set, if it has one: no other set of the program has the same."""
        return f"{self.name}.{self.kernel_set}" if self.kernel_set else self.name


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Let `parser` read the fragment's arguments."""
    for name in PATHS:
        parser.add_argument(f"--{name}", type=Path, required=True)
    for name in ("cpu-family", "system", "optimization"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--lto", choices=("true", "false"), default="false")
    parser.add_argument("--levels", default="")
    parser.add_argument("--require", default="")
    parser.add_argument("--name", default="project")
    parser.add_argument("--label", dest="kernel_set", default="")
    parser.add_argument("--set", dest="config_set", default="")
    parser.add_argument("--sets", default="")
    parser.add_argument("--module", default="")
    parser.add_argument("--editor", default="none")
    parser.add_argument("--fragment-format", type=int, default=0)
    parser.add_argument("--probe-cache", choices=("true", "false"), default="true")
    parser.add_argument("--seal", choices=("true", "false"), default="true")
    parser.add_argument("--audit", choices=AUDIT_MODES, default="error")
    for name in KERNEL_WORDS:
        parser.add_argument(f"--{name}", dest="kernels", action=_Tagged, default=())
    for name in COMPILER_WORDS:
        parser.add_argument(f"--{name}", dest="compilers", action=_Tagged, default=())


class _Tagged(argparse.Action):
    """Keeps the values of several options in their order, each with its option; `append` copies the list each time."""

    def __call__(self, parser: Any, namespace: argparse.Namespace, values: Any, option: str | None = None) -> None:
        if not getattr(namespace, self.dest):
            setattr(namespace, self.dest, [])
        getattr(namespace, self.dest).append((self.option_strings[0].removeprefix("--"), values))


def request_of(options: argparse.Namespace) -> Request:
    """Return the request that parsed arguments make."""
    kernels = [(word, _of_project(path, options), path) for word, path in options.kernels]
    return Request(
        config=options.config,
        source_root=options.project_root,
        build_root=options.build_root,
        output=options.output,
        cpu_family=options.cpu_family,
        system=options.system,
        compilers=_compilers(options.compilers),
        kernels=tuple(source for word, source, _ in kernels if word != "elsewhere"),
        generated={source: path for word, source, path in kernels if word == "generated"},
        elsewhere=tuple(source for word, source, _ in kernels if word == "elsewhere"),
        name=options.name,
        kernel_set=options.kernel_set,
        config_set=options.config_set,
        sets=tuple(filter(None, options.sets.split(","))),
        module=options.module,
        editor=options.editor,
        levels=options.levels,
        require=options.require,
        cache=options.probe_cache == "true",
        seal=options.seal == "true",
        audit=options.audit,
        optimization=options.optimization,
        lto=options.lto == "true",
    )


def _of_project(path: str, options: argparse.Namespace) -> str:
    """Return a path from the project's root: Meson names files from the outermost project's."""
    return Path(os.path.relpath(options.source_root / path, options.project_root)).as_posix()


def _compilers(words: Sequence[tuple[str, str]]) -> tuple[Compiler, ...]:
    """Read the compilers from the order of their options: each starts with its language."""
    found: list[dict[str, list[str]]] = []
    for name, value in words:
        if name == "language":
            found.append({"command": [], "arg": []})
        found[-1].setdefault(name, []).append(value)
    return tuple(
        Compiler(
            language=one["language"][0],
            command=tuple(one["command"]),
            id=one["id"][0],
            version=one["version"][0],
            dialect="msvc" if one["syntax"][0] == "msvc" else "gnu",
            linker=one["linker"][0],
            args=tuple(one["arg"]),
        )
        for one in found
    )
