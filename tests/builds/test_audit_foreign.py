"""The audit of binaries that were not built with isagen, made here by real compilers, linkers and assemblers."""

import pytest

from support.foreign import (
    ASSEMBLY,
    AVX2,
    CALLS,
    CONSTRUCTOR,
    DOUBLE,
    EXPORTED,
    HEAD,
    LINKERS,
    audit,
    counted,
    findings,
    run,
)
from support.projects import need

# Code that runs at load.


@pytest.mark.parametrize("compiler", ["g++", "clang++-16", "g++-11", "clang++-14"])
def test_a_constructor(link, compiler):
    library = link(CONSTRUCTOR, compiler=compiler)
    (finding,) = audit(library).findings
    assert (finding.kind, finding.symbol, finding.detail) == ("load", "planted", "runs when loaded")
    assert finding.variable == "data"
    assert finding.instruction.startswith("v")
    assert "avx" in finding.features
    assert audit(library, "X86_64_V3").findings == ()


@pytest.mark.parametrize("compiler", ["g++", "clang++-16"])
@pytest.mark.parametrize("optimise", ["-O0", "-O2"])
def test_a_constructor_through_two_calls(link, compiler, optimise):
    library = link(CALLS, optimise, compiler=compiler)
    assert findings(library)["planted"].path == ("first", "middle", "planted")
    run("strip", library)
    (finding,) = audit(library).findings
    assert finding.path[-1] == finding.symbol == f"function at {int(finding.symbol.split()[-1], 16):#x}"
    assert len(finding.path) == 3


@pytest.mark.parametrize("linker", LINKERS)
@pytest.mark.parametrize(
    "flags",
    [
        ["-fcf-protection=none"],
        ["-fcf-protection", "-Wl,-z,now"],
        ["-fno-plt"],
        ["-fno-plt", "-Wl,--no-relax"],
        ["-Wl,-Bsymbolic"],
        ["-Wl,--pack-dyn-relocs=relr"],
        ["-Wl,-z,pack-relative-relocs"],
        ["-Wl,-z,ibtplt"],
        ["-Wl,-z,retpolineplt"],
        ["-mcmodel=medium", "-ffunction-sections", "-Wl,--gc-sections"],
    ],
    ids=" ".join,
)
def test_a_constructor_through_the_tables_of_each_linker(link, linker, flags):
    if ("-z,pack" in flags[0] and linker != "bfd") or ("--pack-dyn" in flags[0] and linker not in ("lld", "mold")):
        pytest.skip("another linker's spelling")
    if ("plt" in flags[0].rpartition(",")[2] and "-z" in flags[0]) and linker == "gold":
        pytest.skip("gold has no such table")
    if "--no-relax" in flags and linker == "gold":
        pytest.skip("gold does not know --no-relax")
    for stripped in (False, True):
        library = link(EXPORTED, *flags, linker=linker)
        if stripped:
            run("strip", library)
        finding = findings(library, "load")["planted"]
        assert finding.path == ("first", "middle", "planted"), (flags, stripped)


def test_packed_relocations_of_pointers_to_local_functions(link):
    need("ld.lld")
    source = CALLS.replace("static void planted", "void planted").replace("planted();", "planted(); ")
    library = link(
        source, "-fvisibility=hidden", "-fno-plt", "-Wl,--pack-dyn-relocs=relr", "-Wl,--no-relax", linker="lld"
    )
    assert ".relr.dyn" in run("readelf", "-SW", library)
    assert findings(library)["planted"].path == ("first", "middle", "planted")


@pytest.mark.parametrize("stripped", [False, True])
def test_a_constructor_through_relocations_without_addends(link, stripped):
    source = "int more[9]; int *moved[] = {more, more + 1, more + 2, more + 4};\n" + EXPORTED
    for extra in ([], ["-fno-plt", "-Wl,--no-relax"]):
        library = link(source, "-Wl,-z,rel", *extra, linker="lld", compiler="clang++-16")
        if stripped:
            run("strip", "-R", ".comment", library)
        assert findings(library, "load")["planted"].path == ("first", "middle", "planted")
    resolved = f"""{HEAD}
static int one() {{ return 1; }}
{AVX2} static int (*planted())() {{ {DOUBLE} return one; }}
__attribute__((visibility("hidden"), ifunc("planted"))) int chosen();
int use() {{ return chosen(); }}
"""
    library = link(resolved, "-Wl,-z,rel", linker="lld")
    (finding,) = audit(library).findings
    assert finding.detail == "runs when loaded, as an ifunc resolver"


def test_a_function_that_the_linker_is_told_to_run(link):
    source = CALLS.replace("__attribute__((constructor)) static", "")
    assert "load" not in {f.kind for f in audit(link(source)).findings}
    library = link(source, "-Wl,-init=first")
    assert findings(library, "load")["planted"].path == ("first", "middle", "planted")
    library = link(source, "-Wl,-fini=first")
    assert findings(library, "load")["planted"].detail == "runs at exit"


