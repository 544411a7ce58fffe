"""Meson warns of nothing in the fragment, whatever minimum version a project asks for."""

import re

import pytest

# Packages that need the fragment alone, and both of its second files.
CASES = [
    *[("mixed", minimum) for minimum in ("", ">=1.0", ">=1.4")],
    *[(package, "") for package in ("sets", "generated", "assembly", "raw_modules")],
]


@pytest.mark.parametrize(("package", "minimum"), CASES)
def test_setting_up(new_project, package, minimum):
    project = new_project(package)
    path = project.folder / "meson.build"
    text = path.read_text(encoding="utf-8")
    version = f", meson_version: '{minimum}'" if minimum else ""
    text, count = re.subn(r",\s*meson_version: '[^']*'", version, text)
    assert count == 1
    path.write_text(text, encoding="utf-8")
    said = project.setup("--fatal-meson-warnings", "-Disa_levels=AVX2")
    assert "WARNING" not in said
    assert re.search(r"AVX2 +: \d+ of \d+ kernel", said)
