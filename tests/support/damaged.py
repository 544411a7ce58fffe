"""Damaged copies of binary files, and what sealing makes of them."""

import random
import struct
from pathlib import Path

from isagen.binary.contents import Relocation
from isagen.binary.formats import format_of
from isagen.binary.object_file import ObjectFile
from isagen.model.errors import IsagenError
from isagen.processors.registry import decoder_of


def mutations(content, number):
    """Yield damaged copies of an ELF file, the same ones in every run."""
    dice = random.Random(20240131)
    (table,) = struct.unpack_from("<Q", content, 40)
    count = struct.unpack_from("<H", content, 60)[0]
    odd = (0, 1, 7, 0xFF, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 40, (1 << 62) - 1, (1 << 63) - 8, (1 << 64) - 1)
    for turn in range(number):
        raw = bytearray(content)
        for _ in range(dice.choice((1, 1, 2, 5))):
            if turn % 4 == 0:  # a field of a section header
                place = table + 64 * dice.randrange(count) + dice.choice((0, 4, 8, 16, 24, 32, 40, 44, 48, 56))
                struct.pack_into("<Q", raw, min(place, len(raw) - 8), dice.choice(odd))
            elif turn % 4 == 1:  # of the file's header
                struct.pack_into("<Q", raw, dice.randrange(0, 57), dice.choice(odd))
            elif turn % 4 == 2:  # anything
                raw[dice.randrange(len(raw))] = dice.randrange(256)
            else:  # symbols, relocations, notes and pointers
                place = dice.randrange(0, len(raw) - 8, 8)
                struct.pack_into("<Q", raw, place, dice.choice(odd))
        yield bytes(raw) if turn % 9 else bytes(raw[: dice.randrange(len(raw))])


def refused(kind: type[ObjectFile], made: Path, number: int) -> int:
    """How many of a `number` of changed copies of the object `made` are refused, each by an error that names the file.

    The others are sealed objects with the same content and the same relocations.
    """
    whole, chance, count = made.read_bytes(), random.Random(54412), 0
    _read_and_seal(kind, whole)
    for _ in range(number):
        data = bytearray(whole)
        for _ in range(chance.choice((1, 1, 2, 8))):
            place = chance.randrange(min(len(data), chance.choice((60, 600, 2000, 1 << 20))))
            value = chance.choice((chance.randbytes(1), b"\xff\xff\xff\xff", struct.pack("<I", chance.randrange(9999))))
            data[place : place + len(value)] = value
            if chance.random() < 0.1:
                del data[place + 20 :]
        try:
            _read_and_seal(kind, bytes(data))
        except IsagenError as error:
            count += 1
            assert str(error).startswith("damaged.o: ")
    return count


def _read_and_seal(kind: type[ObjectFile], data: bytes) -> None:
    file = kind(data, "damaged.o")
    for symbol in file.symbols:
        if symbol.definition:
            file.pointer_targets(symbol)
            file.initial_value(symbol)
    file.digest(("isa_kernel_",))
    assert file.may_fold in (True, False)
    file.findable_sections()
    relocations = _relocations(file)
    names = {symbol.name: "AVX2" for symbol in file.symbols if file.is_code(symbol)}
    sealed = kind(format_of(file).seal(file, "AVX2", "1", names), "sealed.o")
    assert _relocations(sealed) == relocations
    assert _contents(sealed) == _contents(file)
    kind(format_of(file).emptied(file), "empty.o")
    pointers = file.file.pointers(decoder_of(file.file.architecture, "").abi.relocations)
    assert len(list(pointers.called_by_loader())) + len(list(pointers.in_data())) >= 0


def _relocations(file: ObjectFile) -> list[list[Relocation]]:
    return [list(file.file.relocations(section)) for section in file.file.sections]


def _contents(file: ObjectFile) -> list[bytes]:
    """The content of each section but those of directives, of which sealing removes some."""
    return [file.file.content(section) for section in file.file.sections if section.name != ".drectve"]
