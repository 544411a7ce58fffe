"""Flags of levels: accumulation over required levels, and the results of the built-in tables."""

import subprocess
from pathlib import Path

import pytest

from isagen.model.errors import TableError
from isagen.processors.flags import joined
from isagen.processors.registry import builtin_tables
from isagen.processors.table import Table, load_table
from support.projects import need


def load(folder: Path, *levels: str) -> Table:
    """A table of levels A, B, ...; each text holds a level's keys except rank, width and probe."""
    text = "".join(
        f'[levels.{name}]\nrank = {rank}\nvector_bits = 128\nprobe = "return argc;"\n{lines}\n'
        for rank, (name, lines) in enumerate(zip("ABCDE", levels, strict=False))
    )
    (folder / "own.toml").write_text('features = "x86"\n' + text)
    return load_table("own.toml", folder)


def gnu(table: Table) -> dict[str, str]:
    return {level.name: " ".join(level.flags["gnu"]) for level in table.levels if "gnu" in level.flags}


def test_a_level_adds_to_the_flags_of_all_that_it_requires(tmp_path):
    table = load(
        tmp_path,
        "flags.gnu = ['-ma']",
        "flags.gnu = ['-mb']",
        "flags.gnu = ['-mc']\nrequires = ['B']",
        "flags.gnu = ['-md']",
        "flags.gnu = ['-me']\nrequires = ['D', 'C']",
    )
    assert gnu(table) == {"A": "-ma", "B": "-ma -mb", "C": "-ma -mb -mc", "D": "-ma -md", "E": "-ma -mb -mc -md -me"}


def test_flags_that_stand_alone_end_what_is_added(tmp_path):
    table = load(
        tmp_path,
        "flags.gnu = ['-ma']\noptional_flags.gnu = ['-mx']",
        "flags.gnu = ['-mb']",
        "flags.gnu = ['-mc']\nrequires = ['B']\nflags_stand_alone = true",
        "flags.gnu = ['-md']\nrequires = ['C']",
        "flags.gnu = ['-me']\nrequires = ['B', 'C']",
    )
    assert gnu(table) == {"A": "-ma", "B": "-ma -mb", "C": "-mc", "D": "-mc -md", "E": "-ma -mb -mc -me"}
    optional = {level.name: level.optional_flags.get("gnu", ()) for level in table.levels}
    assert optional == {"A": ("-mx",), "B": ("-mx",), "C": (), "D": (), "E": ("-mx",)}


def test_a_family_without_flags_cannot_build_the_level(tmp_path):
    table = load(
        tmp_path,
        "flags = { gnu = ['-ma'], msvc = [] }",
        "flags.gnu = ['-mb']",
        "flags = { gnu = [], msvc = ['/arch:AVX2'] }\nrequires = ['B']",
    )
    assert [sorted(level.flags) for level in table.levels] == [["gnu", "msvc"], ["gnu"], ["gnu", "msvc"]]
    assert table.level("C").flags == {"gnu": ("-ma", "-mb"), "msvc": ("/arch:AVX2",)}


@pytest.mark.parametrize(
    ("lists", "result"),
    [
        (["-ma -mb", "-mc"], "-ma -mb -mc"),
        (["-ma -mb", "-mb -mc"], "-ma -mb -mc"),
        (["-mno-x -my", "-mx", "-mno-x"], "-my -mx -mno-x"),
        (["/arch:AVX2", "/arch:AVX512"], "/arch:AVX512"),
        (["-arch:AVX2 -ma", "-arch:AVX512"], "-ma -arch:AVX512"),
        (["-march=x86-64-v2 -ma", "-march=x86-64-v3"], "-ma -march=x86-64-v3"),
        (["-mprefer-vector-width=256", "-mprefer-vector-width=512"], "-mprefer-vector-width=512"),
        (["-march=armv8-a -mtune=a", "-march=armv9-a"], "-mtune=a -march=armv9-a"),
        (["-Xclang -a -Xclang -b", "-Xclang -c"], "-Xclang -a -Xclang -b -Xclang -c"),
        (["-mllvm -x=1", "-mllvm -y=2 -mllvm -x=1"], "-mllvm -y=2 -mllvm -x=1"),
        (["-DA=1", "-DB=1"], "-DA=1 -DB=1"),
        (["-ma -Xclang"], "-ma -Xclang"),
    ],
)
def test_joined_flags(lists, result):
    assert " ".join(joined([words.split() for words in lists])) == result


def test_flags_stand_alone_is_true_or_false(tmp_path):
    with pytest.raises(TableError, match=r"^own\.toml: levels\.A\.flags_stand_alone: must be true or false, not 1"):
        load(tmp_path, "flags_stand_alone = 1")


