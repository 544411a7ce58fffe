"""The audit of binaries that were not built with isagen, made here by real compilers, linkers and assemblers."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from isagen.audit.demangle import demangle
from isagen.audit.targets import Baseline, audit_targets
from isagen.errors import AuditError
from isagen.table import load_table
from support.damaged import mutations
from support.projects import need

LINKERS = {"bfd": "ld.bfd", "gold": "ld.gold", "lld": "ld.lld", "mold": "mold"}
# A loop that GCC and Clang make vectors of, and that no constant folding takes away.
DOUBLE = "for (int i = 0; i < 64; i++) data[i] *= 2;"
AVX2 = '__attribute__((target("avx2"), noinline))'
HEAD = "float data[64];\n"


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def link(tmp_path):
    """Compile C (or what `kind` says) and link it into a library, or what the flags say."""

    def link(source, *flags, compiler="g++", linker=None, name="foreign.so", kind=".c"):
        need(compiler)
        if linker is not None:
            need(LINKERS[linker])
            flags = (*flags, f"-fuse-ld={linker}")
        text = tmp_path / f"source{kind}"
        text.write_text(source)
        output = tmp_path / name
        shared = () if {"-c", "-static", "-static-pie", "-no-pie"} & set(flags) else ("-shared",)
        language = {".c": "c", ".cpp": "c++", ".s": "assembler"}[kind]
        run(compiler, "-x", language, text, "-x", "none", "-O2", "-fPIC", *shared, "-o", output, *flags)
        return output

    return link


def audit(path, baseline="X86_64"):
    features = load_table("x86-64", path.parent, "").required_features(baseline)
    (result,) = audit_targets([path], Baseline(baseline, features))
    return result


def findings(path, kind=None):
    """The findings of a file by symbol."""
    return {f.symbol: f for f in audit(path).findings if kind in (None, f.kind)}


def counted(path):
    return dict(audit(path).counted)


# What runs at load.

CONSTRUCTOR = HEAD + f"{AVX2} __attribute__((constructor)) static void planted() {{ {DOUBLE} }}"
CALLS = (
    HEAD
    + f"""
{AVX2} static void planted() {{ {DOUBLE} }}
__attribute__((noinline)) static void middle() {{ data[1] = 3; planted(); data[0] = 1; }}
__attribute__((constructor)) static void first() {{ data[2] = 3; middle(); data[1] = 2; }}
"""
)
EXPORTED = CALLS.replace("static ", "")


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


@pytest.mark.parametrize("flags", [["--pack-dyn-relocs=android"], ["-z,rel"], ["-z,rel", "--pack-dyn-relocs=android"]])
@pytest.mark.parametrize("stripped", [False, True])
def test_a_constructor_through_relocations_of_other_forms(link, flags, stripped):
    words = [f"-Wl,{flag}" for flag in flags]
    source = "int more[9]; int *moved[] = {more, more + 1, more + 2, more + 4};\n" + EXPORTED
    for extra in ([], ["-fno-plt", "-Wl,--no-relax"]):
        library = link(source, *words, *extra, linker="lld", compiler="clang++-16")
        if stripped:
            run("strip", "-R", ".comment", library)
        assert findings(library, "load")["planted"].path == ("first", "middle", "planted")
    resolved = f"""{HEAD}
