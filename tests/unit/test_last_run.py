"""Steps that have nothing to do: what counts as done, and that such a step does no work."""

import os
import pickle
import zlib

import pytest

from isagen.build import main as build_main
from isagen.build.last_run import LastRun, plan_states, state_of


@pytest.fixture
def record(tmp_path):
    for name in ("isa_plan.json", "isa_plan.conf", "a.o", "sealed.o"):
        (tmp_path / name).write_text(name)
    path = tmp_path / ".isa_plan.sealed"
    inputs = {**plan_states(tmp_path / "isa_plan.json"), str(tmp_path / "a.o"): state_of(tmp_path / "a.o")}
    LastRun(path).record([str(tmp_path / "sealed.o")], {"more": [1]}, inputs)
    return path


def test_done(record):
    kept = LastRun(record)
    assert kept.changed == set()
    assert kept.memo == {"more": [1]}
    names = ("isa_plan.json", "isa_plan.conf", "a.o", "sealed.o")
    assert kept.states.keys() == {str(record.with_name(name)) for name in names}
    assert LastRun(record.with_name("none")).changed is None


@pytest.mark.parametrize("name", ["isa_plan.json", "isa_plan.conf", "a.o", "sealed.o"])
def test_what_changed_is_not_done(record, name):
    path = record.with_name(name)
    before = path.stat()
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    assert LastRun(record).changed == {str(path)}
    path.write_text(name.swapcase())
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert LastRun(record).changed == {str(path)}
    path.unlink()
    assert LastRun(record).changed is None


def test_a_file_that_changes_while_it_is_read_is_not_done(record):
    path = record.with_name("a.o")
    before = {str(path): state_of(path)}
    path.write_text("edited meanwhile")
    LastRun(record).record([], None, before)
    assert LastRun(record).changed == {str(path)}


@pytest.mark.parametrize("data", [[], {}, 1, {"memo": 1}, {"states": 3, "memo": 0}, {"states": {}}])
def test_a_record_of_another_form_is_none(record, data):
    record.write_bytes(zlib.compress(pickle.dumps(data)))
    assert LastRun(record).changed is None


def test_a_damaged_record_is_none(record):
    content = record.read_bytes()
    for place in range(0, len(content), 3):
        record.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        assert LastRun(record).changed is None
        record.write_bytes(content[:place])
        assert LastRun(record).changed is None
    record.write_bytes(content)
    assert LastRun(record).changed == set()


def test_a_record_that_cannot_be_written_is_no_error(tmp_path):
    (tmp_path / "isa_plan.json").write_text("")
    LastRun(tmp_path / "isa_plan.json" / "record").record([str(tmp_path / "isa_plan.json")], None, {})
    LastRun(tmp_path / "record").record([str(tmp_path / "gone")], None, {})
    assert not (tmp_path / "record").exists()


def test_a_step_that_is_done_does_nothing(tmp_path, monkeypatch):
    calls = []

    def seal(plan, folder, record):
        calls.append(folder)
        outputs = [os.path.join(folder, "a.o"), os.path.join(folder, "isa_AVX2.json")]
        record.record(outputs, None, {plan: state_of(plan)})

    monkeypatch.setattr("isagen.build.seal.seal", seal)
    for name in ("isa_plan.json", "a.o", "isa_AVX2.json"):
        (tmp_path / name).write_text(name)
    words = ["seal", str(tmp_path / "isa_plan.json"), str(tmp_path)]
    assert [build_main.main(words), build_main.main(words)] == [0, 0]
    assert calls == [str(tmp_path)]
    (tmp_path / "a.o").write_text("another")
    assert build_main.main(words) == 0
    assert calls == [str(tmp_path)] * 2
