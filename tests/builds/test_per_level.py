"""A source for each level, as projects have that wrote their dispatch by hand: one stub, several sources."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from isagen.planning.config import load_config
from support.checkout import ROOT
from support.levels import ALL, supported_levels
from support.projects import PACKAGES, UNSEALED, matrix, need

PAGE = ROOT / "docs/hand-written.md"
# The level whose source each stub takes, by the level that is selected.
SOURCES = {"DEFAULT": ("c", "c"), "AVX2": ("avx2", "c"), "AVX512": ("avx2", "avx512")}


def without_direct_calls(project):
    """Take out the test that calls functions of levels by name, which needs those of all sources."""
    project.edit("meson.build", "test('direct', executable('direct', 'direct.c', dependencies: isa_levels_dep))", "")


def check_results(project):
    for level in [level for level in SOURCES if level in supported_levels()]:
        found = project.run(project.path("ops"), OPS_ISA=level).stdout.split()
        scaled, summed = (f"../ops-{name}.c" for name in SOURCES[level])
        assert found == [level, "72", "1332", scaled, summed]


@pytest.mark.smoke
def test_each_stub_takes_the_best_source(prepared):
    project = prepared("per_level")
    check_results(project)
    built = {
        kernel["source"]: {n for n, c in kernel["levels"].items() if c["verdict"] == "built"}
        for kernel in matrix(project)["kernels"]
    }
    shown = project.isagen("matrix", "build").stdout
    assert "\nstub scale: ops-c.c at DEFAULT, ops-avx2.c at AVX2\n" in shown
    unused = " ".join(level for level in ALL if level not in ("DEFAULT", "AVX2", "AVX512"))
    assert f" disabled: {unused} by isa.toml: no kernel source is for it " in " ".join(shown.split())
    assert built == {"ops-c.c": {"DEFAULT"}, "ops-avx2.c": {"AVX2"}, "ops-avx512.c": {"AVX512"}}


@pytest.mark.parametrize("options", [[], UNSEALED], ids=["sealed", "unsealed"])
def test_a_test_calls_functions_of_levels_by_name(prepared, options):
    project = prepared("per_level", *options)
    called = len({"AVX2", "AVX512"}.intersection(supported_levels()))
    assert project.run(project.path("direct")).stdout == f"{called} of 2 functions called\n"


def test_a_program_runs_its_checks_once_per_level(new_project):
    """The loop of docs/testing.md, twice: after the last level, the one that was selected at load is in use again."""
    project = new_project("per_level")
    page = (ROOT / "docs/testing.md").read_text()
    loop = re.search(r"^  while \(isa_use_next_level.*?^  }\n", page, re.S | re.M)[0]
    head = (project.folder / "main.c").read_text().partition("int main")[0]
    now = '  printf("%s\\n", isa_level_name(isa_current_level()));\n'
    (project.folder / "main.c").write_text(f"{head}int main(void)\n{{\n{(loop + now) * 2}}}\n")
    project.setup()
    project.ninja()
    levels = [level for level in SOURCES if level in supported_levels()]
    expected = [*(f"{level} 6" for level in levels), "DEFAULT"]
    assert project.run(project.path("ops"), OPS_ISA="DEFAULT").stdout.splitlines() == expected * 2


def test_a_level_that_no_source_is_for_gives_no_warning(prepared):
    project = prepared("per_level")
    for level, used in {"AVX2_VNNI": "AVX2", "AVX512_BF16": "AVX512"}.items():
        if level in supported_levels():
            assert project.run(project.path("ops"), OPS_ISA=level).stdout.split()[0] == used


def test_editors_see_each_source_at_its_own_level(prepared):
    project = prepared("per_level")
    commands = json.loads(project.path("compile_commands.json").read_text())
    guards = {
        Path(c["file"]).name: re.search(r"-include (\S+)", c["command"])[1] for c in commands if "output" not in c
    }
    assert guards == {
        "ops-c.c": "isa_guard_DEFAULT.h",
        "ops-avx2.c": "isa_guard_AVX2.h",
        "ops-avx512.c": "isa_guard_AVX512.h",
    }


def test_with_clang(prepared):
    need("clang-16")
    check_results(prepared("per_level", CC="clang-16"))


def test_unsealed(prepared):
    check_results(prepared("per_level", *UNSEALED))


def test_a_level_that_the_packager_leaves_out(prepared):
    project = prepared("per_level", "-Disa_levels=none")
    assert project.run(project.path("ops")).stdout.split() == ["DEFAULT", "72", "1332", "../ops-c.c", "../ops-c.c"]
    assert project.run(project.path("direct")).stdout == "0 of 2 functions called\n"
    assert re.search(r"^ops-avx2\.c +-", project.isagen("matrix", "build").stdout, re.M)


def test_a_stub_without_a_source_at_the_lowest_level(new_project):
    project = new_project("per_level")
    project.edit("isagen/isa.toml", "scale,total,", "scale,")
    project.setup("-Disa_levels=AVX512")
    assert (
        "isagen: error: total: ops-avx512.c registers it at AVX512, but no kernel does at DEFAULT\n"
        "  register one at DEFAULT too, for CPUs without any higher level; if isa.toml restricts the levels of the "
        "source, add DEFAULT to them\n"
    ) in project.ninja(check=False)


def test_a_table_of_stubs_and_functions_and_a_list_of_stubs(new_project):
    """The two blocks of the page, with the stubs of this project."""
    project = new_project("per_level")
    blocks = re.findall(r"```c\n(.*?)```", PAGE.read_text(), re.S)
    rows = next(text for text in blocks if "STUB(F32" in text)
    stubs = next(text for text in blocks if "SCALE_STUBS" in text).replace("scale_fn", "source_fn")
    stubs = stubs.replace("DO(scale) DO(scale_s16)", "DO(scale_source) DO(total_source)")
    header, define = re.sub(r" */\*.*?\*/", "", stubs).rsplit("\n", 2)[:2]
    for name, declares, defines in (("scale_source", f"{header}\n", f"{define}\n"), ("total_source", "", "")):
        project.edit("ops.h", f"ISA_DECLARE_DISPATCH(source_fn, {name})\n", declares)
        project.edit("main.c", f"ISA_DEFINE_DISPATCH({name})\n", defines)
    plain = "static void scale_s24_c(float *data, float factor, size_t n)\n{\n  data[n - 1] *= factor;\n}\n"
    project.edit("main.c", "int main", f"enum {{ F32, S24 }};\n{plain}{rows}\nint main")
    calls = "for (int i = 0; i < 2; i++)\n    (*rows[i].function)(data, rows[i].format == F32 ? 2.0f : 1.0f, 37);"
    project.edit("main.c", "scale(data, 2.0f, 37);", calls)
    without_direct_calls(project)
    project.setup("-Disa_levels=AVX2,AVX512")
    project.ninja()
    check_results(project)


def test_a_table_that_chooses_by_more_than_the_cpu(new_project):
    """The table of the page: rows by format, with flags that a host gives, and one stub for its search."""
    project = new_project("per_level")
    page = PAGE.read_text()
    code = next(text for text in re.findall(r"```c\n(.*?)```", page, re.S) if "find_row" in text)
    header = (
        '#include "ops.h"\n#define S16 1\n#define CPU_AVX2 2u\n#ifdef HAVE_AVX2\n#define scale_s16_avx2 scale_avx2\n'
        "#endif\n#define scale_s16_c scale_c\n"
        "struct row { int format; scale_fn scale; unsigned cpu; };\n"
        "typedef const struct row *(*find_fn)(int format, unsigned cpu);\nISA_DECLARE_DISPATCH(find_fn, find_row)\n"
    )
    search = (
        "const struct row *r = rows;\n  while (r->format != format || (r->cpu & cpu) != r->cpu)\n    r++;\n  return r;"
    )
    (project.folder / "rows.h").write_text(header)
    (project.folder / "rows.c").write_text('#include "rows.h"\n' + re.sub(r"/\* the first.*?\*/", search, code))
    project.edit("main.c", '#include "ops.h"', '#include "rows.h"\nISA_DEFINE_DISPATCH(find_row)')
    project.edit(
        "main.c", "  return 0", '  printf("%u %u\\n", find_row(S16, ~0u)->cpu, find_row(S16, 0)->cpu);\n  return 0'
    )
    project.edit("meson.build", "files('ops-c.c'", "files('rows.c', 'ops-c.c'")
    without_direct_calls(project)
    table = 'extends = "x86"\n[levels.AVX2]\ndefines = ["HAVE_AVX2"]\n'
    (project.folder / "isagen/ops.toml").write_text(table)
    project.edit("isagen/isa.toml", 'table = "x86"', 'table = "ops.toml"')
    with (project.folder / "isagen/isa.toml").open("a") as stream:
        stream.write(
            re.search(r'`(kernels."ops.c".*?)`', page)[1]
            .replace("ops.c", "rows.c")
            .replace("kernels.", "\n[kernels]\n")
        )
    project.setup()
    project.ninja()
    for level in {"DEFAULT", "AVX2", "AVX512"}.intersection(supported_levels()):
        found = project.run(project.path("ops"), OPS_ISA=level).stdout.splitlines()[-1]
        assert found == ("0 0" if level == "DEFAULT" else "2 0")


def test_the_page_shows_this_package(tmp_path):
    page = PAGE.read_text()
    blocks = re.findall(r"```(\w+)\n(.*?)```", page, re.S)
    header, toml = (next(text for name, text in blocks if name == language) for language in ("c", "toml"))
    own = (PACKAGES / "per_level/meson.build").read_text()
    assert all(text in own for name, text in blocks if name == "meson")
    assert set(header.split("\n")) < set((PACKAGES / "per_level/ops.h").read_text().split("\n"))
    (tmp_path / "isa.toml").write_text(toml)
    shown, own = (load_config(path).kernels for path in (tmp_path / "isa.toml", PACKAGES / "per_level/isagen/isa.toml"))
    for key, entry in shown.items():
        register = {stub: own[key].register[stub] for stub in entry.register}
        assert entry == replace(own[key], register=register)


def test_the_levels_of_the_page(new_project):
    """AVX2 has no function for one stub, and takes that of SSSE3, which it requires."""
    project = new_project("per_level")
    table = next(text for text in re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.S) if "extends" in text)
    (project.folder / "isagen/ops.toml").write_text(table)
    own = 'header = "ops.h"\nlevels = ["SSSE3"]\nregister = { total_source = "total_source_avx512" }'
    project.edit("isagen/isa.toml", 'table = "x86"', 'table = "ops.toml"')
    text = (project.folder / "isagen/isa.toml").read_text()
    (project.folder / "isagen/isa.toml").write_text(text[: text.index('[kernels."ops-avx512.c"]')])
    with (project.folder / "isagen/isa.toml").open("a") as stream:
        stream.write(f'[kernels."ops-ssse3.c"]\n{own}\n')
    (project.folder / "ops-ssse3.c").write_text(
        '#include "ops.h"\n#include <tmmintrin.h>\n'
        "const char *total_source_avx512(void)\n{\n  volatile int one = 1;\n"
        "  return _mm_cvtsi128_si32(_mm_abs_epi8(_mm_set1_epi8((char)-one))) & 1 ? __FILE__ : 0;\n}\n"
    )
    project.edit("meson.build", "'ops-avx512.c'", "'ops-ssse3.c'")
    without_direct_calls(project)
    project.setup()
    project.ninja()
    expected = {"DEFAULT": ("c", "c"), "SSSE3": ("c", "ssse3"), "AVX2": ("avx2", "ssse3")}
    for level in ["DEFAULT", *(("SSSE3", "AVX2") if "AVX2" in supported_levels() else ())]:
        found = project.run(project.path("ops"), OPS_ISA=level).stdout.split()
        assert (found[0], found[3:]) == (level, [f"../ops-{name}.c" for name in expected[level]])


def test_a_level_that_lacks_the_code_of_a_lower_one_is_told_of(new_project):
    """The table's macro for AVX2 holds at AVX512 too, unless the table takes it out."""
    project = new_project("per_level")
    table = 'extends = "x86"\n[levels.AVX2]\ndefines = ["HAVE_AVX2"]\n'
    (project.folder / "isagen/own.toml").write_text(table)
    (project.folder / "isagen/isa.toml").write_text('table = "own.toml"\n')
    (project.folder / "ops-c.c").write_text(
        '#include "ops.h"\n'
        'static const char *source(void)\n{\n#ifdef HAVE_AVX2\n  return "avx2";\n#else\n  return "c";\n#endif\n}\n'
        "ISA_REGISTER_DISPATCH(scale_source, &source)\n"
    )
    project.edit("meson.build", ", 'ops-avx2.c', 'ops-avx512.c'", "")
    without_direct_calls(project)
    for name in ("scale", "total", "total_source"):
        project.edit("main.c", f"ISA_DEFINE_DISPATCH({name})\n", "")
    project.edit("main.c", "scale(data, 2.0f, 37);", "")
    project.edit("main.c", "(double)total(data, 37)", "0.0")
    project.edit("main.c", "total_source()", '""')
    project.setup("-Disa_levels=AVX2,AVX512")
    assert "warning" not in project.ninja()
    (project.folder / "isagen/own.toml").write_text(f'{table}[levels.AVX512]\ndrop_defines = ["HAVE_AVX2"]\n')
    assert (
        "isagen: warning: ops-c.c: AVX512 has the same code as DEFAULT, but AVX2, a level between, has other code\n"
        "  AVX512 lacks the code of AVX2: let the #if in the source choose it, or define its macro for AVX512 in the "
        "table (levels.AVX512.defines)\n"
    ) in project.ninja()


