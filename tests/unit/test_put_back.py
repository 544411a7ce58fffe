"""A build folder that is made again gets what configuring left in it, where all that it was made from is as it was."""

import os
import shutil
from types import SimpleNamespace

import pytest

from isagen.configure.again import LastAnswer
from isagen.configure.put_back import MOST, keep_longer
from isagen.configure.tool import own_python
from isagen.model.kept import read_kept


@pytest.fixture
def kept(fragment):
    """Return a project whose last answer is kept, and its files."""
    fragment.settle()
    yield fragment, fragment.files()
    shutil.rmtree(fragment.output, ignore_errors=True)
    fragment.output.mkdir()


def remove_build(fragment):
    shutil.rmtree(fragment.output)
    fragment.output.mkdir()


def test_all_files_are_put_back(kept):
    fragment, files = kept
    text = fragment.settle()
    depfile = fragment.folder / "build/isa_plan.d"
    said = depfile.read_text()
    depfile.unlink()
    remove_build(fragment)
    assert fragment.configure() == (text, True)
    assert fragment.files() == files
    assert depfile.read_text() == said
    assert fragment.configure() == (text, True)
    assert read_kept(fragment.record)["outputs"].keys() == files.keys()


def test_the_files_are_those_of_configuring(kept):
    fragment, files = kept
    remove_build(fragment)
    fragment.longer.unlink()
    assert not fragment.configure()[1]
    assert fragment.files() == files


def without_records(files):
    return {path: content for path, content in files.items() if not path.endswith(".answer")}


def test_permissions_are_before_the_umask(kept):
    fragment, _ = kept
    script = fragment.tool / "used.sh"
    remove_build(fragment)
    before = os.umask(0o027)
    try:
        assert fragment.configure()[1]
    finally:
        os.umask(before)
    assert (script.stat().st_mode & 0o777, fragment.record.stat().st_mode & 0o777) == (0o750, 0o640)


def test_the_answer_of_a_build_that_probed_is_kept(kept):
    fragment, _ = kept
    shutil.rmtree(fragment.folder / "cache")
    remove_build(fragment)
    text, again = fragment.configure()
    assert not again
    assert fragment.configure() == (text, True)
    remove_build(fragment)
    assert fragment.configure() == (text, True)


@pytest.mark.parametrize(
    "text",
    [
        'case "$*" in *-mno-avx256*) exit 1 ;; esac',  # an optional flag that Clang refuses
        'case "$*" in *-dM*) gcc "$@" | sort -R; exit ;; esac',  # g++ lists macros by the path of the source
    ],
    ids=["flags are dropped", "macros in any order"],
)
def test_what_compilers_say_otherwise_is_kept(kept, text):
    fragment, _ = kept
    shutil.rmtree(fragment.folder / "cache")
    remove_build(fragment)
    chosen, table = fragment.folder / "chosen", fragment.folder / "own.toml"
    before, levels = chosen.read_text(), table.read_text()
    chosen.write_text(f"{before}{text}\n")
    table.write_text(levels.replace('"AVX512"', '"AVX2_VNNI"'))  # is probed together with AVX2
    try:
        answer, again = fragment.configure()
        assert not again
        remove_build(fragment)
        assert fragment.configure() == (answer, True)
    finally:
        chosen.write_text(before)
        table.write_text(levels)


def test_a_header_that_changes_after_a_probe_read_it_is_read_again(kept):
    fragment, _ = kept
    shutil.rmtree(fragment.folder / "cache")
    remove_build(fragment)
    chosen, header = fragment.folder / "chosen", fragment.folder / "probed.h"
    before, content = chosen.read_text(), header.read_text()
    bad = f"printf '#ifdef __AVX512F__\\n#error\\n#endif\\n' >> {header}"
    chosen.write_text(f'{before}case "$*" in *-mavx512f*"-c "*probe.c*) gcc "$@" && {bad}; exit ;; esac\n')
    try:
        first, _ = fragment.configure()
        chosen.write_text(before)
        second, again = fragment.configure()
    finally:
        chosen.write_text(before)
        header.write_text(content)
    assert "\nlevels=DEFAULT|AVX2|AVX512\n" in first
    assert not again
    assert "\nlevels=DEFAULT|AVX2\n" in second


def test_a_failed_probe_is_tried_again(kept):
    fragment, _ = kept
    shutil.rmtree(fragment.folder / "cache")
    remove_build(fragment)
    chosen = fragment.folder / "chosen"
    before = chosen.read_text()
    chosen.write_text(before + 'case "$*" in *-mavx512f*probe.c*) exit 1 ;; esac\n')
    try:
        said = [fragment.configure() for _ in range(2)]
    finally:
        chosen.write_text(before)
    assert said == [(said[0][0], False)] * 2
    text, again = fragment.configure()
    assert not again
    assert "\nlevels=DEFAULT|AVX2|AVX512\n" in text
    assert "\nlevels=DEFAULT|AVX2\n" in said[0][0]


def change(path):
    path.write_bytes(path.read_bytes() + b"\n")


