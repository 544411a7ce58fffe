"""Finding the linkers that a compiler may call, and writing the scripts that take their places.

The audit reads what the linker made, so it has to run right after it. Meson knows no step after a link; but GCC and
Clang look for their linker in the folder that `-B` names first, as mold's manual has it for the same purpose. Only a
link with all arguments of the build tells whether it does: the fragment tries one, with `names.LINK_PROOF`.
"""

from __future__ import annotations

import functools
import os
import re
import shlex
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ..model.files import write_if_changed
from ..model.names import LINK_PROOF, TOOL_FOLDER, TOOL_MAIN
from ..model.plan import Limit, LinkAudit
from ..model.plan_file import linkers_folder
from ..probe.ahead import bare_macros
from ..probe.cache import Cache
from ..probe.compiler import Compiler
from ..probe.probe import PROBE_FORMAT, states_of
from ..processors.processor import Processor
from ..processors.registry import decoded
from .tool import own_python

# The names that GCC and Clang look for, by default and with -fuse-ld=; Clang takes any ending (-fuse-ld=lld-16).
LINKERS = ("ld", "ld.bfd", "ld.gold", "ld.lld", "ld.mold")
# A proof that the script is called links nothing, and needs no Python.
SCRIPT = """#!/bin/sh
case " $* " in *" {proof} "*) exit 0 ;; esac
exec {command} "$@"
"""
LINKER = re.compile(r"ld\.(?!so)[a-z]+(-[\d.]+)?")
# The run-time library of each Fortran compiler, by Meson's name of it: targets that link kernels do not know of it.
RUNTIMES = {"gcc": "gfortran"}


def find_linkers(compiler: Compiler, mode: str, processor: Processor, limit: Limit, cache: Cache) -> LinkAudit:
    """Return the linkers whose places the scripts take, for an audit of `mode`: error, warn, off, or unreached.

    Nothing is raised where links cannot be audited: people can still call `isagen audit`, and the matrix says why.
    """
    if mode == "off":
        return LinkAudit(mode, reason="switched off by the Meson option isa_audit")
    if limit.opaque:
        return LinkAudit(mode, reason="isagen does not read what this build links")
    undecoded = LinkAudit(mode, reason=f"only code for {decoded()} is decoded")
    if processor.decodable is None or processor.decoder_folder is None:
        return undecoded
    if mode == "unreached":
        return LinkAudit(
            mode, reason=f"{compiler.name}, as this build calls it, does not take its linker from where -B says"
        )
    if not processor.decodable.is_made_under(bare_macros(compiler)):
        return undecoded
    if processor.decoder_folder() is None:
        return LinkAudit(mode, reason=f"{processor.decodable.distribution} is not installed")
    linkers = _programs(compiler, linker_names(), cache)
    return LinkAudit(mode, linkers) if linkers else LinkAudit(mode, reason=f"{compiler.name} has no linker")


def _programs(compiler: Compiler, names: Sequence[str], cache: Cache) -> dict[str, str]:
    """Return the paths of the tools of a compiler's toolchain that there are, by name: one run of it for each."""
    there = {name: path for name in names if (path := shutil.which(name))}
    state = [(name, path, states_of([path])) for name, path in there.items()]
    key = Cache.key(["linkers", PROBE_FORMAT, compiler.identity, compiler.command, os.get_exec_path(), names, state])
    kept = cache.get(key)
    if isinstance(kept, dict) and all(map(os.path.isfile, kept.values())):
        return kept
    from concurrent.futures import ThreadPoolExecutor  # nothing kept: the probes have loaded it

    with ThreadPoolExecutor() as pool:
        paths = pool.map(functools.partial(compiler.program, kept=True), names)
        found = {name: path for name, path in zip(names, paths, strict=True) if path}
    cache.put(key, found)
    return found


def linker_names() -> list[str]:
    """Return the names of linkers that a compiler may call."""
    return sorted({*LINKERS, *_in_folders(tuple(os.get_exec_path()))})


@functools.cache
def _in_folders(folders: Sequence[str]) -> frozenset[str]:
    """Return the names of linkers in folders."""
    found: set[str] = set()
    for folder in folders:
        with suppress(OSError):
            found.update(name for name in os.listdir(folder) if name.startswith("ld.") and LINKER.fullmatch(name))
    return frozenset(found)


def write_linkers(audit: LinkAudit, output: Path, plan_file: str) -> Path:
    """Write a script in the place of each linker: it links, then audits. Return their folder, below `output`."""
    folder = output / linkers_folder(plan_file, audit.mode)
    tool, plan = output / TOOL_FOLDER / TOOL_MAIN, output / plan_file
    for name, linker in audit.linkers.items():
        words = (own_python(), "-I", "-S", str(tool), "link", str(plan), audit.mode, linker)
        command = " ".join(map(shlex.quote, words))
        write_if_changed(folder / name, SCRIPT.format(proof=LINK_PROOF, command=command), mode=0o777)
    return folder


def linking_compiler(compilers: Sequence[Compiler]) -> Compiler:
    """Return the compiler that links what the kernels go into: the last that is not Fortran's."""
    return [compiler for compiler in compilers if compiler.language != "fortran" or len(compilers) == 1][-1]


def libraries(compilers: Sequence[Compiler]) -> list[str]:
    """Return the run-time library of the Fortran compiler, and the folder where it says that it is."""
    for compiler in compilers:
        name = RUNTIMES.get(compiler.id, "") if compiler.language == "fortran" else ""
        if name:
            path = Path(compiler.run([f"-print-file-name=lib{name}.so"]).out.strip())
            return [name, path.parent.as_posix()] if path.is_absolute() else [name]
    return []
