"""What steps keep for their next run: nothing counts that is damaged, or about a file that changed."""

import os

import pytest

from isagen.build.last_run import LastRun, state_of
from isagen.model.names import level_of_name


def test_where_no_memo_can_be_written_all_goes_on(tmp_path):
    (tmp_path / "file").touch()
    LastRun(tmp_path / "file/memo").record([], None, {})
    assert LastRun(tmp_path / "file/memo").changed is None


def test_a_changed_file_has_another_state(tmp_path):
    path, copy = tmp_path / "file", tmp_path / "copy"
    path.write_text("a")
    state = state_of(path)
    path.write_text("bc")
    other = state_of(path)
    assert other != state
    found = path.stat()
    copy.write_text("bc")
    os.utime(copy, ns=(found.st_atime_ns, found.st_mtime_ns))
    os.replace(copy, path)
    assert state_of(path) not in (state, other)


# ---- names in sealed objects


@pytest.mark.parametrize(
    ("name", "level"),
    [
        ("a.fast.1", "fast"),
        ("a.fast.12\n", ""),
        ("a.fast.", ""),
        ("a.fast", ""),
        (".fast.1", "fast"),
        ("fast.1", ""),
        ("a.slow.1", "slow"),
        ("a.fast.1.b", ""),
        ("a.fast.\N{ARABIC-INDIC DIGIT ONE}", "fast"),
        ("", ""),
    ],
)
def test_sealed_names_end_with_level_and_number(name, level):
    assert level_of_name(name) == level
