"""Reads the pointers of a PE file: those to symbols of other files, those in arrays of functions, and those in data."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from ..contents import RelocationTypes, Target, within
from ..reader import Pointers, entries_of
from . import layout as c
from .images import Image

WORD = 8
LOADED, LOADED_OR_AT_EXIT = "when loaded", "when loaded or at exit"
# The section in which GNU's linker puts the arrays of functions from the sections `.CRT$X...` of objects. The C library
# calls these functions when a file is loaded or at exit. Other linkers put the arrays into a section of constants.
ARRAYS = ".CRT"
# By machine, the pattern of a jump through a pointer to a DLL's function. Import libraries contain such jumps.
THUNKS = {c.AMD64: re.compile(rb"\xff\x25(.{4})", re.DOTALL)}


class PeImage(Image):
    """A PE file with its pointers."""

    def pointers(self, kinds: RelocationTypes) -> ImagePointers:
        return ImagePointers(self, kinds)


class ImagePointers(Pointers[Image]):
    """The pointers of a PE file."""

    # ---- pointers to other files

    @cached_property
    def _imports(self) -> dict[int, str]:
        """The names of the functions and variables of other files, by the address of the pointer to each."""
        image, slots = self._file, dict[int, str]()
        place, size = image.directory(c.IMPORTS)
        for at in range(place, place + size - c.IMPORT_DIRECTORY.size + 1, c.IMPORT_DIRECTORY.size):
            names, _, _, library, slot = image.unpack(c.IMPORT_DIRECTORY, at)
            if not (library and slot):
                break
            dll, names, slot = image.text(image.base + library), image.base + (names or slot), image.base + slot
            # In a damaged file, tables of pointers may overlap: each pointer is read once.
            while slot not in slots and (value := image.unpack(c.POINTER, names)[0]):
                is_ordinal = value & c.BY_ORDINAL
                slots[slot] = f"{dll}#{value & 0xFFFF}" if is_ordinal else image.text(image.base + value + 2)
                names, slot = names + WORD, slot + WORD
        return slots

    @cached_property
    def plt_ranges(self) -> list[tuple[int, int]]:
        thunk, ranges = THUNKS.get(self._file.machine), []
        for section in self._file.sections if thunk is not None else ():
            for found in thunk.finditer(self._file.content(section)) if thunk and section.executable else ():
                after = section.address + found.end()
                if after + int.from_bytes(found[1], "little", signed=True) in self._imports:
                    ranges.append((section.address + found.start(), after))
        return ranges

    # ---- arrays of functions

    @cached_property
    def _arrays(self) -> list[tuple[int, int]]:
        """(First address, address after the last) of arrays of functions that are called at load or exit.

        GNU's linker puts -1 before an array of constructors or destructors, and 0 after it.
        """
        image = self._file
        high = re.escape((image.base >> 32).to_bytes(4, "little"))
        marked = re.compile(rb"\xff{8}((?:.{4}" + high + rb")+)\0{8}", re.DOTALL)
        arrays = []
        for section in image.sections:
            if section.name == ARRAYS:
                arrays.append((section.address, section.address + len(image.content(section))))
            elif section.in_file and section.constant and section.size:
                for found in marked.finditer(image.content(section)):
                    if all(map(image.is_code, (word for (word,) in c.POINTER.iter_unpack(found[1])))):
                        arrays.append((section.address + found.start(1), section.address + found.end(1)))
        return arrays

    def _function(self, slot: int) -> int:
        address = self._file.word_at(slot)
        return address if self._file.is_code(address) else 0

    @cached_property
    def slot_ranges(self) -> list[tuple[int, int]]:
        return sorted([*((slot, slot + WORD) for slot in self._imports), *self._arrays])

    def follow(self, slot: int) -> Target:
        if slot in self._imports:
            return Target(name=self._imports[slot])
        if within(self._arrays, slot):
            return Target(self._function(slot))
        section = self._file.section_at(slot)
        # Only pointers in constant sections are followed: they lead code to functions and variables of other objects.
        return Target(self._own.get(slot, 0) if section is not None and section.constant else 0)

    def called_by_loader(self) -> Iterator[tuple[int, str]]:
        image = self._file
        if image.flags & c.FILE_DLL and image.entry_point:
            yield image.entry_point, LOADED
        tls, _ = image.directory(c.TLS)
        slot = image.unpack(c.POINTER, tls + c.TLS_CALLBACKS_AT)[0] if tls else 0
        while function := self._function(slot):
            yield function, LOADED
            slot += WORD
        for start, end in self._arrays:
            for function in map(self._function, range(start, end - WORD + 1, WORD)):
                if function:
                    yield function, LOADED_OR_AT_EXIT

    # ---- pointers in data

    def in_data(self) -> Iterator[tuple[int, int]]:
        yield from self._own.items()

    @cached_property
    def _own(self) -> dict[int, int]:
        """The target of each pointer in this file to an address of the file, by the pointer's address."""
        image = self._file
        if image.fixed:
            data = (section for section in image.sections if section.in_file and not section.executable)
            return dict(self._words_that_are_addresses(data, image.base))
        pointers = {}
        for place in self._relocated():
            raw = image.read(place, WORD)
            if len(raw) == WORD:
                pointers[place] = int.from_bytes(raw, "little")
        return pointers

    def _relocated(self) -> Iterator[int]:
        table, size = self._file.directory(c.BASE_RELOCATIONS)
        raw = self._file.read(table, size)
        place = 0
        while place + c.BASE_RELOCATION_BLOCK.size <= len(raw):
            page, length = c.BASE_RELOCATION_BLOCK.unpack_from(raw, place)
            if length < c.BASE_RELOCATION_BLOCK.size:
                return
            block = raw[place + c.BASE_RELOCATION_BLOCK.size : place + length]
            for (entry,) in entries_of(c.HALF, block):
                if entry >> 12 == c.DIR64:
                    yield self._file.base + page + (entry & 0xFFF)
            place += length