# ---- the built-in tables: the resulting flags of each level

SPLIT = "-mno-avx256-split-unaligned-load -mno-avx256-split-unaligned-store"
F512 = "-mavx512f -mavx512bw -mavx512vl -mavx512dq"
WIDE = "-mprefer-vector-width=512 " + F512
VBMI = "-mavx512vbmi -mavx512vnni -mavx512bf16 -mfma -mamx-tile -mamx-int8 -mamx-bf16"
ABOVE_DEFAULT = {
    "AVX2": ("-mavx2 -mfma -mf16c", SPLIT, "/arch:AVX2"),
    "AVX2_VNNI": ("-mavx2 -mavxvnni -mfma -mf16c", SPLIT, None),
    "AVX512": (f"{WIDE} -mfma", None, "/arch:AVX512"),
    "AVX512_VNNI": (f"{WIDE} -mavx512vnni -mfma", None, None),
    "AVX512_BF16": (f"{WIDE} -mavx512vnni -mavx512bf16 -mfma", None, None),
}
X86_ABOVE_BF16 = {
    "AVX512_FP16": (f"{WIDE} -mavx512vnni -mavx512bf16 -mfma", "-mavx512fp16", None),
    "AMX": (f"{WIDE} {VBMI}", "-mavx512fp16", None),
}
IPEX_ABOVE_BF16 = {
    "AMX": (f"{WIDE} {VBMI}", None, None),
    "AVX512_FP16": (f"{WIDE} {VBMI} -mavx512fp16", None, None),
}
V2 = "-msse -msse2 -msse3 -mssse3 -msse4.1 -msse4.2 -mpopcnt -msahf -mcx16"
V3 = f"{V2} -mavx -mavx2 -mfma -mbmi -mbmi2 -mlzcnt -mf16c -mmovbe"
V4 = f"{V3} -mavx512f -mavx512cd -mavx512vl -mavx512bw -mavx512dq"
ICL = f"{V4} -mavx512vbmi -mavx512vbmi2 -mavx512vnni -mavx512bitalg -mavx512vpopcntdq -mavx512ifma -mvaes -mgfni"
SSE = ["-msse2", "-mssse3", "-msse4.1", "-msse4.2 -mpopcnt", "-mavx"]
SSE_STEPS = [" ".join(SSE[: count + 1]) for count in range(len(SSE))]
SSE_ABOVE_AVX = {
    name: (f"{SSE_STEPS[-1]} {ABOVE_DEFAULT[name][0]}", *ABOVE_DEFAULT[name][1:]) for name in ("AVX2", "AVX2_VNNI")
}
NUMPY = {
    "DEFAULT": ("", None, ""),
    "X86_V2": (V2, None, None),
    "X86_V3": (V3, None, "/arch:AVX2"),
    "X86_V4": (V4, None, None),
    "AVX512_ICL": (f"{ICL} -mvpclmulqdq", None, None),
    "AVX512_SPR": (f"{ICL} -mvpclmulqdq -mavx512fp16 -mavx512bf16", None, None),
}
ARMV8 = "-march=armv8.2-a"
MINOR_VERSIONS = ("", "_1", "_2", "_3", "_4", "_5", "_6")
# Per level: gnu flags, optional gnu flags, msvc flags.
FLAGS = {
    "x86": {"DEFAULT": ("", None, ""), **ABOVE_DEFAULT, **X86_ABOVE_BF16},
    "ipex": {"DEFAULT": ABOVE_DEFAULT["AVX2"], **ABOVE_DEFAULT, **IPEX_ABOVE_BF16},
    "aten": {
        "DEFAULT": ("", None, ""),
        "AVX2": ABOVE_DEFAULT["AVX2"],
        "AVX512": (f"{F512} -mfma", None, "/arch:AVX512"),
    },
    "aten-arm64": {
        "DEFAULT": ("", None, None),
        "SVE128": (f"{ARMV8}+sve+bf16 -msve-vector-bits=128", None, None),
        "SVE256": (f"{ARMV8}+sve+bf16 -msve-vector-bits=256", None, None),
    },
    "x86-64": {
        "X86_64": ("-march=x86-64", None, ""),
        "X86_64_V2": ("-march=x86-64-v2", None, None),
        "X86_64_V3": ("-march=x86-64-v3", None, "/arch:AVX2"),
        "X86_64_V4": ("-march=x86-64-v4", None, "/arch:AVX512"),
    },
    "numpy": NUMPY,
    "sse": {
        "DEFAULT": ("", None, ""),
        **{
            name: (flags, None, None)
            for name, flags in zip(("SSE2", "SSSE3", "SSE41", "SSE42", "AVX"), SSE_STEPS, strict=True)
        },
        **ABOVE_DEFAULT,
        **SSE_ABOVE_AVX,
        **X86_ABOVE_BF16,
    },
    "generic": {"DEFAULT": ("", None, "")},
    "armv8": {
        **{f"ARMV8{minor}_A": (f"-march=armv8{minor.replace('_', '.')}-a", None, None) for minor in MINOR_VERSIONS},
        "ARMV9_A": ("-march=armv9-a", None, None),
    },
    "ppc64": {
        "DEFAULT": ("", None, None),
        "POWER9": ("-mcpu=power9", None, None),
        "POWER10": ("-mcpu=power10", None, None),
    },
    "riscv64": {
        "DEFAULT": ("", None, None),
        "ZBB": ("-march=rv64gc_zba_zbb", None, None),
        "V": ("-march=rv64gcv", None, None),
        "ZVFH": ("-march=rv64gcv_zfh_zvfh_zba_zbb", None, None),
    },
    "rva": {
        "RV64GC": ("-march=rv64gc", None, None),
        "RVA22U64": ("-march=rv64gc_zba_zbb_zbs_zfhmin_zicboz", None, None),
        "RVA23U64": (
            "-march=rv64gcv_zba_zbb_zbs_zfhmin_zicboz_zawrs_zcb_zcmop_zfa_zicond_zimop_zvbb",
            *(None, None),
        ),
    },
    "z": {f"Z{one.upper()}": (f"-march=z{one}", None, None) for one in ("EC12", "13", "14", "15")},
    "loongarch64": {"DEFAULT": ("", None, None), "LSX": ("-mlsx", None, None), "LASX": ("-mlsx -mlasx", None, None)},
    "s390x": {
        "DEFAULT": ("", None, None),
        "VX": ("-march=z13", None, None),
        "VXE": ("-march=z14", None, None),
        "VXE2": ("-march=z15", None, None),
    },
    "arm64": {
        "DEFAULT": ("", None, None),
        "DOTPROD": (f"{ARMV8}+dotprod", None, None),
        "FP16": (f"{ARMV8}+dotprod+fp16", None, None),
        "SVE": (f"{ARMV8}+sve", None, None),
        "FP16FML": (f"{ARMV8}+dotprod+fp16fml", None, None),
        "I8MM": (f"{ARMV8}+dotprod+fp16fml+i8mm", None, None),
        "BF16": (f"{ARMV8}+dotprod+fp16fml+i8mm+bf16", None, None),
        "SVE256": (f"{ARMV8}+dotprod+fp16fml+i8mm+bf16+sve -msve-vector-bits=256", None, None),
        "SVE2": (f"{ARMV8}+dotprod+fp16fml+i8mm+bf16+sve2", None, None),
    },
}
# These have the flags above in another order: each turns one instruction set on, whichever comes first.
REORDERED = {"AVX2_VNNI", "AVX512_VNNI", "AVX512_BF16", "AMX", "AVX512_FP16"}


