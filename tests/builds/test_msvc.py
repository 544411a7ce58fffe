"""Microsoft's ABI: clang-cl builds all levels, sealed; under wine, the CPU's level is selected, and no code leaks."""

import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from isagen.binary.coff.layout import code_section
from isagen.binary.coff.sealing import CoffObject, sealed
from isagen.model.errors import IsagenError
from support import clang_cl
from support.damaged import refused
from support.levels import level_that_runs, supported_levels
from support.projects import UNSEALED, Project, make_project, matrix, need, verdicts
from support.what_ran import ON_WINDOWS

STUBS = ["dot_stub", "scale_stub", "wide_dot_stub"]
LEAKS = ["sort", "method", "virtual", "table", "static", "throw", "catch", "lambda"]
WIDTHS = {"DEFAULT": 128, "AVX2": 256, "AVX512": 512}


def configured(folder: Path, version: str, package: str, *options: str) -> Project:
    """The package, configured for Windows; the summary is its `last`."""
    clang_cl.require(version)
    project = make_project(folder, package)
    project.last = project.setup("--cross-file", str(clang_cl.prepare(project, folder, version)), *options)
    return project


def said(project: Project, program: Path, **environment: str) -> str:
    """What a program says under wine, which tells of its own folder first."""
    return project.run("wine", program, check=False, **environment).stdout.replace("\r", "")


@contextmanager
def changed(project: Project, name: str, lines: str) -> Iterator[None]:
    """A source with `lines` before its text."""
    source = project.folder / name
    text = source.read_text()
    source.write_text(lines + text)
    try:
        yield
    finally:
        source.write_text(text)


STRICT = ["-Dwerror=true", "-Dwarning_level=3", "-Doptimization=3"]  # generated sources too: Meson passes /W4 /WX
NEWEST = clang_cl.VERSIONS[-1]


@pytest.fixture(scope="module")
def portable(tmp_path_factory):
    """The portable project at all levels."""
    project = configured(tmp_path_factory.mktemp("portable"), NEWEST, "portable", *STRICT)
    project.ninja()
    return project


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    """The portable project at two levels, for tests that change its sources."""
    project = configured(tmp_path_factory.mktemp("few"), NEWEST, "portable", *STRICT, "-Disa_levels=AVX2")
    project.ninja()
    return project


def test_all_levels_are_built_and_sealed(portable):
    built = [level for level, verdict in verdicts(portable).items() if verdict == "built"]
    assert {"DEFAULT", "AVX2", "AVX2_VNNI", "AVX512", "AVX512_VNNI", "AVX512_BF16", "AMX"} <= set(built)
    assert re.search(r"AVX2 +: 2 of 2 kernels, /clang:-mavx2 /clang:-mfma /clang:-mf16c\n", portable.last)
    assert re.search(r"sealed +: yes", portable.last)
    assert not matrix(portable)["baseline_only"]


def test_the_level_of_the_cpu_or_of_the_override_runs(portable, cell):
    built = [level for level, verdict in verdicts(portable).items() if verdict == "built"]
    supported = [level for level in supported_levels() if level in built]
    for level in built:
        cell(ON_WINDOWS, "clang-cl", level, "run" if level in supported else "built, not run: this CPU lacks it")
    for asked in ("", *supported):
        level = level_that_runs(supported, asked) if asked else supported[-1]
        expected = f"14 200 30 {level}, in use: {level}, built: {built[-1]}, 3 stubs: "
        expected += " ".join(f"{stub}={level}" for stub in STUBS)
        assert said(portable, portable.path("portable.exe"), PORTABLE_ISA=asked).endswith(f"{expected}\n")


def test_the_matrix_is_read_from_the_program(portable):
    found = matrix(portable, portable.path("portable.exe"))
    assert [level["verdict"] for level in found["levels"]] == list(verdicts(portable).values())
    assert {stub for kernel in found["kernels"] for stub in kernel["levels"]["AVX2"]["stubs"]} == set(STUBS)


