"""The tables and features that come with isagen."""

from pathlib import Path

import pytest

from isagen.processors.registry import builtin_tables
from isagen.processors.table import load_table


@pytest.mark.parametrize("name", builtin_tables())
def test_builtin_tables_load(name):
    table = load_table(name, Path())
    assert table.files == ()
    assert all(level.probe.strip() for level in table.levels)


def test_no_two_features_share_a_bit_or_a_macro():
    features = load_table("x86", Path()).features
    places = [f.conditions for f in features.features.values()]
    macros = [macro for f in features.features.values() for macro in f.macros]
    assert len(set(places)) == len(places)
    assert len(set(macros)) == len(macros)
    assert not [macro for macro in macros if features.ignores(macro)]


@pytest.mark.parametrize(
    ("prefix", "state"), [("avx512_", "avx512"), ("amx_", "amx"), ("avx2", "avx"), ("fma", "avx"), ("f16c", "avx")]
)
def test_vector_features_need_the_state_of_their_registers(prefix, state):
    features = load_table("x86", Path()).features.features.values()
    assert {f.state for f in features if f.name.startswith(prefix)} == {state}


SPLIT = "-mno-avx256-split-unaligned-load -mno-avx256-split-unaligned-store"
F512 = "-mprefer-vector-width=512 -mavx512f -mavx512bw -mavx512vl -mavx512dq -mfma"
FAMX = f"{F512} -mavx512vbmi -mavx512vnni -mavx512bf16 -mamx-tile -mamx-int8 -mamx-bf16"
C = "CPU_CAPABILITY"
# IPEX cmake/cpu/IsaCodegen.cmake at 6d3ba89cf: flags, macros besides the level's own two, oldest GCC, MSVC's /arch.
IPEX = {
    "DEFAULT": (f"-mavx2 -mfma -mf16c {SPLIT}", f"__AVX__ {C}_AVX2", None, "AVX2"),
    "AVX2": (f"-mavx2 -mfma -mf16c {SPLIT}", "__AVX__", None, "AVX2"),
    "AVX2_VNNI": (f"-mavx2 -mavxvnni -mfma -mf16c {SPLIT}", f"__AVX__ {C}_AVX2", "11.2", None),
    "AVX512": (F512, "__AVX512F__", "9.2", "AVX512"),
    "AVX512_VNNI": (f"{F512} -mavx512vnni", f"__AVX512F__ {C}_AVX512", "9.2", None),
    "AVX512_BF16": (
        f"{F512} -mavx512vnni -mavx512bf16",
        f"__AVX512F__ {C}_AVX512 {C}_AVX512_VNNI",
        "10.3",
        None,
    ),
    "AMX": (FAMX, f"__AVX512F__ {C}_AVX512 {C}_AVX512_VNNI {C}_AVX512_BF16", "11.2", None),
    "AVX512_FP16": (
        f"{FAMX} -mavx512fp16",
        f"__AVX512F__ {C}_AVX512 {C}_AVX512_VNNI {C}_AVX512_BF16 {C}_AMX",
        "12.1",
        None,
    ),
}


def test_ipex_levels():
    table = load_table("ipex", Path())
    assert table.names() == tuple(IPEX)
    assert table.override == "ATEN_CPU_CAPABILITY"


@pytest.mark.parametrize("name", IPEX)
def test_ipex_level(name):
    table = load_table("ipex", Path())
    flags, defines, minimum, arch = IPEX[name]
    one = table.level(name)
    assert {*one.flags["gnu"], *one.optional_flags.get("gnu", ())} == set(flags.split())
    assert set(table.defines(name)) == {*defines.split(), f"{C}={name}", f"{C}_{name}"}
    assert one.minimum.get("gcc") == minimum
    assert one.flags.get("msvc") == ((f"/arch:{arch}",) if arch else None)


