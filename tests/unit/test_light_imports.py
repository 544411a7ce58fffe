"""What steps of a build use in the place of modules that take long to load, and that they load none of these."""

import subprocess
import sys
from pathlib import Path

import pytest

import isagen
from isagen.model.patterns import Pattern
from isagen.model.shapes import NamedTuple

PACKAGE = Path(isagen.__file__).parent


def test_named_tuples_are_those_of_typing():
    class Point(NamedTuple):
        """A place."""

        x: int
        y: int

        @property
        def sum(self) -> int:
            return self.x + self.y

    point = Point(1, y=2)
    assert (point, point.sum, point._replace(x=5).sum) == ((1, 2), 3, 7)
    assert repr(point) == "Point(x=1, y=2)"
    assert (Point.__doc__, Point.__module__, Point._fields) == ("A place.", __name__, ("x", "y"))
    with pytest.raises(AttributeError):
        point.x = 3


def test_patterns_are_regular_expressions():
    pattern = Pattern(r"a\w+", only_ascii=True)
    assert pattern.search("xab") and not pattern.match("xab") and not pattern.fullmatch("ab-")
    assert not pattern.search("a\u00e9") and Pattern(r"a\w+").search("a\u00e9")
    assert pattern.sub("-", "xabc d") == "x- d"


def test_sealing_loads_no_module_that_takes_long():
    """Of objects without debug information, where nothing is decoded."""
    modules = ["build.main", "build.seal", "binary.elf.objects", "binary.elf.sealing", "binary.elf.digest"]
    modules += ["binary.elf.fingerprints", "binary.elf.besides", "binary.elf.rewritten"]
    lines = ["import sys", f"sys.path.insert(0, {str(PACKAGE.parent)!r})", *(f"import isagen.{one}" for one in modules)]
    slow = {"re", "typing", "enum", "pathlib", "json", "hashlib", "tomllib", "urllib", "dataclasses", "inspect"}
    lines.append(f"assert not {slow!r} & set(sys.modules), {slow!r} & set(sys.modules)")
    subprocess.run([sys.executable, "-I", "-S", "-c", "\n".join(lines)], check=True)
