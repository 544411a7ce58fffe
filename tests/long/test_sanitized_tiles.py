"""The kernels over tiles with sanitizers, at this CPU's levels and emulated."""

from dataclasses import replace

from support.compiling import need_runtime
from support.tiles_levels import LEVELS
from support.tiles_library import FEW, build

COMPILER = "clang++-16"  # in a third of GCC's time


def test_sanitizers(tmp_path_factory):
    """Every product in memory that ends where the matrices end; sanitizers check the emulator's accesses too."""
    need_runtime(COMPILER, "-fsanitize=address,undefined")
    project = replace(build(COMPILER, tmp_path_factory).project, build="sanitized")
    options = ["-Db_sanitize=address,undefined", "-Db_lundef=false", "-Doptimization=0"]
    project.setup(*options, f"-Disa_levels={','.join(FEW)}", CXX=COMPILER)
    project.run("ninja", "-C", project.build, "products")
    done = project.run(project.path("products"), *LEVELS, UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1")
    assert done.stdout.splitlines() == [f"{level.removesuffix(' emulated')} agrees" for level in LEVELS]
