"""The loader of the tests runs what zig builds for macOS: programs and libraries, of C and C++, on both processors."""

import os
import subprocess
from pathlib import Path

import pytest

from support.checkout import ROOT
from support.macho_loader import FAMILIES, compiler, headers_of_python, libpython, words
from support.projects import need

SOURCES = ROOT / "tests/cpp/macho"


def built(folder: Path, family: str, name: str, *arguments: str) -> Path:
    """Link sources of tests/cpp/macho, without libc++ unless asked for."""
    words(family)
    language = "cpp" if any(word.endswith(".cpp") for word in arguments) else "c"
    inputs = [SOURCES / word if word.endswith((".c", ".cpp")) else word for word in arguments]
    command = [*compiler(family, language), "-std=c++17" if language == "cpp" else "-std=c11", *inputs, "-o", name]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / name


def ran(family: str, program: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [*words(family), program, *arguments], env=os.environ | environment, capture_output=True, text=True, check=False
    )


@pytest.fixture(params=FAMILIES)
def family(request: pytest.FixtureRequest) -> str:
    return request.param


def test_a_program_prints_as_the_same_source_does_here(tmp_path, family):
    program = built(tmp_path, family, "prints", "prints.c")
    here = tmp_path / "here"
    subprocess.run(["gcc", "-w", SOURCES / "prints.c", "-o", here, "-lm"], check=True)
    expected = subprocess.run([here, "one", "two"], capture_output=True, text=True, check=False)
    for slide in ({}, {"MACHO_SLIDE": "0"}, {"MACHO_SLIDE": "12340000"}):
        done = ran(family, program, "one", "two", **slide)
        assert (done.stdout, done.stderr, done.returncode) == (expected.stdout, expected.stderr, 3)


def test_each_thread_has_variables_of_its_own_and_locks_work(tmp_path, family):
    done = ran(family, built(tmp_path, family, "threads", "threads.c"))
    assert done.stdout == "50 1050 2050 3050 total 4000, initialised 1, here 41\nat the end: 41\n", done.stderr


def test_a_program_of_cpp_runs_with_its_library(tmp_path):
    """On x86-64 alone: for each processor zig compiles libc++ first, and programs for arm64 are linked without it.

    Without optimisation, it is the libc++ of test_macos.py.
    """
    done = ran("x86_64", built(tmp_path, "x86_64", "objects", "-O0", "objects.cpp", "objects_other.cpp"))
    assert done.stdout.splitlines() == [
        "first second 42 1",
        "1 2 3 thread-local",
        "49 2.5 1",
        "thrown 3, then: first second local gone ",
    ], done.stderr


def test_initialisers_run_in_the_order_of_the_file(tmp_path, family):
    sources = [tmp_path / f"{number}.c" for number in range(3)]  # zig's linker sorts objects by their paths
    for said, source in zip("bca", sources, strict=True):
        text = f'#include <stdio.h>\n__attribute__((constructor)) static void start(void) {{ puts("{said}"); }}\n'
        source.write_text(text + ("int main(void) { return 0; }\n" if said == "a" else ""), encoding="utf-8")
    assert ran(family, built(tmp_path, family, "order", *map(str, sources))).stdout == "b\nc\na\n"


def test_functions_of_a_library_are_called(tmp_path, family):
    library = built(tmp_path, family, "library.dylib", "-shared", "-undefined", "dynamic_lookup", "library.c")
    calls = [
        "plus(2, -5)",
        "long:plus(3, 4)",
        "double:half(3.0)",
        "string:greeting()",
        "void:greeting()",
        "big_frame(9)",
    ]
    done = ran(family, library, *calls)
    results = [
        "plus(2, -5) = -3",
        "plus(3, 4) = 7",
        "half(3.0) = 1.5",
        "greeting() = hello",
        "greeting()",
        "big_frame(9) = 9",
    ]
    assert done.stdout.splitlines() == results, done.stderr


def test_the_machine_answers_as_the_variable_says(tmp_path, family):
    library = built(tmp_path, family, "library.dylib", "-shared", "-undefined", "dynamic_lookup", "library.c")
    asked = [
        "answer(hw.optional.avx512f)",
        "answer(hw.optional.arm.FEAT_BF16)",
        "answer(hw.optional)",
        "answer(hw.cores)",
    ]
    told = "hw.optional.avx512f=1,hw.cores=0x10"
    assert [line[-2:] for line in ran(family, library, *asked, MACHO_SYSCTL=told).stdout.splitlines()] == [
        *(" 1", "-1", "-1", "16")
    ]
    assert [line[-2:] for line in ran(family, library, *asked).stdout.splitlines()] == ["-1"] * 4


