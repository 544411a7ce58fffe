"""Extensions in build folders: what a script says at each level that this CPU supports."""

import json
import sys
from pathlib import Path

from support.projects import Project

AT_EACH_LEVEL = """
import array, json, {module} as m
found = {{}}
for level, (built, supported, _) in m.isa.levels.items():
    if built and supported:
        with m.isa.use(level):
            found[level] = {expression}
print(json.dumps(found))
"""
# A module in C of the package `portable`.
FAST = """\
#include <Python.h>
#include "stubs.h"
#include "isa_python.h"
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "fast", NULL, -1, NULL, NULL, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit_fast(void)
{
  static const int three[] = {1, 2, 3};
  PyObject *made = PyModule_Create(&module);
  if (made == NULL || isa_add_to_module(made) < 0 || PyModule_AddIntConstant(made, "dot", dot_stub(three, three, 3)))
    return NULL;
  return made;
}
"""
# The bits that the packages' kernels report, by level.
BITS = {"DEFAULT": 128, "AVX2": 256, "AVX512": 512}


def at_each_level(project: Project, module: str, expression: str, python: str = sys.executable) -> dict:
    """Evaluate an expression of `m`, the `module` in the project's build folder, at each level that is supported."""
    code = AT_EACH_LEVEL.format(module=module, expression=expression)
    done = project.run(python, "-c", code, PYTHONPATH=str(project.folder / project.build))
    found = json.loads(done.stdout)
    assert "DEFAULT" in found
    return found


def line_table(project: Project, name: str) -> str:
    """The line table of an object or library, as objdump decodes it."""
    return project.run("objdump", "--dwarf=decodedline", str(Path(project.build, name))).stdout
