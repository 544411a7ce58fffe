"""What steps keep for their next run: nothing counts that is damaged, or about a file that changed."""

import marshal
import os
import re
from pathlib import Path

import pytest

from isagen.audit import sealed_names as reader
from isagen.audit.sealed_names import sealed_names
from isagen.binary import formats
from isagen.model.kept import CHECK, HEAD, are_unchanged, read_kept, states_of, write_kept
from isagen.model.names import SEALED, is_sealed_name
from isagen.processors import kept_facts
from isagen.processors.features import read_features
from isagen.processors.instruction_sets import InstructionSets, facts_of
from isagen.processors.registry import audited_processor
from support.elf import CODE, STRTAB, SYMTAB, Part, elf_object, symbol

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


def object_with(names):
    """An object that defines global functions."""
    strings, entries = b"\0", symbol("<", True, 0, 0, 0, 0)
    for name in names:
        entries += symbol("<", True, len(strings), 1 << 4 | 2, 1)
        strings += name.encode() + b"\0"
    table = Part(b".symtab", SYMTAB, entries, link=3, info=1, entry=24)
    return elf_object([Part(b".text", 1, b"\xc3", CODE), table, Part(b".strtab", STRTAB, strings)])


@pytest.fixture
def build(tmp_path):
    path = tmp_path / "isa_FAST.a.c.o"
    path.write_bytes(object_with(["run.fast.12", "shared"]))
    return {str(path): "FAST", str(tmp_path / "missing.o"): "FAST"}, str(tmp_path / ".kept")


def test_names_are_told_apart(build):
    objects, kept = build
    path = next(iter(objects))
    expected = {path: (("shared",), ("run",))}
    assert sealed_names(objects) == expected
    assert not Path(kept).exists()
    assert sealed_names(objects, kept) == expected
    assert sealed_names(objects, kept) == expected


def test_objects_are_read_once(build, monkeypatch):
    objects, kept = build
    first = sealed_names(objects, kept)
    monkeypatch.setattr(reader, "load_object", None)
    assert sealed_names(objects, kept) == first


@pytest.mark.parametrize("change", ["object", "level", "code", "kept"])
def test_what_changed_is_read_again(build, monkeypatch, change):
    objects, kept = build
    path = next(iter(objects))
    sealed_names(objects, kept)
    read = []
    load = formats.load_object
    monkeypatch.setattr(reader, "load_object", lambda one: read.append(str(one)) or load(one))
    if change == "object":
        Path(path).write_bytes(object_with(["run.fast.12", "others"]))
    elif change == "level":
        objects[path] = "SLOW"
    elif change == "code":
        monkeypatch.setattr(reader, "_code", lambda: {"other.py": [1, 2, 3, 4]})
    else:
        Path(kept).write_bytes(HEAD + bytes(CHECK) + marshal.dumps([]))
    known, private = sealed_names(objects, kept)[path]
    assert read == [path]
    if change == "object":
        assert (known, private) == (("others",), ("run",))
    if change == "level":
        assert (known, private) == (("run.fast.12", "shared"), ())


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
    for one, other in zip(sets.decoder.decode(raw, 0x1000), read.decoder.decode(raw, 0x1000), strict=True):
        assert sets.decoder.effect(one) == read.decoder.effect(other)
        assert sets.decoder.loaded(one) == read.decoder.loaded(other)
    assert sets.decoder.asking == read.decoder.asking


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