static int one() {{ return 1; }}
{AVX2} static int (*planted())() {{ {DOUBLE} return one; }}
__attribute__((visibility("hidden"), ifunc("planted"))) int chosen();
int use() {{ return chosen(); }}
"""
    library = link(resolved, *words, linker="lld")
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


@pytest.mark.parametrize(
    ("call", "head"),
    [
        ("atexit(planted)", "#include <stdlib.h>"),
        ("on_exit((void (*)(int, void *))planted, 0)", "#include <stdlib.h>"),
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
    # One that is only pointed to does not run.
    source = source.replace(call, f"void (*volatile kept)() = planted; {call.replace('planted', 'harmless')}")
    assert findings(link(source, optimise)) == {}


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


@pytest.mark.parametrize("flags", [[], ["-static"], ["-static-pie"], ["-no-pie", "-fno-pic"]], ids=" ".join)
def test_code_that_the_compiler_s_own_resolver_chooses_from(link, flags):
    source = (
        HEAD
        + f'__attribute__((target_clones("default", "avx2", "avx512f"))) void chosen() {{ {DOUBLE} }}\n'
        + "int main() { chosen(); return 0; }"
    )
    path = link(source, *flags)
    assert findings(path, "load") == {}
    assert audit(path).counted["avx512_f"] >= 1


def test_a_check_of_the_cpu_on_the_way_is_told(link):
    source = CALLS.replace("planted(); ", 'if (__builtin_cpu_supports("avx2")) planted(); ')
    detail = "runs when loaded, perhaps only where middle finds what it needs"
    assert findings(link(source))["planted"].detail == detail
    source = "#include <cpuid.h>\n" + CALLS.replace(
        "__attribute__((noinline)) static void middle",
        "__attribute__((noinline)) static int ask()"
        "{ unsigned a, b, c, d; return __get_cpuid(1, &a, &b, &c, &d) && c >> 28 & 1; }\n"
        "__attribute__((noinline)) static void middle",
    ).replace("planted(); ", "if (ask()) planted(); ")
    assert findings(link(source))["planted"].detail == detail.replace("middle", "ask")


# What others may bind to.


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
        "_Z5otherPf": ("bindable", "weak"),  # of two names of a function, the one that gives way counts
    }
    assert counted(library)["avx"] == 2


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


# Code that says little of itself.

ASSEMBLY = """
        .text
        .globl  exported
        .type   exported, @function
exported:
        movl    $1, %eax
        ret
        .size   exported, .-exported
        .p2align 4
untouched:
        vpaddd  %ymm0, %ymm1, %ymm2
        ret
        .p2align 4
looped:
        movl    $4, %ecx
2:      decl    %ecx
        jnz     2b
        cmpl    $7, %eax
        je      4f
        ret
        .fill   300, 1, 0xc4
4:      vzeroupper
        ret
        .p2align 4
innocent:
        ret
        .globl  sizeless
sizeless:
        movl    $2, %eax
        ret
hidden_in_sizeless:
        vpaddd  %zmm0, %zmm1, %zmm2
        ret
        .p2align 4
first:
        call    innocent
        jmp     {0}
        .section .init_array, "aw"
        .quad   first
        .section .note.GNU-stack, "", @progbits