def test_x86_has_ipex_flags_above_its_own_baseline():
    ours, theirs = load_table("x86", Path()), load_table("ipex", Path())
    shared = [name for name in theirs.names()[1:] if name in ours.names()]
    assert {*IPEX} <= {ours.lowest.name, *shared}
    assert ours.lowest.flags == {"gnu": (), "msvc": ()}
    assert not ours.lowest.features
    for name in shared:
        assert ours.level(name).minimum == theirs.level(name).minimum
        if name not in ("AVX512_FP16", "AMX"):
            assert ours.level(name).flags == theirs.level(name).flags


def test_fp16_and_amx_are_in_another_order_than_in_ipex():
    """Zen 6 has AVX512_FP16 without AMX, and every CPU with AMX has it."""
    ours, theirs = load_table("x86", Path()), load_table("ipex", Path())
    assert "AVX512_FP16" in ours.level("AMX").below
    assert "AMX" in theirs.level("AVX512_FP16").below
    assert set(ours.required_features("AMX")) == set(theirs.required_features("AVX512_FP16"))
    assert not any(name.startswith("amx") for name in ours.required_features("AVX512_FP16"))


def test_aten_level_flags():
    table = load_table("aten", Path())
    assert table.names() == ("DEFAULT", "AVX2", "AVX512")
    assert table.override == "ATEN_CPU_CAPABILITY"
    assert table.lowest.flags["gnu"] == ()
    assert table.level("AVX2") == load_table("x86", Path()).level("AVX2")
    assert table.level("AVX512").flags == {
        "gnu": ("-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512dq", "-mfma"),
        "msvc": ("/arch:AVX512",),
    }


# x86-64 psABI, table 3.1, without OSFXSR and SCE.
PSABI = {
    "X86_64": "cmov cx8 fpu fxsr mmx sse sse2",
    "X86_64_V2": "cx16 lahf_lm popcnt sse3 sse4_1 sse4_2 ssse3",
    "X86_64_V3": "avx avx2 bmi1 bmi2 f16c fma lzcnt movbe osxsave",
    "X86_64_V4": "avx512_f avx512_bw avx512_cd avx512_dq avx512_vl",
}


def test_psabi_levels():
    table = load_table("x86-64", Path())
    assert {level.name: set(level.features) for level in table.levels} == {
        name: set(features.split()) for name, features in PSABI.items()
    }
    assert set(table.required_features("X86_64_V4")) == set(" ".join(PSABI.values()).split())
    names = [level.flags["gnu"] for level in table.levels]
    assert names == [("-march=x86-64",), ("-march=x86-64-v2",), ("-march=x86-64-v3",), ("-march=x86-64-v4",)]


# NumPy meson_cpu/x86/meson.build at 1f90bbb55e: each level's `group`, which becomes NPY_HAVE_X.
NUMPY = {
    "X86_V2": "SSE SSE2 SSE3 SSSE3 SSE41 SSE42 POPCNT LAHF CX16",
    "X86_V3": "AVX AVX2 FMA3 BMI BMI2 LZCNT F16C MOVBE",
    "X86_V4": "AVX512F AVX512CD AVX512VL AVX512BW AVX512DQ AVX512_SKX AVX512F_REDUCE AVX512BW_MASK AVX512DQ_MASK",
    "AVX512_ICL": "AVX512VBMI AVX512VBMI2 AVX512VNNI AVX512BITALG AVX512VPOPCNTDQ AVX512IFMA VAES GFNI VPCLMULQDQ",
    "AVX512_SPR": "AVX512FP16 AVX512BF16",
}


def test_numpy_levels_have_numpys_macros():
    table, groups = load_table("numpy", Path()), []
    assert table.names() == ("DEFAULT", *NUMPY)
    for name, group in NUMPY.items():
        groups += group.split()
        found = {macro.removeprefix("NPY_HAVE_") for macro in table.defines(name) if macro.startswith("NPY_")}
        assert found == set(groups)
