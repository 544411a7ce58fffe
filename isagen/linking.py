"""Finding the linkers that a compiler calls, and proving that it takes them from a folder of ours.

The audit reads what the linker made, so it has to run right after it. Meson knows no step after a link; but GCC and
Clang look for their linker in the folder that `-B` names first, as mold's manual has it for the same purpose.
"""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .audit.instructions import iced_x86
from .cache import Cache
from .compiler import SUFFIX, Compiler, first_error

# What -fuse-ld= and the default make GCC and Clang look for.
LINKERS = ("ld", "ld.bfd", "ld.gold", "ld.lld", "ld.mold")


@dataclass(frozen=True)
class Linking:
    """The linkers by name; none where links are not audited, with the `reason`. `mode` is error, warn or off."""

    mode: str = "off"
    linkers: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""

    @property
    def audited(self) -> bool:
        """Whether every link of the kernels is audited."""
        return bool(self.linkers)


def find_linkers(compiler: Compiler, link_args: Sequence[str], mode: str, decodes: bool, cache: Cache) -> Linking:
    """Return the linkers that are wrapped for an audit of `mode`, proven by linking a small program through one.

    `decodes` tells whether the table's features name instructions. Nothing is raised: without it, people can still call
    `isagen audit`, and the matrix says why they have to.
    """
    if mode == "off":
        return Linking(mode, reason="switched off by the Meson option isa_audit")
    if not decodes:
        return Linking(mode, reason="only code for x86 is decoded")
    macros, outcome = compiler.macros(())
    if not outcome.ok or "__x86_64__" not in macros or "__ILP32__" in macros:
        return Linking(mode, reason="only 64-bit code for x86 is decoded")
    if iced_x86 is None:
        return Linking(mode, reason="iced-x86 is not installed")
    linkers = {name: path for name in LINKERS if (path := compiler.program(name))}
    key = cache.key(["link", 1, compiler.identity, compiler.args, list(link_args), sorted(linkers.items())])
    reason = cache.get(key)
    if not isinstance(reason, str):
        reason = _try(compiler, link_args, linkers)
        cache.put(key, reason)
    return Linking(mode, reason=reason) if reason else Linking(mode, linkers)


def _try(compiler: Compiler, link_args: Sequence[str], linkers: Mapping[str, str]) -> str:
    """Link a program with linkers that leave a mark; return why there is none, or nothing."""
    with tempfile.TemporaryDirectory(prefix="isagen-") as folder:
        mark = Path(folder, "mark")
        for name, path in linkers.items():
            write_script(Path(folder, name), f': > {shlex.quote(str(mark))}\nexec {shlex.quote(path)} "$@"\n')
        source = Path(folder, f"main{SUFFIX[compiler.language]}")
        source.write_text("int main(void) { return 0; }\n")
        program = str(Path(folder, "main"))
        outcome = compiler.run([*compiler.quiet_args, f"-B{folder}", *link_args, str(source), "-o", program])
        if not outcome.ok:
            return f"a program does not link: {first_error(outcome.err)}"
        return "" if mark.is_file() else f"{compiler.name} does not take its linker from the folder that -B names"


def write_script(path: Path, text: str) -> None:
    """Write a shell script, if it is not there already."""
    content = f"#!/bin/sh\n{text}"
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_file() or path.read_text(encoding="utf-8") != content:
        new = path.with_name(f".{path.name}.{os.getpid()}")
        new.write_text(content, encoding="utf-8")
        new.chmod(0o755)
        new.replace(path)
