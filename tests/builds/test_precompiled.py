"""Precompiled headers of kernels of two languages, in units of one."""

import pytest

from support.projects import make_project

DECLARED = '#include "isa_dispatch.h"\ntypedef int (*number_fn)(void);\n' + "".join(
    f"ISA_DECLARE_DISPATCH(number_fn, {name}_stub)\n" for name in ("in_c", "in_cpp")
)
KERNEL = """#include "stubs.h"
static int number(void) {{ return {value}; }}
ISA_REGISTER_DISPATCH({name}_stub, &number)
"""
USED = """#include "stubs.h"
ISA_DEFINE_DISPATCH(in_c_stub)
ISA_DEFINE_DISPATCH(in_cpp_stub)
int main(void) { return in_c_stub() == 7 && in_cpp_stub() == 7 ? 0 : 1; }
"""
BUILD = """project('headers', 'c', 'cpp', meson_version: '>=1.0.1', default_options: ['warning_level=3', 'werror=true'])
isa_kernels = files('in_c.c', 'in_cpp.cpp')
{headers}
subdir('isagen')
executable('used', 'used.c', dependencies: isa_kernels_dep)
"""


@pytest.mark.parametrize("languages", [["c"], ["cpp"], ["c", "cpp"]], ids="+".join)
@pytest.mark.parametrize("own", [False, True])
def test_kernels_without_the_language_of_a_header(tmp_path, languages, own):
    """Meson failed where a C kernel had arguments of its own, and so a static library without C++."""
    project = make_project(tmp_path)
    headers = [f"isa_{language}_pch = files('seven_{language}.h')" for language in languages]
    files = {"stubs.h": DECLARED, "used.c": USED, "meson.build": BUILD.format(headers="\n".join(headers))}
    for language in ("c", "cpp"):
        taken = language in languages
        name, value = f"in_{language}", "SEVEN" if taken else "7"
        files[f"{name}.{language}"] = KERNEL.format(name=name, value=value)
        files[f"seven_{language}.h"] = "enum { SEVEN = 7 };\n"
    for name, text in files.items():
        (project.folder / name).write_text(text)
    project.isagen("init")
    if own:
        with (project.folder / "isagen/isa.toml").open("a") as stream:
            stream.write('\n[kernels."in_c.c"]\nargs = ["-funroll-loops"]\n')
    assert "WARNING" not in project.setup("-Disa_levels=AVX2")
    project.ninja()
    project.run(project.path("used"))
    commands = project.path("compile_commands.json").read_text()
    for language in ("c", "cpp"):
        assert (f"-include seven_{language}.h" in commands) == (language in languages)
