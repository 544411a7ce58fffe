"""The Meson and C++ of the README and of a move to kernels build as they stand, and the stub is called."""

import re
from textwrap import dedent

import pytest

from support.checkout import ROOT

HEADER = """#pragma once
#include "isa_dispatch.h"
typedef void (*softmax_fn)(float *out, const float *in, int n);
"""
FUNCTION = "static void softmax(float *out, const float *in, int n) { for (int i = 0; i < n; i++) out[i] = in[i]; }\n"
MAIN = """
#include <cstdio>
int main() { float x[2] = {1, 2}; softmax_stub(x, x, 2); std::printf("%s\\n", isa_level_name(isa_current_level())); }
"""


@pytest.mark.smoke
def test_the_lines_of_the_readme_build(new_project):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (meson,) = re.findall(r"```meson\n((?:.|\n)*?)```", text)
    (lines,) = re.findall(r"```c\+\+\n((?:.|\n)*?)```", text)
    declared, defined, registered = lines.splitlines(keepends=True)
    project = new_project(None)
    (project.folder / "kernels").mkdir()
    for name, source in {
        "softmax.h": f"{HEADER}{declared}",
        "main.cpp": f'#include "softmax.h"\n{defined}{MAIN}',
        "kernels/softmax.cpp": f'#include "../softmax.h"\n{FUNCTION}{registered}',
        "meson.build": "project('readme', 'cpp', default_options: ['cpp_std=c++17'])\n",
    }.items():
        (project.folder / name).write_text(source)
    project.isagen("init")
    with (project.folder / "meson.build").open("a") as stream:
        stream.write(f"{meson}executable('main', 'main.cpp', dependencies: isa_kernels_dep)\n")
    project.setup("-Disa_levels=AVX2")
    project.ninja()
    assert project.run(project.path("main")).stdout in ("AVX2\n", "DEFAULT\n")


def test_a_function_becomes_a_kernel_as_the_page_shows(new_project):
    page = (ROOT / "docs/getting-started.md").read_text(encoding="utf-8")
    text = dedent(page[page.index("1. A header declares") : page.index("An editable install")].replace("\n   ", "\n"))
    project = new_project(None)
    (project.folder / "src").mkdir()
    for name, source in re.findall(r"```c\+\+\n// (\S+)\n((?:.|\n)*?)```", text):
        body = "{ double sum = 0; for (size_t i = 0; i < n; i++) sum += x[i] * x[i]; return sum; }"
        (project.folder / name).write_text(source.replace("{ /* as before */ }", body))
    (project.folder / "src/main.cpp").write_text(
        "#include <cstddef>\n#include <cstdio>\ndouble sumsq(const double *x, std::size_t n);\n"
        'int main() { double x[] = {1, 2, 3}; std::printf("%g\\n", sumsq(x, 3)); }\n'
    )
    (meson,) = re.findall(r"```meson\n((?:.|\n)*?)```", text)
    meson = meson.replace(
        "py.extension_module('_core', 'src/module.cpp'", "executable('main', 'src/module.cpp', 'src/main.cpp'"
    )
    (project.folder / "meson.build").write_text(f"project('moved', 'cpp', default_options: ['cpp_std=c++17'])\n{meson}")
    project.isagen("init")
    project.setup("-Disa_levels=AVX2")
    project.ninja()
    assert project.run(project.path("main")).stdout == "14\n"
