"""The request of the Meson fragment to `isagen configure`, and the arguments that make it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..probe.compiler import Compiler

# The version of the arguments and of the answer to them; raise it when either changes.
FRAGMENT_FORMAT = 4
PATHS = ("config", "source-root", "project-root", "build-root", "output", "depfile", "depfile-target")
# Options that describe a compiler. Each follows its --language, so their order matters.
COMPILER_WORDS = ("language", "id", "version", "syntax", "linker", "command", "arg")
AUDIT_MODES = ("error", "warn", "off", "unreached")


@dataclass(frozen=True)
class Request:
    """The build as the fragment knows it: folders, machine, compilers, options. Kernels start at `source_root`."""

    config: Path
    source_root: Path
    build_root: Path
    output: Path
    cpu_family: str
    system: str
    compilers: tuple[Compiler, ...]
    kernels: tuple[str, ...]
    name: str = "project"
    levels: str = ""
    require: str = ""
    cache: bool = True
    seal: bool = True
    audit: str = "error"
    optimization: str = ""
    lto: bool = False


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
    parser.add_argument("--fragment-format", type=int, default=0)
    parser.add_argument("--probe-cache", choices=("true", "false"), default="true")
    parser.add_argument("--seal", choices=("true", "false"), default="true")
    parser.add_argument("--audit", choices=AUDIT_MODES, default="error")
    parser.add_argument("--kernel", action="append", default=[])
    for name in COMPILER_WORDS:
        parser.add_argument(f"--{name}", dest="compilers", action="append", type=_tagged(name))


def _tagged(name: str) -> Callable[[str], tuple[str, str]]:
    return lambda value: (name, value)


def request_of(options: argparse.Namespace) -> Request:
    """Return the request that parsed arguments make."""
    return Request(
        config=options.config,
        source_root=options.project_root,
        build_root=options.build_root,
        output=options.output,
        cpu_family=options.cpu_family,
        system=options.system,
        compilers=_compilers(options.compilers or ()),
        # Meson names files from the outermost project's root, people from their own project's.
        kernels=tuple(
            Path(os.path.relpath(options.source_root / path, options.project_root)).as_posix()
            for path in options.kernel
        ),
        name=options.name,
        levels=options.levels,
        require=options.require,
        cache=options.probe_cache == "true",
        seal=options.seal == "true",
        audit=options.audit,
        optimization=options.optimization,
        lto=options.lto == "true",
    )


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
