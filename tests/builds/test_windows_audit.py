"""The audit of PE files: planted instructions are found in what MinGW's GCC and zig link, stripped or not."""

import json
import random
import re
import struct
import subprocess
from pathlib import Path

import pytest

from isagen.audit.findings import Result
from isagen.audit.records import Baseline
from isagen.audit.targets import audit_each
from isagen.binary.coff.image_pointers import PeImage
from isagen.binary.coff.sealing import CoffObject
from isagen.binary.notes import note_of
from isagen.model.record import RECORD_OWNER
from isagen.processors.x86 import COFF
from support import clang_cl
from support.model import record_of
from support.platforms import WINDOWS, for_windows
from support.projects import Project, need

ADD = 'asm volatile("vpaddd %ymm0, %ymm1, %ymm2");'
PLANTED = f"__attribute__((used, noinline)) static void in_NAME() {{ {ADD} }}\n"


def audited(project: Project, *words) -> list[dict]:
    """The findings of an audit, after which the exit status says whether there are any that fail."""
    done = project.isagen("audit", "--format", "json", *words, check=False)
    report = json.loads(done.stdout)
    found = [one for target in report["targets"] for one in target["findings"]]
    assert done.returncode == any(one["kind"] not in ("unproven", "bindable") for one in found)
    return found


def stripped(project: Project, program: Path) -> Path:
    """A stripped copy of a program."""
    copy = project.folder / f"stripped-{program.name}"
    project.run("x86_64-w64-mingw32-strip", program, "-o", copy)
    return copy


@pytest.mark.parametrize("compiler", WINDOWS)
def test_planted_instructions_are_found_in_builds(tmp_path, compiler):
    """In a constructor, in ordinary code, in an exported function and in a level that lacks the feature.

    Not in the level that has it. A clean build has no finding. zig writes no symbols.
    """
    project = for_windows(tmp_path, compiler, "portable", "-Disa_levels=AVX2,AVX512")
    project.ninja()
    program = project.path("portable.exe")
    assert audited(project, program) == audited(project, "build") == []
    assert audited(project, stripped(project, program)) == []
    added = [
        ("main.cpp", PLANTED.replace("NAME", "main")),
        ("main.cpp", f'extern "C" __declspec(dllexport) void in_exported() {{ {ADD} }}\n'),
        ("early.cpp", PLANTED.replace("NAME", "early").replace("((used", "((constructor, used")),
        ("kernels/dot.cpp", "#ifdef CPU_CAPABILITY_DEFAULT\n" + PLANTED.replace("NAME", "default") + "#endif\n"),
        ("kernels/dot.cpp", "#ifdef CPU_CAPABILITY_AVX512\n" + PLANTED.replace("NAME", "avx512") + "#endif\n"),
    ]
    for name, text in added:
        with (project.folder / name).open("a", encoding="utf-8") as stream:
            stream.write(text)
    project.ninja()
    expected = {("main", "baseline"), ("exported", "baseline"), ("early", "load"), ("default", "level")}
    for where in (program, "build", stripped(project, program)):
        found = audited(project, where)
        assert sorted(one["kind"] for one in found) == sorted(kind for _, kind in expected)
        assert all(one["features"] == ["avx2"] for one in found)
        assert [one["level"] for one in found if one["kind"] == "level"] == ["DEFAULT"]
        if compiler == "mingw" and where in (program, "build"):
            assert {
                (re.search(r"in_(main|exported|early|default)", one["symbol"])[1], one["kind"]) for one in found
            } == expected


@pytest.mark.parametrize("package", ["leak", "leaks", "mixed", "names"])
def test_projects_have_no_finding(tmp_path, package):
    """With the C++ library linked statically, whose functions lose their names in the stripped file."""
    project = for_windows(tmp_path, "mingw", package)
    project.ninja()
    assert audited(project, "build") == []
    (program,) = project.path("").glob("*.exe")
    assert audited(project, stripped(project, program)) == []