def test_the_link_is_audited(portable):
    """An instruction of a level's is no finding, nor is the library of C; the level of code is that of its section."""
    for where in (portable.path("portable.exe"), portable.build):
        assert "nothing found" in portable.isagen("audit", where).stdout


def test_an_older_clang(tmp_path):
    project = configured(tmp_path, clang_cl.VERSIONS[0], "portable", *STRICT)
    project.ninja()
    built = [level for level, verdict in verdicts(project).items() if verdict == "built"]
    assert {"DEFAULT", "AVX2", "AVX512_BF16", "AMX"} <= set(built)
    for level in set(WIDTHS).intersection(supported_levels()):
        assert f"14 200 30 {level}, " in said(project, project.path("portable.exe"), PORTABLE_ISA=level)


def test_equal_copies_are_linked_once(portable):
    (cells,) = [one["levels"] for one in matrix(portable)["kernels"] if one["source"] == "kernels/dot.cpp"]
    assert cells["AVX2_VNNI"]["folded"] == "AVX2"
    assert CoffObject.load(portable.path("isagen/isa_AVX2_VNNI.dot.cpp.o")).symbols == ()


@pytest.mark.parametrize("options", [["--buildtype=debug"], ["--buildtype=release", "-Ddebug=true"]], ids=" ".join)
def test_other_build_types(tmp_path, options):
    """Meson calls these /Od /Z7, and /O2 /Z7 with /OPT:REF, which drops what nothing refers to."""
    project = configured(tmp_path, NEWEST, "portable", "-Dwerror=true", "-Disa_levels=AVX2,AVX512", *options)
    project.ninja()
    for level in set(WIDTHS).intersection(supported_levels()):
        assert f"14 200 30 {level}, " in said(project, project.path("portable.exe"), PORTABLE_ISA=level)


def test_a_missing_kernel_is_an_error_of_the_build(few):
    text = (few.folder / "kernels/dot.cpp").read_text()
    few.edit("kernels/dot.cpp", "ISA_REGISTER_DISPATCH(wide_dot_stub, &dot)", "")
    failed = few.ninja(check=False)
    assert re.search(r"undefined symbol.*isa_needs_isa_kernels_dep_\w*wide_dot_stub", failed)
    (few.folder / "kernels/dot.cpp").write_text(text)


HEAD = "#ifndef __AVX2__\n#define __AVX2__ 0\n#endif\n"
REFUSED = {
    "a shared variable that differs": (
        "inline int lanes = sizeof(int) * (__AVX2__ + 1);\nint use() { return lanes++; }\n",
        r"\?lanes@@3HA: all levels share this variable, but its initial value is 4 \(4 bytes\) at DEFAULT and 8",
    ),
    "a shared variable that points to code": (
        "static int twice(int x) { return 2 * x; }\ninline int (*hook)(int) = twice;\nint use() { return hook(1); }\n",
        r"\?hook@@3P6AHH@ZEA: this variable of kernels/dot.cpp is shared by all levels, but points to \?twice@@YAHH@Z",
    ),
    "code of a level at load": (
        "#include <stdlib.h>\nstatic float table[64];\nextern const int done;\nconst int done = [] {\n"
        '  const float k = getenv("X") ? 2.f : 3.f;\n'
        "  for (int i = 0; i < 64; i++)\n    table[i] = table[63 - i] * k;\n  return 1;\n}();\n"
        "float use(int i);\nfloat use(int i) { return table[i] + done; }\n",
        r"kernels/dot.cpp at AVX2: \S* runs when loaded, but needs avx \(v",
    ),
    "an inline variable of a level at load": (
        "#include <stdlib.h>\nstruct row {\n  float size[64];\n"
        '  row() { const float k = getenv("X") ? 2.f : 3.f; for (float &one : size) one = one * k + k; }\n};\n'
        "inline row rows;\nfloat use(int i);\nfloat use(int i) { return rows.size[i]; }\n",
        r"kernels/dot.cpp at AVX2: \S* runs when loaded, but needs [\w ]*avx\w* \(v",
    ),
    "a function in a section that code finds": (
        'static int twice(int x) { return 2 * x; }\n#pragma section("plugins$m", read)\n'
        "extern int (*const plugin)(int);\n"
        '__declspec(allocate("plugins$m")) int (*const plugin)(int) = twice;\n',
        r"plugins\$m: kernels/dot.cpp puts the address of \?twice@@YAHH@Z, a function of ",
    ),
}


