"""What configuring reads: the record of its answer holds all of it, and few questions to compilers."""

import json
import os
import sys
import sysconfig
import tempfile

from isagen.configure.made_from import MOST
from isagen.model.kept import read_kept

# Notes what a configuring reads, lists and asks about, and what it writes.
WATCHED = """
import json, os, sys
read, written = set(), set()
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
def note(event, given):
    if event in ("open", "os.listdir", "os.scandir") and isinstance(given[0], (str, bytes)):
        is_written = event == "open" and given[2] & WRITING
        (written if is_written else read).add(os.path.abspath(os.fsdecode(given[0])))
    elif event == "os.rename":
        written.add(os.path.abspath(os.fsdecode(given[1])))
sys.addaudithook(note)
stat = os.stat
def noted(path, *more, **named):
    if isinstance(path, (str, bytes, os.PathLike)) and "dir_fd" not in named:
        read.add(os.path.abspath(os.fsdecode(path)))
    return stat(path, *more, **named)
os.stat = noted
place, also, *words = sys.argv[1:]
from isagen.configure import configure
if also:
    check = configure.check_paths
    configure.check_paths = lambda *given: (check(*given), open(also).close())
from isagen.cli import main
main(["configure", *words])
with open(place, "w") as stream:
    json.dump([sorted(read), sorted(written)], stream)
"""


def unrecorded(fragment, also="") -> list[str]:
    """Return what configuring reads, and what the record of its answer does not hold."""
    fragment.settle()
    fragment.forget()
    script, place = fragment.folder / "watched.py", fragment.folder / "watched.json"
    script.write_text(WATCHED)
    fragment.call(str(script), str(place), also, *fragment.words())
    read, written = json.loads(place.read_text())
    kept = read_kept(fragment.record)
    recorded = {*kept["states"], *kept["folders"], *kept["kernels"], *kept["outputs"]}
    recorded |= {os.path.realpath(path) for path in recorded}
    trees = {*kept["trees"], *kept["left"]}
    below = [f"{path}/" for path in (*trees, *kept["folders"])]
    # The depfile is left with each answer.
    known = {*recorded, *trees, *written, os.devnull, str(fragment.folder / "build/isa_plan.d")}
    # The folders where Python looks for modules, all of its standard library, and no other library.
    known |= {*sys.path, str(fragment.folder), str(fragment.folder / "site")}
    library = [f"{sysconfig.get_path(name)}/" for name in ("stdlib", "platstdlib")]
    # What the user's cache holds is found by what it was made from.
    below += [f"{fragment.folder}/cache/", f"{tempfile.gettempdir()}/isagen-"]
    return [
        path
        for path in read
        if path not in known
        and not path.startswith(tuple(below))
        and not (path.startswith(tuple(library)) and "/site-packages/" not in path)
    ]


def test_all_that_is_read_is_recorded(fragment):
    assert unrecorded(fragment) == []


def test_what_is_read_and_not_recorded_is_noticed(fragment):
    assert unrecorded(fragment, also=str(fragment.folder / "chosen")) == [str(fragment.folder / "chosen")]


def test_questions_are_few(fragment):
    fragment.settle()
    assert 4 <= len(read_kept(fragment.record)["questions"]) <= MOST
