"""Features files: the kinds of features, errors, and AVX10, which has a version."""

import re

import pytest

from isagen.model.errors import TableError
from isagen.processors.detection import detect
from isagen.processors.features import read_features
from isagen.processors.registry import processor_names
from isagen.processors.sources import Condition, Source
from isagen.processors.table import load_table
from isagen.processors.x86.machine import X86Machine

LEVEL = '[levels.A]\nrank = 0\nvector_bits = 128\nprobe = "return argc;"\nflags.gnu = []\n'


@pytest.mark.parametrize(
    ("feature", "key", "message", "remedy"),
    [
        ('macros = ["__A__"]', "cpuid", "is missing", "one of cpuid, hwcap, prctl, windows, sysctl"),
        ("hwcap = [3, 0]", "hwcap", "is no bit or field", "AT_HWCAP2"),
        ("hwcap = [1, 64]", "hwcap", "is no bit or field", ""),
        ("hwcap = [1, [0, 1]]", "hwcap", "is no bit or field", ""),
        ("hwcap = [1]", "hwcap", "is no bit or field", ""),
        ("hwcap = 1", "hwcap", "must be a list", ""),
        ("sysctl = 1", "sysctl", "must be a string", ""),
        ('cpuid = [7, 0, "ebx", [32, 0]]', "cpuid", "is no bit or field", "a field of bits 7 to 0"),
        ('cpuid = [7, 0, "ebx", [7, 8]]', "cpuid", "is no bit or field", ""),
        ('cpuid = [7, 0, "ebx", [7, true]]', "cpuid", "is no bit or field", ""),
        ('cpuid = [7, 0, "ebx", 5], minimum = 2', "minimum", "2 is out of range", "a field of 1 bits holds 1 to 1"),
        ('cpuid = [7, 0, "ebx", [7, 0]], minimum = 256', "minimum", "256 is out of range", "1 to 255"),
        ("hwcap = [1, 0], minimum = 0", "minimum", "0 is out of range", ""),
        ("prctl = [51, [3, 0]], maximum = 16", "maximum", "16 is out of range", "it may be 1 to 15"),
        ("prctl = [51, [3, 0]], minimum = 4, maximum = 3", "maximum", "3 is out of range", "it may be 4 to 15"),
        ("prctl = [0, 0]", "prctl", "is no bit or field", "SVE vectors"),
        ('hwcap = [1, 0], needs = ["avx11"]', "needs", "there is no feature 'avx11' before it", "did you mean"),
        ('hwcap = [1, 0], needs = ["novel"]', "needs", "there is no feature 'novel' before it", ""),
    ],
)
def test_bad_features(tmp_path, feature, key, message, remedy):
    text = 'features = "x86"\n' + LEVEL + f"[extra_features]\nnovel = {{ {feature} }}\n"
    (tmp_path / "own.toml").write_text(text)
    with pytest.raises(TableError) as caught:
        load_table("own.toml", tmp_path)
    assert caught.value.where == f"own.toml: extra_features.novel.{key}"
    assert message in caught.value.message
    assert remedy in caught.value.remedy


def test_an_own_feature_that_is_replaced_keeps_its_place(tmp_path):
    text = 'features = "x86"\n' + LEVEL
    (tmp_path / "own.toml").write_text(text + '[extra_features]\navx10 = { cpuid = [7, 1, "edx", 20] }\n')
    names = list(load_table("own.toml", tmp_path).features.features)
    assert names.index("avx10") < names.index("avx10_1")
    needs = 'avx10 = { cpuid = [7, 1, "edx", 20], needs = ["avx10_1"] }\n'
    (tmp_path / "own.toml").write_text(text + "[extra_features]\n" + needs)
    with pytest.raises(TableError, match="there is no feature 'avx10_1' before it"):
        load_table("own.toml", tmp_path)


def test_every_part_of_avx512_implies_its_foundation():
    found = read_features("x86")
    parts = {name for name in found.features if name.startswith("avx512_")} - {"avx512_f"}
    assert {name for name in parts if "avx512_f" not in found.implied.get(name, ())} == set()


@pytest.mark.parametrize("name", processor_names())
def test_a_features_file_names_features_and_states_that_it_has(name):
    found = read_features(name)
    implied = {*found.implied, *(other for others in found.implied.values() for other in others)}
    reported = {found.report.names.get(feature, feature) for feature in found.report.features}
    named = {*found.never_required, *implied, *reported, *found.instructions.names.values()}
    assert named <= found.features.keys()
    assert set(found.report.os.values()) <= found.states.keys()
    re.compile(found.cpu_macros)


# ---- what flags turn on


