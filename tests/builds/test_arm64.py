"""arm64: the level that each recorded CPU selects, levels built and run under qemu, and baselines that CPUs lack."""

import platform
import re
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from isagen.binary.formats import load_object, open_binary
from isagen.configure.dispatch import dispatch_texts
from isagen.model.errors import CpuError
from isagen.model.plan import Verdict
from isagen.planning.config import Config
from isagen.planning.plan import CopyOptions, make_plan
from isagen.probe.cache import NO_CACHE
from isagen.probe.compiler import find_compiler
from isagen.probe.probe import probe_all
from isagen.processors.arm64.flags import on_baseline
from isagen.processors.detection import detect, missing_by_level
from isagen.processors.machines import Machine
from isagen.processors.registry import this_machine
from isagen.processors.table import load_table
from support.checkout import ROOT
from support.cross import TARGETS
from support.model import build_of, write_dispatch
from support.pairs import paired
from support.projects import make_project, need, verdicts
from support.what_ran import SELECTION

TABLE = load_table("arm64", Path())
ATEN = load_table("aten-arm64", Path())
CPUS = tomllib.loads((ROOT / "tests/arm64/cpus.toml").read_text())
# The bits of AT_HWCAP and AT_HWCAP2 in order (Linux, arch/arm64/kernel/cpuinfo.c, hwcap_str).
HWCAP = (
    "fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm jscvt fcma lrcpc dcpop sha3 sm3 "
    "sm4 asimddp sha512 sve asimdfhm dit uscat ilrcpc flagm ssbs sb paca pacg"
)
HWCAP2 = (
    "dcpodp sve2 sveaes svepmull svebitperm svesha3 svesm4 flagm2 frint svei8mm svef32mm svef64mm svebf16 i8mm bf16 "
    "dgh rng bti mte ecv afp rpres mte3 sme smei16i64 smef64f64 smei8i32 smef16f32 smeb16f32 smef32f32 smefa64 wfxt"
)
HARNESS = """
#define ISA_NOT_ON_LOAD 1
struct isa_kernel { int level; };
#include "isa_dispatch.c"

static uint64_t words[3], length;
static const char *names;
static uint64_t recorded_hwcap(int word) { return words[word]; }
static uint64_t recorded_prctl(int operation) { return operation == 51 ? length : 0; }
static uint64_t recorded_windows(int feature) { (void)feature; return 0; }
static uint64_t recorded_sysctl(const char *name) { return strstr(names, name) != NULL; }
const struct isa_kernel isa_kernel_DEFAULT__stub = {0};
void isa_needs_one_ISA_DEFINE_DISPATCH_for_stub(const struct isa_kernel *kernel) { (void)kernel; }

int main(int argc, char **argv)
{
  static const struct isa_machine machine = {&isa_this_cpu, recorded_hwcap, recorded_prctl, recorded_windows,
                                             recorded_sysctl};
  int level;
  words[1] = strtoull(argv[1], NULL, 0);
  words[2] = strtoull(argv[2], NULL, 0);
  length = strtoull(argv[3], NULL, 0);
  names = argv[4];
  (void)argc, (void)isa_this_machine;
  isa_select(&machine, NULL);
  for (level = ISA_LEVEL_COUNT - 1; !isa_supported[level]; level--)
    ;
  puts(isa_levels[level].name);
  return 0;
}
"""
TARGET = TARGETS["aarch64"]
COMPILERS = ("gcc", "clang-16", "clang-14")


@dataclass(frozen=True)
class Recorded(Machine):
    """A CPU as its operating system reports it."""

    words: tuple[int, int]
    sve_bytes: int
    sysctls: tuple[str, ...]

    def hwcap(self, word: int) -> int:
        return self.words[word - 1]

    def prctl(self, operation: int) -> int:
        return self.sve_bytes if operation == 51 else 0

    def sysctl(self, name: str) -> int:
        return int(name in self.sysctls)


def recorded(name: str) -> Recorded:
    entry = CPUS[name]
    words = entry.get("features", "").split()
    lists = HWCAP.split(), HWCAP2.split()
    assert set(words) <= {word for names in lists for word in names}
    bits = [sum(1 << names.index(word) for word in words if word in names) for names in lists]
    sysctls = tuple(f"hw.optional.{one}" for one in entry.get("sysctls", ()))
    return Recorded((bits[0], bits[1]), entry.get("sve_bytes", 0), sysctls)


