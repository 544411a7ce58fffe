"""A processor is a folder: an invented one with HWCAP and sysctl features, from its features file to C code."""

import platform
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from isagen.binary.contents import Architecture
from isagen.configure.detection import mask
from isagen.configure.dispatch import dispatch_texts
from isagen.model.errors import CpuError
from isagen.model.plan import Plan, Verdict
from isagen.planning.config import Config
from isagen.planning.plan import CopyOptions, make_plan
from isagen.processors import registry
from isagen.processors.decoding import Abi
from isagen.processors.detection import detect, missing_by_level
from isagen.processors.features import read_features
from isagen.processors.machines import Machine as ThisSystem
from isagen.processors.processor import DecodableCode, Processor
from isagen.processors.sources import Condition, Source
from isagen.processors.table import Table, load_table
from isagen.processors.x86 import ELF
from support.model import build_of, write_dispatch
from support.projects import need

FEATURES = """
[features]
simd = { hwcap = [1, 1], macros = ["__SIMD__"] }
dotprod = { hwcap = [1, 20], needs = ["simd"], macros = ["__DOTPROD__"] }
wide = { hwcap = [2, 1], macros = ["__WIDE__"] }
width = { hwcap = [2, [63, 60]], minimum = 4, needs = ["wide"] }
bf16 = { hwcap = [2, 14], sysctl = "hw.optional.made.FEAT_BF16" }
generation = { sysctl = "hw.made.generation", minimum = 3 }
exact = { hwcap = [2, [59, 56]], minimum = 5, maximum = 5 }
"""
LEVEL = '[levels.{0}]\nrank = {1}\nvector_bits = 128\nprobe = "return argc;"\nflags.gnu = []\nfeatures = {2}\n'
LEVELS = {
    "BASE": [],
    "SIMD": ["simd"],
    "DOT": ["dotprod"],
    "WIDE": ["width"],
    "BF16": ["bf16"],
    "NEW": ["generation", "simd"],
    "EXACT": ["exact"],
}


@dataclass(frozen=True)
class Machine(ThisSystem):
    """The answers of an OS: words of HWCAP, and sysctls."""

    hwcaps: dict[int, int] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)

    def hwcap(self, word: int) -> int:
        return self.hwcaps.get(word, 0)

    def sysctl(self, name: str) -> int:
        return self.numbers.get(name, 0)


