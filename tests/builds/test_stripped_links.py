"""Links that leave out symbols, which the audit needs: they fail."""

import pytest


@pytest.mark.parametrize(("option", "mode"), [("-s", "error"), ("--strip-all", "warn")])
def test_a_link_that_strips(new_project, option, mode):
    project = new_project("leak")
    project.edit("meson.build", "isa_kernels_dep)", f"isa_kernels_dep, link_args: '-Wl,{option}')")
    project.setup("-Disa_levels=AVX2", f"-Disa_audit={mode}")
    said = project.ninja(check=mode == "warn")
    prefix = {"error": "isagen: error", "warn": "isagen audit: warning"}[mode]
    assert f"{prefix}: leak: the link left out the symbols that its audit needs\n  in the link arguments, " in said
    assert project.path("leak").exists() == (mode == "warn")
