"""Windows: MinGW's GCC and zig build all levels, sealed; under wine, the CPU's level is selected, and no code leaks."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from isagen.binary.coff.layout import code_section
from isagen.binary.coff.sealing import CoffObject, sealed
from support.damaged import refused
from support.levels import level_that_runs, supported_levels
from support.platforms import STATIC, WINDOWS, for_windows, surroundings
from support.projects import Project, make_project, matrix, need, verdicts
from support.what_ran import ON_WINDOWS

STUBS = ["dot_stub", "scale_stub", "wide_dot_stub"]
LEAKS = ["sort", "growth", "method", "table", "thread_local", "throw", "catch", "lambda", "c_static"]
WIDTHS = {"DEFAULT": 128, "AVX2": 256, "AVX512": 512}


def said(project: Project, program: Path, **environment: str) -> str:
    """What a program says under wine, which tells of its own folder first."""
    return project.run("wine", program, check=False, **environment).stdout.replace("\r", "")


@pytest.fixture(scope="module", params=WINDOWS)
def portable(request, tmp_path_factory):
    """The portable project, built by each compiler."""
    folder = tmp_path_factory.mktemp(request.param)
    project = for_windows(folder, request.param, "portable", "-Dwerror=true", "-Dwarning_level=3", "-Doptimization=3")
    project.ninja()
    return project


@pytest.fixture(scope="module", params=WINDOWS)
def few(request, tmp_path_factory):
    """The portable project at two levels, for tests that change its sources."""
    folder = tmp_path_factory.mktemp(f"few-{request.param}")
    project = for_windows(folder, request.param, "portable", "-Doptimization=3", "-Disa_levels=AVX2")
    project.ninja()
    return project


@pytest.fixture
def dot(few):
    """A kernel source, which a test changes, and its text before."""
    source = few.folder / "kernels/dot.cpp"
    text = source.read_text()
    yield source, text
    source.write_text(text)


def test_all_levels_are_built_and_sealed(portable):
    built = [level for level, verdict in verdicts(portable).items() if verdict == "built"]
    assert {"DEFAULT", "AVX2", "AVX2_VNNI", "AVX512", "AVX512_VNNI", "AVX512_BF16"} <= set(built)
    assert re.search(r"sealed +: yes", portable.last)
    reason = "isagen does not take the linker's place where objects are COFF; run `isagen audit`"
    assert re.search(rf"audited +: not when linked: {reason}\n", portable.last)
    assert not matrix(portable)["baseline_only"]


def test_the_level_of_the_cpu_or_of_the_override_runs(portable, request, cell):
    built = [level for level, verdict in verdicts(portable).items() if verdict == "built"]
    supported = [level for level in supported_levels() if level in built]
    for level in built:
        how = "run" if level in supported else "built, not run: this CPU lacks it"
        cell(ON_WINDOWS, request.node.callspec.params["portable"], level, how)
    for asked in ("", *supported):
        level = level_that_runs(supported, asked) if asked else supported[-1]
        expected = f"14 200 30 {level}, in use: {level}, built: {built[-1]}, 3 stubs: "
        expected += " ".join(f"{stub}={level}" for stub in STUBS)
        assert said(portable, portable.path("portable.exe"), PORTABLE_ISA=asked).endswith(f"{expected}\n")


def test_the_matrix_is_read_from_the_program(portable):
    program = portable.path("portable.exe")
    found = matrix(portable, program)
    assert [level["verdict"] for level in found["levels"]] == list(verdicts(portable).values())
    assert {stub for kernel in found["kernels"] for stub in kernel["levels"]["AVX2"]["stubs"]} == set(STUBS)


def test_equal_copies_are_linked_once(portable):
    (cells,) = [one["levels"] for one in matrix(portable)["kernels"] if one["source"] == "kernels/dot.cpp"]
    assert cells["AVX2_VNNI"]["folded"] == "AVX2"
    assert CoffObject.load(portable.path("isagen/isa_AVX2_VNNI.dot.cpp.o")).symbols == ()


def test_a_missing_kernel_is_an_error_of_the_build(few, dot):
    source, text = dot
    source.write_text(text.replace("ISA_REGISTER_DISPATCH(wide_dot_stub, &dot)", ""))
    failed = few.ninja(check=False)
    assert re.search(r"undefined (reference|symbol).*isa_needs_isa_kernels_dep_\w*wide_dot_stub", failed)


ADDED = {
    "a shared variable that differs": (
        "inline int lanes = sizeof(int) * (__AVX2__ + 1);\nint use() { return lanes++; }\n",
        r"lanes: all levels share this variable, but its initial value is 4 \(4 bytes\) at DEFAULT and 8 \(4 bytes\)",
    ),
    "a shared variable that points to code": (
        "static int twice(int x) { return 2 * x; }\ninline int (*hook)(int) = twice;\nint use() { return hook(1); }\n",
        r"hook: this variable of kernels/dot.cpp is shared by all levels, but points to twice\(int\)",
    ),
    "code of a level at load": (
        "#include <stdlib.h>\nstatic float table[64];\n"
        'static const int done = [] { const float k = getenv("X") ? 2.f : 3.f; for (int i = 0; i < 64; i++) '
        "table[i] = table[63 - i] * k; return 1; }();\nfloat use(int i) { return table[i] + done; }\n",
        r"kernels/dot.cpp at AVX2: \S* runs when loaded, but needs avx \(v",
    ),
}


SOUND = {
    "a function of a DLL": 'fprintf(stderr, "%s", getenv("NONE") ? "some" : "");',
    "a large frame": "volatile char frame[20000]; frame[1] = 1; (void)frame[1];",
}


@pytest.mark.parametrize("used", SOUND)
def test_what_a_level_may_use_at_load(few, dot, used):
    """MinGW calls functions of its own, and those of DLLs through pointers; the virtual function runs later."""
    source, text = dot
    source.write_text(
        "#include <stdio.h>\n#include <stdlib.h>\nstruct shape {\n  float sizes[64];\n  virtual ~shape() = default;\n"
        "  virtual void grow() { for (float &size : sizes) size = size * 3 + 1; }\n"
        f"  __attribute__((noinline)) shape() {{ {SOUND[used]} }}\n}};\nstatic shape one;\n"
        "shape *use() { one.grow(); return &one; }\n" + text
    )
    few.ninja()


@pytest.mark.parametrize("added", ADDED)
def test_the_rules_of_other_formats_hold(few, dot, added):
    source, text = dot
    lines, problem = ADDED[added]
    source.write_text("#ifndef __AVX2__\n#define __AVX2__ 0\n#endif\n" + lines + text)
    failed = few.ninja(check=False)
    assert re.search(problem, failed)


def test_weak_definitions_are_private_to_a_level(few, dot):
    """GNU's assembler names what stands for a weak definition after a symbol that all levels define."""
    source, text = dot
    source.write_text(
        "extern int count;\n__attribute__((weak)) int weak_count(int x) { return x + count; }\n"
        "__attribute__((weak)) int count = 3;\nint use_weak() { return weak_count(count++); }\n" + text
    )
    few.ninja()
    file = CoffObject.load(few.path("isagen/isa_AVX2.dot.cpp.o"))
    names = [symbol.name for symbol in file.symbols if "weak_count" in symbol.name]
    assert all(".avx2." in name for name in names)
    assert names


