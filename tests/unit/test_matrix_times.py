"""Compile times from ninja's log: whatever is in it, and from wherever the build folder is named."""

from pathlib import Path

import pytest

from isagen.matrix.built import _times
from support.model import build_of, kernel_row, plan_of

COPY = "k.c.AVX2.c"
BUILD = build_of(plan_of(["AVX2"], [kernel_row("k.c", {"AVX2": COPY})]))


@pytest.mark.parametrize("folder", ["build/isagen", "build/isagen/.", "."])
def test_times(tmp_path, monkeypatch, folder):
    here = tmp_path / "build/isagen"
    here.mkdir(parents=True)
    made = f"isagen/libisa_AVX2.a.p/meson-generated_.._{COPY}.o"
    log = (
        f"# ninja log v5\n1\t1501\t0\t{made}\tabc\nx\ty\t0\t{made}\tabc\n7\t\n1\t9\t0\tother/x.p/{COPY}.o\tabc\n\xff\n"
    )
    (tmp_path / "build/.ninja_log").write_text(log, encoding="latin-1")
    monkeypatch.chdir(here if folder == "." else tmp_path)
    assert _times(BUILD, Path(folder)) == {("AVX2", "k.c"): 1.5}
