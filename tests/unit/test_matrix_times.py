"""Compile times from ninja's log: whatever is in it, and from wherever the build folder is named."""

from pathlib import Path

import pytest

from isagen.matrix.built import _compile_times

COPY = "k.c.AVX2.c"


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
    objects = {("k.c", "AVX2"): Path(folder, *Path(made).parts[1:]), ("other.c", "AVX2"): Path("other.o")}
    assert _compile_times(objects, Path(folder)) == {("k.c", "AVX2"): 1.5}
