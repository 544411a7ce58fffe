"""ISA tables: their meaning, extension, and errors."""

from pathlib import Path

import pytest

from isagen.model.errors import TableError
from isagen.processors.flags import reject_flag
from isagen.processors.registry import processor_of_family
from isagen.processors.sources import Condition, Source
from isagen.processors.table import Table, load_table


def level(name: str, rank: int, *lines: str) -> str:
    return "\n".join(
        [
            f"[levels.{name}]",
            f"rank = {rank}",
            "vector_bits = 128",
            'probe = "return argc;"',
            *lines,
            "flags.gnu = []",
            "",
        ]
    )


def load(folder: Path, *levels: str, head: str = 'features = "x86"', tail: str = "") -> Table:
    (folder / "own.toml").write_text("\n".join([head, *levels, tail]), encoding="utf-8")
    return load_table("own.toml", folder, "isa.toml: table")


# ---- what a table means


def test_levels_are_ordered_by_rank_whatever_the_order_in_the_file(tmp_path):
    table = load(tmp_path, level("C", 9), level("A", -1), level("B", 5))
    assert table.names() == ("A", "B", "C")
    assert table.lowest.name == "A"
    assert table.name == "own"
    assert table.files == ((tmp_path / "own.toml").resolve(),)


def test_levels_are_a_partial_order():
    table = load_table("x86", Path())
    below = {name: {lower.name for lower in table.below(name)} for name in table.names()}
    assert below["DEFAULT"] == set()
    assert below["AVX2_VNNI"] == {"DEFAULT", "AVX2"}
    assert below["AVX512"] == {"DEFAULT", "AVX2"}  # not AVX2_VNNI, which ranks lower
    assert "AVX2_VNNI" not in below["AVX512_FP16"]
    for name, lower in below.items():
        assert name not in lower
        assert all(below[one] <= lower for one in lower)


def test_required_features_are_those_of_all_levels_below(tmp_path):
    table = load(
        tmp_path,
        level("A", 0, 'features = ["sse3"]'),
        level("B", 1, 'features = ["avx"]'),
        level("C", 2, 'requires = ["B"]', 'features = ["avx2", "avx"]'),
    )
    assert set(table.required_features("B")) == {"sse3", "avx"}
    assert sorted(table.required_features("C")) == ["avx", "avx2", "sse3"]


def test_a_level_of_another_width_is_not_implied(tmp_path):
    text = [
        level("A", 0),
        level("B", 1).replace("128", "256"),
        level("C", 2, 'requires = ["B"]', 'defines = ["OWN=1"]').replace("128", "256"),
        level("D", 3, 'requires = ["C"]').replace("128", "512"),
    ]
    table = load(tmp_path, *text)
    assert set(table.defines("A")) == {"CPU_CAPABILITY=A", "CPU_CAPABILITY_A"}
    assert set(table.defines("C")) == {"OWN=1", "CPU_CAPABILITY=C", "CPU_CAPABILITY_C", "CPU_CAPABILITY_B"}
    assert set(table.defines("D")) == {"OWN=1", "CPU_CAPABILITY=D", "CPU_CAPABILITY_D"}


def test_macros_accumulate_unless_a_level_drops_them(tmp_path):
    table = load(
        tmp_path,
        level("A", 0, 'defines = ["ALL"]'),
        level("B", 1, 'defines = ["WIDTH=8", "FAST"]'),
        level("C", 2, 'requires = ["B"]', 'defines = ["WIDTH=16"]', 'drop_defines = ["FAST"]'),
        level("D", 3, 'requires = ["C"]'),
        level("E", 4, 'defines = ["FAST"]'),
    )
    own = {one: {macro for macro in table.defines(one) if not macro.startswith("CPU_")} for one in "ABCDE"}
    assert own == {
        "A": {"ALL"},
        "B": {"ALL", "WIDTH=8", "FAST"},
        "C": {"ALL", "WIDTH=16"},
        "D": {"ALL", "WIDTH=16"},
        "E": {"ALL", "FAST"},
    }


