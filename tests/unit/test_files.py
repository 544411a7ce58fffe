"""Files are written whole, and only if they change."""

import os
import stat
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from isagen.model.files import write_atomically, write_if_changed

OLD = 1_000_000_000


def test_writes_text_and_bytes_as_they_are(tmp_path):
    assert write_if_changed(tmp_path / "a", "é\r\n")
    assert (tmp_path / "a").read_bytes() == b"\xc3\xa9\r\n"
    assert write_if_changed(tmp_path / "a", b"\xff\n")
    assert (tmp_path / "a").read_bytes() == b"\xff\n"


def test_unchanged_file_is_left_alone(tmp_path):
    path = tmp_path / "a"
    write_if_changed(path, "same")
    os.utime(path, (OLD, OLD))
    inode = path.stat().st_ino
    assert not write_if_changed(path, "same")
    assert (path.stat().st_mtime, path.stat().st_ino) == (OLD, inode)
    assert write_if_changed(path, "other")
    assert path.stat().st_mtime > OLD


def test_makes_folders_and_leaves_nothing_beside_the_file(tmp_path):
    write_atomically(tmp_path / "x" / "y" / "a", b"1")
    assert [p.name for p in (tmp_path / "x" / "y").iterdir()] == ["a"]


def test_failure_leaves_no_temporary_file(tmp_path):
    (tmp_path / "a").mkdir()
    with pytest.raises(OSError):
        write_atomically(tmp_path / "a", b"1")
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_open_reader_keeps_the_old_file(tmp_path):
    path = tmp_path / "a"
    write_atomically(path, b"old")
    with path.open("rb") as stream:
        write_atomically(path, b"new")
        assert stream.read() == b"old"
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_mode_follows_the_umask(tmp_path, mask):
    before = os.umask(mask)
    try:
        write_atomically(tmp_path / "a", b"1")
        assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o666 & ~mask
    finally:
        assert os.umask(before) == mask


def test_threads_do_not_disturb_the_umask(tmp_path, monkeypatch):
    umask = os.umask

    def umask_then_another_thread(mask):
        old = umask(mask)
        time.sleep(0.001)
        return old

    before = umask(0o022)
    monkeypatch.setattr(os, "umask", umask_then_another_thread)
    try:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda n: write_atomically(tmp_path / str(n), b"1"), range(40)))
    finally:
        after = umask(before)
    assert after == 0o022
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o644}


def test_an_error_names_the_file_and_not_the_temporary_one(tmp_path):
    (tmp_path / "file").touch()
    for path in (tmp_path / "file" / "a", tmp_path / "folder"):
        (tmp_path / "folder").mkdir(exist_ok=True)
        with pytest.raises(OSError) as problem:
            write_if_changed(path, "1")
        assert problem.value.filename == str(path)
        assert problem.value.filename2 is None


def test_a_script_can_be_run_and_names_keep_their_bytes(tmp_path):
    write_if_changed(tmp_path / "a", "#!/bin/sh\n# \udcff\n", mode=0o777)
    assert (tmp_path / "a").read_bytes() == b"#!/bin/sh\n# \xff\n"
    assert os.access(tmp_path / "a", os.X_OK)