@pytest.mark.parametrize("added", REFUSED)
def test_the_rules_of_other_formats_hold(few, added):
    lines, problem = REFUSED[added]
    with changed(few, "kernels/dot.cpp", '#pragma clang diagnostic ignored "-Wmissing-prototypes"\n' + HEAD + lines):
        failed = few.ninja(check=False)
    assert re.search(problem, failed)


SOUND = {
    "a class with virtual functions, made at load": (
        "struct shape {\n  float sizes[64];\n  virtual ~shape() {}\n  virtual void grow() {\n"
        "    for (float &size : sizes)\n      size = size * 3 + 1;\n  }\n"
        "  __declspec(noinline) shape() {}\n};\nstatic shape one;\nshape *use();\n"
        "shape *use()\n{\n  one.grow();\n  return &one;\n}\n"
    ),
    "a static variable of a function that objects share": (
        "#include <stdlib.h>\ninline float &scale()\n{\n  static float value = static_cast<float>(rand()) * 2.5f;\n"
        "  return value;\n}\nfloat use();\nfloat use() { return scale(); }\n"
    ),
    "text, numbers and vectors": (
        "#include <stdio.h>\nvoid use(float *a, int n);\nvoid use(float *a, int n)\n{\n  for (int i = 0; i < n; i++)\n"
        '    a[i] = a[i] * 1.25f + 7;\n  puts("done");\n}\n'
    ),
    "what compilers and headers refer to, at load": (
        "#include <stdio.h>\n#include <stdlib.h>\nstruct failure {\n  int code;\n  virtual ~failure() {}\n};\n"
        "inline int &counted()\n{\n  static int calls = rand();\n  return calls;\n}\n"
        "struct shape {\n  float sizes[64];\n  int *used;\n  virtual ~shape() { delete used; }\n"
        "  virtual void grow() {\n    for (float &size : sizes)\n      size = size * 3 + 1;\n  }\n"
        "  __declspec(noinline) shape() : used(new int(counted()))\n  {\n    volatile char frame[20000];\n"
        '    frame[1] = 1;\n    printf("%d", *used);\n    try {\n      if (*used > 9)\n        throw failure{};\n'
        "    } catch (const failure &) {\n    }\n  }\n};\nstatic shape one;\nshape *use();\n"
        "shape *use()\n{\n  one.grow();\n  return &one;\n}\n"
    ),
}


@pytest.mark.parametrize("used", SOUND)
def test_what_a_level_may_use(few, used):
    with changed(few, "kernels/dot.cpp", SOUND[used]):
        few.run("ninja", "-C", few.build, "isagen/isa_stubs.cpp")


def test_directives_do_not_name_what_is_private(few):
    """The linker refuses to export, or to keep, what is not there."""
    lines = (
        "#include <stdlib.h>\nstruct __declspec(dllexport) shape {\n  virtual ~shape() {}\n"
        "  int sides() { return 4; }\n};\n__declspec(dllexport) int more(int x);\n"
        "__declspec(dllexport) int more(int x) { return x + shape().sides(); }\n"
        "__attribute__((used)) inline int kept(int x) { return x; }\ninline int made = rand();\n"
        "int use();\nint use() { return made; }\n"
    )
    with changed(few, "kernels/dot.cpp", lines):
        few.ninja()
        for level in ("DEFAULT", "AVX2"):
            coff = CoffObject.load(few.path(f"isagen/isa_{level}.dot.cpp.o")).file
            directives = b"".join(coff.content(section) for section in coff.sections if section.name == ".drectve")
            assert not re.search(rb"export:|more|sides|kept|made", directives, re.IGNORECASE)


