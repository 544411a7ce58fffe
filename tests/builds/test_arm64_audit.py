"""The audit of arm64 files without isagen's record: what runs at load, and what guards it."""

import json
import re
import struct
import subprocess

import pytest

from isagen.audit.known_functions import is_harmless
from isagen.audit.records import Baseline
from isagen.audit.targets import audit_each
from isagen.processors.arm64.fields import written
from isagen.processors.table import load_table
from support.projects import need

COMPILERS = {
    "gcc": ["aarch64-linux-gnu-gcc"],
    "clang-16": ["clang-16", "--target=aarch64-linux-gnu"],
    "clang-14": ["clang-14", "--target=aarch64-linux-gnu"],
}
# `planted` uses SVE: CNTD.
PLANTED = '__attribute__((noinline)) {} void planted(void) {{ __asm__ volatile(".inst 0x04e0e3e0" ::: "x0"); }}\n'
CONSTRUCTOR = "__attribute__((constructor)) static void first(void)"


def link(folder, *command):
    done = subprocess.run([*command, "-o", "x"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def audited(path):
    """The findings of a file, except exported functions."""
    features = load_table("armv8", path.parent, "").required_features("ARMV8_A")
    (result,) = audit_each([path], {"arm64": Baseline("ARMV8_A", features)})
    return [finding for finding in result.findings if finding.kind != "bindable"]


@pytest.fixture(params=COMPILERS)
def findings(tmp_path, request):
    """Link a library of C and return its findings."""
    command = COMPILERS[request.param]
    need(command[0], "aarch64-linux-gnu-gcc")

    def found(source, *flags):
        (tmp_path / "x.c").write_text(source)
        link(tmp_path, *command, "-O2", "-fPIC", "-shared", *flags, "x.c")
        return audited(tmp_path / "x")

    return found


def test_words_of_thread_local_storage_are_no_table(findings):
    """The next words of the GOT are pointers for other code."""
    source = (
        "extern __thread int theirs; extern void hand(void (*)(void)); void planted(void);\n"
        "__attribute__((noinline)) static void touch(void) { theirs = 1; }\n"
        "void never(void) { hand(planted); }\n"
        f"{PLANTED.format('')}{CONSTRUCTOR} {{ touch(); }}"
    )
    assert findings(source, "-Wl,-z,now") == []


def test_a_callback_of_a_function_that_is_called_through_the_got(findings):
    """atexit is linked statically: the GOT contains its address, without its name."""
    source = PLANTED.format("static") + f"#include <stdlib.h>\n{CONSTRUCTOR} {{ atexit(planted); }}"
    (finding,) = findings(source, "-fno-plt", "-Wl,--no-relax")
    assert (finding.kind, finding.symbol) == ("load", "planted")


def test_an_adr_that_a_linker_wrote_for_adrp(tmp_path):
    """Near the end of a page, Cortex-A53 may compute a wrong address for ADRP. `planted` is where the page begins."""
    need("aarch64-linux-gnu-gcc")
    (tmp_path / "x.s").write_text(
        ".text\n.balign 4096\n.type planted, %function\nplanted: .inst 0x04e0e3e0\nret\n.size planted, . - planted\n"
        ".balign 8\ndata: .quad 1\n.skip 0xff8 - (. - planted)\n.type first, %function\n"
        "first: adrp x0, data\nldr x1, [sp]\nldr x2, [x0, :lo12:data]\nret\n.size first, . - first\n"
        '.section .init_array, "aw"\n.xword first\n'
    )
    link(tmp_path, "aarch64-linux-gnu-gcc", "-shared", "-nostdlib", "-Wl,--fix-cortex-a53-843419=adr", "x.s")
    command = ["aarch64-linux-gnu-objdump", "-d", "x"]
    code = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert re.search(r"ff8:\s+\w+\s+adr\s", code)
    assert audited(tmp_path / "x") == []


@pytest.mark.parametrize("where", ["", '__attribute__((visibility("hidden")))'])
def test_a_variable_of_cpu_features_behind_the_got(findings, where):
    """As in OpenSSL, whose initialiser returns at once where it ran before."""
    source = PLANTED.format("static") + (
        f"{where} unsigned OPENSSL_armcap_P; static int trigger; extern void run(void);\n"
        f"{CONSTRUCTOR} {{\n  if (trigger) return;\n  trigger = 1;\n  run();\n"
        "  if (OPENSSL_armcap_P & 16384) planted();\n}"
    )
    (finding,) = findings(source)
    assert (finding.kind, finding.cause) == ("unproven", "check")
    assert finding.detail == "runs when loaded, perhaps only if a test of OPENSSL_armcap_P allows it"


def test_atomic_operations_are_no_detection(findings):
    """GCC calls functions for them, which read what the CPU has."""
    source = PLANTED.format("static") + (
        f"int count;\n{CONSTRUCTOR} {{ __atomic_fetch_add(&count, 1, __ATOMIC_SEQ_CST); planted(); }}"
    )
    (finding,) = findings(source)
    assert (finding.kind, finding.detail) == ("load", "runs when loaded")


ARITHMETIC = """
#include <complex.h>
long double a; double b; float c; long d; __int128 e; double complex z; _Complex long double l;
int work(int n)
{
  a = a * b + n - c / a; b = a; c = a; d = a; e = a; n += a < b; a = e; b = e; e = e / 7 % d; z *= z + b; l = l / l;
  __atomic_fetch_add(&d, n, __ATOMIC_ACQ_REL); __atomic_exchange_n(&n, 3, __ATOMIC_RELEASE);
  return __atomic_compare_exchange_n(&d, &d, 3, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED) + __builtin_popcountl(d);
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_functions_of_the_compiler_are_harmless(tmp_path, compiler):
    """An initialiser of a level may call them."""
    command = COMPILERS[compiler]
    need(command[0], "aarch64-linux-gnu-nm")
    (tmp_path / "x.c").write_text(ARITHMETIC)
    subprocess.run([*command, "-O1", "-moutline-atomics", "-c", "x.c"], cwd=tmp_path, check=True)
    listed = subprocess.check_output(["aarch64-linux-gnu-nm", "--undefined-only", tmp_path / "x.o"], text=True)
    names = listed.split()[1::2]
    assert len(names) >= 15
    assert not [name for name in names if not is_harmless(name)]


AFTER_A_RETURN = """
  .text
  .type first, %function
first:
  stp x19, x30, [sp, #-16]!
  adrp x19, planted
  bl run
  cbz w0, 1f
  ldp x19, x30, [sp], #16
  ret
1:
  add x0, x19, :lo12:planted
  bl hand
  ldp x19, x30, [sp], #16
  ret
  .size first, .-first
  .type planted, %function
planted:
  .inst 0x04e0e3e0
  ret
  .size planted, .-planted
  .section .init_array, "aw"
  .quad first
"""


def test_registers_after_a_return_are_those_where_control_comes_from(findings):
    """The return before restores the caller's x19."""
    (finding,) = findings(f"__asm__({json.dumps(AFTER_A_RETURN)});")
    assert (finding.kind, finding.symbol, finding.cause) == ("unproven", "planted", "pointer")


# Instructions, and whether they write x5.
WRITERS = {
    "prfm pldl3strm, [x1, #8]": False,
    "prfm pldl3strm, [x1, x2]": False,
    "prfum pldl3strm, [x1, #-8]": False,
    "prfm pldl3strm, .": False,
    "ldr x5, .": True,
    "ldapur w1, [x5, #4]": False,
    "ldapur x5, [x1]": True,
    "ldraa x5, [x1, #8]": True,
    "ldrab x1, [x5, #8]!": True,
    "ldraa x1, [x2]": False,
    "stlur w5, [x1]": False,
    "cas x1, x5, [x2]": False,
    "casa w1, w5, [x2]": False,
    "casal x5, x1, [x2]": True,
    "caspa x4, x5, x2, x3, [x6]": True,
    "ldadda x1, x5, [x2]": True,
    "ldaxr x5, [x1]": True,
    "stxr w5, x1, [x2]": True,
    "fcvtzs x5, d0, #4": True,
    "fcvtzu w5, s0": True,
    "scvtf d5, x1, #4": False,
}


def test_registers_that_instructions_write(tmp_path):
    need("clang-16", "aarch64-linux-gnu-objcopy")
    lines = "\n".join(WRITERS)
    command = ["clang-16", "--target=aarch64-linux-gnu", "-march=armv8.6-a", "-c", "-xassembler", "-", "-o", "x.o"]
    subprocess.run(command, cwd=tmp_path, input=f"{lines}\n", text=True, check=True)
    subprocess.run(["aarch64-linux-gnu-objcopy", "-Obinary", "-j.text", "x.o", "x"], cwd=tmp_path, check=True)
    words = [word for (word,) in struct.iter_unpack("<I", (tmp_path / "x").read_bytes())]
    assert {line: 5 in written(word) for line, word in zip(WRITERS, words, strict=True)} == WRITERS


def test_the_unwinder_of_the_compiler_checks_what_it_needs(findings):
    """It asks for the length of SVE vectors only in frames of functions that save them."""
    source = (
        "#include <unwind.h>\n"
        "static _Unwind_Reason_Code step(struct _Unwind_Context *one, void *count) { return _URC_NO_REASON; }\n"
        f"{CONSTRUCTOR} {{ _Unwind_Backtrace(step, 0); }}"
    )
    assert findings(source, "-static-libgcc") == []


def test_a_program_with_the_c_library_in_it(tmp_path):
    """malloc of glibc has instructions of MTE, behind mtag_enabled."""
    need("aarch64-linux-gnu-g++")
    (tmp_path / "x.cpp").write_text(
        "#include <string>\nstatic std::string text(99, 'x'); int main() { return text[1]; }\n"
    )
    link(tmp_path, "aarch64-linux-gnu-g++", "-O2", "-static", "x.cpp")
    assert not [finding for finding in audited(tmp_path / "x") if finding.kind == "load"]


VENEER = """
  .section .text.a, "ax"
  .type first, %function
first:
  stp x29, x30, [sp, #-16]!
  bl planted
  ldp x29, x30, [sp], #16
  ret
  .size first, .-first
  .section .text.b, "ax"
  .space 140000000
  .section .text.c, "ax"
  .globl planted
  .hidden planted
  .type planted, %function
planted:
  .inst 0x04e0e3e0
  ret
  .size planted, .-planted
  .section .init_array, "aw"
  .quad first
"""


def test_a_call_of_code_that_is_too_far_away(findings):
    """The linker adds the code that jumps there. Zeros between functions are read at once, not word by word."""
    (finding,) = findings(f"__asm__({json.dumps(VENEER)});")
    assert (finding.kind, finding.path[0], finding.path[-1]) == ("load", "first", "planted")
