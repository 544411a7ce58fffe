"""What steps keep for their next run: nothing counts that is damaged, or about a file that changed."""

import os
import re

import pytest

from isagen.binary import formats
from isagen.model.kept import are_unchanged, read_kept, states_of, write_kept
from isagen.model.names import SEALED, is_sealed_name
from isagen.processors import kept_facts
from isagen.processors.decoding import Kind
from isagen.processors.features import read_features
from isagen.processors.instruction_sets import InstructionSets, facts_of
from isagen.processors.registry import audited_processor

VALUE = [{"a": [1, 2]}, frozenset({"b"}), ("c", None, True, "\udcff")]


def test_where_nothing_can_be_kept_all_goes_on(tmp_path):
    (tmp_path / "file").touch()
    write_kept(str(tmp_path / "file/kept"), VALUE)
    assert read_kept(str(tmp_path / "file/kept")) is None


def test_a_changed_file_is_another(tmp_path):
    path = tmp_path / "file"
    path.write_text("a")
    states = states_of([str(path)])
    assert are_unchanged(states)
    path.write_text("b")
    assert not are_unchanged(states)
    states = states_of([str(path)])
    found = path.stat()
    copy = tmp_path / "copy"
    copy.write_text("b")
    os.utime(copy, ns=(found.st_atime_ns, found.st_mtime_ns))
    os.replace(copy, path)
    assert not are_unchanged(states)
    path.unlink()
    assert not are_unchanged(states)


# ---- names in sealed objects


@pytest.mark.parametrize(
    "name",
    [
        "a.fast.1",
        "a.fast.12\n",
        "a.fast.",
        "a.fast",
        ".fast.1",
        "fast.1",
        "a.slow.1",
        "a.fast.1.b",
        "a.fast.\N{ARABIC-INDIC DIGIT ONE}",
        "",
    ],
)
def test_sealed_names_end_as_their_pattern_says(name):
    assert is_sealed_name(name, "FAST") == (re.search(SEALED.format(level="fast"), name) is not None)


# ---- facts of processors


@pytest.fixture
def processor():
    found = audited_processor()
    if found.decoder_folder is None or found.decoder_folder() is None:
        pytest.skip("the decoder is not installed")
    return found


def test_kept_facts_are_those_of_the_features_file(tmp_path, processor):
    path = str(tmp_path / "facts")
    assert kept_facts.load_facts(path, processor.name) is None
    features = read_features(processor.name)
    facts = facts_of(features, processor.decoder())
    kept_facts.save_facts(path, facts)
    assert kept_facts.load_facts(path, processor.name) == facts
    assert kept_facts.load_facts(path, "generic") is None
    assert kept_facts.load_facts(path, "none") is None
    sets = kept_facts.kept_sets(path, processor.name)
    assert sets is not None
    read = InstructionSets(features, processor.decoder())
    for allowed in ((), ("avx2", "fma"), features.features):
        beyond = read.beyond(allowed)
        assert sets.beyond(allowed) == beyond
        assert sets.missing(beyond, allowed) == read.missing(beyond, allowed)
    raw = bytes.fromhex("488d0501000000 4889c7 0fa2 c5fc58c0 c3".replace(" ", ""))
    found = list(sets.decoder.references(raw, 0x1000))
    assert [one.kind for one in found] == [Kind.ADDRESS, Kind.QUESTION, Kind.END]
    assert found == list(read.decoder.references(raw, 0x1000))


def test_facts_of_changed_files_are_made_again(tmp_path, processor, monkeypatch):
    path, file = str(tmp_path / "facts"), tmp_path / "features.toml"
    file.write_text("1")
    made_from = kept_facts._made_from
    monkeypatch.setattr(kept_facts, "_made_from", lambda one: [*made_from(one), str(file)])
    kept_facts.save_facts(path, facts_of(read_features(processor.name), processor.decoder()))
    assert kept_facts.load_facts(path, processor.name) is not None
    file.write_text("2")
    assert kept_facts.load_facts(path, processor.name) is None


def test_facts_stay_where_there_is_a_folder_for_them(tmp_path, processor):
    kept_facts.save_facts(str(tmp_path / "none/facts"), facts_of(read_features(processor.name), processor.decoder()))
    assert not list(tmp_path.iterdir())


def test_sets_are_for_one_processor(processor):
    sets = InstructionSets(read_features(processor.name), processor.decoder())
    head = b"\x7fELF\2\1\1" + bytes(9) + b"\3\0" + (62).to_bytes(2, "little") + bytes(44)
    x86 = formats.FORMATS[0].architecture(head)
    arm = formats.FORMATS[0].architecture(head[:18] + (183).to_bytes(2, "little") + head[20:])
    assert kept_facts.are_for(sets, processor.name, x86)
    assert not kept_facts.are_for(sets, processor.name, arm)
    assert not kept_facts.are_for(sets, processor.name, None)
    assert not kept_facts.are_for(sets, "generic", x86)
