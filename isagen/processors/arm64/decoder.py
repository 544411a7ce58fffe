"""Decodes the code of arm64 by rows of data: every instruction is a word of four bytes."""

from __future__ import annotations

import re
import sys
from array import array
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import NamedTuple

from ..decoding import LEAVES, Abi, Codes, Kind, Reference
from ..decoding import Instruction as AnyInstruction
from .instructions import INVALID, codes_of, encodings, needs, width
from .tracking import LINKAGE, Addresses, call_arguments
from .words import MASK, access, branch_target, is_call, reads_first, signed, written

# Padding between functions, by assemblers and linkers: NOP, and zeros.
PADDING = re.compile(rb"(?:\x1f\x20\x03\xd5|\x00+)*")
BRANCHES = {0x14000000: Kind.JUMP, 0x94000000: Kind.CALL}
# How the mnemonics of returns, traps and undefined instructions start.
ENDS = ("ret", "eret", "drps", "brk", "hlt", "udf")
SMALL = 4  # the largest size of a flag in bytes
# LDRB to w16 and CBZ of w16, before an atomic instruction: the CPU has it if the byte is not zero. So do the functions
# __aarch64_ldadd4_acq_rel and its like in libgcc and compiler-rt, which GCC calls (-moutline-atomics).
LOADS_FLAG, BRANCHES_ON_FLAG = (0xFFC003FF, 0x39400210), (0xFF00001F, 0x34000010)


class Instruction(NamedTuple):
    """One instruction (`isagen.processors.decoding.Instruction`); `word` is its encoding."""

    ip: int
    next_ip: int
    code: int
    word: int