def test_a_library_exports_its_own_functions_alone(portable, tmp_path):
    """It selects its level when it is loaded, before its static initialisers."""
    folder = portable.folder.parent
    (tmp_path / "api.cpp").write_text(
        '#include "stubs.h"\nextern const long early;\nextern "C" __declspec(dllexport) '
        "long chosen(const char **name)\n"
        "{\n  *name = isa_level_name(isa_current_level());\n  return early;\n}\n"
    )
    (tmp_path / "use.cpp").write_text(
        '#include <stdio.h>\nextern "C" __declspec(dllimport) long chosen(const char **name);\n'
        'int main()\n{\n  const char *name;\n  printf("%ld ", chosen(&name));\n  puts(name);\n}\n'
    )
    include = [f"/I{portable.folder}", f"/I{portable.path('isagen/isa_include')}"]
    api, use = (clang_cl.compiled(folder, tmp_path / name, *include) for name in ("api.cpp", "use.cpp"))
    own = [path for path in sorted(portable.path("portable.exe.p").glob("*.obj")) if path.name != "main.cpp.obj"]
    levels = sorted(portable.path("isagen").glob("isa_*.o"))
    library = portable.path("chosen.dll")
    portable.run("lld-link", *own, api, *levels, *clang_cl.link_arguments(folder, library=True), f"/out:{library}")
    exported = portable.run("llvm-readobj-16", "--coff-exports", library).stdout
    assert re.findall(r"Name: (\w+)", exported) == ["chosen"]
    program = portable.path("use.exe")
    imported = library.with_suffix(".lib")
    portable.run("lld-link", use, imported, *clang_cl.link_arguments(folder), f"/out:{program}")
    for level in set(WIDTHS).intersection(supported_levels()):
        assert said(portable, program, PORTABLE_ISA=level).endswith(f"14 {level}\n")


def test_two_sets_of_kernels_in_c_in_one_program(tmp_path):
    clang_cl.require(NEWEST)
    project = make_project(tmp_path)
    for name in ("one", "two"):
        (project.folder / f"{name}.h").write_text(
            f'#include "isa_dispatch.h"\ntypedef const char *(*{name}_fn)(void);\n'
            f"ISA_DECLARE_DISPATCH({name}_fn, {name}_stub)\n"
        )
        (project.folder / f"{name}.c").write_text(
            f'#include "{name}.h"\nstatic const char *run(void) {{ return ISA_THIS_LEVEL; }}\n'
            f"ISA_REGISTER_DISPATCH({name}_stub, &run)\n"
        )
        (project.folder / f"def_{name}.c").write_text(f'#include "{name}.h"\nISA_DEFINE_DISPATCH({name}_stub)\n')
    (project.folder / "main.c").write_text(
        '#include "one.h"\n#include <stdio.h>\nextern const char *(*two_stub)(void);\n'
        'int main(void)\n{\n  printf("%s %s\\n", one_stub(), two_stub());\n  return 0;\n}\n'
    )
    (project.folder / "meson.build").write_text(
        "project('pair', 'c', default_options: ['c_std=c11', 'warning_level=3', 'werror=true'])\n"
        "isa_sets = {'one': {'kernels': files('one.c')}, 'two': {'kernels': files('two.c')}}\nsubdir('isagen')\n"
        "executable('pair', 'main.c', 'def_one.c', 'def_two.c',\n"
        "  dependencies: [isa_kernels_deps['one'], isa_kernels_deps['two']])\n"
    )
    project.isagen("init")
    project.setup("--cross-file", str(clang_cl.prepare(project, tmp_path, NEWEST)))
    project.ninja()
    best = supported_levels()[-1]
    assert said(project, project.path("pair.exe")).endswith(f"{best} {best}\n")