@pytest.mark.parametrize("name", CPUS)
def test_what_a_cpu_selects_in_python(name):
    for table, level in ((TABLE, CPUS[name]["level"]), (ATEN, CPUS[name].get("aten", "DEFAULT"))):
        missing = missing_by_level(table, detect(table.features, recorded(name)))
        assert [one for one, lacks in missing.items() if not lacks][-1] == level


@pytest.fixture(scope="module")
def harness(tmp_path_factory):
    """A program that selects a level as the generated code does, from recorded answers of the OS."""
    need("cc")
    folder = tmp_path_factory.mktemp("arm64")
    plan = make_plan(
        config=Config(Path("isa.toml")),
        table=TABLE,
        kernels=["k.c"],
        option_levels="",
        verdicts={(x, "c"): Verdict(True, "", features=TABLE.required_features(x)) for x in TABLE.names()},
        source_root="..",
        copy_options=CopyOptions(),
    )
    write_dispatch(folder, dispatch_texts(build_of(plan), TABLE), {"stub": ["DEFAULT"]}, TABLE.names())
    (folder / "harness.c").write_text(HARNESS)
    command = ["cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "harness.c", "-o", "harness"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "harness"


@pytest.mark.parametrize("name", CPUS)
def test_what_a_cpu_selects_in_c(harness, name):
    cpu = recorded(name)
    words = [*map(str, cpu.words), str(cpu.sve_bytes), " ".join(cpu.sysctls)]
    done = subprocess.run([harness, *words], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == CPUS[name]["level"]


def test_another_cpu_is_not_asked(monkeypatch):
    for machine in ("x86_64", "riscv64"):
        monkeypatch.setattr(platform, "machine", lambda machine=machine: machine)
        with pytest.raises(CpuError, match=rf"this CPU \({machine}\) is not aarch64\n.* a table for this CPU"):
            this_machine("arm64")


# ---- objects


@pytest.mark.parametrize("target", ["aarch64-linux-gnu", "armv7-linux-gnueabihf"])
def test_a_string_ends_where_it_ends(tmp_path, target):
    """Mapping symbols ($d) stand where the strings of a source start, and are no names of them."""
    need("clang++-16")
    values = set()
    names = {"name": "a name", "second": "b"}
    for used in (["name"], ["name", "second"], ["second", "name"]):
        source = "".join(
            f'inline const char *{one} = "{names[one]}"; void use_{one}() {{ {one}++; }}\n' for one in used
        )
        (tmp_path / "x.cpp").write_text(source)
        command = ["clang++-16", f"--target={target}", "-std=c++17", "-O2", "-fPIC", "-c", "x.cpp"]
        subprocess.run(command, cwd=tmp_path, check=True)
        file = load_object(tmp_path / "x.o")
        (symbol,) = (one for one in file.symbols if one.name == "name")
        values.add(file.initial_value(symbol))
    assert len(values) == 1
    assert '"a name"' in values.pop()


# ---- flags on a baseline


@pytest.mark.parametrize(
    ("args", "flag"),
    [
        ("", "-march=armv8.2-a+sve"),
        ("-O2 -g", "-march=armv8.2-a+sve"),
        ("-march=armv8-a+crypto", "-march=armv8.2-a+crypto+sve"),
        ("-march=armv8.2-a+sha3", "-march=armv8.2-a+sha3+sve"),
        ("-march=armv8.6-a -march=armv8.4-a", "-march=armv8.4-a+sve"),
        ("-march=armv9.2-a", "-march=armv9.2-a+sve"),
        ("-march=native", "-march=armv8.2-a+sve"),
        ("-mcpu=neoverse-v1", "-mcpu=neoverse-v1+sve"),
        ("-mcpu=cortex-a76+crypto", "-mcpu=cortex-a76+crypto+sve"),
        ("-mcpu=neoverse-v1 -march=armv8.4-a", "-march=armv8.4-a+sve"),
        ("-mcpu=native", "-march=armv8.2-a+sve"),
    ],
)
def test_flags_are_added_to_the_project_s(args, flag):
    flags = ("-march=armv8.2-a+sve", "-msve-vector-bits=256")
    assert on_baseline(flags, args.split()) == (flag, flags[1])


# ---- builds


SVE_ADD = '__asm__ volatile(".inst 0x04a00000" ::: "v0");'  # add z0.s, z0.s, z0.s


def built(folder, compiler, *options, package="portable", table="", added=()):
    """The project, cross-compiled with warnings as errors.

    `table` is the text of its own table, if it has one; `added` are (file, text at its end).
    """
    TARGET.require(compiler)
    project = make_project(folder, package)
    if table:
        (project.folder / "own.toml").write_text(table)
        project.edit("isagen/isa.toml", 'table = "default"', 'table = "../own.toml"')
    for name, text in added:
        with (project.folder / name).open("a", encoding="utf-8") as stream:
            stream.write(text)
    project.last = project.setup("--cross-file", str(TARGET.cross_file(folder, compiler)), "-Dwerror=true", *options)
    project.said = project.ninja()
    return project


def ran(project, cpu, program="portable", **environment):
    """Run the program on a CPU of qemu."""
    return project.run(*TARGET.emulated(cpu), project.path(program), check=False, **environment)


@pytest.fixture(scope="module", params=COMPILERS)
def portable(request, tmp_path_factory):
    project = built(tmp_path_factory.mktemp(request.param), request.param)
    project.compiler = request.param
    return project


def test_every_level_is_built_and_sealed(portable):
    assert set(verdicts(portable).values()) == {"built"}
    assert re.search(r"table +: arm64\n", portable.last)
    assert re.search(r"sealed +: yes\n +audited +: when linked", portable.last)
    assert "WARNING" not in portable.last


@pytest.mark.parametrize(("cpu", "level"), TARGET.selected.items())
def test_the_right_level_runs(portable, cell, cpu, level):
    cell(SELECTION, f"aarch64: {cpu}", portable.compiler, level)
    said = ran(portable, cpu).stdout
    assert said.startswith(f"14 200 30 {level}, in use: {level}, built: SVE2, 3 stubs: ")


@pytest.mark.parametrize("level", TABLE.names())
def test_an_override_selects_each_level(portable, level):
    # Vectors of 256 bits: each level is supported.
    said = ran(portable, "max,sve-max-vq=2", PORTABLE_ISA=level.lower()).stdout
    assert said.startswith(f"14 200 30 {level}, in use: {level}, ")


def test_code_for_one_vector_length_runs_at_no_other(portable):
    for length in (1, 4):
        said = ran(portable, f"max,sve-max-vq={length}", PORTABLE_ISA="sve256").stdout
        assert "PORTABLE_ISA=SVE256 needs features that CPU or OS lack (sve_256); BF16 is used" in said
        assert "14 200 30 BF16, " in said


def test_the_own_table_of_the_docs(tmp_path):
    text = (ROOT / "docs/arm64.md").read_text()
    project = built(tmp_path, "gcc", table=text.partition("```toml\n")[2].partition("```")[0])
    assert "14 200 30 SVE2_128, " in ran(project, "max,sve-max-vq=1").stdout
    assert "14 200 30 SVE2, " in ran(project, "max").stdout


@pytest.mark.parametrize("compiler", COMPILERS)
def test_the_levels_of_aten(tmp_path, compiler):
    project = make_project(tmp_path, "portable")
    project.edit("isagen/isa.toml", 'table = "default"', 'table = "aten"\ncompat = ["aten"]')
    TARGET.require(compiler)
    project.setup("--cross-file", str(TARGET.cross_file(tmp_path, compiler)), "-Dwerror=true")
    project.ninja()
    assert verdicts(project) == dict.fromkeys(ATEN.names(), "built")
    for length, level in ((1, "SVE128"), (2, "SVE256"), (4, "DEFAULT")):
        assert f"14 200 30 {level}, " in ran(project, f"max,sve-max-vq={length}").stdout
    said = ran(project, "max,sve-max-vq=2", PORTABLE_ISA="sve128").stdout
    assert "PORTABLE_ISA=SVE128 needs features that CPU or OS lack (sve_128); DEFAULT is used" in said


FP8 = """
extends = "arm64"
keep = ["DEFAULT"]

[levels.FP8]
rank = 10
features = ["fp8dot4"]
vector_bits = 128
flags.gnu = ["-march=armv8.2-a+fp8dot4"]
probe = '''
mfloat8x16_t a = vreinterpretq_mf8_u8(vdupq_n_u8((uint8_t)argc));
return (int)vgetq_lane_f32(vdotq_f32_mf8_fpm(vdupq_n_f32(1.0f), a, a, argc), 0);
'''
"""
DOT = """
#ifdef CPU_CAPABILITY_FP8
#include <arm_neon.h>
__attribute__((used)) static float32x4_t planted(float32x4_t sum, mfloat8x16_t a, mfloat8x16_t b, fpm_t formats)
{
  return vdotq_f32_mf8_fpm(sum, a, b, formats);
}
#endif
"""


def test_a_level_with_8_bit_floats(tmp_path):
    """The link's audit accepts the dot product, and the register FPMR that fp8 needs; no CPU of qemu 7 has them."""
    project = built(tmp_path, "clang-22", table=FP8, added=[("kernels/dot.cpp", DOT)])
    assert verdicts(project) == {"DEFAULT": "built", "FP8": "built"}
    assert (0xD51B4440).to_bytes(4, "little") in project.path("portable").read_bytes()  # msr fpmr, x0
    assert "14 200 30 DEFAULT, in use: DEFAULT, built: FP8" in ran(project, "max", PORTABLE_ISA="fp8").stdout


STREAMING = """
#include <arm_sme.h>
#include "../stubs.h"

/* The sum of the diagonal of outer products. */
__arm_new("za") __arm_locally_streaming static long dot(const int *a, const int *b, int size)
{
  svzero_za();
  for (int i = 0; i < size; i += (int)svcntw()) {
    const svbool_t some = svwhilelt_b32_s32(i, size);
    const svfloat32_t x = svcvt_f32_s32_x(some, svld1_s32(some, a + i));
    svmopa_za32_f32_m(0, some, some, x, svcvt_f32_s32_x(some, svld1_s32(some, b + i)));
  }
  float sum = 0, row[64];
  for (unsigned i = 0; i < svcntw(); i++) {
    svst1_hor_za32(0, i, svptrue_b32(), row);
    sum += row[i];
  }
  return (long)sum;
}

ISA_REGISTER_DISPATCH(dot_stub, &dot)
ISA_REGISTER_DISPATCH(wide_dot_stub, &dot)
"""
# Of the ABI of SME, which libgcc 12 lacks: no function's ZA is to be saved, and vectors have no length without SVE.
SME_ABI = """
__asm__(".globl __arm_tpidr2_save, __arm_get_current_vg\\n"
        "__arm_get_current_vg: mov x0, xzr\\n__arm_tpidr2_save: ret");
"""


def test_the_table_with_sme_of_the_docs(tmp_path):
    """A kernel in streaming mode: qemu 7.2 has SME on CPUs with SVE2 alone, whose level is preferred."""
    need("clang++-22")
    text = (ROOT / "docs/arm64.md").read_text().partition("## SME")[2]
    kernel = f"\n#ifdef CPU_CAPABILITY_SME{STREAMING}#else\n"
    project = make_project(tmp_path, "portable")
    (project.folder / "own.toml").write_text(text.partition("```toml\n")[2].partition("```")[0])
    project.edit("isagen/isa.toml", 'table = "default"', 'table = "../own.toml"')
    project.edit("kernels/dot.cpp", '#include "near.h"\n', f'{kernel}#include "near.h"\n')
    for name, added in (("kernels/dot.cpp", "#endif\n"), ("main.cpp", SME_ABI)):
        with (project.folder / name).open("a", encoding="utf-8") as stream:
            stream.write(added)
    TARGET.require("clang-22")
    project.setup("--cross-file", str(TARGET.cross_file(tmp_path, "clang-22")), "-Dwerror=true")
    project.ninja()
    assert verdicts(project)["SME"] == "built"
    assert "14 200 30 SVE2, " in ran(project, "max").stdout
    for cpu in ("max", "max,sme128=off,sme256=off,sme512=on"):
        assert "14 200 30 SME, in use: SME, " in ran(project, cpu, PORTABLE_ISA="sme").stdout
    said = ran(project, "max,sme=off", PORTABLE_ISA="sme").stdout
    assert "PORTABLE_ISA=SME needs features that CPU or OS lack (sme); BF16 is used" in said
    need("clang++-19")
    table = load_table("own.toml", project.folder)
    verdict = probe_all(table, [find_compiler("cpp", TARGET.compiler("clang-19"))], NO_CACHE)["SME", "cpp"]
    assert "lose their return address" in verdict.reason


def test_code_that_runs_before_the_selection_is_named(tmp_path):
    constructor = f"__attribute__((constructor)) static void planted() {{ {SVE_ADD} }}\n"
    project = built(tmp_path, "gcc", "-Disa_audit=warn", added=[("kernels/dot.cpp", constructor)])
    assert "code that runs at load or exit uses instructions beyond the baseline (9)" in project.said


@pytest.mark.parametrize(("sealed", "widths"), [("true", "128 256 41 2 3 256 3"), ("false", "128 128 ")])
def test_levels_share_no_code_if_sealed(tmp_path, sealed, widths):
    """Without the seal, the linker takes the lowest level's copy of a weak function for all, and the audit says so."""
    options = () if sealed == "true" else ("-Disa_seal=false", "-Disa_audit=warn")
    project = built(tmp_path, "gcc", "-Disa_levels=SVE256", *options, package="leak")
    assert ("the levels are not sealed: the linker uses one level's code" in project.said) == (sealed == "false")
    said = ran(project, "max,sve-max-vq=2", "leak").stdout
    assert said.startswith(widths)


LACKS = {
    "-march=armv8.2-a+sve2": "lse rdm fphp fp16 sve sve2",
    "-march=armv9-a": "sve sve2",
    "-mcpu=neoverse-v1": "i8mm bf16 sve sve_i8mm",
}


@pytest.mark.parametrize(("compiler", "arg"), paired(["gcc", "clang-16"], LACKS))
def test_a_cpu_without_the_baseline_gets_a_message(tmp_path, compiler, arg):
    """What runs before the check of the CPU uses nothing of the baseline's features."""
    levels = "-Disa_levels=BF16,SVE2"
    project = built(tmp_path, compiler, "-Doptimization=3", levels, f"-Dc_args={arg}", f"-Dcpp_args={arg}")
    said = ran(project, "cortex-a53").stdout
    assert "error: this program or library is compiled for features that CPU or OS lack: lse rdm" in said
    assert LACKS[arg] in said
    assert "14 200 30 SVE2, " in ran(project, "max").stdout
    assert not re.search(r"(SVE2|BF16) +: unavailable", project.last)


def test_the_linker_s_table_of_addresses_hands_out_nothing(tmp_path):
    """gold gives _GLOBAL_OFFSET_TABLE_ a size; level's code alone reads the slots of its functions."""
    need("aarch64-linux-gnu-ld.gold")
    taken = """
template <typename T> __attribute__((noinline)) int next(T x) { return int(x) + 1; }
__attribute__((used)) static int called(int x) { int (*volatile f)(int) = &next<int>; return f(x); }
"""
    gold = [f"-D{language}_link_args=-fuse-ld=gold" for language in ("c", "cpp")]
    project = built(tmp_path, "gcc", "-Disa_levels=SVE2", *gold, added=[("kernels/dot.cpp", taken)])
    with open_binary(project.path("portable")) as binary:
        assert any(one.name == "_GLOBAL_OFFSET_TABLE_" and one.size for one in binary.symbols())


def test_windows_reports_what_levels_up_to_sve_need():
    """With what the flags turn on beside the level's own features, such as RDM."""
    TARGET.require("clang-16")
    verdicts = probe_all(TABLE, [find_compiler("cpp", TARGET.compiler("clang-16"))], NO_CACHE)
    known = TABLE.features.features
    for level in ("DOTPROD", "FP16", "SVE"):
        needed = [known[name] for name in verdicts[level, "cpp"].features]
        assert {"lse", "rdm"} <= {feature.name for feature in needed}
        assert all("windows" in {one.source.kind for one in feature.conditions} for feature in needed)