def test_why_names_the_source_that_a_stub_takes(prepared):
    project = prepared("per_level")
    best = [level for level in SOURCES if level in supported_levels()][-1]
    said = project.isagen("why", "AVX512", "scale", "build").stdout.splitlines()
    assert said[0] == "ops-avx2.c at AVX512 is disabled by isa.toml: kernels.'ops-avx2.c'.levels"
    assert "  scale at AVX512: the copy of AVX2" in said
    source = {"DEFAULT": "DEFAULT, ops-c.c"}.get(best, "AVX2, ops-avx2.c")
    assert said[-1] == f"  runs here: the copy of {source}"
    said = project.isagen("why", "DEFAULT", "total", "build").stdout.splitlines()
    source = "AVX512, ops-avx512.c" if best == "AVX512" else "DEFAULT, ops-c.c"
    assert said[-1] == f"  runs here: the copy of {source}"


def test_a_project_withholds_features(new_project):
    project = new_project("per_level")
    project.edit("isagen/isa.toml", 'override = "OPS_ISA"', 'override = "OPS_ISA"\nwithhold = "ops_withholds"')
    page = PAGE.read_text()
    function = re.search(r"^int ops_withholds.*?^}\n", page, re.S | re.M)[0]
    project.edit("main.c", "int main", f"#include <stdlib.h>\n#include <string.h>\n{function}\nint main")
    project.edit("direct.c", "int main", "int ops_withholds(const char *f) { return f == NULL; }\nint main")
    project.setup("-Disa_levels=AVX2,AVX512", CFLAGS="-Wmissing-prototypes")
    project.ninja()
    ops = project.path("ops")
    best = [level for level in SOURCES if level in supported_levels()][-1]
    assert project.run(ops).stdout.split()[0] == best
    assert project.run(ops, OPS_WITHHELD="sse2").stdout.split()[0] == best  # of the baseline
    said = project.run(ops, OPS_WITHHELD="avx2", OPS_ISA="AVX2").stdout
    assert said.splitlines()[-1].split()[0] == "DEFAULT"
    if best != "DEFAULT":
        assert "warning: OPS_ISA=AVX2 needs features that CPU or OS lack (avx2 (withheld by ops_withholds))" in said
    assert "\nwithheld at run time: what ops_withholds() returns; it is not called here\n" in (
        project.isagen("matrix", "build").stdout
    )
    said = project.isagen("why", "AVX2", "scale", "build").stdout
    assert said.endswith("  ops_withholds() may withhold features; it is not called here\n")


