"""The step in the linker's place: what it answers and leaves, with linkers that are scripts."""

import os
import signal
import stat
import sys
import time
from pathlib import Path

import pytest

from isagen.build import link, linker_process
from isagen.build.main import main
from isagen.model.errors import AuditError
from support.model import plan_of, write_build

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the scripts are sh's")
MAKES = 'for w; do o=$n; n=$w; [ "$o" = -o ] && printf \'\\177ELF\' > "$w"; done\n'


@pytest.fixture
def step(tmp_path, monkeypatch):
    """Return a function that links with a script, and returns the exit status."""
    monkeypatch.chdir(tmp_path)
    plan = write_build(tmp_path, plan_of(("DEFAULT",)))

    def run(script, *words, mode="error", plan=plan):
        Path("ld").write_text(f"#!/bin/sh\n{script}\n")
        Path("ld").chmod(0o755)
        return main(["link", str(plan), mode, str(tmp_path / "ld"), *words])

    return run


def test_the_status_is_the_linkers(step, capfd):
    assert step("exit 0", "-o", "out") == 0
    assert step("exit 3", "-o", "out") == 3
    assert step("kill -SEGV $$", "-o", "out") == 128 + signal.SIGSEGV
    assert capfd.readouterr().err.endswith(f"/ld: {signal.strsignal(signal.SIGSEGV)}\n")


def test_a_linker_that_is_gone(step, tmp_path, capsys):
    assert main(["link", str(tmp_path / "plan.json"), "error", str(tmp_path / "none"), "-o", "out"]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"isagen: error: {tmp_path}/none: cannot be run: No such file or directory\n")
    assert "meson setup --reconfigure" in said


def test_words_of_a_response_file_end_at_a_shells_blanks(step):
    Path("words").write_text("one\N{NO-BREAK SPACE}name.o\ttwo.o\n-o out")
    assert [*linker_process.expanded(["@words"])] == ["one\N{NO-BREAK SPACE}name.o", "two.o", "-o", "out"]


def test_a_response_file_names_the_output(step, monkeypatch):
    seen = []
    monkeypatch.setattr(link, "is_binary", lambda path: bool(seen.append(path)))
    Path("inner").write_text("-o 'the output'")
    Path("words").write_text("a.o @inner")
    assert step("exit 0", "@words", "b.o") == 0
    assert seen == ["the output"]


@pytest.mark.parametrize("mode", ["error", "warn"])
def test_what_was_not_audited_to_the_end_is_removed(step, mode, capsys):
    for content in (None, "{"):
        plan = Path("other.json")
        plan.unlink(missing_ok=True)
        if content is not None:
            plan.write_text(content)
        assert step(MAKES, "-o", "out", mode=mode, plan=plan) == 1
        assert not Path("out").exists()
        assert capsys.readouterr().err.startswith("isagen: error: other.json: cannot be read")


@pytest.mark.parametrize(
    ("problem", "left"),
    [
        (KeyboardInterrupt(), {"error": False, "warn": False}),
        (RuntimeError(), {"error": False, "warn": False}),
        (AuditError("of the audit"), {"error": False, "warn": True}),
        (OSError(5, "of the OS"), {"error": False, "warn": True}),
    ],
)
def test_an_audit_that_ends_early(step, monkeypatch, problem, left):
    def fails(*_):
        raise problem

    monkeypatch.setattr(link, "_audit", fails)
    for mode, remains in left.items():
        try:
            status = step(MAKES, "-o", "out", mode=mode)
        except (KeyboardInterrupt, RuntimeError):
            status = 1
        assert (status == 0) == remains
        assert Path("out").exists() == remains
        monkeypatch.setattr(link, "_audit", lambda *_: None)
        assert step(MAKES, "-o", "out", mode=mode) == 0
        monkeypatch.setattr(link, "_audit", fails)


def test_the_linker_works_while_the_audit_is_loaded(step, monkeypatch):
    """It has made its output before it is waited for."""
    waited = []
    wait = linker_process.subprocess.Popen.wait

    def late(process):
        while not Path("out").exists():
            time.sleep(0.01)
        waited.append(process)
        return wait(process)

    monkeypatch.setattr(linker_process.subprocess.Popen, "wait", late)
    monkeypatch.setattr(link, "_audit", lambda *_: None)
    assert step(MAKES, "-o", "out") == 0
    assert len(waited) == 1


def test_a_response_file_that_is_gone_when_the_build_is_interrupted(step, monkeypatch):
    """GCC removes its own; the output is known from before."""
    Path("words").write_text("-o out")
    Path("a.out").touch()

    def interrupted(*_):
        Path("words").unlink()
        raise KeyboardInterrupt

    monkeypatch.setattr(link, "_audit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        step("printf '\\177ELF' > out", "@words")
    assert not Path("out").exists()
    assert Path("a.out").exists()


def test_a_response_file_that_cannot_be_read_links_nothing(step, capsys):
    Path("words").write_text("-o out it's")
    assert step("touch out", "@words") == 1
    assert not Path("out").exists()
    assert "/ld: its arguments cannot be read: No closing quotation" in capsys.readouterr().err


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root makes devices")
def test_a_device_is_not_removed(step):
    try:
        os.mknod("null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    except OSError:
        pytest.skip("devices cannot be made here")
    assert step("exit 0", "-o", "null", plan=Path("none.json")) == 1
    assert Path("null").exists()


def test_a_linker_that_cannot_start_removes_nothing(step, tmp_path):
    Path("out").touch()
    assert main(["link", str(tmp_path / "plan.json"), "error", str(tmp_path / "none"), "-o", "out"]) == 1
    assert Path("out").exists()


def test_the_linker_minds_signals_that_python_ignores(step):
    assert step("kill -PIPE $$", "-o", "out") == 128 + signal.SIGPIPE


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (["a.o"], "a.out"),
        (["-o", "x", "a.o"], "x"),
        (["-ox", "--output=y"], "y"),
        (["--output", "z"], "z"),
        (["-obuild/x"], "build/x"),
        (["--version", "-o", "x"], None),
    ],
)
def test_outputs(words, output):
    assert linker_process.output_of(words) == output
