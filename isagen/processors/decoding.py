"""The protocol of a processor's decoder: the references of code, and the CPU features that it needs.

A `code` is a decoder's number for one encoding of one instruction, and stands for the features that it needs.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, Protocol

from ..binary.protocol import Relocations
from .instructions import Instructions

Codes = frozenset[int]


class Kind(IntEnum):
    """The kind of a reference: what an instruction does with the address that it names."""

    CALL = 0  # calls it
    JUMP = 1  # goes on there
    BRANCH = 2  # may go on there
    CALL_SLOT = 3  # calls what the pointer at the address leads to
    JUMP_SLOT = 4  # goes on there
    CALL_UNKNOWN = 5  # calls what a register or another pointer leads to
    JUMP_UNKNOWN = 6  # goes on there
    END = 7  # returns, or stops the program: control does not go on
    ADDRESS = 8  # forms the address
    LOAD = 9  # loads a pointer from the address into a register
    READ = 10  # reads memory at the address
    WRITE = 11  # may write memory at the address
    FLAG = 12  # reads a small number from the address, which the next branch may depend on
    NUMBER = 13  # has a number that may be an address where addresses are fixed
    QUESTION = 14  # detects CPU features
    INVALID = 15  # is no known instruction


DIRECT = frozenset({Kind.CALL, Kind.JUMP, Kind.BRANCH})
SLOTS = frozenset({Kind.CALL_SLOT, Kind.JUMP_SLOT})
UNKNOWN = frozenset({Kind.CALL_UNKNOWN, Kind.JUMP_UNKNOWN})
CALLS = frozenset({Kind.CALL, Kind.CALL_SLOT, Kind.CALL_UNKNOWN})
# Control does not go on to the next instruction.
LEAVES = frozenset({Kind.JUMP, Kind.JUMP_SLOT, Kind.JUMP_UNKNOWN, Kind.END, Kind.INVALID})


class Reference(NamedTuple):
    """One reference of an instruction `at` an address; `after` is the address after its last byte."""

    at: int
    after: int
    kind: Kind
    address: int


@dataclass(frozen=True)
class Abi:
    """A processor's conventions in one binary format.

    A binary has the format's number `machine` for the processor, a word size in `bits`, and a byte `order`.
    `arguments` are the registers of a call's arguments, in order, and `preserved` those that a call preserves.
    """

    machine: int
    bits: int
    order: str
    relocations: Relocations
    arguments: tuple[str, ...] = ()
    preserved: tuple[str, ...] = ()


class Instruction(Protocol):
    """One decoded instruction; the names are those of iced-x86."""

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
    """The instructions of one processor."""

    @property
    def name(self) -> str:
        """The processor's name, which its features file has too."""

    def __hash__(self) -> int:
        """Return a number by which decoders are keys."""

    @property
    def abi(self) -> Abi:
        """The conventions of the code."""

    @property
    def invalid(self) -> int:
        """The code of bytes that are no known instruction."""

    @property
    def longest(self) -> int:
        """The size of the longest instruction in bytes."""

    @property
    def jump_size(self) -> int:
        """How many bytes a jump of the linker's tables has at most."""

    @property
    def mark(self) -> bytes:
        """The constant bytes with which the data starts that a compiler may put before a function's instructions."""

    @property
    def mark_size(self) -> int:
        """How many bytes of a function are no instructions where it starts with `mark`."""

    def decode(self, raw: bytes, address: int) -> Iterator[Instruction]:
        """Yield the instructions in `raw`, which is at an address."""

    def codes(self, raw: bytes, address: int) -> Codes:
        """Return the codes of the instructions in `raw`, which is at an address."""

    def references(self, raw: bytes, address: int, fixed: bool = False) -> Iterator[Reference]:
        """Yield, in order, what the instructions in `raw` refer to; with `fixed` addresses, numbers too."""

    def text(self, instruction: Instruction) -> str:
        """Return an instruction as assembly has it."""

    def padding(self, raw: bytes) -> int:
        """Return how many bytes `raw` starts with that assemblers and linkers put between functions."""

    def call_arguments(
        self,
        raw: bytes,
        address: int,
        formed: Mapping[int, int],
        entered: Container[int],
        calls: Mapping[int, Sequence[int]],
    ) -> Mapping[int, Sequence[int]]:
        """Return the arguments of calls in `raw`, by the calls' addresses; 0 where unknown.

        `formed` has a number for the value that an instruction forms, by its address; `entered` are the addresses of
        instructions that control may come to from elsewhere, and `calls` have the numbers of the arguments, from 0.
        """

    def tested_bits(
        self, raw: bytes, address: int, words: Mapping[int, int], slots: Mapping[int, int]
    ) -> frozenset[int]:
        """Return the bits of the toolchain's variables that instructions test; a negative one stands for other tests.

        `words` has the number of the first bit in each word of these variables, by address, and `slots` the addresses
        of the variables, by those of the linker's pointers to them.
        """

    def codes_of(self, mnemonic: str) -> Codes:
        """Return the codes of a mnemonic; none of one that the decoder does not know."""

    def width(self, code: int) -> int:
        """Return the width in bits of the widest vector or tile register of a code's instructions; 0 without one."""

    def memory_bytes(self, instruction: Instruction) -> int:
        """Return the size of an instruction's memory access in bytes; 1 if it has none or if it is unknown."""

    def needs(self, rules: Instructions) -> Mapping[int, frozenset[str]]:
        """Return the features that codes need, without codes that every CPU of the processor has or ignores."""