def test_python_imports_an_extension_module(tmp_path):
    library = libpython()
    flags = ["-shared", "-undefined", "dynamic_lookup", f"-I{headers_of_python(tmp_path)}"]
    module = built(tmp_path, "x86_64", "extension.cpython-darwin.so", *flags, "extension.c")
    code = "import extension\nprint(extension.add(2, 3))\nextension.add(-1, 1)"
    done = ran("x86_64", module, "--python", library, code)
    assert (done.stdout, done.returncode) == ("5\n", 1)
    assert done.stderr.endswith("ValueError: -1 is negative\n")


def test_a_symbol_that_is_missing_is_an_error_when_it_is_called(tmp_path, family):
    library = built(tmp_path, family, "library.dylib", "-shared", "-undefined", "dynamic_lookup", "library.c")
    done = ran(family, library, "plus(1, 1)", "calls_missing(1)")
    assert (done.stdout, done.returncode) == ("plus(1, 1) = 2\n", 125)
    assert "_missing is called, which no image defines" in done.stderr
    assert "exports no function _nothing" in ran(family, library, "nothing()").stderr


def test_a_program_and_its_library_share_what_is_weak(tmp_path, family):
    library = ["-nostdlib++", "-fno-rtti", "-shared", "-DLIBRARY", "-Wl,-install_name,@rpath/shares.dylib"]
    built(tmp_path, family, "shares.dylib", *library, "shares.cpp")
    rpath = ["-nostdlib++", "shares.dylib", "-Wl,-rpath,@loader_path"]
    program = built(tmp_path, family, "shares", *rpath, "-fno-rtti", "shares.cpp")
    assert ran(family, program).stdout == "22 1 5\n"


def test_what_the_loader_does_not_read_is_an_error(tmp_path, family):
    program = built(tmp_path, family, "prints", "prints.c")
    content = program.read_bytes()
    changed = {
        "chained fixups": content.replace(0x80000022.to_bytes(4, "little"), 0x80000034.to_bytes(4, "little"), 1),
        "unknown load command 0x80000099": content.replace(b"\x28\0\0\x80\x18", b"\x99\0\0\x80\x18", 1),
        "not a 64-bit Mach-O file for this processor": content[:4] + b"\x12" + content[5:],
        "not a Mach-O file": b"",
    }
    for message, damaged in changed.items():
        program.write_bytes(damaged)
        done = ran(family, program)
        assert done.returncode == 125
        assert message in done.stderr


def test_lief_finds_what_llvm_finds(tmp_path, family):
    need("llvm-nm-16", "llvm-objdump-16")
    facts = pytest.importorskip("support.macho_facts", reason="lief is not installed").facts
    library = built(tmp_path, family, "shares.dylib", "-nostdlib++", "-fno-rtti", "-shared", "-DLIBRARY", "shares.cpp")
    found = facts(library)
    listed = subprocess.run(["llvm-nm-16", "-pm", library], capture_output=True, text=True, check=True).stdout
    assert [line.split(" (from")[0].split()[-1] for line in listed.splitlines()] == [one.name for one in found.symbols]
    assert {one.name for one in found.symbols if "N_WEAK_DEF" in one.description} == {
        line.split()[-1] for line in listed.splitlines() if " weak " in line
    }
    trie = subprocess.run(["llvm-objdump-16", "--macho", "--exports-trie", library], capture_output=True, text=True)
    assert found.exports == {line.split()[1] for line in trie.stdout.splitlines() if line.startswith("0x")}
    assert found.weak_exports == {line.split()[1] for line in trie.stdout.splitlines() if line.endswith("[weak_def]")}
    assert "_shared" in found.weak_exports
    assert [name.endswith("shares.cpp") for name in found.initialisers()] == [True]


def test_a_universal_file_gives_the_part_for_the_processor(tmp_path):
    need("llvm-lipo-16")
    parts = [built(tmp_path, family, family, "prints.c") for family in FAMILIES]
    subprocess.run(["llvm-lipo-16", "-create", *parts, "-output", tmp_path / "both"], check=True)
    for family, part in zip(FAMILIES, parts, strict=True):
        assert ran(family, tmp_path / "both", "word").stdout == ran(family, part, "word").stdout