"""


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
    (finding,) = audit(library).findings  # it is not told from the code without a length that jumps to it
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


def test_bytes_that_are_no_instruction_are_counted_and_no_feature(link):
    library = link(MARKED.format(body=".byte 0x06, 0x0e").replace("c5, 0xfc", "90, 0x90"), kind=".s")
    assert (audit(library).findings, counted(library)) == ((), {"undecodable": 1})
    done = subprocess.run(
        [sys.executable, "-m", "isagen", "audit", library], capture_output=True, text=True, check=False
    )
    assert "functions with bytes that are no known instruction, data or newer than the decoder: 1" in done.stdout
    assert "presumably behind a check" not in done.stdout


# Programs and objects.


@pytest.mark.parametrize(
    "flags", [["-static"], ["-static-pie"], ["-no-pie", "-fno-pic"], ["-fPIE", "-pie"]], ids=" ".join
)
@pytest.mark.parametrize("stripped", [False, True])
def test_programs(link, flags, stripped):
    program = link(CALLS + "\nint main() { return 0; }", *flags, "-no-pie" if flags[0] == "-fPIE" else "-g0")
    if stripped:
        run("strip", program)
    found = findings(program, "load").values()
    if stripped and "-static" in flags[0]:  # the C library's names are gone, by which its own checks are known
        found = [f for f in found if f.features != ("rtm",)]
    (finding,) = found
    assert len(finding.path) == 3
    assert stripped or finding.symbol == "planted"


@pytest.mark.parametrize("compiler", ["g++", "clang++-16"])
@pytest.mark.parametrize("flags", [[], ["-ffunction-sections"], ["-fno-plt"], ["-O0"], ["-fno-pic", "-mcmodel=large"]])
def test_objects(link, compiler, flags):
    if "-mcmodel=large" in flags:
        pytest.skip("its calls are through registers")
    path = link(CALLS, "-c", *flags, compiler=compiler, name="foreign.o")
    assert findings(path)["planted"].path == ("first", "middle", "planted")
    path = link(EXPORTED, "-c", *flags, compiler=compiler, name="foreign.o")
    assert findings(path)["planted"].path == ("first", "middle", "planted")
    # Only pointed to, or of somebody else.
    source = CALLS.replace("planted();", "void (*volatile kept)() = planted; (void)kept;")
    path = link(source, "-c", *flags, compiler=compiler, name="foreign.o")
    assert findings(path) == {}


def test_objects_with_functions_for_the_end(link):
    source = (
        f"float data[64]; struct held {{ held() {{ data[0] = 1; }} {AVX2} ~held() {{ {DOUBLE} }} }}; static held one;"
    )
    path = link(source, "-c", name="foreign.o", kind=".cpp")
    (finding,) = (f for f in audit(path).findings if f.kind == "load")
    assert finding.symbol.startswith("_ZN4heldD")


def test_an_object_of_many_sections_is_read_in_time(link):
    source = "\n".join(f"inline __attribute__((used)) int f{i}(int a) {{ return a + {i}; }}" for i in range(4000))
    path = link(source, "-c", "-ffunction-sections", "-mavx2", name="foreign.o", kind=".cpp")
    assert audit(path).findings == ()


# Wheels.


def test_a_wheel(link, tmp_path):
    wheel = tmp_path / "foreign-1.0-cp311-cp311-linux_x86_64.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(link(CONSTRUCTOR), "foreign/_core.so")
        archive.write(link("int sound() { return 1; }", name="sound.so"), "foreign/sound.so")
        archive.writestr("foreign/__init__.py", "import foreign._core\n")
    done = subprocess.run([sys.executable, "-m", "isagen", "audit", wheel], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert f"{wheel.name}/foreign/_core.so: no record of isagen in it; judged as code for X86_64" in done.stdout
    assert "    planted\n" in done.stdout
    assert "2 files: 1 without a finding, 1 finding in the others" in done.stdout


def test_a_wheel_that_is_damaged(link, tmp_path):
    wheel = tmp_path / "damaged.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(link(CONSTRUCTOR), "foreign/_core.so")
    raw = bytearray(wheel.read_bytes())
    raw[300:600] = bytes(300)
    wheel.write_bytes(raw)
    with pytest.raises(AuditError, match="cannot be unpacked"):
        audit(wheel)


@pytest.mark.parametrize("kind", ["name", "lzma"])
def test_a_wheel_whose_entries_cannot_be_unpacked(link, tmp_path, kind):
    wheel = tmp_path / "damaged.whl"
    name = "foreign/_cöre.so"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_LZMA) as archive:
        archive.write(link(CONSTRUCTOR), name)
    raw = wheel.read_bytes()
    if kind == "name":  # said to be UTF-8
        raw = raw.replace("ö".encode(), b"\xff\xfe")
    else:
        start = raw.index(name.encode()) + len(name.encode())
        raw = raw[: start + 4] + b"\xff" * 5 + raw[start + 9 :]  # the filter's properties
    wheel.write_bytes(raw)
    with pytest.raises(AuditError, match="cannot be unpacked"):
        audit(wheel)


@pytest.mark.parametrize("folder", ["lib.p", "CMakeFiles", "__pycache__"])
def test_a_wheel_s_folders_may_be_called_as_those_of_builds(link, tmp_path, folder):
    wheel = tmp_path / "foreign.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(link(CONSTRUCTOR), f"a/{folder}/lib.so")
    assert audit(wheel).findings[0].symbol == "planted"


def test_one_file_that_cannot_be_read_leaves_the_others_audited(link, tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    library = link(CONSTRUCTOR)
    shutil.copy(library, folder / "whole.so")
    (folder / "cut.so").write_bytes(library.read_bytes()[:3000])
    run("ar", "rcs", folder / "parts.a", link(CONSTRUCTOR, "-c", name="part.o"))
    command = [sys.executable, "-m", "isagen", "audit", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"{folder}/cut.so: not audited: is not an ELF file that can be read" in done.stdout
    assert f"{folder}/parts.a: not audited: an archive of objects" in done.stdout
    assert "    planted\n" in done.stdout
    assert f"isagen: error: {folder}/cut.so: is not an ELF file" in done.stderr
    done = subprocess.run([*command, "--format", "json"], capture_output=True, text=True, check=False)
    problems = {Path(t["target"]).name: t["problem"] for t in json.loads(done.stdout)["targets"]}
    assert "cut off" in problems["cut.so"]
    assert (problems["whole.so"], problems["parts.a"]) == ("", "")
    with pytest.raises(AuditError, match="is an archive of objects"):
        audit(folder / "parts.a")
    for path in folder.glob("*.so"):
        path.unlink()
    with pytest.raises(AuditError, match="holds no ELF file"):
        audit(folder)


def test_a_library_that_holds_the_end_of_an_archive(link):
    library = link(CONSTRUCTOR + '\nconst char magic[64] = "PK\\5\\6";')
    with library.open("ab") as stream:
        stream.write(b"PK\5\6" + bytes(18))
    assert zipfile.is_zipfile(library)
    assert list(findings(library)) == ["planted"]


def test_symbols_of_any_letters_are_shown(link):
    library = link(CONSTRUCTOR.replace("planted", "größe"))
    for encoding in ("latin-1", "ascii", "utf-8"):
        done = subprocess.run(
            [sys.executable, "-m", "isagen", "audit", library],
            capture_output=True,
            env={**os.environ, "PYTHONIOENCODING": encoding},
            check=False,
        )
        assert (done.returncode, done.stderr) == (1, b""), encoding
        assert "größe".encode(encoding, errors="backslashreplace") in done.stdout


def test_names_that_nobody_can_have_written_stay_as_they_are():
    assert demangle("_Z\udcff") == "_Z\udcff"
    assert demangle("_Z3sumPKfm") == "sum(float const*, unsigned long)"


# Files that are not what they say.


def test_a_library_without_section_headers(link):
    library = link(CONSTRUCTOR)
    raw = bytearray(library.read_bytes())
    raw[40:48] = bytes(8)  # e_shoff
    raw[60:64] = bytes(4)  # e_shnum, e_shstrndx
    library.write_bytes(raw)
    with pytest.raises(AuditError, match="no section headers"):
        audit(library)


@pytest.mark.parametrize("kind", ["library", "stripped", "object", "relr", "android"])
def test_damaged_files_are_one_clear_error_or_a_report(link, tmp_path, kind):
    if kind in ("relr", "android"):
        path = link(EXPORTED, f"-Wl,--pack-dyn-relocs={kind}", linker="lld")
    else:
        path = link(EXPORTED, *(["-c"] if kind == "object" else []), name="foreign.o")
    if kind == "stripped":
        run("strip", path)
    content = path.read_bytes()
    damaged = tmp_path / "damaged"
    reports = 0
    for raw in mutations(content, 300):
        damaged.write_bytes(raw)
        try:
            audit(damaged)
            reports += 1
        except AuditError as error:
            assert str(error).startswith(str(damaged)), error
    assert reports > 50


def test_tools_are_there():
    assert shutil.which("strip")
    assert shutil.which("readelf")


# The offset of a function's type is data: here it is what would be vaddps if it ran.
MARKED = """
  .text
  .type marked, @function
marked:
  .byte 0xeb, 0x06, 0x76, 0x32
  .byte 0xc5, 0xfc, 0x58, 0xc0
  {body}
  ret
  .size marked, .-marked
  .section .init_array, "aw"
  .quad marked
  .section .note.GNU-stack, "", @progbits
"""


def test_the_types_that_the_function_sanitizer_puts_into_functions(link):
    assert audit(link(MARKED.format(body=""), kind=".s")).findings == ()
    (finding,) = audit(link(MARKED.format(body="vmulps %ymm0, %ymm0, %ymm0"), kind=".s")).findings
    assert (finding.symbol, finding.instruction.split()[0]) == ("marked", "vmulps")


@pytest.mark.parametrize("compiler", ["clang++-14", "clang++-16"])
def test_functions_under_the_function_sanitizer(link, compiler):
    functions = "".join(f"struct T{i} {{}}; int f{i}(T{i} *, int x) {{ return x + {i}; }}\n" for i in range(500))
    library = link(functions, "-fsanitize=function", "-Wl,--allow-shlib-undefined", compiler=compiler, kind=".cpp")
    assert b"\xeb\x06v2" in library.read_bytes()
    assert counted(library) == {}