def test_merged_sections_that_only_local_symbols_name_are_private_to_a_level(few, dot):
    """GNU's linker takes one of all such sections by name."""
    source, text = dot
    source.write_text(
        'asm(".section .text$once, \\"x\\"\\n.linkonce discard\\nonce: ret\\n'
        '.section .rdata$lanes, \\"dr\\"\\n.linkonce discard\\nlanes: .long 4\\n.text");\n' + text
    )
    few.ninja()
    for level in ("DEFAULT", "AVX2"):
        file = CoffObject.load(few.path(f"isagen/isa_{level}.dot.cpp.o"))
        starts = (f"{code_section(level)}$once.{level.lower()}.", f".rdata$lanes.{level.lower()}.")
        names = [section.name for section in file.file.sections if section.name.startswith(starts)]
        assert len(names) == 2


def test_a_private_name_is_not_exported(few):
    """The linker refuses to export what is not there."""
    sources = [few.folder / name for name in ("kernels/dot.cpp", "kernels/scale.c")]
    texts = [source.read_text() for source in sources]
    shape = "struct __declspec(dllexport) shape { virtual ~shape() {} int sides() { return 4; } };\n"
    sources[0].write_text(
        f"{shape}__declspec(dllexport) int more(int x) {{ return x + shape().sides(); }}\n" + texts[0]
    )
    sources[1].write_text("__declspec(dllexport) int less(int x) { return x - 1; }\n" + texts[1])
    few.ninja()
    for level, source in (("DEFAULT", "dot.cpp"), ("AVX2", "scale.c")):
        coff = CoffObject.load(few.path(f"isagen/isa_{level}.{source}.o")).file
        directives = b"".join(coff.content(section) for section in coff.sections if section.name == ".drectve")
        assert not re.search(rb"_Z4morei|less|_ZN5shape5sidesEv", directives)
    for source, text in zip(sources, texts, strict=True):
        source.write_text(text)