@pytest.mark.parametrize("compiler", ["g++", "clang++-16"])
@pytest.mark.parametrize(
    "flags", [["-O0"], ["-O2"], ["-O2", "-fno-plt"], ["-no-pie", "-fno-pic"], ["-static", "-fno-pic"]]
)
def test_what_a_constructor_registers_to_run_at_exit(link, compiler, flags):
    source = f"""
float data[64];
struct held {{
  held() {{ data[0] = 1; }}
  {AVX2} ~held() {{ {DOUBLE} }}
}};
static held one;
int main() {{ return 0; }}
"""
    library = link(source, *flags, compiler=compiler, kind=".cpp")
    (finding,) = (f for f in audit(library).findings if f.kind == "load")
    assert (finding.symbol[:-3], finding.detail) == ("_ZN4heldD", "runs when loaded")


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("call", "head"),
    [
        ("atexit(planted)", "#include <stdlib.h>"),
        ("on_exit((void (*)(int, void *))planted, 0)", "#include <stdlib.h>"),
        ("atexit(harmless); atexit(planted); atexit(planted)", "#include <stdlib.h>\nstatic void harmless();"),
        ("pthread_atfork(0, 0, planted)", "#include <pthread.h>"),
        ("pthread_once(&once, planted)", "#include <pthread.h>\nstatic pthread_once_t once = PTHREAD_ONCE_INIT;"),
    ],
)
@pytest.mark.parametrize("optimise", ["-O0", "-O2"])
def test_what_a_constructor_hands_over_to_be_run(link, call, head, optimise):
    source = f"""{head}
{HEAD}
{AVX2} static void planted() {{ {DOUBLE} }}
static void harmless() {{ data[3] = 4; }}
__attribute__((constructor)) static void first() {{ data[1] = 1; {call}; data[2] = 2; }}
"""
    assert findings(link(source, optimise))["planted"].path == ("first", "planted")
    # A function that is only pointed to does not run.
    source = source.replace(call, f"void (*volatile kept)() = planted; {call.replace('planted', 'harmless')}")
    (finding,) = findings(link(source, optimise)).values()
    assert (finding.symbol, finding.kind, finding.cause) == ("planted", "unproven", "pointer")
    assert finding.path == ("first", "planted")


def test_a_destructor_function(link):
    library = link(CONSTRUCTOR.replace("constructor", "destructor"))
    assert findings(library)["planted"].detail == "runs at exit"


@pytest.mark.parametrize("linker", LINKERS)
@pytest.mark.parametrize("stripped", [False, True])
def test_an_ifunc_resolver(link, linker, stripped):
    source = (
        HEAD
        + f"""
static int one() {{ return 1; }}
{AVX2} static int (*planted())() {{ {DOUBLE} return one; }}
__attribute__((visibility("hidden"), ifunc("planted"))) int chosen();
int use() {{ return chosen(); }}
"""
    )
    library = link(source, linker=linker)
    if stripped:
        run("strip", library)
    (finding,) = audit(library).findings
    assert finding.detail == "runs when loaded, as an ifunc resolver"
    assert stripped or finding.symbol == "planted"


@pytest.mark.smoke
@pytest.mark.parametrize("flags", [[], ["-static"], ["-static-pie"], ["-no-pie", "-fno-pic"]], ids=" ".join)
def test_code_that_the_compiler_s_own_resolver_chooses_from(link, flags):
    source = (
        HEAD
        + f'__attribute__((target_clones("default", "avx2", "avx512f"))) void chosen() {{ {DOUBLE} }}\n'
        + "int main() { chosen(); return 0; }"
    )
    path = link(source, *flags)
    assert findings(path, "load") == {}
    assert audit(path).counted["avx512_f"]


# Functions that other files may bind to.


@pytest.mark.parametrize("compiler", ["g++", "clang++-16"])
@pytest.mark.parametrize("stripped", [False, True])
def test_weak_and_exported_functions(link, compiler, stripped):
    source = f"""
inline __attribute__((noinline)) void weak(float *data) {{ {DOUBLE} }}
__attribute__((visibility("hidden"))) void hidden(float *data) {{ {DOUBLE} }}
static __attribute__((noinline)) void local(float *data) {{ {DOUBLE} data[0] = 0; }}
void exported(float *data) {{ {DOUBLE} }}
__attribute__((weak, alias("_Z8exportedPf"))) void other(float *data);
__attribute__((target("no-avx"))) void calls(float *data) {{ weak(data); hidden(data); local(data); }}
inline int &unique() {{ static int held = 3; return held; }}
int use() {{ return unique()++; }}
"""
    library = link(source, "-mavx2", compiler=compiler, kind=".cpp")
    assert "UNIQUE" in run("readelf", "-sW", library) or compiler != "g++"
    if stripped:
        run("strip", library)
    found = findings(library)
    assert {symbol: (f.kind, f.detail) for symbol, f in found.items()} == {
        "_Z4weakPf": ("bindable", "weak"),
        "_Z5otherPf": ("bindable", "weak"),  # of two names of a function, the weak one counts
    }
    assert counted(library)["avx"] == 2


