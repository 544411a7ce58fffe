"""Finding the linkers that a compiler may call, and writing a script in the place of each.

The audit runs after each link, but Meson has no step after a link. GCC and Clang look for their linker first in the
folder that `-B` names; mold's manual recommends `-B` too. Other arguments may override `-B`, such as the one that Meson
adds for CXX_LD. The fragment therefore links a test program with the argument `PROOF`. No linker accepts `PROOF`, so
the link succeeds only if the compiler calls a script. If it calls none, isagen/audit/meson.build can audit targets by a
step of ninja.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from ..binary.formats import format_under
from ..model.files import write_if_changed
from ..model.names import TOOL_FOLDER, TOOL_MAIN
from ..model.plan import BY_TARGETS, UNREAD_LINKS, Limit, LinkAudit
from ..model.plan_file import linkers_folder
from ..probe.compiler import Compiler
from ..processors.processor import Processor
from ..processors.registry import decoded
from .request import Request
from .tool import own_python

# The names of linkers that compilers call by default and for -fuse-ld=. LINKER_NAME matches further ones on PATH, such
# as ld.lld-16, which Clang calls for -fuse-ld=lld-16; ld.so is no linker.
KNOWN_LINKERS = ("ld", "ld.bfd", "ld.gold", "ld.lld", "ld.mold")
PROOF = "--isagen-proof"
SCRIPT = f"""#!/bin/sh
case " $* " in *" {PROOF} "*) exit 0 ;; esac
exec {{command}} "$@"
"""
LINKER_NAME = re.compile(r"ld\.(?!so)[a-z]+(-[\d.]+)?")
BY_SCRIPT = "by a script in the linker's place"
NOT_INSTALLED = "{} is not installed"
# GCC's Fortran run-time library. The compilers of C and C++ do not link it.
RUNTIME = "gfortran"


def find_audit(request: Request, processor: Processor, limit: Limit) -> LinkAudit:
    """Return how links are audited, or the reason why not.

    No audit is no error: users can still call `isagen audit`, and the matrix contains the reason.
    """
    mode, compilers = request.audit, request.compilers
    compiler = [one for one in compilers if one.language != "fortran" or len(compilers) == 1][-1]  # the one that links
    binary_format = format_under(compiler.baseline_macros)
    if limit.opaque or binary_format is None:
        return LinkAudit(mode, UNREAD_LINKS)
    if mode == "off":
        return LinkAudit(mode, "switched off by the Meson option isa_audit")
    decodable = processor.decodable
    if decodable is None or not decodable.is_made_under(compiler.baseline_macros):
        return LinkAudit(mode, f"only code for {decoded()} is decoded")
    if not decodable.installed:
        return LinkAudit(mode, NOT_INSTALLED.format(decodable.distribution))
    linkers: dict[str, str] = {}
    reason = ""
    if not binary_format.links_by_script:
        reason = f"isagen does not take the linker's place where objects are {binary_format.shown}"
    elif not request.reached:
        reason = (
            f"{compiler.name}, as this build calls it, does not look for its linker in the folder that -B names: "
            "perhaps because of another -B or --ld-path, or a ':' in the build folder's path"
        )
    elif not (linkers := _linkers_of(compiler)):
        reason = f"{compiler.name} has no linker"
    if reason and (request.config.parent / "audit/meson.build").is_file():  # the fragment's file for isa_links
        reason = BY_TARGETS
    return LinkAudit(mode, reason or BY_SCRIPT, linkers)


def audit_warnings(audit: LinkAudit, processor: Processor) -> Iterator[str]:
    """Yield a warning for Meson if links are not audited because the decoder is not installed."""
    distribution = processor.decodable.distribution if processor.decodable else ""
    if audit.how == NOT_INSTALLED.format(distribution):
        yield (
            f"isagen: -Disa_audit={audit.mode}, but no link is audited: {audit.how} for the Python that runs isagen; "
            f"pip install {distribution}, or configure with -Disa_audit=off"
        )


def audit_values(request: Request, audit: LinkAudit, folder: str, plan_file: str) -> dict[str, list[str]]:
    """Return the part of the answer about links. `folder` is the fragment's output folder, from the build folder.

    `link_args` name the folder of scripts by a relative path, because Meson copies them to pkg-config files. Meson
    links a test program for each of `proof_languages`, in another folder. This link also gets `link_proof`, which has
    the absolute path.
    """
    scripts, compilers = linkers_folder(plan_file, audit.mode), request.compilers
    return {
        "link_args": [*([f"-B{folder}/{scripts}"] if audit.active else []), *_libraries(compilers)],
        "link_proof": [f"-B{request.output / scripts}", f"-Wl,{PROOF}"],
        "proof_languages": [one.language for one in compilers if one.language != "fortran"] if audit.active else [],
        "audits": ["yes"] if audit.active or audit.of_targets else [],
    }


def _linkers_of(compiler: Compiler) -> dict[str, str]:
    names = set(KNOWN_LINKERS)
    for folder in os.get_exec_path():
        with suppress(OSError):
            names.update(filter(LINKER_NAME.fullmatch, os.listdir(folder)))
    with ThreadPoolExecutor() as pool:
        paths = pool.map(compiler.program, sorted(names))
    return {name: path for name, path in zip(sorted(names), paths, strict=True) if path}


def write_scripts(audit: LinkAudit, output: Path, plan_file: str) -> None:
    """Write a script for each linker: the compiler calls it in the linker's place, and it runs the step link."""
    folder = output / linkers_folder(plan_file, audit.mode)
    tool, plan = output / TOOL_FOLDER / TOOL_MAIN, output / plan_file
    for name, linker in audit.linkers.items():
        words = (own_python(), "-I", "-S", str(tool), "link", str(plan), audit.mode, linker)
        command = " ".join(map(shlex.quote, words))
        write_if_changed(folder / name, SCRIPT.format(command=command), mode=0o777)


def _libraries(compilers: Sequence[Compiler]) -> list[str]:
    for compiler in compilers:
        if compiler.language == "fortran" and compiler.id == "gcc":
            path = Path(compiler.run([f"-print-file-name=lib{RUNTIME}.so"]).out.strip())
            return [path.as_posix() if path.is_absolute() else f"-l{RUNTIME}"]
    return []