def test_levels_that_are_not_sealed_are_a_finding(tmp_path):
    project = for_windows(tmp_path, "mingw", "leak", "-Disa_seal=false", "-Disa_levels=AVX2")
    project.ninja()
    assert [one["kind"] for one in audited(project, "build")] == ["unsealed"]
    assert [one["kind"] for one in audited(project, stripped(project, project.path("leak.exe")))] == ["unsealed"]


def test_the_boundaries_of_levels_are_checked(tmp_path):
    """Ordinary code that calls a level's code or takes its address, and a DLL that exports it."""
    project = for_windows(tmp_path, "mingw", "portable", "-Disa_levels=AVX2")
    kernel = project.folder / "kernels/dot.cpp"
    kernel.write_text(
        kernel.read_text() + "int called(int x) { return x + (int)sizeof(int); }\nint taken(int x) { return x - 1; }\n"
    )
    project.ninja()
    file = CoffObject.load(project.path("isagen/isa_AVX2.dot.cpp.o"))
    called, taken = (next(one.name for one in file.symbols if name in one.name) for name in ("called", "taken"))
    main = project.folder / "main.cpp"
    main.write_text(
        f'extern int called(int) __asm__("{called}");\nextern int taken(int) __asm__("{taken}");\n'
        "extern int (*volatile hook)(int);\nint (*volatile hook)(int);\n"
        "void use() { hook = &taken; hook(called(1)); }\n" + main.read_text()
    )
    project.ninja()
    program = project.path("portable.exe")
    found = audited(project, program)
    # An object names both, and so does the code that is linked.
    assert {(one["kind"], one["symbol"]) for one in found} == {("past", called), ("past", taken), ("address", taken)}
    copy = stripped(project, program)
    assert {(one["kind"], one["level"]) for one in audited(project, copy)} == {("past", "AVX2"), ("address", "AVX2")}
    project.run("meson", "configure", "build", "-Dcpp_link_args=-static -Wl,--export-all-symbols")
    project.ninja()
    exported = {one["symbol"] for one in audited(project, program) if "exported" in one["detail"]}
    assert {called, taken} <= exported


LIBRARY = """
#include <stdlib.h>
__declspec(dllexport) int shown = 3;
static int sum(int x) { return x * 3 + abs(x); }
int (*const table[])(int) = {sum, sum, 0};
__attribute__((noinline)) static void add(void) { __asm__ volatile("vpaddd %ymm0, %ymm1, %ymm2"); }
__attribute__((constructor)) static void first(void) { add(); }
__attribute__((constructor)) static void again(void) { atexit(first); }
__declspec(dllexport) int run(int i) { return table[i](i) + shown + atoi("3"); }
"""


@pytest.fixture
def library(tmp_path):
    """Link sources for Windows to a DLL by MinGW's GCC, stripped; return its path."""
    need("x86_64-w64-mingw32-gcc")

    def linked(text: str, *options: str, suffix: str = ".c") -> Path:
        source = tmp_path / f"library{suffix}"
        source.write_text(text)
        made = tmp_path / "library.dll"
        command = ["x86_64-w64-mingw32-gcc", "-O2", "-shared", "-s", *options, source, "-o", made]
        subprocess.run([str(word) for word in command], check=True)
        return made

    return linked


def result_of(path: Path) -> Result:
    """The audit of a file by the baseline of x86-64."""
    (result,) = audit_each([path], {"x86": Baseline("x86-64", ())})
    return result


def test_an_object_with_a_record_is_of_a_build(library, tmp_path):
    values = ", ".join(map(str, note_of(RECORD_OWNER, record_of().to_json().encode())))
    text = f'__attribute__((used, section(".isagen"), aligned(4))) static const char record[] = {{ {values} }};'
    path = library(text, "-c")
    assert "is an object of a build of isagen" in result_of(path.rename(tmp_path / "record.obj")).judged


