"""kernels/vec.h with sanitizers, and on another architecture: each compiles for a minute."""

import pytest

from support.projects import need
from support.vectors import FORMS, SANITIZERS, build, run, runs_here


@pytest.mark.parametrize("form", FORMS)
def test_most_operations_with_sanitizers(form, tmp_path):
    # GCC 12 takes minutes for conversions that have no instruction.
    build("clang++-16", form, tmp_path / "vec", "-O1", "-DFEW_TYPES", *SANITIZERS)
    if not runs_here(form):
        pytest.skip(f"compiled, but not run: this CPU does not support {form}")
    assert run(tmp_path / "vec").stdout.endswith(" 0 failures\n")


@pytest.mark.parametrize("form", ["scalar", "DEFAULT"])
def test_another_architecture(form, tmp_path):
    build("aarch64-linux-gnu-g++", form, tmp_path / "vec", "-O2", "-static")
    need("qemu-aarch64")
    assert run("qemu-aarch64", tmp_path / "vec").stdout.endswith(" 0 failures\n")
