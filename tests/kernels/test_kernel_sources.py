"""The sources of the reference kernels compile without a warning, at every level, with every compiler."""

import subprocess
import tomllib

import pytest

from isagen.planning.cells import lacking_levels
from isagen.probe.cache import NO_CACHE
from isagen.probe.compiler import find_compiler
from isagen.probe.probe import probe_all
from isagen.processors.table import load_table
from support.checkout import ROOT
from support.pairs import paired
from support.projects import need

TABLE = load_table("x86", ROOT)
LEVELS = tomllib.loads((ROOT / "kernels/isagen/isa.toml").read_text(encoding="utf-8"))["kernels"]
# Replaces isagen's header, for one level.
DISPATCH = """
#define ISA_DECLARE_DISPATCH(type, stub) extern type stub;
#define ISA_REGISTER_DISPATCH(stub, function) decltype(stub) stub = function;
#define ISA_THIS_LEVEL ""
"""


def sources_of(level):
    """The sources that have a copy for a level."""
    for source in sorted((ROOT / "kernels").glob("*.cpp")):
        levels = LEVELS.get(f"kernels/{source.name}", {}).get("levels")
        if levels is None or level in (TABLE.lowest.name, *levels):
            yield source


def compiled(compiler, *more):
    words = [compiler, "-std=c++17", "-fsyntax-only", *more]
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("compiler", "vectors"), paired(["g++", "g++-11", "clang++-14", "clang++-16"], [[], ["-DVECTOR_BYTES=0"]])
)
def test_no_warnings(compiler, vectors, tmp_path):
    # test_ipex.py builds them with g++ and these warnings at all levels, but for the baseline.
    levels = [TABLE.lowest] if compiler == "g++" else TABLE.levels
    need(compiler)
    (tmp_path / "isa_dispatch.h").write_text(DISPATCH, encoding="utf-8")
    warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I", tmp_path, "-I", ROOT / "kernels"]
    count = 0
    verdicts = probe_all(TABLE, [find_compiler("cpp", [compiler])], NO_CACHE)
    for level in levels:
        verdict = verdicts[level.name, "cpp"]
        if not verdict.available:
            continue
        macros = [f"-D{name}" for name in TABLE.defines(level.name, lacking_levels("cpp", verdicts))]
        done = compiled(compiler, *verdict.flags, *warnings, *macros, *vectors, *sources_of(level.name))
        assert done.returncode == 0, f"{level.name}: {done.stderr[:4000]}"
        count += 1
    assert count >= max(1, len(levels) - 1)
