"""Meson reads the keyval file back with the fragment's own lines."""

import re
import subprocess
import sys

import pytest

from isagen.configure.answer import keyval_text
from isagen.rendering import template_folder
from support.keyval import NASTY


def reader() -> str:
    """Return the fragment's own lines that turn the file into `isa_plan`."""
    text = (template_folder() / "fragment/meson.build.j2").read_text(encoding="utf-8")
    found = re.search(r"^( *)isa_plan = \{\}.*?^\1endforeach\n", text, re.MULTILINE | re.DOTALL)
    assert found
    return found[0]


def quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"


@pytest.mark.parametrize(
    "values",
    [NASTY, ["-DBLANK= ", " -Iends in a blank "], ["two\nlines", "x"], [], ["one"]],
    ids=["nasty", "blanks", "line breaks", "none", "one"],
)
def test_the_fragment_reads_back_what_was_written(tmp_path, values):
    pytest.importorskip("mesonbuild")
    (tmp_path / "plan.conf").write_text(keyval_text({"items": values, "last": "end"}), encoding="utf-8")
    (tmp_path / "meson.build").write_text(
        f"""project('keyval')
isa_conf = 'plan.conf'
{reader()}
assert(isa_plan['items'] == [{", ".join(map(quoted, values))}], '@0@'.format(isa_plan['items']))
assert(isa_plan['last'] == ['end'])
""",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "mesonbuild.mesonmain", "setup", "build"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
