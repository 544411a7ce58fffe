"""The page's move from target_clones: the same result, and each level's own code in functions that are not inlined."""

import re

import pytest

from support.checkout import ROOT
from support.projects import need

PAGE = (ROOT / "docs/hand-written.md").read_text(encoding="utf-8")
HEADER = """#include "isa_dispatch.h"
#include <stddef.h>
typedef double (*sumsq_fn)(const double *x, size_t n);
ISA_DECLARE_DISPATCH(sumsq_fn, sumsq_stub)
"""
STUB = """#include "sumsq.h"
ISA_DEFINE_DISPATCH(sumsq_stub)
double sumsq(const double *x, size_t n);
double sumsq(const double *x, size_t n) { return sumsq_stub(x, n); }
"""
DECLARED = "#include <stddef.h>\ndouble sumsq(const double *x, size_t n);\n"
MAIN = """#include <stdio.h>
int main(void) { double x[] = {1, 2, 3}; printf("%g\\n", sumsq(x, 3)); return 0; }
"""


def source(when):
    (text,) = re.findall(rf"```c\n(/\* {when}: sumsq.c(?:.|\n)*?)```", PAGE)
    return text


@pytest.mark.parametrize("compiler", ["gcc", "clang-16"])
def test_the_move_of_the_page(new_project, compiler):
    need(compiler, "nm")
    project = new_project(None)
    before = source("before") + MAIN  # in one file: Clang 16 exports only `sumsq.ifunc`
    for name, text in {"before.c": before, "main.c": DECLARED + MAIN, "sumsq.h": HEADER, "stub.c": STUB}.items():
        (project.folder / name).write_text(text)
    project.run(compiler, "-O2", "before.c", "-o", "before")
    (project.folder / "sumsq.c").write_text(source("after"))
    (project.folder / "meson.build").write_text(
        "project('clones', 'c', default_options: ['buildtype=release', 'warning_level=3', 'werror=true'])\n"
        "isa_kernels = files('sumsq.c')\nsubdir('isagen')\n"
        "executable('after', 'main.c', 'stub.c', dependencies: isa_kernels_dep)\n"
    )
    project.isagen("init")
    project.setup("-Disa_levels=AVX2", CC=compiler)
    project.ninja()
    assert project.run("./before").stdout == project.run(project.path("after")).stdout == "17\n"

    def terms(program):
        return re.findall(r" t (term\S*)$", project.run("nm", program).stdout, re.M)

    assert len(terms("before")) == 1
    assert len(terms(project.path("after"))) == 2