def test_another_reader_finds_the_same_tables(library):
    lief = pytest.importorskip("lief")
    path = library(LIBRARY)
    everything = lief.PE.ParserConfig()
    everything.parse_exceptions = True
    parsed = lief.PE.parse(str(path), everything)
    base = parsed.optional_header.imagebase
    with PeImage(path) as image:
        pointers = image.pointers(COFF.relocations)
        exports = {symbol.name: symbol.address for symbol in image.exports()}
        assert exports == {entry.name: base + entry.address for entry in parsed.get_export().entries}
        assert {"run", "shown"} <= exports.keys()
        imports = {base + one.iat_address: one.name for library in parsed.imports for one in library.entries}
        assert {slot: pointers.follow(slot).name for slot in imports} == imports
        places = [base + one.address for block in parsed.relocations for one in block.entries if int(one.type) == 10]
        assert [place for place, _ in pointers.in_data()] == places
        starts = {base + one.rva_start for one in parsed.exceptions}
        assert {start for start, _ in image.unwind_table_functions()} == starts
        called = {address for address, _ in pointers.called_by_loader()}
        assert {base + parsed.optional_header.addressof_entrypoint, *parsed.tls.callbacks} - {0} <= called


@pytest.mark.parametrize("options", [[], ["-Wl,--disable-reloc-section,--disable-dynamicbase"]], ids=["", "fixed"])
def test_what_a_library_runs_when_loaded_is_found(library, options):
    """By the array that GNU's linker makes, in a stripped file."""
    (finding,) = result_of(library(LIBRARY, *options)).findings
    assert (finding.kind, finding.detail) == ("load", "runs when loaded or at exit")


def test_what_microsofts_library_runs_when_loaded_is_found(tmp_path):
    """The start of a DLL gives it the ends of the array, which no symbol and no section shows."""
    version = clang_cl.VERSIONS[-1]
    clang_cl.require(version)
    clang_cl.tools(tmp_path, version)
    (tmp_path / "library.cpp").write_text(
        'typedef void function();\nextern "C" __declspec(dllimport) void _initterm(function **, function **);\n'
        '#pragma section(".CRT$XCA", read)\n#pragma section(".CRT$XCZ", read)\n'
        '__declspec(allocate(".CRT$XCA")) function *first[] = {nullptr};\n'
        '__declspec(allocate(".CRT$XCZ")) function *last[] = {nullptr};\n'
        'int add(int x) { __asm__ volatile("vpaddd %ymm0, %ymm1, %ymm2"); return x; }\n'
        "volatile int one = 1;\nstatic int sum = add(one);\n"
        'extern "C" int start(void *, unsigned, void *) { _initterm(first, last); return sum; }\n'
    )
    made = clang_cl.compiled(tmp_path, tmp_path / "library.cpp", "/GS-", "/Zl")
    words = [
        "/dll",
        "/entry:start",
        "/nodefaultlib",
        "/merge:.CRT=.rdata",
        f"/out:{tmp_path}/library.dll",
        made,
        *clang_cl.LIBRARIES,
    ]
    subprocess.run([str(word) for word in (tmp_path / "bin/lld-link", *words)], check=True)
    (finding,) = result_of(tmp_path / "library.dll").findings
    assert (finding.kind, finding.detail, len(finding.path)) == ("load", "runs when loaded", 2)


