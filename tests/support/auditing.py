"""Faults for tests to plant in projects, and the audit's reports on them."""

import json

FAULT = """
__attribute__((target("avx2"), noinline)) void planted_fault(float *data)
{
  for (int i = 0; i < 64; i++)
    data[i] *= 2;
}
"""


def build(new_project, package, *arguments, **environment):
    project = new_project(package)
    project.setup(*arguments, **environment)
    return project


def audit(project, *arguments, check=False):
    """Run `isagen audit`; return its exit status and its report as data."""
    done = project.isagen("audit", *map(str, arguments), "--format", "json", check=check)
    return done.returncode, json.loads(done.stdout)


# What the report leaves out of findings that do not have it.
TEXTS = ("detail", "level", "object", "kernel", "instruction", "variable")
LEFT_OUT = {**dict.fromkeys(TEXTS, ""), "features": [], "address": 0, "path": []}


def findings(report):
    found = [finding for target in report["targets"] for finding in target["findings"]]
    return [{**LEFT_OUT, "name": finding["symbol"], **finding} for finding in found]


def append(project, name, text):
    with (project.folder / name).open("a") as stream:
        stream.write(text)


def plant_in_baseline(project):
    """Make the program's ordinary source, which every CPU runs, use AVX2."""
    append(project, "main.cpp", FAULT)
    project.edit("main.cpp", "const answer first", "planted_fault(data);\n  const answer first")
    project.edit("main.cpp", "int main()", "void planted_fault(float *data);\nint main()")
