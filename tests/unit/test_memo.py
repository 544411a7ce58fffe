"""What a step keeps for its next run: the data comes back, and a file that is not as it was written is none."""

from isagen.model.memo import HEAD, read_memo, write_memo

DATA = {"text": "\udcff", "numbers": (1, -(1 << 70)), "more": [{"x": None, "y": b"raw", "z": True}]}


def test_data_comes_back(tmp_path):
    write_memo(tmp_path / "kept", DATA)
    assert read_memo(tmp_path / "kept") == DATA
    assert read_memo(tmp_path / "none") is None
    assert read_memo(tmp_path) is None


def test_a_file_that_is_not_as_it_was_written_is_none(tmp_path):
    path = tmp_path / "kept"
    write_memo(path, DATA)
    content = path.read_bytes()
    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :])
        assert read_memo(path) is None
        path.write_bytes(content[:place])
        assert read_memo(path) is None


def test_a_file_of_another_python_is_none(tmp_path):
    path = tmp_path / "kept"
    write_memo(path, DATA)
    path.write_bytes(path.read_bytes().replace(HEAD, HEAD.replace(b"isagen 2", b"isagen 3")))
    assert read_memo(path) is None
