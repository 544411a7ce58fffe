"""Known errors of compilers, on the compilers at hand, and what a build says about them."""

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from isagen.probe.compiler import Compiler, find_compiler
from isagen.processors.features import read_features
from isagen.processors.known_broken import KnownBroken
from isagen.processors.registry import processor_names
from support import newer
from support.levels import ALL, lacks, levels_from
from support.projects import need, verdicts


@dataclass(frozen=True)
class Broken:
    """A known error: a part of its URL, a program that exits with 0 where the compiler is right, how it is built and
    run, and the compilers that were seen to have the error.
    """

    url: str
    flags: str
    program: str
    compilers: Sequence[str]
    seen: Sequence[str]
    needs: Sequence[str] = ()
    run: Sequence[str] = ()


X86 = ["gcc-11", "gcc-12", "clang-14", "clang-16", "clang-19", "clang-22", *newer.GCC, *newer.CLANG]
CLANGS = [one for one in X86 if one.startswith("clang")]
AVX512 = ("avx512_bw", "avx512_vl", "avx512_dq")
BROKEN = {
    "masked dot product of BF16": Broken(
        "id=126429",
        "-O2 -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512bf16",
        """
#include <immintrin.h>
__attribute__((noinline)) static __m512 run(__m512 sum, __mmask16 mask, __m512bh a, __m512bh b)
{
  return _mm512_mask_dpbf16_ps(sum, mask, a, b);
}
int main(void)
{
  volatile unsigned upper = 0xff00;
  float out[16];
  __m512bh ones = _mm512_cvtne2ps_pbh(_mm512_set1_ps(1.0f), _mm512_set1_ps(1.0f));
  _mm512_storeu_ps(out, run(_mm512_setzero_ps(), (__mmask16)upper, ones, ones));
  return out[15] != 2.0f;
}
""",
        X86,
        ("gcc-11", "gcc-12"),
        ("avx512_bf16", *AVX512),
    ),
    "masked fixup of a scalar": Broken(
        "issues/179057",
        "-O2 -mavx512f",
        """
#include <immintrin.h>
__attribute__((noinline)) static __m128 run(__m128 a, __m128 b)
{
  return _mm_mask_fixupimm_ss(a, 0, b, _mm_setzero_si128(), 0);
}
int main(void)
{
  float out[4];
  _mm_storeu_ps(out, run(_mm_set1_ps(1.0f), _mm_set1_ps(2.0f)));
  return out[1] != 2.0f;
}
""",
        CLANGS,
        ("clang-21",),
        AVX512,
    ),
    "conversion of a constant": Broken(
        "id=100927",
        "-O2",
        """
#include <immintrin.h>
int main(void)
{
  volatile float large = 1e20f;
  return _mm_cvttss_si32(_mm_set1_ps(1e20f)) != _mm_cvttss_si32(_mm_set1_ps(large));
}
""",
        X86,
        ("gcc-11", "gcc-12"),
    ),
    "vec_ternarylogic": Broken(
        "ppc_vsx-inl.h#L451",
        "-O2 -mcpu=power10 -static",
        """
#include <altivec.h>
typedef __vector unsigned int words;
__attribute__((noinline)) static words every(words a, words b, words c) { return vec_ternarylogic(a, b, c, 1); }
int main(void)
{
  volatile unsigned bits = 0x3c;
  words a = {bits, 0xff, 0, 0}, b = {0x0f, 0, bits, 0}, c = {0xff, bits, bits, 0};
  return every(a, b, c)[0] != (bits & 0x0f);
}
""",
        ("powerpc64le-linux-gnu-gcc", "clang-16 --target=powerpc64le-linux-gnu"),
        ("powerpc64le-linux-gnu-gcc",),
        run=("qemu-ppc64le", "-cpu", "power10"),
    ),
    "vec_genpcvm": Broken(
        "ppc_vsx-inl.h#L5705",
        "-O2 -mcpu=power10 -static",
        """
#include <altivec.h>
int main(void)
{
  volatile unsigned char yes = 255;
  __vector unsigned char mask = {0, 0, yes};
  return vec_genpcvm(mask, 3)[0] != 2;
}
""",
        ("powerpc64le-linux-gnu-gcc", "clang-16 --target=powerpc64le-linux-gnu"),
        ("powerpc64le-linux-gnu-gcc",),
        run=("qemu-ppc64le", "-cpu", "power10"),
    ),
    "vec_cntlz": Broken(
        "ppc_vsx-inl.h#L7421",
        "-O2 -march=z13 -mzvector -static",
        """
#include <vecintrin.h>
int main(void)
{
  __vector unsigned int zeros = {0, 0, 0, 0};
  return vec_cntlz(zeros)[0] != 32;
}
""",
        ("s390x-linux-gnu-gcc", "clang-16 --target=s390x-linux-gnu"),
        ("s390x-linux-gnu-gcc",),
        run=("qemu-s390x", "-cpu", "max"),
    ),
    "FMLAL of a lane": Broken(
        "issues/64104",
        "-O2 -march=armv8.2-a+fp16fml -static",
        """
#include <arm_neon.h>
__attribute__((noinline)) static void run(float32x4_t *sums, const float16x8_t *a, const uint32_t *words, int n)
{
  float32x4_t sum[20];
  for (int i = 0; i < 20; i++)
    sum[i] = sums[i];
  for (int k = 0; k < n; k++)
    for (int i = 0; i < 10; i++) {
      const float16x8_t word = vreinterpretq_f16_u32(vdupq_n_u32(words[n * i + k]));
      sum[2 * i] = vfmlalq_laneq_low_f16(sum[2 * i], a[2 * k], word, 1);
      sum[2 * i + 1] = vfmlalq_laneq_low_f16(sum[2 * i + 1], a[2 * k + 1], word, 1);
    }
  for (int i = 0; i < 20; i++)
    sums[i] = sum[i];
}
int main(void)
{
  float32x4_t sums[20];
  float16x8_t a[8];
  uint32_t words[40];
  for (int i = 0; i < 40; i++)
    sums[i % 20] = vdupq_n_f32(0), a[i % 8] = vdupq_n_f16(1), words[i] = 0x3c000000;
  run(sums, a, words, 4);
  for (int i = 0; i < 20; i++)
    if (vgetq_lane_f32(sums[i], 0) != 4)
      return 1;
  return 0;
}
""",
        ("aarch64-linux-gnu-gcc", *(f"{clang} --target=aarch64-linux-gnu" for clang in CLANGS)),
        ("clang-14 --target=aarch64-linux-gnu", "clang-16 --target=aarch64-linux-gnu"),
        run=("qemu-aarch64",),
    ),
}