@pytest.fixture(scope="module")
def leaks(tmp_path_factory):
    """The kernels that are built to leak, by MinGW's GCC; zig would compile the C++ library first."""
    project = for_windows(tmp_path_factory.mktemp("leaks"), "mingw", "leaks")
    project.ninja()
    return project


def linked(project: Project, copies: str, levels: Sequence[str], *options: str) -> Path:
    """Link the program by hand: lowest level first after the rest, or highest level first before the rest."""
    rest = sorted(project.path("leaks.exe.p").glob("*.obj"))
    objects = [sorted(project.path("").glob(copies.format(level))) for level in levels]
    assert [len(found) for found in objects] == [3 if level == "DEFAULT" else 2 for level in levels]
    parts = [rest, *objects] if levels[0] == "DEFAULT" else [*objects, rest]
    program = project.path(f"{copies.partition('/')[2][:3]}-{levels[0]}.exe")
    words = [path for part in parts for path in part]
    project.run("x86_64-w64-mingw32-g++", "-static", "-pthread", *options, *words, "-o", program)
    return program


def widths(project: Project, program: Path, level: str) -> dict[str, str]:
    """The widths of the code that each leak ran: "128 256" is the baseline's and the level's."""
    lines = said(project, program, LEAKS_ISA=level).splitlines()
    return dict(line.split(" ", 1) for line in lines if line.partition(" ")[0] in (*LEAKS, "c_plain"))


@pytest.mark.parametrize("order", [list(WIDTHS), list(WIDTHS)[::-1]], ids=["lowest first", "highest first"])
def test_sealed_levels_run_their_own_code(leaks, order):
    """Also exceptions, whose unwind tables are in sections that GNU's linker merges by name."""
    program = linked(leaks, "isagen/isa_{}.*.o", order)
    for level in set(WIDTHS).intersection(supported_levels()):
        expected = dict.fromkeys(LEAKS, f"128 {WIDTHS[level]}")
        assert widths(leaks, program, level) == {**expected, "c_plain": "128 128"}


@pytest.mark.parametrize("order", [list(WIDTHS), list(WIDTHS)[::-1]], ids=["lowest first", "highest first"])
def test_unsealed_levels_leak(leaks, order):
    if "AVX2" not in supported_levels():
        pytest.skip("this CPU has no AVX2")
    program = linked(leaks, "isagen/libisa_{}.a.p/*.obj", order, "-Wl,--allow-multiple-definition")
    found = widths(leaks, program, "AVX2")
    assert {name for name in LEAKS if found.get(name) != "128 256"} >= {"sort", "growth", "method", "throw", "lambda"}


def copies_of_sort(project: Project, program: Path) -> dict[str, bool]:
    """Whether each copy of std::sort's loop has instructions of AVX or AVX-512, by the end of its name."""
    listing = project.run("x86_64-w64-mingw32-objdump", "-d", "--no-show-raw-insn", program).stdout
    found = re.findall(r"<_ZSt16__introsort_loop\w*(\.\w+)?\S*>:\n((?:.+\n)+)", listing)
    return {name: bool(re.search(r"\tv\w+ .*%[xyz]mm", code)) for name, code in found}


