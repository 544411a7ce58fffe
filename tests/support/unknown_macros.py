"""Macros that compilers predefine for a CPU or an option, and that isagen's data does not know.

python tests/support/unknown_macros.py gcc-12 "clang-22 --target=aarch64-linux-gnu"

prints each such macro, with some of the flags that define it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from isagen.probe.compiler import Compiler, find_compiler
from isagen.processors.features import read_features
from isagen.processors.registry import family_under, processor_of_family

# Options of another ABI or environment, which change macros that are not about instructions.
OTHER_ABI = {"-m16", "-m32", "-mandroid", "-mbionic", "-mgeneral-regs-only", "-miamcu", "-mlong-double-128"}
OTHER_ABI |= {"-mlong-double-64", "-msoft-float", "-mthreads", "-municode", "-mx32"}
PLAIN_OPTION = re.compile(r"-m(?!no-)[a-z0-9][a-z0-9._-]*\Z")


def cpus(compiler: Compiler, option: str = "-march=") -> list[str]:
    """Return the words that an option takes: compilers list them after a wrong one."""
    said = compiler.run([f"{option}isagen-unknown", "-E", "-x", "c", "/dev/null"]).err
    found = re.search(r"(?:valid arguments (?:to .-march=. switch )?are:|valid target CPU values are:)(.*)", said)
    return [name for name in re.split(r"[\s,;]+", found[1] if found else "") if name and name != "native"]


def options(compiler: Compiler) -> list[str]:
    """Return the options without a value that start with -m."""
    text = compiler.run(["--autocomplete=-m"] if compiler.id == "clang" else ["-Q", "--help=target"]).out
    words = [word for line in text.splitlines() for word in line.split()[:1] if PLAIN_OPTION.match(word)]
    return [word for word in words if word not in OTHER_ABI]


def arm64_cpus(compiler: Compiler) -> list[str]:
    """Return the names that `-mcpu=` takes."""
    if compiler.id != "clang":
        return cpus(compiler, "-mcpu=")
    said = compiler.run(["--print-supported-cpus"])
    return re.findall(r"^\t([a-z][\w-]*)$", said.out + said.err, re.MULTILINE)


def unknown_macros(compiler: Compiler) -> Iterator[tuple[str, list[str]]]:
    """Yield each macro of the compiler that the data of its processor lacks, with the flags that define it."""
    family = family_under(compiler.baseline_macros)
    features = read_features(processor_of_family(family).name)
    if family == "aarch64":
        flags = [f"-mcpu={name}" for name in arm64_cpus(compiler)]
    else:
        flags = [*(f"-march={name}" for name in cpus(compiler)), *options(compiler)]
    assert len(flags) > 40, f"{compiler.name} lists too little: {flags}"
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