def test_a_bad_name_of_a_function_that_withholds(new_project):
    project = new_project("per_level")
    project.edit("isagen/isa.toml", 'override = "OPS_ISA"', 'override = "OPS_ISA"\nwithhold = "a b"')
    said = project.setup(check=False)
    assert "isa.toml: withhold: 'a b' cannot name a function in C\n  use letters, digits and _" in said


def test_a_source_that_calls_a_function_of_a_higher_level(new_project):
    project = new_project("per_level")
    project.edit("ops-c.c", "data[i] *= factor;", "scale_avx2(data + i, factor, 1);")
    project.setup("-Disa_levels=AVX2")
    said = project.ninja(check=False)
    assert (
        "isagen: error: scale_avx2: ops-c.c refers to it at DEFAULT, but it is private to AVX2\n"
        "  define it at DEFAULT, at a level that DEFAULT requires, or in an ordinary source"
    ) in said
    assert said.count("isagen: error:") == 1


@pytest.mark.parametrize(
    "helpers", [["c"], pytest.param(["c", "avx2"], marks=pytest.mark.smoke), ["c", "avx512"], ["c", "avx2", "avx512"]]
)
def test_a_source_takes_a_function_of_its_own_level_or_the_best_below(new_project, helpers):
    project = new_project("per_level")
    project.edit("ops.h", "#endif", "const char *helper(void);\n#endif")
    for name in ("avx2", "avx512"):
        project.edit(f"ops-{name}.c", "return __FILE__;", "return helper();")
    for name in helpers:
        source = project.folder / f"ops-{name}.c"
        source.write_text(f'{source.read_text()}\nconst char *helper(void) {{ return "{name}"; }}\n')
    without_direct_calls(project)
    project.setup("-Disa_levels=AVX2,AVX512")
    project.ninja()
    own, lower = ("avx512" if "avx512" in helpers else ""), ("avx2" if "avx2" in helpers else "c")
    expected = {"DEFAULT": ["../ops-c.c", "../ops-c.c"], "AVX2": [lower, "../ops-c.c"], "AVX512": [lower, own or lower]}
    (sealed,) = project.path("isagen").rglob("isa_AVX512.*ops-avx512.c.o")
    level = {"avx512": "avx512", "avx2": "avx2", "c": "default"}[own or lower]
    assert re.search(rf"helper\.{level}\.\d+$", project.run("nm", sealed).stdout, re.M)  # on any CPU
    for level in [level for level in SOURCES if level in supported_levels()]:
        assert project.run(project.path("ops"), OPS_ISA=level).stdout.split()[3:] == expected[level]


