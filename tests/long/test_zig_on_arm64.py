"""zig for arm64 with musl, and for Windows on arm64: the baseline is built, sealed and audited.

For each, zig compiles a C library first.
"""

import re

import pytest

from support.platforms import ZIG, ZIG_WITH_LIBRARY, Platform
from support.projects import need, verdicts


@pytest.mark.parametrize(("target", "system"), [("linux-musl", "linux"), ("windows-gnu", "windows")])
def test_zig_builds_the_baseline_of_arm64(new_project, tmp_path, target, system):
    """It takes no -march, by which the levels of arm64 are compiled. What it links for Windows is not run."""
    pytest.importorskip("ziglang")
    words = [*ZIG_WITH_LIBRARY, f"aarch64-{target}"]
    compilers = {"c": [*words, "cc"], "cpp": [*words, "c++", "-nostdlib++"]}
    project, platform = new_project("portable"), Platform(compilers, [*ZIG, "ar"], system, "aarch64", "")
    summary = project.setup("-Dwarning_level=3", "--cross-file", str(platform.cross_file(tmp_path)))
    project.ninja()
    levels = verdicts(project)
    assert levels.pop("DEFAULT") == "built"
    assert set(levels.values()) == {"unavailable"}
    assert re.search(r"sealed +: yes\n", summary)
    program = project.path("portable.exe" if system == "windows" else "portable")
    assert "nothing found" in project.isagen("audit", program).stdout
    if system == "linux":
        need("qemu-aarch64")
        said = project.run("qemu-aarch64", program).stdout
        assert said.startswith("14 200 30 DEFAULT, in use: DEFAULT, built: DEFAULT, 3 stubs: ")