CHANGES = {
    "settings": lambda fragment: change(fragment.folder / "isa.toml"),
    "table": lambda fragment: change(fragment.folder / "own.toml"),
    "header of probes": lambda fragment: change(fragment.folder / "probed.h"),
    "wrapper": lambda fragment: change(fragment.bin / "own-cc"),
    "answers of the compiler": lambda fragment: (fragment.folder / "chosen").write_text("compiler='gcc -mpclmul'\n"),
    "isagen": lambda fragment: change(fragment.package / "build/seal.py"),
    "template": lambda fragment: change(fragment.folder / "site/templates/isa_guard.h.j2"),
    "bundle": lambda fragment: change(*(fragment.folder / "cache/isagen/tools").glob("*.bundle")),
    "no bundle": lambda fragment: [p.unlink() for p in (fragment.folder / "cache/isagen/tools").glob("*.bundle")],
    "record": lambda fragment: fragment.longer.write_bytes(fragment.longer.read_bytes()[:-1]),
    "no record": lambda fragment: fragment.longer.unlink(),
}


@pytest.mark.parametrize("changed", CHANGES.values(), ids=CHANGES)
def test_a_change_configures(kept, changed):
    fragment, _ = kept
    chosen = (fragment.folder / "chosen").read_text()
    remove_build(fragment)
    changed(fragment)
    text, again = fragment.configure()
    assert not again
    assert not text.startswith("error=")
    (fragment.folder / "chosen").write_text(chosen)


def test_another_call_configures(kept):
    fragment, _ = kept
    remove_build(fragment)
    assert not fragment.configure(fragment.words(levels="AVX2"))[1]
    fragment.settle()
    remove_build(fragment)
    assert not fragment.configure(NEW_VARIABLE="1")[1]


def test_another_mount_configures(monkeypatch, kept):
    """Where nothing may be run, the audit has no script in the linker's place."""
    fragment, _ = kept
    call = LastAnswer(fragment.words())._call()
    found = os.statvfs(fragment.output)
    monkeypatch.setattr(os, "statvfs", lambda path: SimpleNamespace(f_flag=found.f_flag ^ os.ST_NOEXEC))
    assert LastAnswer(fragment.words())._call() != call


def test_another_folder_configures(kept):
    fragment, _ = kept
    other = fragment.folder / "build/other"
    other.mkdir()
    words = fragment.words(output=str(other))
    assert not fragment.configure(words)[1]
    shutil.rmtree(other)
    other.mkdir()
    assert fragment.configure(words)[1]
    assert b"build/other/isa_tool" in (other / "isa_tool/used.sh").read_bytes()


@pytest.mark.parametrize("name", ["isa_include/immintrin.h", "isa_compat/isa_torch.h", "isa_tool/isagen/former.py"])
def test_nothing_else_stays(kept, name):
    fragment, files = kept
    remove_build(fragment)
    path = fragment.output / name
    path.parent.mkdir(parents=True)
    path.touch()
    assert not fragment.configure()[1]
    assert fragment.files() == files


def test_what_an_interrupted_configuring_left_is_replaced(kept):
    fragment, files = kept
    fragment.record.write_bytes(b"\n")
    for path in (fragment.output / "isa_plan.json", fragment.tool / "isagen.bundle"):
        path.write_bytes(path.read_bytes()[:99])
    assert fragment.configure()[1]
    assert fragment.files() == files


def test_sets_are_put_back_one_after_the_other(kept):
    fragment, _ = kept
    sets = [fragment.words(label=label, set=label, sets="one,other") for label in ("one", "other")]
    remove_build(fragment)
    for words in (*sets, *sets):
        fragment.configure(words)
    files = fragment.files()
    remove_build(fragment)
    assert [fragment.configure(words)[1] for words in sets] == [True, True]
    assert without_records(fragment.files()) == without_records(files)


def test_a_cache_that_cannot_be_written_keeps_nothing(kept):
    fragment, _ = kept
    shutil.rmtree(fragment.folder / "cache")
    (fragment.folder / "cache").touch()
    try:
        remove_build(fragment)
        text = fragment.settle()
        remove_build(fragment)
        assert fragment.configure() == (text, False)
    finally:
        (fragment.folder / "cache").unlink()


def test_the_python_of_the_steps_counts(kept):
    fragment, _ = kept
    assert own_python() in read_kept(fragment.longer)["states"]


def test_putting_back_is_a_use(kept):
    fragment, _ = kept
    os.utime(fragment.longer, (1, 1))
    remove_build(fragment)
    assert fragment.configure()[1]
    assert fragment.longer.stat().st_mtime > 1


def test_files_that_differ_from_their_copies_are_kept(tmp_path):
    same, other, source = (tmp_path / name for name in ("same", "other", "source"))
    for path, content in ((same, b"content"), (other, b"another"), (source, b"content")):
        path.write_bytes(content)
    copies = {str(same): str(source), str(other): str(source)}
    keep_longer(str(tmp_path / "kept/place"), {}, copies, copies)
    record = read_kept(tmp_path / "kept/place")
    assert set(record["copies"]) == {str(same)}
    assert record["contents"] == {str(other): (0o666, b"another")}


def test_the_oldest_go(tmp_path):
    for number in range(MOST + 2):
        place = tmp_path / str(number)
        keep_longer(str(place), {}, [], {})
        os.utime(place, (number, number))
    assert {int(path.name) for path in tmp_path.iterdir()} == set(range(2, MOST + 2))
    for name in ("1", "new"):
        keep_longer(str(tmp_path / name), {}, [], {})
    assert {path.name for path in tmp_path.iterdir()} == {"1", "new", *map(str, range(4, MOST + 2))}