@pytest.mark.parametrize("mode", ["error", "warn"])
def test_no_initialiser_calls_a_function_of_a_level_below(new_project, mode):
    """However often it does, it is told once."""
    project = new_project("per_level")
    project.edit(
        "ops-avx512.c",
        "float total_avx512(",
        "__attribute__((constructor)) static void start(void)\n{\n  scale_avx2(0, 1, 0);\n  scale_avx2(0, 2, 0);\n}\n\n"
        "float total_avx512(",
    )
    project.setup("-Disa_levels=AVX2,AVX512", f"-Disa_audit={mode}")
    said = project.ninja(check=mode == "warn")
    assert said.count("uses scale_avx2, unchecked code of a lower level") == 1
    assert said.count(f"isagen: {mode.replace('warn', 'warning')}:") == 1


def test_no_shared_variable_points_to_a_function_of_a_level_below(new_project):
    project = new_project("per_level")
    project.edit(
        "ops-avx512.c",
        "float total_avx512(",
        "extern scale_fn shared;\n__attribute__((weak)) scale_fn shared = scale_avx2;\n\nfloat total_avx512(",
    )
    project.setup("-Disa_levels=AVX2,AVX512")
    said = project.ninja(check=False)
    assert "of ops-avx512.c is shared by all levels, but points to scale_avx2, a function of AVX2: " in said


