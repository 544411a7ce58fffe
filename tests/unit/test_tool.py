"""The copied tool: which files configuring removes from its folder, and which it leaves."""

import subprocess
import sys

import pytest

from isagen.configure.tool import write_tool
from isagen.model.names import TEXTS_FOLDER, TOOL_MAIN
from isagen.processors.registry import audited_processor, find_processor

GENERIC = find_processor("generic")


def test_stale_files_go_and_others_stay(tmp_path):
    write_tool(tmp_path, {"isa_dispatch.h": "1", "isa_dispatch.other.c": "1"}, GENERIC)
    former = tmp_path / "isagen/steps/old.py"  # of a version that left folders of modules
    cached = tmp_path / "isagen/steps/__pycache__/old.cpython-311.pyc"
    stale = tmp_path / "iced_x86/Mnemonic.py"
    for path in (former, cached, stale):
        path.parent.mkdir(parents=True)
        path.touch()
    script = tmp_path / "audit_error/ld"
    foreign = tmp_path / "library" / TEXTS_FOLDER / "words"
    folder = tmp_path / "folder.py"
    for path in (script, foreign):
        path.parent.mkdir(parents=True)
        path.touch()
    folder.mkdir()
    (tmp_path / TEXTS_FOLDER / "folder").mkdir()
    write_tool(tmp_path, {"isa_dispatch.h": "1"}, GENERIC)
    assert not stale.exists()
    assert not (tmp_path / "isagen").exists()
    assert script.is_file()
    assert foreign.is_file()
    assert folder.is_dir()
    assert (tmp_path / TEXTS_FOLDER / "isa_dispatch.h").read_text() == "1"
    assert (tmp_path / TEXTS_FOLDER / "isa_dispatch.other.c").is_file()  # of another set of kernels


@pytest.mark.parametrize("size", [-1, 0, 1])
def test_a_copy_of_the_decoder_that_is_another_is_written_again(tmp_path, size):
    write_tool(tmp_path, {}, audited_processor())
    (copy,) = (tmp_path / "iced_x86").glob("*.so")
    good, state = copy.read_bytes(), copy.stat()
    write_tool(tmp_path, {}, audited_processor())
    assert copy.stat() == state
    copy.write_bytes(good[:-1] + {-1: b"", 0: bytes([good[-1] ^ 1]), 1: good[-1:] * 2}[size])
    write_tool(tmp_path, {}, audited_processor())
    assert copy.read_bytes() == good


@pytest.mark.parametrize("closed", ["", "<&- >&-"])
def test_a_step_says_why_it_fails(tmp_path, closed):
    """The tool ends without taking modules down, and says all before."""
    write_tool(tmp_path, {}, GENERIC)
    command = f'"$0" -I -S "$1" nothing {closed}'
    words = ["sh", "-c", command, sys.executable, tmp_path / TOOL_MAIN]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "isagen: error: isa_tool: there is no such step: nothing\n"
