"""docs/bindings.md: its sources in the project of the tutorial give what the tutorial's command prints."""

import re
import sys

import pytest

from support.checkout import ROOT
from support.levels import supported_levels
from support.projects import need

PAGE = (ROOT / "docs/bindings.md").read_text(encoding="utf-8")
(COMMAND,) = re.findall(
    r'^python -c "(import fastdot; print\(fastdot.current_level\(\), .*)"$',
    (ROOT / "docs/getting-started.md").read_text(encoding="utf-8"),
    re.M,
)

GAPS = """
import fastdot, numpy as np
a, b = np.array([2, 9, 3, 9], np.uint8), np.array([4, 5, 6], np.int8)
print(fastdot.dot(a[::2], b[:2]))
"""
PYBIND11 = """
print(fastdot.dot(np.array([250, 1], np.uint8), [4, 7]))
try:
    fastdot.dot(a[:3].astype(float), b)
except TypeError as problem:
    print(type(problem).__name__)
"""
NANOBIND = """
print(fastdot.dot(np.array([250, 300], np.int32), np.array([4, 7], np.int8)))
"""
# By section: code, and what it prints.
ARRAYS = {
    "pybind11": (GAPS + PYBIND11, ["23", "1007", "TypeError"]),
    "nanobind": (GAPS + NANOBIND, ["23", str(250 * 4 + 44 * 7)]),
}


def block(section, language):
    (found,) = re.findall(rf"```{re.escape(language)}\n(.*?)```", section, re.S)
    return found


@pytest.mark.parametrize(
    ("title", "sources"),
    [
        ("pybind11", {"core.cpp": "c++"}),
        ("nanobind", {"core.cpp": "c++"}),
        ("Cython", {"_core.pyx": "cython", "stubs.cpp": "c++"}),
    ],
)
def test_the_page_s_module(new_project, title, sources):
    need("g++")
    pytest.importorskip(title)
    section = PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    project = new_project(None)
    project.isagen("init", "--name", "fastdot")
    for name, language in sources.items():
        (project.folder / "src" / name).write_text(block(section, language))
    meson = (project.folder / "meson.build").read_text(encoding="utf-8")
    before, extension, rest = block(section, "meson").partition("py.extension_module")
    calls = re.findall(r"^project\((?:.|\n)*?\)$\n*", before, re.M)
    setting_up = before.removeprefix("".join(calls))
    for call in [*(call.strip() for call in calls), f"{setting_up}{extension}{rest}".strip()]:
        name = "project" if call.startswith("project(") else extension
        meson, count = re.subn(
            rf"^{re.escape(name)}\((?:.|\n)*?\)$", lambda _, call=call: call, meson, count=1, flags=re.M
        )
        assert count == 1
    (project.folder / "meson.build").write_text(meson)
    site = project.folder / "site"
    project.setup("-Disa_levels=AVX2", f"-Dpython.platlibdir={site}", f"-Dpython.purelibdir={site}")
    project.ninja()
    project.run("meson", "install", "-C", "build", "--quiet")
    said = project.run(sys.executable, "-c", COMMAND, PYTHONPATH=str(site)).stdout.split()
    assert said[0] == ("AVX2" if "AVX2" in supported_levels() else "DEFAULT")
    assert said[1:] == ["23"]
    if title in ARRAYS:
        pytest.importorskip("numpy")
        code, expected = ARRAYS[title]
        assert project.run(sys.executable, "-c", code, PYTHONPATH=str(site)).stdout.split() == expected
