"""`isagen demo`: where it cannot start, and its table of levels."""

import pytest

from isagen.model.errors import ProjectError
from isagen.project.demo import _compared, run_demo


@pytest.mark.parametrize(("variable", "names"), [("", r"c\+\+, g\+\+, clang\+\+"), ("ccc -m64", "ccc")])
def test_no_compiler(tmp_path, monkeypatch, variable, names):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CXX", variable)
    with pytest.raises(ProjectError, match=f"no C\\+\\+ compiler is installed: {names}"):
        run_demo(tmp_path / "kept")
    assert not (tmp_path / "kept").exists()


def test_the_table_of_levels_fits_sixty_columns():
    rows = [("DEFAULT", "DEFAULT", -4274108, 7.42e-6), ("AVX512_VNNI", "AVX512_VNNI", -4274108, 1234.56e-6)]
    lacking = "amx_bf16 avx512_fp16 amx_tile amx_int8"
    others = {"AMX": (True, False, f"{lacking} avx512_vbmi"), "AVX10": (False, True, "")}
    assert _compared(rows, others, 60).splitlines() == [
        "level        ran          dot(a, b)       time   speed",
        "DEFAULT      DEFAULT       -4274108    7.42 us    1.0x",
        "AVX512_VNNI  AVX512_VNNI   -4274108 1234.56 us    0.0x",
        f"AMX          missing: {lacking}",
        "             avx512_vbmi",
        "AVX10        not built",
    ]
