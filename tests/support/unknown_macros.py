"""Macros that compilers predefine for a CPU or an option, and that isagen's data does not know.

python tests/support/unknown_macros.py gcc-12 clang-16   each such macro, with the flags that define it
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from isagen.probe.compiler import Compiler, find_compiler
from isagen.processors.table import load_table

# Options of another ABI or environment, which change macros that are not about instructions.
OTHER_ABI = {"-m16", "-m32", "-mandroid", "-mbionic", "-mgeneral-regs-only", "-miamcu", "-mlong-double-128"}
OTHER_ABI |= {"-mlong-double-64", "-msoft-float", "-municode", "-mx32"}
PLAIN_OPTION = re.compile(r"-m(?!no-)[a-z0-9][a-z0-9._-]*\Z")


def cpus(compiler: Compiler) -> list[str]:
    """Return the names that `-march=` takes: compilers list them after a wrong one."""
    said = compiler.run(["-march=isagen-unknown", "-E", "-x", "c", "/dev/null"]).err
    found = re.search(r"(?:valid arguments to .-march=. switch are:|valid target CPU values are:)(.*)", said)
    return [name for name in re.split(r"[\s,;]+", found[1] if found else "") if name and name != "native"]


def options(compiler: Compiler) -> list[str]:
    """Return the options without a value that start with -m."""
    text = compiler.run(["--autocomplete=-m"] if compiler.id == "clang" else ["-Q", "--help=target"]).out
    words = [word for line in text.splitlines() for word in line.split()[:1] if PLAIN_OPTION.match(word)]
    return [word for word in words if word not in OTHER_ABI]


def unknown_macros(compiler: Compiler, table: str = "x86") -> Iterator[tuple[str, list[str]]]:
    """Yield each macro of the compiler that the table's data lacks, with the flags that define it."""
    features = load_table(table, Path()).features
    flags = [*(f"-march={name}" for name in cpus(compiler)), *options(compiler)]
    assert len(flags) > 50, f"{compiler.name} lists too little: {flags}"
    found: dict[str, list[str]] = {}
    with ThreadPoolExecutor() as pool:
        for flag, (macros, outcome) in zip(flags, pool.map(lambda flag: compiler.macros([flag]), flags), strict=True):
            for macro in features.unknown(macros, compiler.baseline_macros) if outcome.ok else ():
                found.setdefault(macro, []).append(flag)
    yield from sorted(found.items())


def main(commands: Sequence[str]) -> int:
    """List the unknown macros of each compiler; return 1 if there are any."""
    count = 0
    for command in commands:
        compiler = find_compiler("c", command.split())
        for macro, flags in unknown_macros(compiler):
            count += 1
            print(f"{compiler.name}: {macro}: {' '.join(flags[:4])}{' ...' if len(flags) > 4 else ''}")
    return count > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
