"""What each compiler at hand builds of each table: a level whose oldest compiler is not newer is built."""

from pathlib import Path

import pytest

from isagen.probe.cache import NO_CACHE
from isagen.probe.compiler import find_compiler
from isagen.probe.probe import probe_all
from isagen.processors.table import load_table
from support.projects import need
from support.what_ran import BUILT_BY, TABLE_COMPILERS

# Intrinsics of GCC 12 pass the stride of tiles as a long, which has 32 bits on Windows.
KNOWN = {("mingw gcc", "AMX")}


@pytest.mark.parametrize(
    ("name", "compiler"), [(name, compiler) for name, known in TABLE_COMPILERS.items() for compiler in known]
)
def test_levels(cell, name, compiler):
    words = TABLE_COMPILERS[name][compiler]
    need(words[0])
    table, one = load_table(name, Path()), find_compiler("cpp", words)
    for (level, _), verdict in probe_all(table, [one], NO_CACHE).items():
        cell(BUILT_BY.format(name), level, compiler, "built" if verdict.available else verdict.reason)
        assert verdict.available or "is older than" in verdict.reason or (compiler, level) in KNOWN, verdict.reason
