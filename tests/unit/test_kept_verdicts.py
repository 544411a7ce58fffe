"""Verdicts of probing that are kept: what asks again, and what does not."""

import pytest

from isagen.probe.cache import NO_CACHE, Cache
from isagen.probe.probe import probe_all
from support.probing import ask, calls, fake, table


def test_second_call_asks_the_cache(tmp_path):
    tab, cache = table(tmp_path, 'features = ["avx2"]'), Cache(tmp_path / "cache")
    first = probe_all(tab, [fake(tmp_path)], cache)
    assert calls(tmp_path, "probe.c") == 1
    assert probe_all(tab, [fake(tmp_path)], cache) == first
    assert calls(tmp_path, "probe.c") == 1
    assert calls(tmp_path, "-mavx2") == 2  # once for its macros, once for its program


def test_no_cache_asks_again(tmp_path):
    for count in (1, 2):
        probe_all(table(tmp_path), [fake(tmp_path)], NO_CACHE)
        assert calls(tmp_path, "probe.c") == count


def test_a_compilation_that_failed_is_tried_again(tmp_path):
    """A header that is broken for now, or a wrapper of the compiler, may have failed."""
    tab = table(tmp_path, 'optional_flags.gnu = ["-m-bad"]', probe="bad_instruction();")
    cache = Cache(tmp_path / "cache")
    first = ask(tab, fake(tmp_path), cache)
    assert first.dropped
    assert calls(tmp_path, "probe.c") == 3  # both levels together, and each by itself
    assert ask(tab, fake(tmp_path), cache) == first
    assert calls(tmp_path, "probe.c") == 4


def test_a_wrapper_that_fails_is_no_verdict_to_keep(tmp_path):
    """distcc, say, whose hosts are away."""
    cache, other = Cache(tmp_path / "cache"), tmp_path / "other"
    other.mkdir()
    (other / "unreachable").touch()
    verdicts = probe_all(table(tmp_path), [fake(other)], cache)
    assert {verdict.reason for verdict in verdicts.values()} == {"wrapper: error: no host"}
    (other / "unreachable").unlink()
    assert all(verdict.available for verdict in probe_all(table(tmp_path), [fake(other)], cache).values())


def tune_compiler(folder):
    """Let the compiler turn features on unasked, as wrappers and -march=native do on another machine."""
    (folder / "tuned").touch()


def edit_compiler(folder):
    with (folder / "fakecc").open("a") as stream:
        stream.write("# a newer one\n")


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (table(folder, 'flags.gnu = ["-mavx2", "-O3"]'), fake(folder)),
        lambda folder: (table(folder, probe="return 2;"), fake(folder)),
        lambda folder: (table(folder, 'features = ["avx2"]'), fake(folder)),
        lambda folder: (table(folder), fake(folder, "-O3")),
        lambda folder: (table(folder), fake(folder, version="12.3.0")),
        lambda folder: (edit_compiler(folder), (table(folder), fake(folder)))[1],
        lambda folder: (tune_compiler(folder), (table(folder), fake(folder)))[1],
        lambda folder: (table(folder, tail='[extra_features]\nn = { cpuid = [7, 1, "eax", 30] }'), fake(folder)),
    ],
    ids=[
        "flags",
        "probe",
        "features",
        "project arguments",
        "version",
        "compiler file",
        "macros without flags",
        "known features",
    ],
)
def test_change_asks_again(tmp_path, change):
    """One program is compiled for both levels; what changes FAST's part of it is a question about both."""
    cache = Cache(tmp_path / "cache")
    probe_all(table(tmp_path), [fake(tmp_path)], cache)
    before = calls(tmp_path, "probe.c")
    tab, compiler = change(tmp_path)
    probe_all(tab, [compiler], cache)
    assert calls(tmp_path, "probe.c") - before == 1
    assert len(list((tmp_path / "cache").iterdir())) == 2


@pytest.mark.parametrize("variable", ["CPATH", "LIBRARY_PATH", "COMPILER_PATH"])
def test_changed_environment_asks_again(tmp_path, monkeypatch, variable):
    cache = Cache(tmp_path / "cache")
    monkeypatch.delenv(variable, raising=False)
    probe_all(table(tmp_path), [fake(tmp_path)], cache)
    monkeypatch.setenv(variable, str(tmp_path))
    probe_all(table(tmp_path), [fake(tmp_path)], cache)
    assert calls(tmp_path, "probe.c") == 2


@pytest.mark.parametrize("content", ["", "[]", '{"available": true}', '{"available": 1, "reason": 2, "flags": 3}'])
def test_damaged_verdict_is_asked_again(tmp_path, content):
    cache = Cache(tmp_path / "cache")
    first = probe_all(table(tmp_path), [fake(tmp_path)], cache)
    for path in (tmp_path / "cache").iterdir():
        path.write_text(content)
    assert probe_all(table(tmp_path), [fake(tmp_path)], cache) == first
    assert calls(tmp_path, "probe.c") == 2
