"""What a step keeps for its next run: the data comes back, and a file that is not as it was written is none."""

import json
import random

import pytest

from isagen.build.level_code import compact, level_note
from isagen.model.kept import HEAD, read_kept, write_kept
from isagen.model.matrix import Code, KernelCode, LevelCode
from isagen.model.matrix_notes import unpack
from isagen.model.registrations import Registered, Registrations

DATA = {"text": "\udcff", "numbers": (1, -(1 << 70)), "more": [{"x": None, "y": b"raw", "z": True}]}


def test_data_comes_back(tmp_path):
    write_kept(tmp_path / "kept", DATA)
    assert read_kept(tmp_path / "kept") == DATA
    assert read_kept(tmp_path / "none") is None
    assert read_kept(tmp_path) is None


def test_a_file_that_is_not_as_it_was_written_is_none(tmp_path):
    path = tmp_path / "kept"
    write_kept(path, DATA)
    content = path.read_bytes()
    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :])
        assert read_kept(path) is None
        path.write_bytes(content[:place])
        assert read_kept(path) is None


def test_a_file_of_another_python_is_none(tmp_path):
    path = tmp_path / "kept"
    write_kept(path, DATA)
    path.write_bytes(path.read_bytes().replace(HEAD, HEAD.replace(b"isagen 2", b"isagen 3")))
    assert read_kept(path) is None


@pytest.mark.parametrize(
    "text", ["", "plain", 'with "quotes"', "back\\slash", "\n\x7f", "caf\u00e9", "\udcff", "\U0001f600"]
)
def test_compact_is_json(text):
    value = {text: [text, 1, None, {"x": (), "y": {}}], "n": -3}
    assert compact(value) == json.dumps(value, separators=(",", ":"))


def test_compact_is_json_of_any_letters():
    letters = random.Random(4)
    for _ in range(300):
        text = "".join(chr(letters.randrange(0x250)) for _ in range(letters.randrange(20)))
        assert compact(text) == json.dumps(text)


def test_a_note_is_read_as_what_the_level_holds():
    code = {"loaded_bytes": 3, "code_bytes": 2, "instructions": 1, "widest": 128, "families": {"avx": 1}, "digest": "d"}
    kernels = {'a "b".c': Registered(("one", "two")), "c.c": Registered(())}
    registered = Registrations("AVX2", kernels, {}, {"c.c": "DEFAULT"})
    note = level_note("caf\u00e9", registered, dict.fromkeys(kernels, compact(code)))
    wanted = {source: KernelCode(one.registers, Code(**code)) for source, one in kernels.items()}
    wanted["c.c"] = KernelCode((), Code(**code), "DEFAULT")
    assert unpack(LevelCode, note, "x") == LevelCode("caf\u00e9", "AVX2", wanted)
