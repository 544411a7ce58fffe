"""The audit of functions that ifunc resolvers choose: behind a check where the resolver asks the CPU, only there."""

import subprocess

import pytest

from support.level_code import C_OF, found_in_program

COMPILERS = ["g++", "clang++-16"]
DOUBLE = "for (int i = 0; i < 64; i++) data[i] *= 2;"
CHOICE = """
#include <cpuid.h>
float data[64];
__attribute__((target("avx2"), noinline)) static void fast(void) { DOUBLE }
__attribute__((noinline)) static void slow(void) { DOUBLE data[0] = 1; }
MORE
static void (*choose(void))(void) { CHOICE }
void work(void) __attribute__((ifunc("choose"), visibility("hidden")));
int main(void) { work(); MAIN return 0; }
"""
FEATURES = 'return __builtin_cpu_supports("avx2") ? fast : slow;'
ASKS = {
    "the compiler's variables": ("", "__builtin_cpu_init(); " + FEATURES),
    "a function that chooses": (
        "__attribute__((noinline)) static void *pick(void) { __builtin_cpu_init(); " + FEATURES + " }",
        "return pick();",
    ),
    "two features": (
        "",
        '__builtin_cpu_init(); return __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("popcnt") ? fast '
        ": slow;",
    ),
}
# In a way that does not tell for which features.
ASKS_ELSEWHERE = {
    "cpuid": ("", "unsigned a, b, c, d; __cpuid_count(7, 0, a, b, c, d); return b >> 5 & 1 ? fast : slow;"),
    "a function": (
        "__attribute__((noinline)) static int has(void)"
        " { unsigned a, b, c, d; return __get_cpuid_count(7, 0, &a, &b, &c, &d) && b >> 5 & 1; }",
        "return has() ? fast : slow;",
    ),
    "the C library": (
        "unsigned long getauxval(unsigned long);",
        "return getauxval(16) >> 26 & 1 ? fast : slow;",
    ),
    "the name of the CPU": ("", '__builtin_cpu_init(); return __builtin_cpu_is("haswell") ? fast : slow;'),
}
BLIND = {
    "always": "return fast;",
    "an option": "return data[3] > 1 ? fast : slow;",
}


def source(choice, more="", main=""):
    return CHOICE.replace("CHOICE", choice).replace("MORE", more).replace("MAIN", main).replace("DOUBLE", DOUBLE)


