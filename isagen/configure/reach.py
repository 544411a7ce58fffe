"""Whether the compiler takes its linker from where -B says: a test link, kept as verdicts are.

Meson may link otherwise than the compiler alone, with what CC_LD names; and a wrapper or a file of arguments may come
to say something else. Where neither is so, isagen asks once for each compiler; elsewhere the fragment asks with a test
link of Meson's own, in each build folder.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from ..model.files import write_if_changed
from ..model.names import LINK_PROOF
from ..probe.cache import Cache
from ..probe.compiler import SUFFIX, Compiler, note_unkept
from .linkers import SCRIPT

# Part of every key: raise it when the way of asking changes.
FORMAT = 1
# Folders of which every compiler makes a search path as of any other.
PLAIN = re.compile(r"[\w./+-]+", re.ASCII)
# Arguments that name a file of more of them.
OF_FILES = re.compile(r"@|--?specs\b")
# How the linker that GCC takes by itself is asked for: nothing, and CC_LD=bfd.
WAYS = ((), ("-fuse-ld=bfd",))


def is_reached(compilers: Iterable[Compiler], output: Path, cache: Cache) -> bool:
    """Return whether all compilers are known to call a linker that stands in a folder below `output`."""
    return all(_is_kept(compiler, output, cache) for compiler in compilers if compiler.language != "fortran")


def _is_kept(compiler: Compiler, output: Path, cache: Cache) -> bool:
    if compiler.id != "gcc" or compiler.linker != "ld.bfd" or os.statvfs(output).f_flag & os.ST_NOEXEC:
        return False
    if not _is_all_said(compiler):
        return False
    place = "" if PLAIN.fullmatch(output.as_posix()) else output.as_posix()
    whole = [compiler.language, compiler.identity, compiler.command, compiler.args, compiler.link_args]
    key = Cache.key(["reached", FORMAT, *whole, place])
    if cache.get(key) is not True:
        if not _calls_script(compiler, output):
            note_unkept()
            return False
        cache.put(key, True)
    return True


def _is_all_said(compiler: Compiler) -> bool:
    """Return whether nothing but the compiler and its arguments says how it links: no script, no other file."""
    if any(map(OF_FILES.match, (*compiler.command, *compiler.args, *compiler.link_args))):
        return False
    return not any(map(_is_script, filter(None, map(shutil.which, compiler.command))))


def _is_script(program: str) -> bool:
    try:
        with open(program, "rb", 0) as stream:
            return stream.read(2) == b"#!"
    except OSError:  # it may be run, but not read
        return True


def _calls_script(compiler: Compiler, output: Path) -> bool:
    """Link an empty program as a build does, with a script below `output` in the linker's place."""
    with tempfile.TemporaryDirectory(prefix="isagen-", dir=output) as folder:
        source = Path(folder, f"empty{SUFFIX[compiler.language]}")
        write_if_changed(source, "int main(void) { return 0; }\n")
        for name in ("ld", "ld.bfd"):
            write_if_changed(Path(folder, name), SCRIPT.format(proof=LINK_PROOF, command="false"), mode=0o777)
        words = [str(source), "-o", str(Path(folder, "empty")), *compiler.link_args, f"-B{folder}", f"-Wl,{LINK_PROOF}"]
        return all(compiler.run([*compiler.args, *way, *words], kept=True).ok for way in WAYS)
