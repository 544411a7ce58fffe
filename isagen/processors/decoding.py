"""The protocol of a decoder, which finds the references in machine code and the CPU features that the code needs.

A `code` is a decoder's number for one encoding of one instruction.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from typing import NamedTuple, Protocol

from ..binary.contents import RelocationTypes
from ..binary.reader import Binary
from .instructions import OR, Instructions, normal_name

Codes = frozenset[int]


class Kind(IntEnum):
    """The kind of a reference: what an instruction does, mostly with the reference's address.

    The address is 0 for CALL_UNKNOWN, JUMP_UNKNOWN, END, CPU_CHECK and INVALID.
    """

    CALL = 0  # calls it
    JUMP = 1  # jumps to it
    BRANCH = 2  # jumps to it under a condition
    CALL_SLOT = 3  # calls the target of the pointer at the address
    JUMP_SLOT = 4  # jumps to the target of the pointer at the address
    CALL_UNKNOWN = 5  # calls an address that is not known, or jumps to it under a condition
    JUMP_UNKNOWN = 6  # jumps to an address that is not known
    END = 7  # returns, or stops the program: control does not go on
    ADDRESS = 8  # forms the address
    LOAD = 9  # loads a pointer, or another number of its size, from the address into a register
    READ = 10  # reads memory at the address in another way
    WRITE = 11  # may write memory at the address
    FLAG = 12  # reads a small number, on which a branch may depend, from the address or through the pointer there
    NUMBER = 13  # contains or forms a number that may be an address; only in files with fixed addresses
    CPU_CHECK = 14  # detects CPU features; there is no address
    INVALID = 15  # the bytes are no known instruction


DIRECT = frozenset({Kind.CALL, Kind.JUMP, Kind.BRANCH})
SLOTS = frozenset({Kind.CALL_SLOT, Kind.JUMP_SLOT})
UNKNOWN = frozenset({Kind.CALL_UNKNOWN, Kind.JUMP_UNKNOWN})
CALLS = frozenset({Kind.CALL, Kind.CALL_SLOT, Kind.CALL_UNKNOWN})
# After these, control does not go on to the next instruction.
LEAVES = frozenset({Kind.JUMP, Kind.JUMP_SLOT, Kind.JUMP_UNKNOWN, Kind.END, Kind.INVALID})
SMALL = 4  # the largest size in bytes of the number that FLAG reads


class Form(NamedTuple):
    """The instructions with one code: their mnemonic, and the features that they need, by the decoder's names."""

    mnemonic: str
    needs: tuple[str, ...]


class Reference(NamedTuple):
    """One reference to `address` by the instruction at the address `at`; `after` is the address after its last byte."""

    at: int
    after: int
    kind: Kind
    address: int


@dataclass(frozen=True)
class Abi:
    """A processor's conventions in one binary format.

    `machine` is the processor's number in the format, `bits` the word size, and `order` the byte order. A call takes
    its arguments from the registers `arguments`, in this order, and preserves the registers `preserved`.
    """

    machine: int
    relocations: RelocationTypes
    bits: int = 64
    order: str = "little"
    arguments: tuple[str, ...] = ()
    preserved: tuple[str, ...] = ()


class Move(NamedTuple):
    """The effect on registers of the instruction at the address `at`.

    If `calls` is true, it is a call. Otherwise it writes the registers `written`. If it counts as a copy, the first of
    these gets the value of the register `source`; otherwise `source` is None.
    """

    at: int
    calls: bool
    source: int | None
    written: Sequence[int]


class Instruction(Protocol):
    """One decoded instruction. Its properties have the names that the library iced-x86 gives them."""

    @property
    def ip(self) -> int:
        """Its address."""

    @property
    def next_ip(self) -> int:
        """The address after its last byte."""

    @property
    def code(self) -> int:
        """The number of its encoding."""


