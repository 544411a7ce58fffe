"""docs/getting-started.md, followed to the letter: files, edits, commands, and what these print."""

import re
import shutil

import pytest

from support.checkout import ROOT
from support.environments import make_venv
from support.levels import supported_levels
from support.projects import need

# A comment that says what to do with a block of code, and the block; or a block of commands or their output.
BLOCK = re.compile(r"(?:<!-- (\w+): ([^\n]*) -->\n)?```([\w+]*)\n(.*?)```\n", re.DOTALL)
EDITS = {
    "before": lambda text, place, code: text.replace(place, f"{code}\n{place}"),
    "after": lambda text, place, code: text.replace(f"{place}\n", f"{place}\n{code}"),
    "replace": lambda text, place, code: text.replace(f"{place}\n", code),
}


@pytest.mark.smoke
def test_the_tutorial(new_project, wheelhouse, tmp_path):
    for tool in ("meson", "ninja"):
        need(tool)
    text = (ROOT / "docs/getting-started.md").read_text(encoding="utf-8")
    steps = text[text.index("## 2. ") : text.index("## An existing project")]
    project = new_project(None)
    python = make_venv(tmp_path / "venv")
    # Step 1: an environment with isagen, Meson and ninja, which pip installs the project into.
    shell = f'python() {{ {python} "$@"; }}; pip() {{ command python -m pip --python {python} "$@"; }}\n'
    project.environment |= {"PIP_FIND_LINKS": str(wheelhouse), "PIP_QUIET": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    said = ""
    for what, where, language, block in BLOCK.findall(steps):
        if what == "file":
            (project.folder / where).write_text(block)
        elif what:
            (path,) = [one for one in sources(project.folder) if where in one.read_text()]
            path.write_text(EDITS[what](path.read_text(), where, block))
        elif language == "sh":
            said = project.run("bash", "-ec", shell + block).stdout
            if (project.folder / "fastdot").is_dir():  # as `cd` in its first commands
                project.folder /= "fastdot"
        else:
            assert language == "text"
            lines = block.replace("AVX512_BF16", supported_levels()[-1]).splitlines()
            shown = [line.rstrip() for line in said.splitlines()]
            for line in lines[:1] if "x 8 levels" in lines[0] else lines:  # marks depend on the compiler
                begin, copy, _ = line.partition(" calls the copy of ")  # so does which copies have the same code
                assert any(one.startswith(begin + copy) if copy else one == line.rstrip() for one in shown), said
    shutil.rmtree(project.folder)


def sources(folder):
    return [path for path in folder.rglob("*") if path.suffix in (".cpp", ".build") and "build" not in path.parts[:-1]]