MACHINES = {
    "nothing": (Machine(), ""),
    "simd": (Machine({1: 1 << 1}), "SIMD"),
    "dot": (Machine({1: 1 << 1 | 1 << 20}), "SIMD DOT"),
    "dot without what it needs": (Machine({1: 1 << 20}), ""),
    "narrow": (Machine({2: 1 << 1 | 3 << 60}), ""),
    "wide": (Machine({2: 1 << 1 | 4 << 60}), "WIDE"),
    "wider": (Machine({2: 1 << 1 | 15 << 60}), "WIDE"),
    "width without its bit": (Machine({2: 15 << 60}), ""),
    "other bits": (Machine({1: ~(1 << 1 | 1 << 20) & (1 << 64) - 1, 2: 1 << 20}), ""),
    "linux with bf16": (Machine({2: 1 << 14}), "BF16"),
    "mac": (Machine(numbers={"hw.optional.made.FEAT_BF16": 1}), "BF16"),
    "mac that says no": (Machine(numbers={"hw.optional.made.FEAT_BF16": 0}), ""),
    "old": (Machine({1: 1 << 1}, {"hw.made.generation": 2}), "SIMD"),
    "new": (Machine({1: 1 << 1}, {"hw.made.generation": 3}), "SIMD NEW"),
    "below a range": (Machine({2: 4 << 56}), ""),
    "in a range": (Machine({2: 5 << 56}), "EXACT"),
    "above a range": (Machine({2: 6 << 56}), ""),
    "newer": (Machine({1: 1 << 1}, {"hw.made.generation": (1 << 31) - 1}), "SIMD NEW"),
}
HARNESS = """
#define ISA_NOT_ON_LOAD 1
struct isa_kernel { int level; };
#include "isa_dispatch.c"

static uint64_t words[3];
static const char *name;
static uint64_t number;
static uint64_t recorded_hwcap(int word) { return words[word]; }
#ifdef WITH_SYSCTL
static uint64_t recorded_sysctl(const char *asked) { return strcmp(asked, name) == 0 ? number : 0; }
#define RECORDED recorded_hwcap, recorded_sysctl
#else
#define RECORDED recorded_hwcap
#endif
const struct isa_kernel LOWEST = {0};
void isa_needs_one_ISA_DEFINE_DISPATCH_for_stub(const struct isa_kernel *kernel) { (void)kernel; }

int main(int argc, char **argv)
{
  static const struct isa_machine machine = {&isa_this_cpu, RECORDED};
  char text[4096];
  int i;
  for (i = 0; i + 4 < argc; i += 4) {
    int level;
    words[1] = strtoull(argv[i + 1], NULL, 0);
    words[2] = strtoull(argv[i + 2], NULL, 0);
    name = argv[i + 3];
    number = strtoull(argv[i + 4], NULL, 0);
    (void)name, (void)number;
    memset(isa_in_cpu, 0xff, sizeof isa_in_cpu);
    memset(isa_usable, 0xff, sizeof isa_usable);
    isa_select(&machine, NULL);
    for (level = 0; level < ISA_LEVEL_COUNT; level++)
      printf("%s\\t", isa_level_missing((isa_level)level, text, sizeof text));
    printf("\\n");
  }
  isa_detect(&isa_this_machine); /* this OS answers, too: not what a made-up processor has */
  return 0;
}
"""


@pytest.fixture
def made_up(tmp_path, monkeypatch) -> Processor:
    """A processor in a temporary folder, added to those that isagen knows."""
    folder = tmp_path / "made"
    (folder / "tables").mkdir(parents=True)
    (folder / "features.toml").write_text(FEATURES)
    levels = "".join(LEVEL.format(level, rank, features) for rank, (level, features) in enumerate(LEVELS.items()))
    (folder / "tables" / "made.toml").write_text('features = "made"\n' + levels)
    abi = Abi(4711, ELF.relocations, order="big")
    processor = Processor(
        name="made",
        cpu_family="made64",
        spellings={"made64be": "made64"},
        decodable=DecodableCode("made", {"elf": abi}, "made.decoder:Decoder", "made-decoder", "made"),
        machine=ThisSystem,
    )
    for other in registry.PROCESSORS:
        (tmp_path / other.name).symlink_to(other.home)
    monkeypatch.setattr("isagen.processors.processor.FOLDER", tmp_path)
    monkeypatch.setattr(registry, "PROCESSORS", (processor, *registry.PROCESSORS))
    read_features.cache_clear()  # of the processor that another test made
    return processor


def plan_for(table: Table) -> Plan:
    return make_plan(
        config=Config(Path("isa.toml")),
        table=table,
        kernels=["k.c"],
        option_levels="",
        verdicts={(x, "c"): Verdict(True, "", features=table.required_features(x)) for x in table.names()},
        source_root="..",
        copy_options=CopyOptions(),
    )


def write_source(folder: Path, table: Table) -> None:
    names = table.names()
    write_dispatch(folder, dispatch_texts(build_of(plan_for(table)), table), {"stub": [names[0]]}, names)


