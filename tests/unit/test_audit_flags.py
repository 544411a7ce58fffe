"""The audit's question to the compilers of a build, by its own commands."""

import json
import shlex
import sys
from pathlib import Path

import pytest

from isagen.audit.flags import audit_flags
from support.model import record_of

# A compiler that answers only where it is asked for the language of the source, and not for a file.
COMPILER = """
import sys
words = sys.argv[1:]
assert words[0] == "cxx" and words[-5:] == ["-x", sys.argv[1:][1][2:], "-dM", "-E", "/dev/null"], words
assert not {"-o", "-c", "a.o"} & set(words), words
print("#define __AVX2__ 1")
print("#define __SGX__ 1")
"""


class Objects:
    """Objects of a build, all of one level."""

    def level(self, output: Path) -> str:
        return "FAST"

    def shown(self, output: Path) -> str:
        return output.name

    def kernel(self, output: Path) -> str:
        return "a"


@pytest.mark.parametrize(
    ("source", "language"), [("a.cpp.FAST.cpp", "c++"), ("a.c.FAST.c", "c"), ("a.C.FAST.C", "c++")]
)
@pytest.mark.parametrize(("checked", "found"), [((), [("avx2",)]), (("avx2",), [])])
def test_the_language_is_that_of_the_source(tmp_path, source, language, checked, found):
    """Whatever the compiler is called: `python -m ziglang c++` ends in no name of one."""
    (tmp_path / "compiler.py").write_text(COMPILER)
    command = [sys.executable, "compiler.py", "cxx", f"-D{language}", "-MD", "-MF", "a.d", "-o", "a.o", "-c", source]
    entry = {"directory": str(tmp_path), "output": "a.o", "command": shlex.join(command)}
    (tmp_path / "compile_commands.json").write_text(json.dumps([entry]))
    findings = audit_flags(record_of(levels={"FAST": checked}), Objects(), tmp_path)
    assert [finding.features for finding in findings] == found


def test_what_is_added_for_editors_is_not_asked_about(tmp_path):
    """Where there are thousands of copies, entries of kernel sources say how editors shall read them: no output."""
    entry = {"directory": str(tmp_path), "command": "no-such-compiler -c ../a.c", "file": "../a.c"}
    (tmp_path / "compile_commands.json").write_text(json.dumps([entry]))
    assert audit_flags(record_of(levels={"FAST": ()}), Objects(), tmp_path) == []