def test_a_level_whose_kernel_registers_nothing_lost_no_code(new_project):
    project = new_project("per_level")
    project.edit("isagen/isa.toml", 'levels = ["AVX2"]', 'levels = ["all"]')
    project.edit("isagen/isa.toml", 'register = { "{scale,scale_source}" = "{}_avx2" }\n', "")
    (project.folder / "ops-avx2.c").write_text(
        '#include "ops.h"\n#if defined __AVX2__ && !defined __AVX512F__\n'
        'static const char *source(void) { return "ops-avx2.c"; }\nISA_REGISTER_DISPATCH(scale_source, &source)\n'
        "#else\nISA_REGISTER_NO_DISPATCH(scale_source)\n#endif\n"
    )
    project.edit("isagen/isa.toml", ",scale_source,", ",")
    project.edit("isagen/isa.toml", '"all"', '"-DEFAULT"')
    project.edit(
        "ops-c.c",
        "const char *total_source_c",
        "ISA_REGISTER_DISPATCH(scale_source, &scale_source_c)\nconst char *total_source_c",
    )
    without_direct_calls(project)
    project.setup("-Disa_levels=AVX2,AVX512")
    assert "warning" not in project.ninja()


def test_a_whole_module_withholds_nothing(new_project):
    project = new_project("pybind_module")
    (project.folder / "isagen/isa.toml").write_text('withhold = "mine"\n')
    assert "isa.toml: withhold: a whole module cannot use it: " in project.setup(check=False)