def test_unknown_level_is_a_key_error():
    with pytest.raises(KeyError):
        load_table("x86", Path()).level("AVX3")


def test_extra_features_and_ignored_macros_of_a_table(tmp_path):
    table = load(
        tmp_path,
        level("A", 0, 'features = ["novel"]'),
        head='features = "x86"\nignored_macros = ["__MINE_*"]',
        tail='[extra_features]\nnovel = { cpuid = [7, 1, "eax", 30], state = "avx", macros = ["__NOVEL__"] }',
    )
    found = table.features.of_macro("__NOVEL__")
    assert found is not None
    assert (found.name, found.conditions) == ("novel", (Condition(Source("cpuid", (7, 1, "eax")), low=30),))
    assert table.features.ignores("__MINE_TOO__")
    assert table.features.ignores("__tune_core2__")  # the features file's own stay
    assert not table.features.ignores("__AVX__")


@pytest.mark.parametrize(
    ("family", "name"),
    [("x86_64", "x86"), ("aarch64", "arm64"), ("riscv64", "riscv64"), ("mips64", "generic")],
)
def test_default_table(family, name):
    assert processor_of_family(family).name == name


# ---- extends


def test_extending_changes_adds_and_drops_by_name(tmp_path):
    table = load(
        tmp_path,
        "[levels.AVX2]\ndefines = ['FAST']",
        level("TOP", 99, 'requires = ["AVX512"]'),
        head='extends = "x86"\ndrop = ["AVX2_VNNI"]\noverride = "MY_ISA"',
    )
    base = load_table("x86", tmp_path)
    assert table.names() == (*(n for n in base.names() if n != "AVX2_VNNI"), "TOP")
    assert table.level("AVX2").defines == ("FAST",)
    assert table.level("AVX2").flags == base.level("AVX2").flags
    assert (table.override, table.prologue) == ("MY_ISA", base.prologue)


def test_extended_path_starts_at_the_extending_file(tmp_path):
    (tmp_path / "tables").mkdir()
    load(tmp_path / "tables", level("A", 0))
    (tmp_path / "tables" / "upper.toml").write_text('extends = "own.toml"\n' + level("B", 1))
    table = load_table("tables/upper.toml", tmp_path)
    assert table.names() == ("A", "B")
    assert {path.name for path in table.files} == {"upper.toml", "own.toml"}


@pytest.mark.parametrize(
    ("files", "chain"),
    [
        ({"own": "own"}, "own -> own"),
        ({"own": "b", "b": "c", "c": "own"}, "own -> b -> c -> own"),
        ({"own": "b", "b": "c", "c": "b"}, "b -> c -> b"),
    ],
)
def test_tables_that_extend_in_a_circle(tmp_path, files, chain):
    for name, lower in files.items():
        (tmp_path / f"{name}.toml").write_text(f'extends = "{lower}.toml"\n')
    with pytest.raises(TableError, match=f"circle: {chain}$"):
        load_table("own.toml", tmp_path)


# ---- bad input: every error names file and key, and says what to do

