"""The base class of decoders that look up instructions in a table of encodings, `instructions.toml`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from ..model.errors import AuditError
from ..model.toml import read_toml
from .addresses import Addresses, Found
from .decoding import LEAVES, Abi, Codes, Decoder, Form, Kind, Move, Reference
from .decoding import Instruction as AnyInstruction
from .processor import FOLDER

INVALID = 0
NO_WORD = -1  # in place of a word: the bytes are not a whole instruction
CACHED = 1 << 18  # words at most
MOST_WALKS = 6  # through a function: if loops are nested, a further walk may find more addresses in registers
Step = tuple[int, int, int]  # address of an instruction, the address after it, its word


class Encodings(dict[int, int]):
    """The code of each word; words are decoded on first use. A code is an index of `forms` and `widths`.

    A row is a mask, a value and a code: words whose bits in the mask equal the value have the code. If several rows
    match, the mask with the most bits counts. `rows` lists rows by the bits of a word in the mask `key`. The cache has
    a limited size, because a large file has millions of different branches.
    """

    def __init__(self, folder: Path, key: int) -> None:
        self.forms, self.widths = [Form("", ())], [0]
        self._key = key
        rows = []
        for group in read_toml(folder / "instructions.toml", AuditError).tables("groups"):
            needs = group.strings("needs")
            for line in group.string("words").splitlines():
                mnemonic, width, mask, *values = line.split()
                form = Form(mnemonic, needs)
                if (form, int(width)) != (self.forms[-1], self.widths[-1]):
                    self.forms.append(form)
                    self.widths.append(int(width))
                rows += [(int(mask, 16), int(value, 16), len(self.forms) - 1) for value in values]
        self.rows: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
        for row in sorted(rows, key=lambda row: -row[0].bit_count()):
            for index in _matching(key, row[0], row[1]):
                self.rows[index].append(row)

    def __missing__(self, word: int) -> int:
        rows = self.rows.get(word & self._key, ()) if word != NO_WORD else ()
        code = next((code for mask, value, code in rows if word & mask == value), INVALID)
        if len(self) >= CACHED:
            self.clear()
        self[word] = code
        return code


def _matching(key: int, mask: int, value: int) -> list[int]:
    """Return all numbers within the bits of `key` that equal `value` in the bits of `mask`."""
    free = [1 << place for place in range(key.bit_length()) if key & ~mask & 1 << place]
    return [value & key | sum(bits) for count in range(len(free) + 1) for bits in combinations(free, count)]


class Instruction(NamedTuple):
    """One instruction (`isagen.processors.decoding.Instruction`); `word` is its encoding."""

    ip: int
    next_ip: int
    code: int
    word: int


class RowDecoder(Decoder, ABC):
    """A decoder that looks up instructions in `instructions.toml` of its folder.

    `key` is the mask of the bits by which rows are indexed. After an instruction whose mnemonic starts with one of
    `ends`, control does not go on. No function writes the registers in `known`, which maps each to the address in it.
    """

    key: int
    ends: tuple[str, ...]
    invalid = INVALID
    passes_features = True
    known: Mapping[int, int] = {}

    def __init__(self, abi: Abi) -> None:
        self.abi = abi
        self.encodings = Encodings(FOLDER / self.name, self.key)
        ends = (code for code, form in enumerate(self.forms()) if form.mnemonic.startswith(self.ends))
        self.stops: Mapping[int, Kind] = {**dict.fromkeys(ends, Kind.END), INVALID: Kind.INVALID}
        self.argument_registers = [int(name[1:]) for name in abi.arguments]
        self.preserved_registers = {int(name[1:]) for name in abi.preserved}

    # ---- what a processor defines

    @abstractmethod
    def placed(self, raw: bytes, address: int) -> Iterator[Step]:
        """Yield each instruction. The word of bytes that are not a whole instruction is NO_WORD."""

    def steps(self, raw: bytes, address: int) -> Iterator[Step]:
        """Yield each instruction; several that make one reference together are one step."""
        return self.placed(raw, address)

    @abstractmethod
    def reference(self, word: int, at: int, addresses: Addresses, linked: bool, fixed: bool) -> Found:
        """Return the reference of a step, and update the `addresses` in registers."""

    @abstractmethod
    def branch_target(self, word: int, address: int) -> int | None:
        """Return the target of a direct branch or call; None for other instructions."""

    @abstractmethod
    def is_call(self, word: int) -> bool:
        """Return whether an instruction is a call."""

    @abstractmethod
    def written(self, word: int) -> Sequence[int]:
        """Return the general registers that an instruction other than a call writes."""

    @abstractmethod
    def copied(self, word: int) -> tuple[int, int] | None:
        """Return (to, from) of an instruction that copies a register, or its sum with a constant; None for others."""

    # ---- the protocol

    def forms(self) -> Sequence[Form]:
        return self.encodings.forms

    def width(self, code: int) -> int:
        """See `Decoder.width`. A register whose width depends on the CPU counts as 128 bits, the smallest width."""
        return self.encodings.widths[code]

    def decode(self, raw: bytes, address: int) -> Iterator[Instruction]:
        for at, after, word in self.placed(raw, address):
            yield Instruction(at, after, self.encodings[word], word)

    def codes(self, raw: bytes, address: int) -> Codes:
        return frozenset(self.encodings[word] for word in {word for _, _, word in self.placed(raw, address)})

    def references(self, raw: bytes, address: int, fixed: bool = False, linked: bool = True) -> Iterator[Reference]:
        behind: dict[int, Addresses] = {}
        for _ in range(MOST_WALKS):
            found, seen = self._walk(raw, address, fixed, linked, behind)
            if seen == behind:
                break
            behind = seen
        yield from found

    def _walk(
        self, raw: bytes, address: int, fixed: bool, linked: bool, behind: Mapping[int, Addresses]
    ) -> tuple[list[Reference], dict[int, Addresses]]:
        """Return references, and the addresses in registers at the start of each block that only backward jumps reach.

        Instructions are read in the order of their addresses, so such a block is read before the jump to it. `behind`
        contains the addresses that an earlier walk returned for these blocks.
        """
        # `left`: control does not go on from the instruction before
        addresses, left = Addresses(dict(self.known)), False
        found: list[Reference] = []
        ahead: dict[int, Addresses] = {}  # at the targets of forward jumps
        seen: dict[int, Addresses | None] = {}  # the second result; None until a jump to the block is read
        for at, after, word in self.steps(raw, address):
            if left:
                if at in ahead:
                    addresses = ahead[at]
                else:
                    seen[at] = None
                    addresses = behind[at].copy() if at in behind else addresses
                left = False
            kind, target = self.reference(word, at, addresses, linked, fixed)
            if kind is not None:
                found.append(Reference(at, after, kind, target))
                left = kind in LEAVES
                if kind is Kind.BRANCH or kind is Kind.JUMP:
                    if target > at:
                        if target not in ahead:
                            ahead[target] = addresses.copy()
                    elif target in seen and seen[target] is None:
                        seen[target] = addresses.copy()
        return found, {at: one for at, one in seen.items() if one is not None}

    def through_register(self, word: int, register: int, addresses: Addresses, offset: int = 0) -> Found:
        """Return the reference of a branch or call through a register; after a call, forget what it may change."""
        formed, loaded, calls = addresses.formed.get(register), addresses.loaded.get(register), self.is_call(word)
        self.forget(addresses, word)
        if formed is not None:
            return (Kind.CALL if calls else Kind.JUMP), formed + offset
        if loaded is not None and not offset:
            return (Kind.CALL_SLOT if calls else Kind.JUMP_SLOT), loaded
        return (Kind.CALL_UNKNOWN if calls else Kind.JUMP_UNKNOWN), 0

    def forget(self, addresses: Addresses, word: int) -> None:
        """If an instruction is a call, forget the addresses in registers that calls may change."""
        if self.is_call(word):
            addresses.forget({*addresses.formed, *addresses.loaded} - self.preserved_registers)

    def text(self, instruction: AnyInstruction) -> str:
        """Return the mnemonic with a branch's target, or with the word, because operands are not decoded."""
        assert isinstance(instruction, Instruction)
        mnemonic = self.forms()[instruction.code].mnemonic
        target = self.branch_target(instruction.word, instruction.ip)
        return f"{mnemonic} {target:#x}" if target is not None else f"{mnemonic} ({instruction.word:#x})"

    def moves(self, raw: bytes, address: int) -> Iterator[Move]:
        for at, _, word in self.steps(raw, address):
            if word != NO_WORD:
                copied, calls = self.copied(word), self.is_call(word)
                yield Move(at, calls, copied[1] if copied is not None else None, () if calls else self.written(word))

    def tested_bits(
        self, raw: bytes, address: int, words: Mapping[int, int], slots: Mapping[int, int]
    ) -> frozenset[int]:
        """Return -1, a test of unknown bits: masks are in registers, whose values are not followed."""
        return frozenset({-1})