def test_arguments_for_all_kernels(new_project):
    """They come before those of levels, and the guard sees what they turn on."""
    project = new_project("per_level")
    (project.folder / "ops-c.c").write_text(
        '#include "ops.h"\n#ifndef SPEED\n#error "no argument"\n#endif\n' + (project.folder / "ops-c.c").read_text()
    )
    project.edit("meson.build", "subdir('isagen')", "isa_c_args = ['-DSPEED', '-Ofast']\nsubdir('isagen')")
    project.setup("-Disa_levels=AVX2")
    project.ninja()
    commands = json.loads(project.path("compile_commands.json").read_text())
    ofast = {Path(c["file"]).name for c in commands if "-Ofast" in c["command"].split()}
    assert ofast == {"ops-c.c.DEFAULT.c", "ops-avx2.c.AVX2.c", "ops-c.c", "ops-avx2.c"}
    project.edit("meson.build", "'-Ofast'", "'-mavx2'")
    assert "is on, but not checked for DEFAULT" in project.ninja(check=False)


def ordinary_lowest(new_project):
    """Return the project with ops-c.c as an ordinary source, whose functions a source of DEFAULT registers."""
    project = new_project("per_level")
    (project.folder / "ops-default.c").write_text('#include "ops.h"\n')
    project.edit("isagen/isa.toml", '[kernels."ops-c.c"]', '[kernels."ops-default.c"]')
    project.edit("meson.build", "files('ops-c.c'", "files('ops-default.c'")
    without_direct_calls(project)
    project.edit("meson.build", "'main.c'", "'main.c', 'ops-c.c'")
    return project


def test_the_lowest_level_registers_functions_of_ordinary_sources(new_project):
    project = ordinary_lowest(new_project)
    project.edit("main.c", "scale(data, 2.0f, 37);", "scale_c(data, 1.0f, 37);\n  scale(data, 2.0f, 37);")
    project.setup("-Disa_levels=AVX2,AVX512")
    project.ninja()
    check_results(project)


def test_a_higher_level_registers_no_function_of_an_ordinary_source(new_project):
    project = ordinary_lowest(new_project)
    project.edit("isagen/isa.toml", '"{scale,scale_source}" = "{}_avx2"', 'scale = "scale_c"')
    project.setup("-Disa_levels=AVX2")
    assert "ops-avx2.c registers scale_c at AVX2, but no kernel source defines it" in project.ninja(check=False)


def test_the_lowest_level_registers_no_function_of_a_higher_one(new_project):
    project = ordinary_lowest(new_project)
    project.edit("isagen/isa.toml", '"{scale,', 'scale = "scale_avx2", "{')
    project.setup("-Disa_levels=AVX2")
    said = project.ninja(check=False)
    assert "scale_avx2: ops-default.c refers to it at DEFAULT, but it is private to AVX2" in said
