"""What an audited link keeps for the next: with it, without it and where it is damaged, the audit finds the same."""

import pytest

from support.auditing import append
from support.bundles import change

LEAK = """
void leak(float *);
__attribute__((target("avx2"))) void leak(float *x) { __asm__ volatile("vpaddd %%ymm0, %%ymm1, %%ymm2" : : "r"(x)); }
"""
KEPT = "isagen/isa_tool/facts"


@pytest.mark.parametrize("change", ["stays", "goes", "damaged"])
def test_the_audit_finds_the_same(new_project, change):
    project = new_project("leak")
    project.setup("-Disa_levels=AVX2")
    project.ninja()
    kept = project.path(KEPT)
    first = kept.read_bytes()
    if change == "goes":
        kept.unlink()
    elif change == "damaged":
        kept.write_bytes(first[:-1])
    append(project, "main.cpp", "int more;\n")
    project.ninja()
    assert kept.is_file()
    assert change != "stays" or kept.read_bytes() == first
    append(project, "main.cpp", LEAK)
    said = project.ninja(check=False)
    assert "code outside the levels uses instructions beyond the baseline" in said
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
    first = project.path(KEPT).read_bytes()
    append(project, "main.cpp", "int more;\n")
    project.ninja(check=False)
    assert project.path(KEPT).read_bytes() != first