class Decoder(Protocol):
    """A decoder for the code of one processor. Each decoder is a subclass.

    `name` is the name of the processor and of its features file, and `invalid` the code of bytes that are no known
    instruction. `longest` is the size of the longest instruction in bytes, and `jump_size` that of the largest entry of
    the PLT. `pad` matches what assemblers and linkers put between functions. A function may start with data of
    `mark_size` bytes, which start with `mark`. If the loader `passes_features` to the resolvers of ifuncs, each
    resolver counts as one that tests features.
    """

    name: str
    abi: Abi
    invalid: int
    longest: int
    jump_size: int
    pad: re.Pattern[bytes]
    argument_registers: Sequence[int]
    preserved_registers: Container[int]
    mark: bytes = b""
    mark_size: int = 0
    passes_features: bool = False

    def __hash__(self) -> int:
        return id(self)  # decoders are keys of caches

    def of_binary(self, binary: Binary) -> Decoder:
        """Return the decoder for a binary's code: a symbol of the binary may show the value of a register."""
        return self

    def decode(self, raw: bytes, address: int) -> Iterator[Instruction]:
        """Yield the instructions in `raw`, the bytes at an address."""

    def codes(self, raw: bytes, address: int) -> Codes:
        """Return the codes of the instructions in `raw`, the bytes at an address."""

    def references(self, raw: bytes, address: int, fixed: bool = False, linked: bool = True) -> Iterator[Reference]:
        """Yield the references of the instructions in `raw`, in order.

        References of the kind NUMBER are only yielded if the file is loaded at `fixed` addresses. If the code is not
        `linked`, an instruction whose operand is relocated may have no reference.
        """

    def text(self, instruction: Instruction) -> str:
        """Return an instruction as assembly."""

    def padding(self, raw: bytes) -> int:
        """Return the size of the padding at the start of `raw`."""
        padding = self.pad.match(raw)
        return padding.end() if padding else 0

    def call_arguments(
        self,
        raw: bytes,
        address: int,
        formed: Mapping[int, int],
        join_points: Container[int],
        calls: Mapping[int, Sequence[int]],
    ) -> Mapping[int, Sequence[int]]:
        """Return the arguments of calls in `raw`, by the calls' addresses.

        `formed` maps the address of an instruction that forms a value to a number for the value. Each argument is such
        a number, or 0 if it is unknown. `join_points` are addresses at which control may arrive from other places than
        the instruction before. `calls` maps the address of a call to the positions of its arguments, from 0.
        """
        values: dict[int, int] = {}  # by register
        arguments = {}
        for move in self.moves(raw, address):
            if move.at in join_points:
                values.clear()
            if move.at in calls:
                arguments[move.at] = [values.get(self.argument_registers[place], 0) for place in calls[move.at]]
            if move.calls:
                values = {register: value for register, value in values.items() if register in self.preserved_registers}
                continue
            value = formed.get(move.at, 0)
            if not value and move.source is not None:
                value = values.get(move.source, 0)
            for register in move.written:
                values.pop(register, None)
            if value and move.written:
                values[move.written[0]] = value
        return arguments

    def moves(self, raw: bytes, address: int) -> Iterator[Move]:
        """Yield the effects on registers of the instructions in `raw`, in the order of their addresses."""

    def tested_bits(
        self, raw: bytes, address: int, words: Mapping[int, int], slots: Mapping[int, int]
    ) -> frozenset[int]:
        """Return the numbers of the bits of CPU features that instructions test; -1 stands for other bits.

        The toolchain's variables contain these bits. `words` maps the address of each 32-bit word of the variables to
        the number of its first bit, which is negative if the word contains no features. If the linker made pointers to
        the variables, `slots` maps the address of each pointer to the variable's address.
        """

    def forms(self) -> Sequence[Form]:
        """Return the form of each code, which is an index of the result."""

    def width(self, code: int) -> int:
        """Return the width in bits of the widest vector or tile register of a code; 0 if it has none."""

    def codes_of(self, mnemonic: str) -> Codes:
        """Return the codes of a mnemonic; the empty set if the decoder does not know it."""
        return frozenset(code for code, form in enumerate(self.forms()) if form.mnemonic == mnemonic)

    def needs(self, rules: Instructions) -> Mapping[int, frozenset[str]]:
        """Return the features that each code needs, without those that every CPU of the architecture has.

        Codes that need no other features, and codes of harmless mnemonics, are left out.
        The name "a or b" means that the CPU needs one of the two features.
        """
        ours = {normal_name(name): name for name in rules.features}

        def name_of(feature: str) -> str:
            return rules.names.get(feature) or ours.get(normal_name(feature), feature.lower())

        @cache
        def names_of(features: tuple[str, ...]) -> frozenset[str]:
            needed = (one.split(OR) for one in features if rules.always.isdisjoint(one.split(OR)))
            return frozenset(OR.join(dict.fromkeys(map(name_of, some))) for some in needed)

        forms = enumerate(self.forms())
        needed = ((code, names_of(form.needs)) for code, form in forms if form.mnemonic not in rules.harmless)
        return {code: names for code, names in needed if names}
