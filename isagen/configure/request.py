"""The request of the Meson fragment to `isagen configure`, and its version."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..probe.compiler import Compiler
from .arguments import Arguments

# The version of the arguments and of the answer to them; raise it when either changes.
FRAGMENT_FORMAT = 8


@dataclass(frozen=True)
class Request:
    """The build of one set of kernels, as the fragment knows it: folders, machine, compilers, options.

    Kernels start at `source_root`. `generated` gives the paths of those that Meson makes, from `build_root`.
    `elsewhere` are the kernels of other sets, and `editor` is the level at which editors see a kernel. `kernel_set` is
    the set's name in files and symbols, `config_set` the one in isa.toml, where each fragment has sets of its own.
    `module` is the extension module that the kernels are as a whole. With `link_objects`, Meson knows sealed objects.
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
    link_objects: bool = False
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


def request_of(arguments: Arguments) -> Request:
    """Return the request that complete arguments make."""
    values = arguments.values
    source_root, project_root = values["source-root"], values["project-root"]
    kernels = [(word, _of_project(path, source_root, project_root), path) for word, path in arguments.kernels]
    return Request(
        config=arguments.path("config"),
        source_root=arguments.path("project-root"),
        build_root=arguments.path("build-root"),
        output=arguments.path("output"),
        cpu_family=values["cpu-family"],
        system=values["system"],
        compilers=_compilers(arguments.compilers),
        kernels=tuple(source for word, source, _ in kernels if word != "elsewhere"),
        generated={source: path for word, source, path in kernels if word == "generated"},
        elsewhere=tuple(source for word, source, _ in kernels if word == "elsewhere"),
        name=values["name"],
        kernel_set=values["label"],
        config_set=values["set"],
        sets=tuple(filter(None, values["sets"].split(","))),
        module=values["module"],
        link_objects=arguments.on("link-objects"),
        editor=values["editor"],
        levels=values["levels"],
        require=values["require"],
        cache=arguments.on("probe-cache"),
        seal=arguments.on("seal"),
        audit=values["audit"],
        optimization=values["optimization"],
        lto=arguments.on("lto"),
    )


def _of_project(path: str, source_root: str, project_root: str) -> str:
    """Return a path from the project's root: Meson names files from the outermost project's."""
    whole, start = os.path.normpath(os.path.join(source_root, path)), os.path.join(os.path.normpath(project_root), "")
    # The way of nearly all kernels; the other one asks for the current folder each time.
    found = whole.removeprefix(start) if whole.startswith(start) else os.path.relpath(whole, project_root)
    return found.replace(os.sep, "/")


def _compilers(words: Sequence[tuple[str, str]]) -> tuple[Compiler, ...]:
    """Read the compilers from the order of their options: each starts with its language."""
    found: list[dict[str, list[str]]] = []
    for name, value in words:
        if name == "language":
            found.append({"command": [], "arg": [], "link-arg": []})
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
            link_args=tuple(one["link-arg"]),
        )
        for one in found
    )
