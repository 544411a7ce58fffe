"""A compiler of C or C++ for macOS on arm64: Clang 16 compiles, with zig's headers of macOS, and zig links.

zig takes no -march on arm64, and Debian has no linker that reads zig's libSystem. Run with `c` or `cpp`, and the
compiler's arguments.
"""

import os
import sys
from pathlib import Path

import ziglang

ONLY_COMPILES = {"-c", "-E", "-S", "-dM", "-fsyntax-only"}
COMPILERS = {"c": ["clang-16"], "cpp": ["clang++-16", "-nostdinc++", "-isystem", "/usr/lib/llvm-16/include/c++/v1"]}

language, *arguments = sys.argv[1:]
if ONLY_COMPILES.intersection(arguments):
    headers = Path(ziglang.__file__).parent / "lib/libc/include/any-darwin-any"
    words = [*COMPILERS[language], "--target=arm64-apple-macos13", "-isystem", str(headers)]
    words.append("-Wno-unused-command-line-argument")
else:
    # Its runtime of UBSan, which nothing here needs, would be compiled first.
    words = [sys.executable, "-m", "ziglang", "c++", "-target", "aarch64-macos", "-nostdlib++"]
    words.append("-fno-sanitize=undefined")
os.execvp(words[0], [*words, *arguments])