def words(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(text.split())


def test_every_table_has_its_flags_here():
    assert set(FLAGS) == set(builtin_tables())


@pytest.mark.parametrize("name", FLAGS)
def test_flags_of_a_builtin_table(name):
    table = load_table(name, Path())
    assert table.names() == tuple(FLAGS[name])
    for level in table.levels:
        flags, optional, msvc = FLAGS[name][level.name]
        found = level.flags["gnu"]
        if level.name in REORDERED:
            assert sorted(found) == sorted(words(flags))
            assert all(flag.startswith("-m") and not flag.startswith("-mno-") for flag in found)
        else:
            assert found == words(flags)
        assert level.optional_flags.get("gnu") == words(optional)
        assert level.flags.get("msvc") == words(msvc)
        assert "msvc" not in level.optional_flags


@pytest.mark.parametrize("compiler", ["gcc", "gcc-11", "clang-14", "clang-16"])
@pytest.mark.parametrize("name", sorted(REORDERED))
def test_the_order_changes_nothing(name, compiler):
    need(compiler)

    def macros(flags: tuple[str, ...]) -> list[str]:
        command = [compiler, *flags, "-dM", "-E", "-x", "c", "/dev/null"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return sorted(done.stdout.splitlines()) if done.returncode == 0 else [done.stderr]

    assert macros(load_table("x86", Path()).level(name).flags["gnu"]) == macros(words(FLAGS["x86"][name][0]))