def test_avx512_code_of_std_sort_runs_where_it_is_forbidden_unless_it_is_sealed(leaks):
    if "AVX512" not in supported_levels():
        pytest.skip("this CPU has no AVX-512")
    highest_first = list(WIDTHS)[::-1]
    program = linked(leaks, "isagen/libisa_{}.a.p/*.obj", highest_first, "-Wl,--allow-multiple-definition")
    assert copies_of_sort(leaks, program) == {"": True}
    assert all(int(width) & 512 for width in widths(leaks, program, "DEFAULT")["sort"].split())
    program = linked(leaks, "isagen/isa_{}.*.o", highest_first)
    assert copies_of_sort(leaks, program) == {"": False, ".default": False, ".avx2": True, ".avx512": True}
    assert widths(leaks, program, "DEFAULT")["sort"] == "128 128"


def test_kernels_that_have_a_python_front_elsewhere(tmp_path):
    project = for_windows(tmp_path, "mingw", "reductions")
    project.ninja()
    built = [level for level, verdict in verdicts(project).items() if verdict == "built"]
    lines = said(project, project.path("check.exe")).splitlines()[-len(built) :]
    assert lines == [f"{level} right" for level in built if level in supported_levels()]


def test_whole_modules_are_built_once(tmp_path):
    """Their front opens the module of a level by functions of POSIX."""
    project = for_windows(tmp_path, "mingw", "raw_modules")
    assert "only DEFAULT: whole modules have levels only where objects are ELF" in project.last


def test_wide_vectors_are_moved_to_the_stack_unaligned(portable, tmp_path):
    """On Windows, GCC aligns the stack to 16 bytes (PR54412); Debian's GCC moves them so by itself, others do not."""
    need("x86_64-w64-mingw32-gcc", "x86_64-w64-mingw32-objdump")
    cell = matrix(portable)["kernels"][0]["levels"]["AVX2"]
    commands = portable.run("ninja", "-C", portable.build, "-t", "commands").stdout
    option = "-Wa,-muse-unaligned-vector-move"
    assert cell["verdict"] == "built"
    assert (option in commands) == ("mingw32-gcc" in commands)
    (tmp_path / "move.s").write_text("vmovaps %ymm0, 32(%rsp)\n")
    portable.run("x86_64-w64-mingw32-gcc", option, "-c", tmp_path / "move.s", "-o", tmp_path / "move.o")
    assert "vmovups" in portable.run("x86_64-w64-mingw32-objdump", "-d", tmp_path / "move.o").stdout


def test_objects_of_arm64_are_sealed(tmp_path):
    """zig takes no -march, by which levels of arm64 are compiled, so Clang 16 compiles; nothing runs."""
    need("clang++-16", "ld.lld-16")
    source = tmp_path / "kernel.cpp"
    source.write_text(
        "template <class T> __attribute__((noinline)) T twice(T x) { return x + x; }\ninline int calls = 0;\n"
        'extern "C" float LEVEL(float x) { calls++; return twice(x); }\n'
    )
    project = make_project(tmp_path)
    objects = []
    for level, march in (("DEFAULT", "armv8-a"), ("DOTPROD", "armv8.2-a+dotprod")):
        made = tmp_path / f"{level}.o"
        words = [f"-DLEVEL=run_{level}", f"-march={march}", "-O2", "-std=c++17", "-c", source, "-o", made]
        project.run("clang++-16", "--target=aarch64-w64-mingw32", *words)
        file = CoffObject.load(made)
        made.write_bytes(sealed(file, level, "1", {}))
        names = {symbol.name for symbol in CoffObject.load(made).symbols}
        assert {f"_Z5twiceIfET_S0_.{level.lower()}.1", "calls", f"run_{level}"} <= names
        assert [file.initial_value(one) for one in file.symbols if one.name == "calls"] == ["0 (4 bytes)"]
        objects.append(made)
    said = project.isagen("audit", objects[0], check=False).stdout
    assert "code for AArch64 in COFF objects is not decoded" in said
    (tmp_path / "main.c").write_text(
        "float run_DEFAULT(float), run_DOTPROD(float);\n"
        "int main(void) { return (int)(run_DEFAULT(1) + run_DOTPROD(2)); }\n"
    )
    words = ["--target=aarch64-w64-mingw32", "-O2", "-c", tmp_path / "main.c", "-o", tmp_path / "main.o"]
    project.run("clang-16", *words)
    words = ["-m", "arm64pe", "--entry=main", tmp_path / "main.o", *objects, "-o", tmp_path / "main.exe"]
    project.run("ld.lld-16", *words)
    assert (tmp_path / "main.exe").read_bytes().startswith(b"MZ")


