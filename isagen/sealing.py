"""Finding the tools that seal, and proving on a small object that they do."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from .cache import Cache
from .compiler import SUFFIX, Compiler, first_error
from .errors import BuildError, CompilerError
from .steps.objects import defined_symbols
from .steps.seal import call

# Meson's host_machine.system() values whose objects are ELF.
ELF_SYSTEMS = ("android", "dragonfly", "freebsd", "gnu", "linux", "netbsd", "openbsd", "sunos")
# Arguments of the project that choose the machine or its libraries: the joining link needs them too.
TARGET_ARGUMENT = re.compile(r"-m(16|32|64|x32|abi=.*)\Z|--?target=.*|--sysroot=.*|-B.*|--gcc-toolchain=.*")
WEAK_SOURCE = {
    "c": "__attribute__((weak)) int isagen_weak(void) { return 0; }\n",
    "cpp": "inline int isagen_weak() { return 0; }\nint isagen_use() { return isagen_weak(); }\n",
}


@dataclass(frozen=True)
class SealTools:
    """How to join (`link`) and localise (`objcopy`); both empty where sealing cannot be done, with the `reason`."""

    link: tuple[str, ...] = ()
    objcopy: tuple[str, ...] = ()
    reason: str = ""

    @property
    def usable(self) -> bool:
        """Whether levels can be sealed."""
        return not self.reason


def check_system(system: str) -> None:
    """Raise `CompilerError` for a Meson host system whose objects isagen cannot read."""
    if system not in ELF_SYSTEMS:
        raise CompilerError(
            f"objects of {system} cannot be read yet",
            where="host machine",
            remedy=f"isagen builds where objects are ELF: {', '.join(ELF_SYSTEMS)}",
        )


def find_seal_tools(compiler: Compiler, cache: Cache) -> SealTools:
    """Return the sealing tools of the compiler's toolchain, proven on a small object.

    Raises `CompilerError` where levels could be sealed, but the tools for it are missing or fail.
    """
    objcopy = compiler.program("objcopy") or compiler.program("llvm-objcopy") or shutil.which("objcopy")
    if objcopy is None:
        raise _unusable("there is no objcopy")
    target = tuple(arg for arg in compiler.args if TARGET_ARGUMENT.match(arg))
    tools = SealTools(
        link=(*compiler.command, *target, "-nostdlib", "-r", "-Wl,--force-group-allocation"),
        objcopy=(objcopy,),
    )
    state = os.stat(objcopy)
    question = [compiler.identity, compiler.args, tools.link, tools.objcopy, state.st_size, state.st_mtime_ns]
    key = cache.key(["seal", 2, *question])
    reason = cache.get(key)
    if not isinstance(reason, str):
        reason = _try(compiler, tools)
        cache.put(key, reason)
    if reason:
        raise _unusable(reason)
    return tools


def _unusable(reason: str) -> CompilerError:
    return CompilerError(
        f"levels cannot be sealed: {reason}",
        where="seal",
        remedy="install GNU binutils, or build without, -Disa_seal=false: then levels may run each other's code",
    )


def _try(compiler: Compiler, tools: SealTools) -> str:
    """Seal an object with a weak function; return why that did not work, or nothing."""
    with tempfile.TemporaryDirectory(prefix="isagen-") as folder:
        source = Path(folder, f"weak{SUFFIX[compiler.language]}")
        source.write_text(WEAK_SOURCE[compiler.language])
        compiled, joined = Path(folder, "weak.o"), Path(folder, "joined.o")
        outcome = compiler.run([*compiler.quiet_args, "-fno-lto", "-c", str(source), "-o", str(compiled)])
        if not outcome.ok:
            return first_error(outcome.err)
        try:
            call([*tools.link, "-o", str(joined), str(compiled)], "joining objects")
            call([*tools.objcopy, "--localize-symbol=isagen_weak", str(joined)], "making symbols local")
            call([*tools.objcopy, "--localize-symbol=_Z11isagen_weakv", str(joined)], "making symbols local")
            left = [s.name for s in defined_symbols(joined) if "isagen_weak" in s.name]
        except BuildError as problem:
            return " ".join(problem.message.split("\n")[-1:]) or problem.message
        return f"{tools.objcopy[0]} left {left[0]} global" if left else ""