def compiled(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, check=False)


def entry_of(url: str) -> KnownBroken:
    known = [error for name in processor_names() for error in read_features(name).known_broken]
    (error,) = (error for error in known if url in error.url)
    return error


@pytest.mark.parametrize(("name", "command"), [(name, one) for name, case in BROKEN.items() for one in case.compilers])
def test_a_known_error_on_the_compilers_at_hand(tmp_path, name, command):
    """Versions that are not listed have no error, and those that were seen to have it still do."""
    case, words = BROKEN[name], command.split()
    need(words[0], *case.run[:1])
    if missing := lacks(case.needs):
        pytest.skip(f"CPU or OS lack {' '.join(missing)}")
    one = find_compiler("c", words)
    error = entry_of(case.url)
    (tmp_path / "code.c").write_text(case.program)
    program = str(tmp_path / "code")
    done = compiled([*words, *case.flags.split(), str(tmp_path / "code.c"), "-o", program])
    assert done.returncode == 0, done.stderr
    wrong = subprocess.run([*case.run, program], check=False).returncode != 0
    known = error.concerns(one.id, one.version, (), [error.feature])
    assert known or not wrong, f"{one.name} has the error, and the data does not say so"
    # Distributions mend errors in versions that have them.
    assert wrong or command not in case.seen


@pytest.mark.parametrize(("command", "option"), [("gcc-12", "-O0"), ("gcc-12", "-O2"), ("clang-16", "-O0")])
def test_classification_of_fp16(tmp_path, command, option):
    """Without a CPU with AVX512_FP16: the mask of eight bits is in the assembly."""
    need(command)
    (tmp_path / "code.c").write_text(
        "#include <immintrin.h>\nunsigned run(__m512h v) { return _mm512_fpclass_ph_mask(v, 1); }\n"
    )
    flags = [option, "-mavx512fp16", "-S", "-o", "-", str(tmp_path / "code.c")]
    wrong = "$255" in compiled([command, *flags]).stdout
    one = find_compiler("c", [command])
    assert wrong == (entry_of("L4119").concerns(one.id, one.version, (), ["avx512_fp16"]) and option == "-O0")


def test_a_build_warns_only_about_a_kernel_that_contains_what_is_broken(scaffold):
    need("g++-12")
    one = find_compiler("cpp", ["g++-12"])
    if not any(error.concerns("gcc", one.version, (), ["avx512_bf16"]) for error in read_features("x86").known_broken):
        pytest.skip(f"{one.name} has no known error")
    assert "126429" not in scaffold.setup(CXX="g++-12")
    kernel = next(path for path in scaffold.folder.rglob("dot.cpp") if "build" not in path.parts)
    kernel.write_text(kernel.read_text() + "\n// not _mm512_mask_dpbf16_ps\n")
    said = scaffold.setup("--reconfigure", CXX="g++-12")
    assert f"dot.cpp contains _mm512_mask_dpbf16_ps, which {one.name} miscompiles at AVX512_BF16 " in said
    matrix = " ".join(scaffold.isagen("matrix", "build").stdout.split())
    assert re.search(r"known bugs: \d in the compilers; `isagen why LEVEL WHERE` names those of a level", matrix)
    report = scaffold.isagen("report", "build").stdout
    places = " ".join(levels_from("AVX512_BF16"))
    assert f"at {places}: {one.name}: the masked 512-bit dot products" in report
    why = " ".join(scaffold.isagen("why", "AVX512_BF16", "build").stdout.split())
    assert f"known bug: {one.name}: the masked 512-bit dot products" in why


def test_a_build_goes_on_with_a_compiler_that_gains_an_unknown_macro(scaffold, tmp_path):
    """The wrapper adds one to each compilation at AVX512_VNNI and above."""
    wrapper = tmp_path / "newer-g++"
    wrapper.write_text('#!/bin/sh\ncase "$*" in *-mavx512vnni*) exec g++ -D__NOVEL__=1 "$@" ;; esac\nexec g++ "$@"\n')
    wrapper.chmod(0o755)
    said = scaffold.setup(CXX=str(wrapper))
    assert "AVX512_VNNI: unavailable: its flags turn on __NOVEL__, which no feature names" in said
    scaffold.ninja()
    above = levels_from("AVX512_VNNI")
    assert verdicts(scaffold) == {**dict.fromkeys(ALL, "built"), **dict.fromkeys(above, "unavailable")}


def test_a_compiler_that_does_not_say_its_minor_version():
    """Debian's GCC for Windows; Meson and the compiler's macros put 12.0.0."""
    command = "x86_64-w64-mingw32-gcc"
    need(command)
    said = subprocess.run([command, "-dumpfullversion"], capture_output=True, text=True, check=True).stdout.strip()
    assert Compiler("c", (command,), "gcc", "12.0.0").with_own_version().version == said
    assert find_compiler("c", [command]).version == said
