"""The kernels over tiles with sanitizers, at this CPU's levels and emulated."""

from dataclasses import replace

from support.tiles_levels import LEVELS
from support.tiles_library import FEW, build


def test_sanitizers(tmp_path_factory):
    """Every product in memory that ends where the matrices end; sanitizers check the emulator's accesses too."""
    project = replace(build("g++", tmp_path_factory).project, build="sanitized")
    project.setup("-Db_sanitize=address,undefined", "-Doptimization=0", f"-Disa_levels={','.join(FEW)}", CXX="g++")
    project.run("ninja", "-C", project.build, "products")
    done = project.run(project.path("products"), *LEVELS, UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1")
    assert done.stdout.splitlines() == [f"{level.removesuffix(' emulated')} agrees" for level in LEVELS]