def test_a_project_in_c_with_a_file_per_level(tmp_path):
    project = configured(tmp_path, NEWEST, "per_level")
    project.ninja()
    assert "functions called" in said(project, project.path("direct.exe"))
    best = [level for level in ("DEFAULT", "AVX2", "AVX512") if level in supported_levels()][-1]
    assert said(project, project.path("ops.exe")).splitlines()[-1].startswith(f"{best} ")


# Names of clang-cl that sealing keeps, and others that become private to a level, in one source.
NAMED = """
#include <stdio.h>
struct failure { int x; failure(int a) : x(a) {} failure(const failure &other) : x(other.x) {} };
struct shape { virtual ~shape() {} virtual int sides() { return 3; } };
template <class T> __declspec(noinline) T twice(T x) { return x + x; }
inline int calls = 0;
inline int start();
inline int ready = start();
inline int start() { static int first = rand_of(); return first; }
__declspec(selectany) extern const float table[4] = {1, 2, 3, 4};
__attribute__((weak)) int weakly() { return 1; }
extern "C" float run(float x, shape *one)
{
  calls++;
  try {
    puts("text");
    if (x > 3) throw failure(weakly());
  } catch (const failure &caught) { return static_cast<float>(caught.x + start() + ready); }
  static shape own;
  return twice(x) * 3.25f + static_cast<float>((one ? one : &own)->sides()) + table[calls & 3];
}
"""
SHARED = {"?calls@@3HA", "??_R0?AUshape@@@8", "??_R2shape@@8", "??_R3shape@@8", "__real@40500000"}
PRIVATE = {
    *("run", "??$twice@M@@YAMM@Z", "?sides@shape@@UEAAHXZ", "??_7shape@@6B@", "??_R4shape@@6B@", "?table@@3QBMB"),
    *(
        "?ready@@3HA",
        "??__Eready@@YAXXZ",
        "?start@@YAHXZ",
        "?first@?1??start@@YAHXZ@4HA",
        "?$TSS0@?1??start@@YAHXZ@4HA",
    ),
    *("_TI1?AUfailure@@", "_CTA1?AUfailure@@", "?weakly@@YAHXZ"),
}


@pytest.fixture(params=clang_cl.VERSIONS)
def named(request, tmp_path_factory):
    """An object with names of all kinds."""
    clang_cl.require(request.param)
    folder = tmp_path_factory.mktemp("named")
    clang_cl.tools(folder, request.param)
    source = folder / "named.cpp"
    source.write_text("int rand_of();\n" + NAMED)
    return clang_cl.compiled(folder, source, "/std:c++17")


def names_of(file: CoffObject) -> set[str]:
    return {symbol.name for symbol in file.symbols}


def test_names_that_are_private_and_names_that_are_shared(named):
    file = CoffObject.load(named)
    assert names_of(file) >= SHARED | PRIVATE
    private = {symbol.name for symbol in file.symbols if file.is_code(symbol)} | file.initialised_variables
    made = CoffObject(sealed(file, "AVX2", "1", dict.fromkeys(private, "AVX2")), "sealed.obj")
    after = names_of(made)
    assert after >= SHARED
    assert {f"{name}.avx2.1" for name in PRIVATE} <= after
    assert not PRIVATE & after
    before = file.file.sections
    names = [code_section("AVX2") if one.executable and one.size else one.name for one in before]
    assert [section.name for section in made.file.sections] == names


def test_a_demangler_takes_the_suffix():
    """llvm-undname leaves it out; Microsoft's undname was not tried."""
    need("llvm-undname-16")
    done = subprocess.run(["llvm-undname-16", "??$twice@M@@YAMM@Z.avx2.1"], capture_output=True, text=True, check=True)
    assert "float __cdecl twice<float>(float)" in done.stdout


