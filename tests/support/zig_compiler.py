"""zig as a compiler, with Debian's C library where that is installed: zig takes a minute to compile its own.

Run with zig's target, `cc` or `c++`, and the compiler's arguments.
"""

import os
import sys
from pathlib import Path

MINGW = Path("/usr/x86_64-w64-mingw32")
MUSL = Path("/usr/lib/x86_64-linux-musl")
# What zig leaves out beside its own library, and the names that it has for files of MinGW's.
LIBRARIES = ("mingwex", "msvcrt", "kernel32", "moldname", "user32", "advapi32")
NAMES = {"crt2.obj": "crt2.o", "dllcrt2.obj": "dllcrt2.o", "libmingw32.lib": "libmingw32.a"}
ONLY_COMPILES = {"-c", "-E", "-S", "-dM", "-fsyntax-only", "--version"}


def library(folder: Path, headers: Path, objects: Path, of_gcc: Path) -> str:
    """Write the file by which zig finds a C library."""
    fields = {"include_dir": headers, "sys_include_dir": headers, "crt_dir": objects, "gcc_dir": of_gcc}
    empty = dict.fromkeys(("msvc_lib_dir", "kernel32_lib_dir", "darwin_sdk_dir"), "")
    path, own = folder / "libc.txt", folder / f"libc.{os.getpid()}"
    own.write_text("".join(f"{name}={value}\n" for name, value in {**fields, **empty}.items()), encoding="utf-8")
    own.replace(path)
    return str(path)


target, language, *arguments = sys.argv[1:]
words = [sys.executable, "-m", "ziglang", language, "-target", target, "-O2"]
made = Path(os.environ["ZIG_LOCAL_CACHE_DIR"], target)
made.mkdir(parents=True, exist_ok=True)
if target == "x86_64-windows-gnu" and (MINGW / "lib/crt2.o").exists():
    for name, file in NAMES.items():
        if not (made / name).is_symlink():
            own = made / f"{name}.{os.getpid()}"
            own.symlink_to(MINGW / "lib" / file)
            own.replace(made / name)
    os.environ["ZIG_LIBC"] = library(made, MINGW / "include", made, made)
    if not ONLY_COMPILES.intersection(arguments):
        arguments += [str(MINGW / f"lib/lib{name}.a") for name in LIBRARIES]
inputs = [word for word in arguments if word.endswith((".o", ".obj", ".a"))]
if target == "aarch64-windows-gnu" and inputs and "-o" in arguments and not ONLY_COMPILES.intersection(arguments):
    # Nothing runs the program: the same linker leaves undefined what zig's C library has.
    of_windows = ["-m", "arm64pe", "--entry=main", "-Xlink=/force:unresolved"]
    os.execvp("ld.lld-16", ["ld.lld-16", *of_windows, *inputs, "-o", arguments[arguments.index("-o") + 1]])
starts = sorted(Path("/usr/lib/gcc/x86_64-linux-gnu").glob("*/crtbeginT.o"))
if target == "x86_64-linux-musl" and starts and MUSL.is_dir():
    os.environ["ZIG_LIBC"] = library(made, Path("/usr/include/x86_64-linux-musl"), MUSL, starts[-1].parent)
os.execv(words[0], [*words, *arguments])
