"""What an audited link keeps for the next: with it, without it and where it is damaged, the audit finds the same."""

import pytest

from support.auditing import append
from support.bundles import change

HOOK = "int (*hook)(int);\n"
KEEPS = """
extern int (*hook)(int);
namespace { int work(int x) { return x * LANES; } __attribute__((used)) void keep() { hook = &work; } }
"""
KEPT = ("isagen/isa_tool/facts", "isagen/.isa_plan.linked")


def left(project):
    return {name: project.path(name).read_bytes() for name in KEPT}


@pytest.mark.parametrize("change", ["stays", "goes", "damaged"])
def test_the_audit_finds_the_same(new_project, change):
    project = new_project("leak")
    append(project, "main.cpp", HOOK)
    project.setup("-Disa_levels=AVX2")
    project.ninja()
    first = left(project)
    for name in KEPT:
        if change == "goes":
            project.path(name).unlink()
        elif change == "damaged":
            project.path(name).write_bytes(first[name][:-1])
    append(project, "main.cpp", "int more;\n")
    project.ninja()
    assert left(project).keys() == first.keys()
    if change == "stays":
        assert left(project) == first
    append(project, "kernel.cpp", KEEPS)
    said = project.ninja(check=False)
    assert "in hook, which code outside the level knows" in said
    assert "avx2" in said.lower()
    assert not project.path("leak").exists()


def test_features_of_another_table_count(new_project):
    """An isagen that was replaced, and with it what its features file says."""
    project = new_project("leak")
    project.setup("-Disa_levels=AVX2")
    project.ninja()
    heading = "[instructions.names]\n"
    change(
        project.path("isagen/isa_tool"),
        "isagen/processors/x86/features.toml",
        lambda text: text.replace(heading, f'{heading}AVX2 = "fma"\n', 1),
    )
    first = left(project)
    append(project, "main.cpp", "int more;\n")
    project.ninja(check=False)
    assert project.path(KEPT[0]).read_bytes() != first[KEPT[0]]