A, B = level("A", 0), level("B", 1)
BAD = {
    "unknown key": ([A, level("B", 1, "require = []")], "levels.B.require", "unknown key", "did you mean 'requires'?"),
    "unknown top key": (["overide = 'X'", A], "overide", "unknown key", "did you mean 'override'?"),
    "cycle": (
        [A, level("B", 1, 'requires = ["C"]'), level("C", 2, 'requires = ["B"]')],
        "levels.B.requires",
        "C does not rank below B",
        "a level ranks above what it requires",
    ),
    "requires itself": ([A, level("B", 1, 'requires = ["B"]')], "levels.B.requires", "B does not rank below B", ""),
    "unknown required level": (
        [A, level("AVX2", 1), level("C", 2, 'requires = ["AVX3"]')],
        "levels.C.requires",
        "there is no level 'AVX3'",
        "did you mean 'AVX2'?",
    ),
    "requires a higher rank": ([A, level("B", 1, 'requires = ["C"]'), level("C", 2)], "levels.B.requires", "rank", ""),
    "lowest requires": ([level("A", 0, 'requires = ["B"]'), B], "levels.A.requires", "", ""),
    "duplicate rank": ([A, B, level("C", 1)], "levels.C.rank", "is also the rank of B", "ranks must differ"),
    "lower-case name": ([level("avx2", 0)], "levels.avx2", "'avx2' cannot be a level's name", "capitals"),
    "double underscore": ([level("A__B", 0)], "levels.A__B", "cannot be a level's name", ""),
    "digit first": ([level("5A", 0)], "levels.5A", "cannot be a level's name", ""),
    "trailing underscore": ([level("A_", 0)], "levels.A_", "cannot be a level's name", ""),
    "unknown feature": ([level("A", 0, 'features = ["avx3"]')], "levels.A.features", "'avx3'", "did you mean"),
    "native flag": (
        [level("A", 0, 'optional_flags.gnu = ["-march=native"]')],
        "levels.A.optional_flags.gnu",
        "-march=native would build for the CPU of this machine",
        "name the instruction sets",
    ),
    "unknown dialect": ([level("A", 0, "optional_flags.gmu = []")], "levels.A.optional_flags.gmu", "unknown", "'gnu'"),
    "bad minimum": ([level("A", 0, 'minimum.gcc = "new"')], "levels.A.minimum.gcc", "'new' is not a version", "12.1"),
    "rank is no integer": ([A.replace("rank = 0", "rank = true")], "levels.A.rank", "must be an integer", ""),
    "dropped": ([A, level("B", 1, 'drop_defines = ["ODD"]')], "levels.B.drop_defines", "no macro", ""),
    "no probe": ([A.replace("probe =", "defines =")], "levels.A.probe", "is missing", "give it as a string"),
    "no levels": ([""], "levels", "the table has no levels", "[levels.DEFAULT]"),
    "levels is no table": (["levels = 1"], "levels", "must be a table, not 1", ""),
}  # fmt: skip


@pytest.mark.parametrize(("levels", "key", "message", "remedy"), BAD.values(), ids=BAD)
def test_bad_table(tmp_path, levels, key, message, remedy):
    with pytest.raises(TableError) as caught:
        load(tmp_path, *levels)
    assert caught.value.where == f"own.toml: {key}"
    assert message in caught.value.message
    assert remedy in caught.value.remedy


@pytest.mark.parametrize(
    ("head", "key", "message", "remedy"),
    [
        ("", "features", "is missing", "a string"),
        ('features = "x68"', "features", "there is no features file 'x68'", "did you mean 'x86'?"),
        ('features = "x86"\nextends = 3', "extends", "must be a string", ""),
        ('extends = "x68"', "extends", "there is no table 'x68'", "did you mean 'x86'?"),
        ('extends = "x86"\ndrop = ["AVX3"]', "drop", "there is no level 'AVX3'", "did you mean 'AVX2'?"),
        ('extends = "x86"\ndrop = "AVX3"', "drop", "there is no level 'AVX3'", ""),
        ('extends = "x86"\ndrop = [["AVX2"]]', "drop", "", ""),
        ('extends = "x86"\ndrop = ["AVX2"]', "levels.AVX2_VNNI.requires", "there is no level 'AVX2'", ""),
    ],
)
def test_bad_head(tmp_path, head, key, message, remedy):
    with pytest.raises(TableError) as caught:
        load(tmp_path, level("LOW", -1), head=head)
    assert caught.value.where == f"own.toml: {key}"
    assert message in caught.value.message
    assert remedy in caught.value.remedy


@pytest.mark.parametrize(
    "cpuid",
    [
        '"7"',
        "[]",
        '[7, 0, "ebx"]',
        '[7, 0, "rbx", 5]',
        '[7, 0, "ebx", 32]',
        '[-7, 0, "ebx", 5]',
        '["7", 0, "ebx", 5]',
        '[7, 0, ["ebx"], 5]',
        '[7, 0, "ebx", true]',
    ],
)
def test_bad_cpuid(tmp_path, cpuid):
    with pytest.raises(TableError) as caught:
        load(tmp_path, A, tail=f"[extra_features]\nnovel = {{ cpuid = {cpuid} }}")
    assert caught.value.where == "own.toml: extra_features.novel.cpuid"


