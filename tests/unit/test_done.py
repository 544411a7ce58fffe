"""Steps that have nothing to do: what counts as done, and that such a step does no work."""

import os

import pytest

from isagen.build import main as build_main
from isagen.build.done import is_done, note_done

WORDS = ["seal", "isa_plan.json", "isagen"]


@pytest.fixture
def record(tmp_path):
    for name in ("isa_plan.json", "isa_plan.conf", "isa_plan_unreached.conf", "a.o", "sealed.o"):
        (tmp_path / name).write_text(name)
    path = tmp_path / ".isa_plan.sealed"
    note_done(path, WORDS, tmp_path / "isa_plan.json", [tmp_path / "a.o", tmp_path / "sealed.o"])
    return path


def test_done(record):
    assert is_done(record, WORDS)
    assert not is_done(record, [*WORDS, "--more"])
    assert not is_done(record.with_name("none"), WORDS)


@pytest.mark.parametrize("name", ["isa_plan.json", "isa_plan.conf", "isa_plan_unreached.conf", "a.o", "sealed.o"])
def test_what_changed_is_not_done(record, name):
    path = record.with_name(name)
    before = path.stat()
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    assert not is_done(record, WORDS)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert is_done(record, WORDS)
    path.write_text(name + "x")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert not is_done(record, WORDS)
    path.unlink()
    assert not is_done(record, WORDS)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"words": 1}', '{"words": ["x"], "files": 3}', "\0"])
def test_a_damaged_record_is_none(record, text):
    record.write_text(text)
    assert not is_done(record, WORDS)


def test_a_record_that_cannot_be_written_is_no_error(tmp_path):
    (tmp_path / "isa_plan.json").write_text("")
    note_done(tmp_path / "isa_plan.json" / "record", WORDS, tmp_path / "isa_plan.json", [])
    note_done(tmp_path / "record", WORDS, tmp_path / "isa_plan.json", [tmp_path / "gone"])
    assert not (tmp_path / "record").exists()


def test_a_step_that_is_done_does_nothing(tmp_path, monkeypatch):
    calls = []

    def seal(plan, folder, objects):
        calls.append(folder)
        return [*objects, folder / "isa_AVX2.json"]

    monkeypatch.setattr("isagen.build.seal.seal", seal)
    for name in ("isa_plan.json", "a.o", "isa_AVX2.json"):
        (tmp_path / name).write_text(name)
    words = ["seal", str(tmp_path / "isa_plan.json"), str(tmp_path)]
    words += ["--objects", str(tmp_path / "a.o")]
    assert [build_main.main(words), build_main.main(words)] == [0, 0]
    assert calls == [tmp_path]
    (tmp_path / "a.o").write_text("another")
    assert build_main.main(words) == 0
    assert calls == [tmp_path] * 2