def test_what_flags_turn_on_is_required_but_for_what_never_is():
    features = read_features("x86")
    macros = dict.fromkeys(("__AVX2__", "__SGX__", "__RDPID__", "__AVX__"), "1")
    assert features.turned_on(macros) == ("avx", "avx2", "rdpid")
    assert all(reason.strip() for reason in features.never_required.values())


def test_what_a_feature_needs_is_on_with_it():
    """FPMR has no macro. The names are in the order of the features file."""
    features = read_features("arm64")
    assert features.turned_on({"__ARM_FEATURE_FP8DOT4": "1"}) == ("fpmr", "fp8", "fp8dot4")
    assert features.with_needs(["sve2", "crc"]) == ("crc", "fphp", "fp16", "sve", "sve2")
    assert features.having(["sve2"]) == {"fphp", "fp16", "sve", "sve2", "crc", "lse", "rdm"}


@pytest.mark.parametrize(("value", "found"), [("0", ()), ("256", ("wide",)), ("2560", ())])
def test_a_macro_counts_by_its_value_where_the_features_file_asks(tmp_path, value, found):
    text = 'features = "x86"\n' + LEVEL + '[extra_features]\nwide = { hwcap = [1, 1], macros = ["__BITS=256"] }\n'
    (tmp_path / "own.toml").write_text(text)
    features = load_table("own.toml", tmp_path).features
    assert features.turned_on({"__BITS": value}) == found
    assert features.unknown({"__BITS"}, ()) == []


def test_what_every_cpu_with_a_feature_has_is_implied():
    features = read_features("x86")
    assert features.not_implied(("sse2", "sse4_2", "avx", "adx"), ("avx2",)) == ("adx",)
    assert features.not_implied(("avx2", "fma"), ("avx",)) == ("avx2", "fma")
    assert features.not_implied(("aes", "pclmul"), ("vaes", "vpclmulqdq")) == ()  # which GCC 14 turns on with these


@pytest.mark.parametrize("name", processor_names())
def test_what_is_needed_is_not_listed_as_implied_too(name):
    features = read_features(name)
    for feature, others in features.implied.items():
        assert not set(others) & set(features.with_needs([feature])), feature


@pytest.mark.parametrize(
    ("macros", "unknown"),
    [
        ({"__haswell", "__haswell__"}, []),
        ({"__haswell__"}, ["__haswell__"]),
        ({"__Novel", "__Novel__"}, ["__Novel", "__Novel__"]),
        ({"__NOVEL", "__NOVEL__"}, ["__NOVEL", "__NOVEL__"]),
        ({"__tune_haswell__", "__AVX2__"}, []),
        ({"__novel__", "__novel"}, []),
        ({"__novel__", "novel"}, ["__novel__", "novel"]),
    ],
)
def test_names_of_cpus_come_in_pairs(macros, unknown):
    assert read_features("x86").unknown(macros, ()) == unknown
    assert read_features("x86").unknown(macros, macros) == []


# ---- AVX10: a version


def test_a_field_of_a_register():
    (condition,) = read_features("x86").features["avx10_2"].conditions
    assert condition == Condition(Source("cpuid", (0x24, 0, "ebx")), 0, 8, 2, 255)


class Avx10(X86Machine):
    """A CPU that knows 512-bit states and AVX10 of a version."""

    def __init__(self, version: int, *, enumerated: bool = True, last: int = 0x24) -> None:
        self.rows = {(0, 0): (last, 0, 0, 0), (1, 0): (0, 0, 1 << 27, 0), (7, 0): (1, 0, 0, 0)}
        self.rows[7, 1] = (0, 0, 0, enumerated << 19)
        self.rows[0x24, 0] = (0, version | 1 << 18, 0, 0)

    def cpuid(self, leaf: int, subleaf: int) -> tuple[int, int, int, int]:
        return self.rows.get((leaf, subleaf), (0, 0, 0, 0))

    def xgetbv(self, index: int) -> int:
        return 0xE7


@pytest.mark.parametrize(
    ("machine", "found"),
    [
        (Avx10(0), {"avx10", "avx10_512"}),
        (Avx10(1), {"avx10", "avx10_1", "avx10_512"}),
        (Avx10(2), {"avx10", "avx10_1", "avx10_2", "avx10_512"}),
        (Avx10(255), {"avx10", "avx10_1", "avx10_2", "avx10_512"}),
        (Avx10(2, enumerated=False), set()),
        (Avx10(2, last=0x20), {"avx10"}),
    ],
)
def test_avx10_is_a_version_that_counts_where_it_is_enumerated(machine, found):
    cpu = detect(read_features("x86"), machine)
    assert {name for name in cpu.present if name.startswith("avx10")} == found
    assert set(cpu.missing(found)) == set()