def found(tmp_path, compiler, text, *flags):
    return {(f.kind, f.symbol) for f in found_in_program(tmp_path, text, C_OF[compiler], *flags)}


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("how", ASKS)
def test_a_resolver_that_asks(tmp_path, compiler, how):
    more, choice = ASKS[how]
    for flags in (["-O2"], ["-O0"], ["-O2", "-no-pie", "-fno-pic"], ["-O2", "-static"], ["-O2", "-s"]):
        assert found(tmp_path, compiler, source(choice, more), *flags) == set(), flags


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("how", ASKS_ELSEWHERE)
def test_a_resolver_that_asks_for_what_is_unknown(tmp_path, compiler, how):
    more, choice = ASKS_ELSEWHERE[how]
    for flags in (["-O2"], ["-O0"], ["-O2", "-no-pie", "-fno-pic"], ["-O2", "-static"]):
        assert found(tmp_path, compiler, source(choice, more), *flags) == {("unproven", "fast")}, flags
    assert found(tmp_path, compiler, source(choice, more), "-O2", "-s") == set()  # no name tells what it asks for


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("feature", ["popcnt", "sse4.2", "avx"])
def test_a_resolver_that_asks_for_too_little(tmp_path, compiler, feature):
    text = source("__builtin_cpu_init(); " + FEATURES.replace("avx2", feature))
    text = text.replace("fast(void) {", 'fast(void) { asm volatile("vpaddd %ymm0, %ymm0, %ymm0");')
    for flags in (["-O3"], ["-O0"], ["-O3", "-no-pie", "-fno-pic"], ["-O3", "-static"]):
        (finding,) = found_in_program(tmp_path, text, C_OF[compiler], *flags)
        assert (finding.kind, finding.symbol) == ("baseline", "fast"), flags
        assert finding.detail.startswith("its resolver tests only "), flags
        assert feature.replace(".", "") in finding.detail, flags


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_function_that_two_resolvers_choose(tmp_path, compiler):
    """Each of them has to ask for what the function needs."""
    for feature, expected in (("avx2", set()), ("popcnt", {("baseline", "fast")})):
        choice = "__builtin_cpu_init(); " + FEATURES
        more = "static void (*other(void))(void) { " + choice.replace("avx2", feature) + " }"
        more += 'void more(void) __attribute__((ifunc("other"), visibility("hidden")));'
        text = source(choice, more, "more();")
        text = text.replace("fast(void) {", 'fast(void) { asm volatile("vpaddd %ymm0, %ymm0, %ymm0");')
        for flags in (["-O2"], ["-O2", "-static"]):
            assert found(tmp_path, compiler, text, *flags) == expected, flags


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("how", BLIND)
def test_a_resolver_that_asks_nothing(tmp_path, compiler, how):
    for flags in (["-O2"], ["-O0"], ["-O2", "-no-pie", "-fno-pic"]):
        assert found(tmp_path, compiler, source(BLIND[how]), *flags) == {("baseline", "fast")}, flags


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(
    ("more", "main"),
    [
        ("", "fast();"),
        ("", "void (*volatile f)(void) = fast; f();"),
        ("void (*table[])(void) = {slow, fast};", "table[1]();"),
    ],
)
def test_a_chosen_function_that_other_code_calls_too(tmp_path, compiler, more, main):
    for flags in (["-O2"], ["-O0"], ["-O2", "-no-pie", "-fno-pic"], ["-O2", "-static"]):
        text = source("__builtin_cpu_init(); " + FEATURES, more, main)
        assert found(tmp_path, compiler, text, *flags) == {("baseline", "fast")}, flags


@pytest.mark.parametrize("compiler", COMPILERS)
def test_clones_that_the_compiler_makes(tmp_path, compiler):
    clones = '__attribute__((target_clones("default", "avx2"))) void work(void) { DOUBLE }\n'
    text = "float data[64];\n" + clones.replace("DOUBLE", DOUBLE) + "int main(void) { work(); return 0; }"
    for flags in (["-O2"], ["-O0"], ["-O2", "-no-pie", "-fno-pic"], ["-O2", "-static"], ["-O2", "-s"]):
        assert found(tmp_path, compiler, text, *flags) == set(), flags
    if compiler == "g++":  # clones that call clones
        more = clones.replace("DOUBLE", DOUBLE + " work();").replace("void work(", "void all(")
        text = text.replace("int main", more + "int main").replace("{ work()", "{ all()")
        assert found(tmp_path, compiler, text, "-O2") == set()
    assert subprocess.run([tmp_path / "program"], check=False).returncode == 0


@pytest.mark.parametrize("name", ["strncasecmp", "strncat", "wcsncpy", "wcsncmp", "swapcontext"])
def test_what_the_c_library_links_without_its_resolver(tmp_path, name):
    """And its checks for shadow stacks, where it is built with them (Ubuntu)."""
    text = f"extern char {name}[]; int main(void) {{ return ((int (*)(void)){name})(); }}"
    assert found(tmp_path, "g++", text, "-O2", "-static") == set()


def test_a_number_that_masks_is_no_address(tmp_path):
    """As O_TMPFILE, 0x410000, in glibc's open(), where a program at a fixed address has a chosen function there."""
    uses = '{ int n = 1; asm volatile("cmpl $fast, %0; andl $fast, %0" : "+r"(n)); }'
    for main, expected in ((uses, set()), (uses.replace("andl", "movl"), {("baseline", "fast")})):
        text = source("__builtin_cpu_init(); " + FEATURES, main=main)
        assert found(tmp_path, "g++", text, "-O2", "-no-pie", "-fno-pic") == expected
