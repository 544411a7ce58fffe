"""What each compiler at hand builds of each table: a level is built, or the reason is one that is expected."""

import re
import shutil
from pathlib import Path

import pytest

from isagen.probe.cache import Cache
from isagen.probe.compiler import find_compiler
from isagen.probe.probe import probe_all
from isagen.processors.registry import builtin_tables
from isagen.processors.table import load_table
from support.projects import need
from support.what_ran import BUILT_BY, TABLE_COMPILERS

# What a reason says, by table ("" for all) and the compilers whose name starts so.
EXPECTED = {
    ("", ""): "is older than",
    # Intrinsics of GCC 12 pass the stride of tiles as a long, which has 32 bits on Windows.
    ("x86", "mingw gcc"): "is not a valid base/index expression",
    ("ipex", "mingw gcc"): "is not a valid base/index expression",
    ("sse", "mingw gcc"): "is not a valid base/index expression",
    # zig takes -march= and -mcpu= for CPUs of its own names.
    ("", "zig"): "unknown CPU",
}


def test_each_table_with_levels_is_tried():
    """The tables armv8, rva and z are for baselines of the audit."""
    assert {*TABLE_COMPILERS, "armv8", "rva", "z", "generic"} == {*builtin_tables()}


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """Of the verdicts: tables share levels."""
    return Cache(tmp_path_factory.mktemp("verdicts"))


@pytest.mark.parametrize(
    ("name", "compiler"), [(name, compiler) for name, known in TABLE_COMPILERS.items() for compiler in known]
)
def test_levels(cell, cache, name, compiler):
    words = TABLE_COMPILERS[name][compiler]
    grid = BUILT_BY.format(name)
    for level in load_table(name, Path()).names() if shutil.which(words[0]) is None else ():
        cell(grid, level, compiler)
    triplets = [word.removeprefix("--target=") for word in words if word.startswith("--target=")]
    need(words[0], *(f"{triplet}-g++" for triplet in triplets))  # whose linker and libraries Clang takes
    if compiler == "zig":
        pytest.importorskip("ziglang")
    table, one = load_table(name, Path()), find_compiler("cpp", words)
    expected = "|".join(
        text for (of, start), text in EXPECTED.items() if of in ("", name) and compiler.startswith(start)
    )
    for (level, _), verdict in probe_all(table, [one], cache).items():
        cell(grid, level, compiler, "built" if verdict.available else verdict.reason)
        assert verdict.available or re.search(expected, verdict.reason), verdict.reason