def test_unknown_state_of_a_feature(tmp_path):
    with pytest.raises(TableError, match=r"extra_features\.novel\.state: there is no state 'avx51'\n.*'avx512'"):
        load(tmp_path, A, tail='[extra_features]\nnovel = { cpuid = [7, 0, "ebx", 5], state = "avx51" }')


@pytest.mark.parametrize(
    ("reference", "remedy"),
    [
        ("x68", "did you mean 'x86'?"),
        ("no/such.toml", "looked for"),
        (
            "no_such.toml",
            "arm64, armv8, aten, aten-arm64, generic, ipex, loongarch64, numpy, ppc64, riscv64, rva, s390x, sse, x86, "
            "x86-64, z",
        ),
    ],
)
def test_absent_table_says_who_asked_for_it(tmp_path, reference, remedy):
    with pytest.raises(TableError) as caught:
        load_table(reference, tmp_path, "isa.toml: table")
    assert caught.value.where == "isa.toml: table"
    assert reference in caught.value.message
    assert remedy in caught.value.remedy


@pytest.mark.parametrize("flag", ["-march=native", "-mtune=native", "-mcpu=native", "-xHost", "/QxHost"])
def test_host_flags_are_refused(flag):
    with pytest.raises(TableError, match=r"isa\.toml: args: .* CPU of this machine"):
        reject_flag(flag, "isa.toml: args", TableError)


@pytest.mark.parametrize("flag", ["-march=nativeish", "-march=x86-64-v3", "-mavx2", "-DX=-march=native"])
def test_other_flags_are_not(flag):
    reject_flag(flag, "isa.toml: args", TableError)


@pytest.mark.parametrize("flag", ["-flto", "-flto=thin", "-flto=auto", "-flto=8", "/GL", "-GL"])
def test_flags_that_ask_for_lto_are_refused(tmp_path, flag):
    with pytest.raises(TableError, match=r"isa\.toml: args: .* asks for link-time optimisation"):
        reject_flag(flag, "isa.toml: args", TableError)
    (tmp_path / "own.toml").write_text(f'extends = "x86"\n[levels.AVX2]\nflags.gnu = ["-mavx2", "{flag}"]\n')
    with pytest.raises(TableError, match=r"own\.toml: levels\.AVX2\.flags\.gnu: .* asks for link-time optimisation"):
        load_table("own.toml", tmp_path)


@pytest.mark.parametrize("flag", ["-fno-lto", "-ffat-lto-objects", "-flto-partition=none", "-DX=-flto", "-GLX"])
def test_flags_without_lto_are_not(flag):
    reject_flag(flag, "isa.toml: args", TableError)


def test_tables_that_extend_each_other_add_features_and_ignored_macros(tmp_path):
    (tmp_path / "a.toml").write_text(
        'extends = "x86"\nignored_macros = ["__A__"]\n'
        '[extra_features]\nfoo = { cpuid = [7, 2, "edx", 1], macros = ["__FOO__"] }\n'
    )
    (tmp_path / "b.toml").write_text(
        'extends = "a.toml"\nignored_macros = ["__B__"]\n[extra_features]\nbar = { cpuid = [7, 2, "edx", 2] }\n'
        '[levels.AVX2]\nfeatures = ["foo", "bar"]\n'
    )
    table = load_table("b.toml", tmp_path)
    assert table.level("AVX2").features == ("foo", "bar")
    assert table.features.ignores("__A__")
    assert table.features.ignores("__B__")


def test_a_table_of_too_many_levels(tmp_path):
    level = '[levels.L{0}]\nrank = {0}\nvector_bits = 128\nprobe = "return 0;"\n'
    (tmp_path / "big.toml").write_text('features = "x86"\n' + "".join(level.format(i) for i in range(65)))
    with pytest.raises(TableError, match="the table has 65 levels"):
        load_table("big.toml", tmp_path)
