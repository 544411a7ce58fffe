"""The copied tool: which files configuring removes from its folder, and which it leaves."""

import os
import py_compile
import shutil
import subprocess
import sys
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from isagen.configure.tool import _copy, write_tool
from isagen.model.names import TEXTS_FOLDER, TOOL_MAIN
from isagen.processors.features import read_features
from isagen.processors.registry import audited_processor, find_processor
from support.tool import run_in

GENERIC = find_processor("generic")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A tool as configuring leaves it."""
    folder = tmp_path_factory.mktemp("tool")
    write_tool(folder, {}, audited_processor())
    return folder


@pytest.fixture
def folder(written, tmp_path):
    """A copy of it."""
    return Path(shutil.copytree(written, tmp_path / "isa_tool"))


def step(folder, *words):
    """Run a build step; return what it said."""
    command = [sys.executable, "-I", "-S", folder / TOOL_MAIN, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


def test_stale_files_go_and_others_stay(folder):
    write_tool(folder, {"isa_dispatch.h": "1", "isa_dispatch.other.c": "1"}, audited_processor())
    stale = folder / "isagen/model/plan/__init__.py"  # which Python would import in the place of plan.py
    script = folder / "audit_error/ld"
    for path in (stale, script):
        path.parent.mkdir(parents=True)
        path.touch()
    (folder / "folder.py").mkdir()
    write_tool(folder, {"isa_dispatch.h": "1"}, audited_processor())
    assert not stale.exists()
    assert script.is_file()
    assert (folder / TEXTS_FOLDER / "isa_dispatch.h").read_text() == "1"
    assert (folder / TEXTS_FOLDER / "isa_dispatch.other.c").is_file()  # of another set of kernels
    assert step(folder, "nothing") == "isagen: error: isa_tool: there is no such step: nothing\n"


def test_bytecode_comes_with_its_module(tmp_path):
    source, copy = tmp_path / "installed/one.py", tmp_path / "tool/one.py"
    source.parent.mkdir()
    source.write_text("value = 1\n")
    py_compile.compile(str(source), doraise=True)
    _copy(str(source), source.read_bytes(), copy)
    compiled = Path(cache_from_source(copy))
    state = compiled.stat()
    assert run_in(copy.parent, "import one\nprint(one.value)") == "1\n"
    assert compiled.stat().st_mtime_ns == state.st_mtime_ns  # else, Python would have made it anew


def test_data_of_a_processor_is_read_from_it(folder):
    said = run_in(folder, "from isagen.processors.features import read_features as r\nprint(*r('x86').features)")
    assert said.split() == list(read_features("x86").features)


def test_numbers_of_the_decoder_are_read_from_it(folder):
    code = "import iced_x86\nprint(iced_x86.Mnemonic.VPDPBUSD)"
    assert int(run_in(folder, code)) > 0


def test_tracebacks_show_the_sources(folder):
    said = step(folder, "emit")
    assert "_, plan, folder, *generated = words" in said
    assert "ValueError: not enough values to unpack" in said


@pytest.mark.parametrize("name", ["isagen/model/names.py", "isagen/processors/x86/features.toml"])
def test_a_copy_that_changed_is_written_again(folder, name):
    copy = folder / name
    good, state = copy.read_bytes(), copy.stat()
    digest = write_tool(folder, {}, audited_processor())
    assert copy.stat() == state
    copy.write_bytes(good[:-1] + b" ")
    os.utime(copy, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert write_tool(folder, {}, audited_processor()) == digest
    assert copy.read_bytes() == good


def test_the_digest_is_that_of_the_contents(folder, tmp_path):
    digest = write_tool(folder, {}, audited_processor())
    assert write_tool(tmp_path / "other", {}, audited_processor()) == digest
    assert write_tool(folder, {"isa_dispatch.c": "1"}, audited_processor()) != digest
    assert write_tool(tmp_path / "generic", {}, GENERIC) != digest


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
    write_tool(tmp_path, {}, GENERIC)
    command = f'"$0" -I -S "$1" nothing {closed}'
    words = ["sh", "-c", command, sys.executable, tmp_path / TOOL_MAIN]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "isagen: error: isa_tool: there is no such step: nothing\n"
