"""`isagen demo` where it cannot start."""

import pytest

from isagen.model.errors import ProjectError
from isagen.project.demo import run_demo


@pytest.mark.parametrize(("variable", "names"), [("", r"c\+\+, g\+\+, clang\+\+"), ("ccc -m64", "ccc")])
def test_no_compiler(tmp_path, monkeypatch, variable, names):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CXX", variable)
    with pytest.raises(ProjectError, match=f"no C\\+\\+ compiler is installed: {names}"):
        run_demo(tmp_path / "kept")
    assert not (tmp_path / "kept").exists()
