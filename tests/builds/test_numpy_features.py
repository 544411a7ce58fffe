"""The page's move from NumPy's features module: the kernel runs at NumPy's levels, with its macros."""

import json
import re

from support.checkout import ROOT
from support.projects import need

HEADER = """#include "isa_dispatch.h"
#include <immintrin.h>
#include <stddef.h>
typedef float (*sum_items_fn)(const float *items, size_t n);
ISA_DECLARE_DISPATCH(sum_items_fn, sum_items_stub)
"""
MAIN = """#include "sums.h"
#include <stdio.h>
ISA_DEFINE_DISPATCH(sum_items_stub)
int main(void)
{
  float items[20];
  for (int i = 0; i < 20; i++)
    items[i] = (float)i;
  printf("%g\\n", (double)sum_items_stub(items, 20));
  return 0;
}
"""


def test_the_move_of_the_page(new_project):
    need("gcc")
    page = (ROOT / "docs/hand-written.md").read_text(encoding="utf-8")
    (kernel,) = re.findall(r"```c\n(/\* after: sums.dispatch.c(?:.|\n)*?)```", page)
    (levels,) = re.findall(r'`(kernels."sums.dispatch.c".levels = .*?)`', page)
    project = new_project(None)
    for name, text in {"main.c": MAIN, "sums.h": HEADER, "sums.dispatch.c": kernel}.items():
        (project.folder / name).write_text(text)
    (project.folder / "meson.build").write_text(
        "project('sums', 'c', default_options: ['buildtype=release', 'warning_level=3'])\n"
        "isa_kernels = files('sums.dispatch.c')\nsubdir('isagen')\n"
        "executable('sums', 'main.c', dependencies: isa_kernels_dep)\n"
    )
    project.isagen("init")
    (project.folder / "isagen/isa.toml").write_text(f'table = "numpy"\noverride = "SUMS_ISA"\n{levels}\n')
    project.setup(CC="gcc")
    project.ninja()
    (one,) = json.loads(project.isagen("matrix", "build", "--format", "json").stdout)["kernels"]
    assert [level for level, cell in one["levels"].items() if cell["verdict"] == "built"] == [
        "DEFAULT",
        "X86_V3",
        "X86_V4",
    ]
    assert one["levels"]["X86_V3"]["code"]["widest"] == 256
    for level in ("DEFAULT", "X86_V3"):
        assert project.run(project.path("sums"), SUMS_ISA=level).stdout.endswith("190\n")