def compiled(folder: Path, compiler: str, standard: str) -> None:
    language = "c++" if standard.startswith("c++") else "c"
    flags = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror", "-O1"]
    command = [compiler, "-x", language, f"-std={standard}", *flags, "-c", "isa_dispatch.c", "-o", "isa_dispatch.o"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# ---- the look-ups


def test_a_folder_and_a_line_make_a_processor(made_up):
    assert "made" in registry.builtin_tables()
    assert registry.processor_of_family("made64") is made_up
    assert registry.is_decoded(Architecture("elf", 4711, 64, "big", "made"))
    assert not registry.is_decoded(Architecture("elf", 4711, 64, "little", "made"))
    assert registry.decoded() == "made, x86-64, arm64, riscv64 and s390x"
    assert load_table("made", Path()).features.processor is made_up


def test_what_isagen_knows():
    assert registry.processor_names() == ("arm64", "generic", "loongarch64", "ppc64", "riscv64", "s390x", "x86")
    assert registry.processor_of_family("x86_64").name == "x86"
    assert registry.processor_of_family("mips64").name == "generic"
    assert registry.is_decoded(Architecture("elf", 62, 64, "little", "x86-64"))
    assert registry.is_decoded(Architecture("elf", 183, 64, "little", "AArch64"))
    assert not registry.is_decoded(Architecture("elf", 183, 64, "big", "AArch64"))
    assert [one.baseline_table for one in registry.PROCESSORS] == ["x86-64", "armv8", "", "rva", "z", "", ""]
    decodable = registry.processor_of_family("x86_64").decodable
    assert decodable is not None
    assert decodable.is_made_under({"__x86_64__", "__LP64__"})
    assert not decodable.is_made_under({"__x86_64__", "__ILP32__"})
    assert not decodable.is_made_under({"__aarch64__"})


def test_each_processor_has_what_it_says():
    families = [processor.cpu_family for processor in registry.PROCESSORS]
    assert len(set(families)) == len(families)
    for processor in registry.PROCESSORS:
        assert read_features(processor.name).processor is processor
        assert (processor.home.parent / processor.detection / "detect.c.j2").is_file()
        tables = {path.stem for path in (processor.home / "tables").iterdir()}
        assert processor.name in tables
        assert all(load_table(name, Path()).features.processor is processor for name in tables)
        assert not processor.baseline_table or processor.baseline_table in tables


@pytest.mark.parametrize(
    ("said", "family"),
    [("x86_64", "x86_64"), ("AMD64", "x86_64"), ("i686", "x86"), ("aarch64", "aarch64"), ("made64BE", "made64")],
)
def test_this_machine_s_architecture_in_meson_s_words(made_up, monkeypatch, said, family):
    monkeypatch.setattr(platform, "machine", lambda: said)
    assert registry.this_cpu_family() == family


def test_a_machine_that_cannot_be_read(monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "mips64")
    with pytest.raises(CpuError, match=r"features of this CPU \(mips64\) cannot be read\n.*x86"):
        registry.this_machine("generic")


def test_a_machine_is_asked_as_its_processor_is(made_up, monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "made64be")
    assert isinstance(registry.this_machine("made"), ThisSystem)
    assert isinstance(registry.this_machine("generic"), ThisSystem)


def test_this_system_answers():
    system = ThisSystem()
    assert all(0 <= system.hwcap(word) < 1 << 64 for word in (1, 2))
    assert system.sysctl("no.such.sysctl") == 0
    assert not system.saves(None)


# ---- detection, in Python and in C


def test_conditions_of_every_kind(made_up):
    features = read_features("made").features
    bf16 = Condition(Source("sysctl", ("hw.optional.made.FEAT_BF16",)), width=31, maximum=2**31 - 1)
    assert features["simd"].conditions == (Condition(Source("hwcap", (1,)), low=1),)
    assert features["width"].conditions == (Condition(Source("hwcap", (2,)), low=60, width=4, minimum=4, maximum=15),)
    assert features["bf16"].conditions == (Condition(Source("hwcap", (2,)), low=14), bf16)
    assert features["generation"].conditions[0].minimum == 3
    assert features["exact"].conditions == (Condition(Source("hwcap", (2,)), low=56, width=4, minimum=5, maximum=5),)
    assert features["dotprod"].needs == ("simd",)


@pytest.mark.parametrize(("machine", "supported"), MACHINES.values(), ids=MACHINES)
def test_detection_in_python(made_up, machine, supported):
    table = load_table("made", Path())
    missing = missing_by_level(table, detect(table.features, machine))
    assert [level for level, lacks in missing.items() if not lacks] == ["BASE", *supported.split()]


def missing_in_c(folder: Path, table: Table, machines: list[Machine]) -> list[list[str]]:
    """Return the missing features by the generated code: per machine, a text for each level."""
    write_source(folder, table)
    (folder / "harness.c").write_text(HARNESS)
    defines = [f"-DLOWEST=isa_kernel_{table.lowest.name}__stub"]
    if any(c.source.kind == "sysctl" for f in table.features.features.values() for c in f.conditions):
        defines.append("-DWITH_SYSCTL")
    command = ["cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", *defines, "harness.c", "-o", "harness"]
    subprocess.run(command, cwd=folder, check=True)
    words = []
    for machine in machines:
        name, number = next(iter(machine.numbers.items()), ("none", 0))
        words += [hex(machine.hwcap(1)), hex(machine.hwcap(2)), name, str(number)]
    said = subprocess.run([folder / "harness", *words], capture_output=True, text=True, check=True).stdout
    return [line.split("\t")[:-1] for line in said.splitlines()]


def missing_in_python(table: Table, machine: Machine) -> list[str]:
    return [" ".join(lacks) for lacks in missing_by_level(table, detect(table.features, machine)).values()]


def test_detection_in_c_says_the_same(made_up, tmp_path):
    need("cc")
    table = load_table("made", Path())
    machines = [machine for machine, _ in MACHINES.values()]
    said = missing_in_c(tmp_path, table, machines)
    for name, machine, missing in zip(MACHINES, machines, said, strict=True):
        assert missing == missing_in_python(table, machine), name


@pytest.mark.parametrize("compiler", ["gcc", "gcc-11", "clang-14", "clang-16", "aarch64-linux-gnu-gcc"])
@pytest.mark.parametrize("standard", ["c11", "c++17"])
def test_the_made_up_source_compiles_without_a_warning(made_up, tmp_path, compiler, standard):
    need(compiler)
    write_source(tmp_path, load_table("made", Path()))
    if compiler.startswith("aarch64"):
        standard = "c11"  # its C++ compiler is another program
    compiled(tmp_path, compiler, standard)


# ---- sets of features as masks


@pytest.mark.parametrize(
    ("members", "size", "words"),
    [((), 1, ["0x0u"]), ((0, 3, 3), 1, ["0x9u"]), ((63, 64, 129), 3, [f"0x{1 << 63:x}u", "0x1u", "0x2u"])],
)
def test_masks(members, size, words):
    assert mask(members, size) == words


@pytest.mark.parametrize("count", [63, 64, 65, 128])
def test_more_features_than_a_number_has_bits(tmp_path, made_up, count):
    need("cc")
    names = [f"f{i}" for i in range(count)]
    lines = [f"{name} = {{ hwcap = [{1 + i // 64}, {i % 64}] }}" for i, name in enumerate(names)]
    (made_up.home / "features.toml").write_text("[features]\n" + "\n".join(lines) + "\n")
    levels = [LEVEL.format(f"L{i}", i, [name]) for i, name in enumerate(names[-40:])]
    levels.append(LEVEL.format("ALL", 99, names))
    (made_up.home / "tables" / "made.toml").write_text('features = "made"\n' + "".join(levels))
    table = load_table("made", Path())
    last, every = (1 << count) - 1 & ~(1 << 30), (1 << count) - 1
    machines = [Machine({1: value & (1 << 64) - 1, 2: value >> 64}) for value in (every, last, 1 << count - 1, 0)]
    said = missing_in_c(tmp_path, table, machines)
    assert said == [missing_in_python(table, machine) for machine in machines]
    assert said[0] == [""] * 41
    assert said[1][-1] == "f30"
    lowest = names[-40]  # which all levels require
    assert said[2][:40] == [lowest, *(f"{lowest} {name}" for name in names[-39:-1]), lowest]
    for standard in ("c11", "c++17"):
        compiled(tmp_path, "cc", standard)