@pytest.mark.parametrize(
    ("section", "when"), [("I", "when loaded"), ("C", "when loaded"), ("P", "at exit"), ("T", "at exit")]
)
def test_the_arrays_of_microsofts_library_in_objects(tmp_path, section, when):
    """C++ initialisers are in .CRT$XC, those of C in .CRT$XI, terminators in .CRT$XP and .CRT$XT."""
    need("x86_64-w64-mingw32-gcc")
    source, made = tmp_path / "source.s", tmp_path / "source.o"
    source.write_text(
        ".def planted; .scl 3; .type 32; .endef\nplanted: vpaddd %ymm0, %ymm1, %ymm2\nret\n"
        f'.section .CRT$X{section}U,"dr"\n.quad planted\n'
    )
    subprocess.run(["x86_64-w64-mingw32-gcc", "-c", source, "-o", made], check=True)
    (finding,) = result_of(made).findings
    assert (finding.kind, finding.detail) == ("load", f"runs {when}")


def test_tables_of_switches_are_no_code(library):
    """cl puts them at the end of a function; here, a part of one is an instruction of AVX2."""
    text = (
        ".globl switch\n.def switch; .scl 2; .type 32; .endef\n.seh_proc switch\nswitch: sub $8, %rsp\n"
        ".seh_stackalloc 8\n.seh_endprologue\nadd $8, %rsp\none: ret\n.balign 4\n.rva one, one\n"
        "vpaddd %ymm0, %ymm1, %ymm2\n.seh_endproc\n"
        '.section .drectve,"yn"\n.ascii " -export:switch"\n'
    )
    result = result_of(library(text, "-nostdlib", "-Wl,--entry=switch", suffix=".s"))
    assert result.findings == ()
    assert "undecodable" not in result.counted


def test_damaged_files_are_one_clear_error_or_a_report(library, tmp_path):
    """Changes of headers, of tables that the headers name, and of anything; and files that are cut off."""
    path = library(LIBRARY)
    whole, dice = path.read_bytes(), random.Random(32)
    header = int.from_bytes(whole[60:64], "little")
    with PeImage(path) as image:
        tables = [image.directory(number) for number in range(16)]
        sections = {address: image.section_at(address) for address, _ in tables if address}
        starts = [section.offset + address - section.address for address, section in sections.items() if section]
    odd = (0, 1, 7, 0xFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFF8, 0xFFFFFFFF, 0x1000)
    damaged, refused = tmp_path / "damaged.dll", 0
    for turn in range(300):
        raw = bytearray(whole)
        if turn < len(image.sections):  # a size in memory that no file has
            struct.pack_into("<I", raw, image.headers_at + 40 * turn + 8, 0xFFFFFFFF)
        for _ in range(dice.choice((1, 1, 2, 5)) if turn >= len(image.sections) else 0):
            place = dice.choice(
                (header + dice.randrange(700), dice.choice(starts) + dice.randrange(64), dice.randrange(len(raw) - 4))
            )
            struct.pack_into("<I", raw, min(place, len(raw) - 4), dice.choice((*odd, dice.randrange(1 << 16))))
        damaged.write_bytes(raw[: dice.choice((len(raw), dice.randrange(len(raw)))) if turn % 5 == 0 else len(raw)])
        problem = result_of(damaged).problem
        refused += problem is not None
        assert problem is None or str(problem).startswith(f"{damaged}: ")
    assert 20 < refused < 300


def test_a_library_of_arm64_is_audited(tmp_path):
    need("clang-16", "lld-link-16")
    (tmp_path / "library.c").write_text(
        '__attribute__((noinline)) static void add(void) { __asm__ volatile(".inst 0x4e809420"); }\n'  # SDOT
        "int start(void *module, unsigned reason, void *unused) { add(); return 1; }\n"
    )
    commands = (
        ["clang-16", "--target=aarch64-windows-msvc", "-O2", "-c", "library.c", "-o", "library.obj"],
        ["lld-link-16", "/dll", "/entry:start", "/nodefaultlib", "/out:library.dll", "library.obj"],
    )
    for command in commands:
        subprocess.run(command, cwd=tmp_path, check=True)
    (result,) = audit_each([tmp_path / "library.dll"], {"arm64": Baseline("ARMV8_A", ())})
    assert [(one.kind, one.features) for one in result.findings] == [("load", ("dotprod",))]
