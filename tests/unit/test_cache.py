"""The cache of verdicts: keyed by question, written whole, safe for threads and processes."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import isagen
from isagen.probe.cache import NO_CACHE, Cache, default_cache

ANSWER = {"available": True, "flags": ["-mavx2"], "reason": "ünï"}


def test_answer_is_kept(tmp_path):
    key = Cache.key(["question", 1])
    Cache(tmp_path / "new" / "folder").put(key, ANSWER)
    assert Cache(tmp_path / "new" / "folder").get(key) == ANSWER


def test_unknown_question(tmp_path):
    assert Cache(tmp_path).get(Cache.key("no")) is None


def test_key_is_of_the_data_and_not_of_its_order():
    assert Cache.key({"a": 1, "b": (2, 3)}) == Cache.key({"b": [2, 3], "a": 1})


@pytest.mark.parametrize("other", [["q", 2], ["Q", 1], ["q", "1"], [["q"], 1], ["q1"], {"q": 1}])
def test_other_questions_have_other_keys(other):
    assert Cache.key(other) != Cache.key(["q", 1])


@pytest.mark.parametrize("content", [b"", b'{"available": tr', b"\xff\xfe", b"\0" * 100])
def test_damaged_file_is_asked_again(tmp_path, content):
    cache, key = Cache(tmp_path), Cache.key("q")
    cache.put(key, ANSWER)
    (file,) = tmp_path.iterdir()
    file.write_bytes(content)
    assert cache.get(key) is None
    cache.put(key, ANSWER)
    assert cache.get(key) == ANSWER


def test_unwritable_folder_is_no_error(tmp_path):
    (tmp_path / "file").write_text("in the way")
    cache, key = Cache(tmp_path / "file" / "probes"), Cache.key("q")
    cache.put(key, ANSWER)
    assert cache.get(key) is None


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_read_only_folder_is_no_error(tmp_path):
    tmp_path.chmod(0o555)
    try:
        Cache(tmp_path).put(Cache.key("q"), ANSWER)
        assert Cache(tmp_path).get(Cache.key("q")) is None
    finally:
        tmp_path.chmod(0o755)


def test_no_cache_keeps_nothing():
    NO_CACHE.put("k", ANSWER)
    assert NO_CACHE.get("k") is None


def test_default_cache_is_the_users(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    default_cache().put("k", ANSWER)
    assert [path.name for path in tmp_path.rglob("*.json")] == ["k.json"]


def test_threads_see_whole_answers(tmp_path):
    cache, key = Cache(tmp_path), Cache.key("q")
    answers = [{"text": str(n) * 20_000} for n in range(8)]
    cache.put(key, answers[0])

    def work(answer):
        seen = []
        for _ in range(25):
            cache.put(key, answer)
            seen.append(cache.get(key))
        return seen

    with ThreadPoolExecutor(8) as pool:
        seen = [one for many in pool.map(work, answers) for one in many]
    assert all(one in answers for one in seen)
    assert len(list(tmp_path.iterdir())) == 1


WRITER = """
import sys
from pathlib import Path
from isagen.probe.cache import Cache
cache, me = Cache(Path(sys.argv[1])), sys.argv[2]
for _ in range(60):
    cache.put("k", {"text": me * 50_000})
    seen = cache.get("k")
    assert seen is not None and len(seen["text"]) == 50_000 and len(set(seen["text"])) == 1, seen
"""


def test_processes_see_whole_answers(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(Path(isagen.__file__).parent.parent)}
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    writers = [subprocess.Popen([*command, str(n)], env=environment, stderr=subprocess.PIPE) for n in range(4)]
    errors = [writer.communicate()[1].decode() for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * 4, errors
    assert [path.name for path in tmp_path.iterdir()] == ["k.json"]
