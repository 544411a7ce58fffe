"""docs/hand-written.md: a kernel without a portable form, and the macros that tell levels apart."""

import re

import pytest

from support.checkout import ROOT
from support.levels import supported_levels
from support.projects import need

PAGE = (ROOT / "docs/hand-written.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("\n## A kernel without a portable form\n")[2].partition("\n## ")[0]
MAIN = """#include "sum8.h"
#include <stdio.h>
ISA_DEFINE_DISPATCH(sum8_stub)
int main(void)
{{
  const int x[8] = {{1, 2, 3, 4, 5, 6, 7, 8}};
  int sum = 0;
{call}  printf("%d\\n", sum);
  return 0;
}}
"""
MACROS = """
#if defined(CPU_CAPABILITY_AVX512) && (defined(CPU_CAPABILITY_AVX2) || !defined(__AVX2__))
#error "AVX512 has the macro of the width of AVX2, or lacks that of its instructions"
#elif defined(CPU_CAPABILITY_AVX2) && !defined(__AVX2__)
#error "AVX2 lacks the macro of its instructions"
#endif
"""


@pytest.mark.parametrize("compiler", ["gcc", "clang-16"])
def test_the_kernel_of_the_page(new_project, compiler):
    need(compiler)
    project = new_project(None)
    for name, text in re.findall(r"```c\n/\* (\S+\.[ch]).*?\*/\n(.*?)```", SECTION, re.S):
        (project.folder / name).write_text(text + (MACROS if name == "sum8.c" else ""))
    (call,) = re.findall(r"```c\n/\* a caller \*/\n(.*?)```", SECTION, re.S)
    (project.folder / "main.c").write_text(MAIN.format(call=call))
    (project.folder / "meson.build").write_text(
        "project('without', 'c', default_options: ['buildtype=release', 'warning_level=3', 'werror=true'])\n"
        "isa_kernels = files('sum8.c')\nsubdir('isagen')\n"
        "executable('without', 'main.c', dependencies: isa_kernels_dep)\n"
    )
    project.isagen("init")
    project.setup("-Disa_levels=AVX2,AVX512", CC=compiler)
    project.ninja()
    for level in {"DEFAULT", "AVX2", "AVX512"}.intersection(supported_levels()):
        said = project.run(project.path("without"), WITHOUT_ISA=level).stdout
        assert said == ("-1\n" if level == "DEFAULT" else "36\n"), level