class Arm64Decoder:
    """The instructions of arm64 (`isagen.processors.decoding.Decoder`)."""

    name = "arm64"
    invalid: int = INVALID
    longest = 4
    jump_size = 24
    mark, mark_size = b"", 0

    codes_of, width, needs = staticmethod(codes_of), staticmethod(width), staticmethod(needs)

    def __init__(self, abi: Abi) -> None:
        self.abi = abi
        self._encodings = encodings()
        kinds = list(enumerate(self._encodings.kinds))
        self._lse = {code for code, kind in kinds if kind.needs == ("lse",)}
        self._ends = {code for code, kind in kinds if kind.mnemonic.startswith(ENDS)}

    def decode(self, raw: bytes, address: int) -> Iterator[Instruction]:
        for ip, word in _placed_words(raw, address):
            yield Instruction(ip, ip + 4, self._encodings[word], word)
        if len(raw) % 4:
            yield Instruction(address + len(raw) // 4 * 4, address + len(raw), INVALID, 0)

    def codes(self, raw: bytes, address: int) -> Codes:
        words = _words(raw)
        codes = {self._encodings[word] for word in set(words)}
        if not codes.isdisjoint(self._lse):
            codes = {self._encodings[word] for place, word in enumerate(words) if not self._is_outlined(words, place)}
        if len(raw) % 4:
            codes.add(INVALID)
        return frozenset(codes)

    def _is_outlined(self, words: array[int], place: int) -> bool:
        """Return whether a word is an atomic instruction behind the toolchain's own check."""
        if place < 2 or self._encodings[words[place]] not in self._lse:
            return False
        before = zip((LOADS_FLAG, BRANCHES_ON_FLAG), words[place - 2 : place], strict=True)
        return all(word & mask == value for (mask, value), word in before)

    def references(self, raw: bytes, address: int, fixed: bool = False, linked: bool = True) -> Iterator[Reference]:
        addresses, left = Addresses(), False
        at_targets: dict[int, Addresses] = {}  # of jumps forward
        for at, word in _placed_words(raw, address):
            if left:
                addresses, left = at_targets.get(at, addresses), False
            kind, target = self._reference(word, at, addresses, linked)
            if kind is not None:
                yield Reference(at, at + 4, kind, target)
                left = kind in LEAVES
                if target > at and target not in at_targets and (kind is Kind.BRANCH or kind is Kind.JUMP):
                    at_targets[target] = addresses.copy()
        if len(raw) % 4:
            yield Reference(address + len(raw) // 4 * 4, address + len(raw), Kind.INVALID, 0)

    def _reference(self, word: int, at: int, addresses: Addresses, linked: bool) -> tuple[Kind | None, int]:
        """Return the kind and the address of an instruction's reference, and record the addresses in registers."""
        target = branch_target(word, at)
        if target is not None:
            if is_call(word):
                addresses.forget(LINKAGE)
            return BRANCHES.get(word & 0xFC000000, Kind.BRANCH), target
        code = self._encodings[word]
        if code == INVALID:
            return Kind.INVALID, 0
        if code in self._ends:
            return Kind.END, 0
        if word >> 25 == 0x6B:
            return self._through_register(word, addresses)
        if word & 0xFFFFF000 == 0xD5380000:  # MRS of a register that identifies the CPU: Linux emulates it
            return Kind.QUESTION, 0
        formed = addresses.address_of(word, at) if linked or word & 0x9F000000 == 0x10000000 else None
        if formed is not None:
            addresses.forget(written(word))
            addresses.formed[word & 31] = formed
            return (None, 0) if word & 0x9F000000 == 0x90000000 else (Kind.ADDRESS, formed)
        return self._of_memory(word, at, addresses, linked)

    def _of_memory(self, word: int, at: int, addresses: Addresses, linked: bool) -> tuple[Kind | None, int]:
        """Return the kind and the address of an access to memory at a known address."""
        kind, place = None, None
        if word & 0x3B000000 == 0x18000000:  # LDR of a literal
            place = at + 4 * signed(word >> 5 & 0x7FFFF, 19) & MASK
            kind = Kind.LOAD if word >> 24 == 0x58 else Kind.READ
        elif (accessed := access(word)) is not None and linked:
            base = addresses.formed.get(accessed.base)
            if base is not None:
                place = base + accessed.offset & MASK
                if not accessed.is_load:
                    kind = Kind.WRITE
                elif accessed.general:
                    kind = Kind.FLAG if accessed.size <= SMALL else Kind.LOAD
                else:
                    kind = Kind.READ
            elif accessed.is_load and accessed.general and accessed.size <= SMALL:
                place = addresses.loaded.get(accessed.base)
                kind = Kind.FLAG if place is not None else None
        addresses.forget(written(word))
        if kind is Kind.LOAD and place is not None:
            addresses.loaded[word & 31] = place
        return kind, place or 0

    def _through_register(self, word: int, addresses: Addresses) -> tuple[Kind, int]:
        """Return the kind and the address of a branch or call through a register."""
        register, calls = word >> 5 & 31, is_call(word)
        formed, loaded = addresses.formed.get(register), addresses.loaded.get(register)
        if calls:
            addresses.forget(LINKAGE)
        if formed is not None:
            return (Kind.CALL if calls else Kind.JUMP), formed
        if loaded is not None:
            return (Kind.CALL_SLOT if calls else Kind.JUMP_SLOT), loaded
        return (Kind.CALL_UNKNOWN if calls else Kind.JUMP_UNKNOWN), 0

    def text(self, instruction: AnyInstruction) -> str:
        """Return the mnemonic and the word: operands are not decoded."""
        assert isinstance(instruction, Instruction)
        mnemonic = self._encodings.kinds[instruction.code].mnemonic
        target = branch_target(instruction.word, instruction.ip)
        return f"{mnemonic} {target:#x}" if target is not None else f"{mnemonic} ({instruction.word:08x})"

    def padding(self, raw: bytes) -> int:
        padding = PADDING.match(raw)
        return padding.end() if padding else 0

    def call_arguments(
        self,
        raw: bytes,
        address: int,
        formed: Mapping[int, int],
        join_points: Container[int],
        calls: Mapping[int, Sequence[int]],
    ) -> Mapping[int, Sequence[int]]:
        return call_arguments(_placed_words(raw, address), self.abi, formed, join_points, calls)

    def tested_bits(
        self, raw: bytes, address: int, words: Mapping[int, int], slots: Mapping[int, int]
    ) -> frozenset[int]:
        """Return an unknown test: the masks are in registers, which are not followed."""
        return frozenset({-1})

    def takes_features(self, raw: bytes) -> bool:
        """Return whether code reads its first argument: loaders pass AT_HWCAP."""
        for word in _words(raw):
            if reads_first(word):
                return True
            if is_call(word) or 0 in written(word):
                return False
        return False

    def memory_bytes(self, instruction: AnyInstruction) -> int:
        assert isinstance(instruction, Instruction)
        word = instruction.word
        if word >> 25 & 5 != 4 and word >> 29 not in (4, 5, 7):
            return 1
        accessed = access(word)
        return accessed.size if accessed is not None else max(width(instruction.code) // 8, 1)


def _words(raw: bytes) -> array[int]:
    """Return the whole words of code, whose order of bytes is little-endian."""
    words = array("I", raw[: len(raw) // 4 * 4])
    if sys.byteorder == "big":
        words.byteswap()
    return words


def _placed_words(raw: bytes, address: int) -> Iterator[tuple[int, int]]:
    """Yield (address, word) of each instruction."""
    for place, word in enumerate(_words(raw)):
        yield address + 4 * place, word