@pytest.fixture(scope="module")
def leaks(tmp_path_factory):
    """The kernels that are built to leak."""
    project = configured(tmp_path_factory.mktemp("leaks"), NEWEST, "leaks_without_library")
    project.ninja()
    return project


ORDERS = pytest.mark.parametrize("order", [list(WIDTHS), list(WIDTHS)[::-1]], ids=["lowest first", "highest first"])


def linked(project: Project, copies: str, levels: Sequence[str], *options: str) -> Path:
    """Link the program by hand: lowest level first after the rest, or highest level first before the rest."""
    rest = sorted(project.path("leaks.exe.p").glob("*.obj"))
    objects = [sorted(project.path("").glob(copies.format(level))) for level in levels]
    assert [len(found) for found in objects] == [2 if level == "DEFAULT" else 1 for level in levels]
    parts = [rest, *objects] if levels[0] == "DEFAULT" else [*objects, rest]
    program = project.path(f"{copies.partition('/')[2][:3]}-{levels[0]}.exe")
    words = [path for part in parts for path in part]
    project.run("lld-link", *options, *words, *clang_cl.link_arguments(project.folder.parent), f"/out:{program}")
    return program


def widths(project: Project, program: Path, level: str) -> dict[str, str]:
    """The widths of the code that each leak ran: "128 256" is the baseline's and the level's."""
    lines = said(project, program, LEAKS_ISA=level).splitlines()
    return dict(line.split(" ", 1) for line in lines if line.partition(" ")[0] in (*LEAKS, "shared"))


@ORDERS
@pytest.mark.parametrize("options", [[], ["/opt:ref", "/opt:icf"]], ids=["", "/opt:ref /opt:icf"])
def test_sealed_levels_run_their_own_code(leaks, order, options):
    """Also exceptions, and static variables that code initialises; what levels share is one variable."""
    program = linked(leaks, "isagen/isa_{}.*.o", order, *options)
    for level in set(WIDTHS).intersection(supported_levels()):
        expected = dict.fromkeys(LEAKS, f"128 {WIDTHS[level]}")
        assert widths(leaks, program, level) == {**expected, "shared": "1 2"}


@ORDERS
def test_unsealed_levels_leak(leaks, order):
    if "AVX2" not in supported_levels():
        pytest.skip("this CPU has no AVX2")
    program = linked(leaks, "isagen/libisa_{}.a.p/*.obj", order, "/force:multiple")
    found = widths(leaks, program, "AVX2")
    assert {name for name in LEAKS if found.get(name) != "128 256"} >= {"sort", "method", "virtual", "lambda"}


def test_levels_that_are_not_sealed_by_choice(tmp_path):
    project = configured(tmp_path, NEWEST, "portable", *UNSEALED, "-Disa_levels=AVX2")
    project.ninja()
    assert "14 200 30 " in said(project, project.path("portable.exe"))


@pytest.mark.parametrize("flags", [[], ["/bigobj"], ["/Z7", "/Gy-"], ["/guard:cf", "/Gw"]], ids=" ".join)
def test_damaged_objects_are_refused(tmp_path, flags):
    """Thousands of changes of real objects: an error that names the file, or a sealed object that can be read."""
    clang_cl.require("16")
    clang_cl.tools(tmp_path, "16")
    source = tmp_path / "named.cpp"
    source.write_text("int rand_of();\n" + NAMED)
    assert 100 < refused(CoffObject, clang_cl.compiled(tmp_path, source, "/std:c++17", *flags), 1000) < 1000


@pytest.mark.parametrize("option", ["-flto", "-flto=thin"])
def test_objects_for_link_time_optimisation_are_refused(tmp_path, option):
    clang_cl.require("16")
    clang_cl.tools(tmp_path, "16")
    source = tmp_path / "one.cpp"
    source.write_text("int one() { return 1; }\n")
    with pytest.raises(IsagenError, match="is not an object file that isagen can read"):
        CoffObject.load(clang_cl.compiled(tmp_path, source, option))
