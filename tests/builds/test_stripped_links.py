"""Links that leave out symbols: the audit sees the same file with them, and the user gets it without."""

import json

import pytest

from support.auditing import append
from support.projects import Project

LEAK = """
void leak(float *);
__attribute__((target("avx2"))) void leak(float *x) { __asm__ volatile("vpaddd %%ymm0, %%ymm1, %%ymm2" : : "r"(x)); }
"""
# Links as the real linker does, but not with symbols.
NEEDS_STRIP = """#!/bin/sh
case " $* " in *" -s "*) exec {linker} "$@";; esac
exit 1
"""


def stripped(new_project) -> Project:
    project = new_project("leak")
    project.edit("meson.build", "isa_kernels_dep)", "isa_kernels_dep, link_args: '-Wl,-s')")
    return project


def test_a_finding_that_only_symbols_tell(new_project):
    project = stripped(new_project)
    project.setup("-Disa_levels=AVX2")
    project.ninja()
    assert b".symtab" not in project.path("leak").read_bytes()
    append(project, "main.cpp", LEAK)
    said = project.ninja(check=False)
    assert "isagen audit: error: leak: " in said
    assert "\n    leak(float*), in leak.p/main.cpp.o\n" in said
    assert not project.path("leak").exists()


@pytest.mark.parametrize("mode", ["error", "warn"])
def test_a_link_that_fails_with_symbols(new_project, mode):
    project = stripped(new_project)
    project.setup("-Disa_levels=AVX2", f"-Disa_audit={mode}")
    linkers = json.loads(project.path("isagen/isa_plan.json").read_text())["link_audit"]["linkers"]
    for name, linker in linkers.items():
        needs = project.folder / f"needs-strip-{name}"
        needs.write_text(NEEDS_STRIP.format(linker=linker))
        needs.chmod(0o755)
        script = project.path(f"isagen/isa_tool/audit_{mode}/{name}")
        text = script.read_text()
        assert f" {linker} " in text
        script.write_text(text.replace(f" {linker} ", f" {needs} "))
    said = project.ninja(check=mode == "warn")
    prefix = {"error": "isagen: error", "warn": "isagen audit: warning"}[mode]
    assert f"{prefix}: leak: the audit needs a link without the option that strips, and that link failed" in said
    assert project.path("leak").exists() == (mode == "warn")
