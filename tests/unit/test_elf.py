"""Reading and sealing ELF files of either word size and byte order, odd ones and damaged ones."""

import json
import os
import struct

import pytest

from isagen.audit.data import as_data
from isagen.audit.records import Baseline
from isagen.audit.report import text_of
from isagen.binary import formats
from isagen.binary.elf.objects import ElfObject
from isagen.binary.elf.reader import Elf
from isagen.binary.elf.sealing import sealed
from isagen.binary.formats import load_object, open_binary
from isagen.binary.notes import note_of, notes_of
from isagen.model.errors import AuditError, BuildError
from isagen.model.names import plan_name
from isagen.model.plan_file import file_text
from support.elf import (
    ANDROID,
    CREL,
    LIBRARY,
    NOTE,
    RELA,
    SHNDX,
    STRTAB,
    SYMTAB,
    WEAK_FUNCTION,
    Part,
    elf_object,
    symbol,
    with_function,
)
from support.foreign import audit_targets
from support.model import build_of, plan_of, record_of

LAYOUTS = [("<", True), ("<", False), (">", True), (">", False)]
X86_64 = Baseline("X86_64", ("cmov", "cx8", "fpu", "fxsr", "mmx", "sse", "sse2"))


@pytest.mark.parametrize(("order", "wide"), LAYOUTS)
def test_objects_of_all_layouts_are_sealed(tmp_path, order, wide):
    path = tmp_path / "a.o"
    path.write_bytes(with_function(b"_Z1fv", order, wide))
    made = ElfObject(sealed(load_object(path), "AVX2", "7", {}), path)
    assert [found.name for found in made.symbols] == ["_Z1fv.avx2.7"]
    assert made.symbols[0].hidden
    assert [section.name for section in made.sections][1] == ".isa_text.AVX2"


@pytest.mark.parametrize(("order", "wide"), LAYOUTS)
def test_section_numbers_that_a_symbol_cannot_hold(tmp_path, order, wide):
    none = symbol(order, wide, 0, 0, 0, 0)
    table = none + symbol(order, wide, 1, WEAK_FUNCTION, 0xFFFF)
    parts = [
        Part(b".text", 1, b"\xc3", 6),
        Part(b".symtab", SYMTAB, table, link=3, info=1),
        Part(b".strtab", STRTAB, b"\0f\0"),
        Part(b".symtab_shndx", SHNDX, struct.pack(order + "2I", 0, 1), link=2),
    ]
    (found,) = ElfObject(elf_object(parts, 62, order, wide), tmp_path / "a.o").symbols
    assert found.section == 1


@pytest.mark.parametrize(("kind", "content"), [(CREL, b"\0"), (ANDROID, b"APS2\0"), (RELA, b"APS2\0")])
def test_relocations_in_a_form_that_is_not_read(tmp_path, kind, content):
    """Clang writes CREL with -Wa,--crel, and lld Android's with --pack-dyn-relocs: GNU strip changes their type."""
    parts = [Part(b".text", 1, b"\xc3", 6), Part(b".rel.text", kind, content, link=0, info=1)]
    path = tmp_path / "a.o"
    path.write_bytes(elf_object(parts))
    reason = r"section \.rel\.text contains relocations in a form that is not read"
    with pytest.raises(BuildError, match=rf"a\.o: is not an object file that isagen can read: {reason}"):
        load_object(path)
    with pytest.raises(AuditError, match=rf"a\.o: is not an ELF file that can be read: {reason}"):
        audit_targets([path], X86_64)


def test_a_file_without_any_section_header(tmp_path):
    raw = bytearray(elf_object([]))
    struct.pack_into("<HH", raw, 60, 0, 0)  # their number and the one with names: then the first header tells
    path = tmp_path / "a.o"
    path.write_bytes(raw)
    with pytest.raises(AuditError, match="section headers are cut off"):
        Elf(path)


@pytest.mark.parametrize(("order", "wide", "machine"), [(">", True, 62), ("<", False, 3), ("<", False, 62)])
def test_code_of_other_layouts_is_not_decoded(tmp_path, order, wide, machine):
    path = tmp_path / "a.o"
    path.write_bytes(with_function(b"f", order, wide, machine=machine))
    with pytest.raises(AuditError, match=r"a\.o: code for x86.*(32-bit|big-endian).* is not decoded\n.*x86-64"):
        audit_targets([path], X86_64)


def test_a_build_of_code_that_is_not_decoded(tmp_path):
    (tmp_path / plan_name()).write_text(file_text(build_of(plan_of(("DEFAULT",)))))
    note = Part(b".note.isagen", NOTE, note_of("isagen", record_of().to_json().encode()))
    (tmp_path / "library.so").write_bytes(elf_object([note], 3, wide=False, kind=LIBRARY))
    (tmp_path / "other.so").write_bytes(elf_object([], 40, wide=False, kind=LIBRARY))
    (tmp_path / "damaged.so").write_bytes(elf_object([], 40, wide=False, kind=LIBRARY)[:60])
    (result,) = audit_targets([tmp_path], X86_64)
    assert result.judged == "not audited: code for x86 (32-bit) is not decoded"


def test_copies_of_a_file_that_is_not_decoded(tmp_path):
    for name in ("one.so", "two.so"):
        (tmp_path / name).write_bytes(elf_object([], 258, kind=LIBRARY))
    judged = {result.judged for result in audit_targets([tmp_path], X86_64)}
    assert judged == {"not audited: code for LoongArch is not decoded"}


def test_reports_of_names_that_are_not_utf_8(tmp_path):
    path = tmp_path / "a.o"
    path.write_bytes(with_function(b"f\x80\xc3\xa9", code=b"\xc5\xfc\x58\xc0\xc3"))  # vaddps ymm0, ymm0, ymm0
    results = audit_targets([path], X86_64)
    assert results[0].findings
    assert "f\\x80é\n" in "".join(map(text_of, results))
    assert as_data(results)["targets"][0]["findings"][0]["symbol"] == "f\\x80é"
    json.dumps(as_data(results), ensure_ascii=False).encode()  # valid UTF-8


def test_a_file_that_cannot_be_read_says_why(tmp_path, monkeypatch):
    path = tmp_path / "a.o"
    path.write_bytes(with_function(b"f"))

    def refused(name, *arguments, **options):
        if name == path:
            raise PermissionError(13, os.strerror(13), str(name))
        return open(name, *arguments, **options)

    monkeypatch.setattr(formats, "open", refused, raising=False)
    with pytest.raises(AuditError, match=r"a\.o: cannot be read: Permission denied"):
        open_binary(path)
    with pytest.raises(AuditError, match=r"other: there is no such file"):
        open_binary(tmp_path / "other")


@pytest.mark.parametrize("gap", range(0, 36, 4))
def test_notes_on_both_sides_of_a_gap_are_read(gap):
    """A linker leaves one before a section of a larger alignment, and sanitizers make alignments larger."""
    notes = note_of("one", b"first"), note_of("one", b"second one")
    assert list(notes_of(notes[0] + bytes(gap) + notes[1] + bytes(gap), "one", "little")) == [b"first", b"second one"]