@pytest.mark.smoke
def test_what_every_cpu_runs_or_ignores_is_no_finding(link):
    source = (
        HEAD
        + """
__attribute__((constructor)) void first()
{
  unsigned a, d;
  unsigned long b = 8, e;
  asm volatile("endbr64\\n\\tprefetchw %0\\n\\tprefetcht0 %0\\n\\tcldemote %0" : : "m"(data[0]));
  asm volatile("tzcnt %1, %0\\n\\trdsspq %0\\n\\tincsspq %0" : "+r"(b) : "r"(3ul));
  asm volatile("pause\\n\\tlfence\\n\\tclflush %0" : : "m"(data[0]));
  asm volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
  asm volatile("lahf; sahf; rdtsc; cpuid; nopw (%%rax,%%rax)" : "=a"(e) : : "rbx", "rcx", "rdx");
  asm volatile("fisttpll %0" : "=m"(data[2]));
}
"""
    )
    (finding,) = audit(link(source)).findings
    assert (finding.symbol, finding.features, finding.instruction) == ("first", ("sse3",), finding.instruction)
    assert finding.instruction.startswith("fisttp")  # the one of them that SSE3 brought
    clean = link(source.replace('asm volatile("fisttpll %0" : "=m"(data[2]));', ""))
    assert (audit(clean).findings, counted(clean)) == ((), {})


# Code with few symbols, types and sizes.


@pytest.mark.parametrize("linker", LINKERS)
def test_assembly_without_types_sizes_and_tables(link, linker):
    library = link(ASSEMBLY.format("looped"), kind=".s", compiler="gcc", linker=linker)
    (finding,) = audit(library).findings
    assert (finding.kind, finding.symbol, finding.instruction) == ("load", "looped", "vzeroupper")
    assert finding.path == ("first", "looped")
    run("strip", library)
    (finding,) = audit(library).findings
    assert (finding.kind, finding.instruction, len(finding.path)) == ("load", "vzeroupper", 2)
    assert finding.symbol.startswith("function at 0x")
    assert {"avx2", "avx512_f"} <= set(counted(library))
    library = link(ASSEMBLY.format("innocent"), kind=".s", compiler="gcc", linker=linker)
    assert audit(library).findings == ()
    library = link(ASSEMBLY.format("hidden_in_sizeless"), kind=".s", compiler="gcc", linker=linker)
    (finding,) = audit(library).findings  # it cannot be distinguished from the code of unknown size that jumps to it
    assert (finding.symbol, finding.features) == ("first", ("avx512_f",))


def test_an_exported_function_without_a_size(link):
    source = ASSEMBLY.format("innocent").replace("movl    $2, %eax", "movl    $2, %eax\n inner: vzeroall")
    (finding,) = audit(link(source, kind=".s", compiler="gcc")).findings
    assert (finding.kind, finding.symbol, finding.features) == ("bindable", "sizeless", ("avx",))


def test_a_library_whose_local_symbols_are_gone(link):
    library = link(CALLS.replace("static void middle", "void middle"))
    run("strip", "-x", library)
    assert ".symtab" in run("readelf", "-SW", library)
    (finding,) = audit(library).findings
    assert finding.path[1] == "middle"
    assert finding.symbol.startswith("function at 0x")


def test_data_among_code(link):
    table = ", ".join(["0x62, 0xf1, 0x7c, 0x48, 0x58, 0xc1"] * 5000)
    source = (
        HEAD
        + f"""
asm(".text\\n.p2align 4\\ntable: .byte {table}\\n");
__attribute__((constructor)) static void first() {{ data[1] = 2; }}
void after() {{ data[3] = 1; }}
"""
    )
    library = link(source)
    for _ in range(2):
        assert audit(library).findings == ()
        assert counted(library) == {"avx512_f": 1}
        run("strip", library)


def test_functions_out_of_line_and_tail_calls(link):
    source = (
        HEAD
        + f"""
{AVX2} void planted() {{ {DOUBLE} }}
__attribute__((noinline, cold)) static void rare() {{ data[2] = 1; planted(); data[5] = 1; }}
__attribute__((constructor)) static void first() {{ if (__builtin_expect(data[0] > 1, 0)) rare(); }}
"""
    )
    assert findings(link(source), "load")["planted"].path[0] == "first"