@pytest.mark.parametrize(("feature", "level"), [(10, "AVX2"), (255, "DEFAULT")])
def test_features_that_windows_reports(tmp_path, feature, level):
    """10 is PF_XMMI64_INSTRUCTIONS_AVAILABLE, SSE2, which every x86-64 CPU has; 255 is none."""
    if "AVX2" not in supported_levels():
        pytest.skip("this CPU has no AVX2")
    WINDOWS["mingw"].require()
    project = make_project(tmp_path, "portable")
    project.environment |= surroundings()
    (project.folder / "isagen/own.toml").write_text(
        f'extends = "x86"\nkeep = ["DEFAULT", "AVX2"]\n[extra_features]\nreported = {{ windows = [{feature}, 0] }}\n'
        '[levels.AVX2]\nfeatures = ["avx2", "fma", "f16c", "reported"]\n'
    )
    project.edit("isagen/isa.toml", 'table = "default"', 'table = "own.toml"')
    project.setup("--cross-file", str(WINDOWS["mingw"].cross_file(tmp_path)), *STATIC)
    project.ninja()
    assert f"14 200 30 {level}, in use: {level}, " in said(project, project.path("portable.exe"))


def test_an_assembler_without_unaligned_moves(tmp_path):
    need("x86_64-w64-mingw32-gcc")
    for name in ("gcc", "g++"):
        script = tmp_path / name
        script.write_text(
            f'#!/bin/sh\ncase " $* " in *unaligned-vector-move*) echo "unknown option" >&2; exit 1 ;; esac\n'
            f'exec x86_64-w64-mingw32-{name} "$@"\n'
        )
        script.chmod(0o755)
    project = make_project(tmp_path, "portable")
    cross = WINDOWS["mingw"].cross_file(tmp_path)
    cross.write_text(cross.read_text().replace("x86_64-w64-mingw32-g", f"{tmp_path}/g"))
    summary = project.setup("--cross-file", str(cross))
    reason = "refuses -Wa,-muse-unaligned-vector-move, without which its code for wide vectors is wrong"
    assert re.search(rf"levels +: only DEFAULT: GCC \S+ {reason}", summary)


@pytest.mark.parametrize("flags", [[], ["-Wa,-mbig-obj"], ["-ffunction-sections", "-g"]], ids=" ".join)
def test_damaged_objects_are_refused(tmp_path, flags):
    """Thousands of changes of real objects: an error that names the file, or a sealed object that can be read."""
    need("x86_64-w64-mingw32-g++")
    source = tmp_path / "kernel.cpp"
    source.write_text(
        "#include <algorithm>\n#include <iostream>\nstruct A { virtual ~A(); virtual int f(); };\nA::~A() {}\n"
        "inline int A::f() { return 1; }\ninline int (*hook)(float *) = nullptr;\n__attribute__((weak)) int w = 1;\n"
        'int run(float *a, int n) { std::sort(a, a + n); A x; std::cout << "x"; return hook ? w++ : x.f(); }\n'
    )
    made = make_project(tmp_path)
    made.run("x86_64-w64-mingw32-g++", "-std=c++17", "-O2", *flags, "-c", source, "-o", tmp_path / "k.o")
    assert 200 < refused(CoffObject, tmp_path / "k.o", 2000) < 2000
