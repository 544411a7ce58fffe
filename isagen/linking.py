"""Finding the linkers that a compiler may call, for scripts of ours to take their places.

The audit reads what the linker made, so it has to run right after it. Meson knows no step after a link; but GCC and
Clang look for their linker in the folder that `-B` names first, as mold's manual has it for the same purpose. Whether a
build does so is for a link with all its arguments to tell: the fragment asks for one, with `steps.proof`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from .audit.instructions import iced_x86
from .compiler import Compiler

# What -fuse-ld= and the default make GCC and Clang look for; Clang takes any ending (-fuse-ld=lld-16).
LINKERS = ("ld", "ld.bfd", "ld.gold", "ld.lld", "ld.mold")
LINKER = re.compile(r"ld\.(?!so)[a-z]+(-[\d.]+)?")


@dataclass(frozen=True)
class Linking:
    """The linkers by name; none where links are not audited, with the `reason`. `mode` is error or warn."""

    mode: str = "off"
    linkers: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""

    @property
    def audited(self) -> bool:
        """Whether every link of the kernels is audited."""
        return bool(self.linkers)


def find_linkers(compiler: Compiler, mode: str, decodes: bool) -> Linking:
    """Return the linkers whose places are taken for an audit of `mode`: error, warn, off, or unreached by the build.

    `decodes` tells whether the table's features name instructions. Nothing is raised: without it, people can still call
    `isagen audit`, and the matrix says why they have to.
    """
    if mode == "off":
        return Linking(mode, reason="switched off by the Meson option isa_audit")
    if not decodes:
        return Linking(mode, reason="only code for x86 is decoded")
    if mode == "unreached":
        return Linking(
            mode, reason=f"{compiler.name}, as this build calls it, does not take its linker from where -B says"
        )
    macros, outcome = compiler.macros(())
    if not outcome.ok or "__x86_64__" not in macros or "__ILP32__" in macros:
        return Linking(mode, reason="only 64-bit code for x86 is decoded")
    if iced_x86 is None:
        return Linking(mode, reason="iced-x86 is not installed")
    names = {*LINKERS, *_on_path()}
    linkers = {name: path for name in sorted(names) if (path := compiler.program(name))}
    return Linking(mode, linkers) if linkers else Linking(mode, reason=f"{compiler.name} has no linker")


def _on_path() -> Iterator[str]:
    """Yield the names of linkers in the folders of PATH."""
    for folder in os.get_exec_path():
        with suppress(OSError):
            yield from filter(LINKER.fullmatch, os.listdir(folder))


def write_script(path: Path, text: str) -> None:
    """Write a shell script, if it is not there already."""
    content = f"#!/bin/sh\n{text}"
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_file() or path.read_text(encoding="utf-8") != content:
        new = path.with_name(f".{path.name}.{os.getpid()}")
        new.write_text(content, encoding="utf-8")
        new.chmod(0o755)
        new.replace(path)
