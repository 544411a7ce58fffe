"""The decoder that the audit needs of a processor: instructions, and the CPU features that each needs.

An instruction has the names of iced-x86, so that its objects need no wrapping. A `code` is a decoder's number for one
encoding of one instruction, and stands for the features that it needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum, IntEnum, auto

from ..binary.pointing import Relocations
from ..model.frozen import dataclass
from ..model.shapes import Protocol

TYPE_CHECKING = False  # as in typing
if TYPE_CHECKING:
    from .features import Features

Codes = frozenset[int]

# Where control goes after an instruction: the values of `Instruction.flow_control`.
NEXT, UNCONDITIONAL, INDIRECT_BRANCH, CONDITIONAL, RETURN, CALL, INDIRECT_CALL, INTERRUPT, TRANSACTION, EXCEPTION = (
    range(10)
)
# To an address in the instruction; to one in a register or pointer; not to the next instruction.
DIRECT = frozenset({CALL, UNCONDITIONAL, CONDITIONAL})
INDIRECT = frozenset({INDIRECT_CALL, INDIRECT_BRANCH})
LEAVES = frozenset({UNCONDITIONAL, INDIRECT_BRANCH, RETURN, INTERRUPT, EXCEPTION})


class Instruction(Protocol):
    """One decoded instruction."""

    @property
    def ip(self) -> int:
        """Its address."""

    @property
    def next_ip(self) -> int:
        """The address after its last byte."""

    @property
    def code(self) -> int:
        """The number of its encoding."""

    @property
    def flow_control(self) -> int:
        """Where control goes after it."""

    @property
    def near_branch_target(self) -> int:
        """Where a call or jump to an address leads; 0 for others."""

    @property
    def is_ip_rel_memory_operand(self) -> bool:
        """Whether it has an operand in memory, at a distance from itself."""

    @property
    def ip_rel_memory_address(self) -> int:
        """The address of such an operand."""


class Loaded(IntEnum):
    """The kind of value that an instruction loads into a register."""

    NOTHING = 0  # that matters
    ADDRESS = 1  # the address of memory at a distance from the instruction
    POINTER = 2  # the pointer in memory at a distance from the instruction
    NUMBER = 3  # a number, which may be an address where addresses are fixed


class How(Enum):
    """How an instruction computes what it puts into a register."""

    OTHER = auto()  # in a way that is not followed
    NUMBER = auto()  # a number in the instruction
    COPY = auto()  # from another register, whole
    EXTEND = auto()  # from the low half of a register, with its sign
    ADD = auto()  # by adding another, or the number, to it
    ADDRESS = auto()  # the address of an operand in memory
    LOAD = auto()  # from memory
    CHOOSE = auto()  # from another register, or not at all


@dataclass(frozen=True, slots=True)
class Place:
    """An operand in memory: `size` bytes at base + index + `offset`; `relative` to the instruction has no base.

    Registers are a decoder's numbers; 0 is none.
    """

    base: int
    index: int
    offset: int
    size: int
    relative: bool
    read: bool
    written: bool


@dataclass(frozen=True, slots=True)
class Effect:
    """What an instruction does to registers: `to` one it computes a value, by `how`, from `source` or the `number`
    in the instruction, None where it has none of an address's size.

    `reads` are the registers whose values go into it, other than those that only say where its operand in memory is,
    and `writes` those that it changes. `compares` says that only flags depend on what it reads.
    """

    how: How
    to: int
    source: int
    number: int | None
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    place: Place | None
    compares: bool


class Addresses(Protocol):
    """The addresses that registers are known to hold as a function's instructions run one after the other."""

    def stores(self, instruction: Instruction) -> Sequence[tuple[bool, int]]:
        """Return where an instruction writes: (whether at a distance from itself, address, 0 if unknown)."""

    def run(self, instruction: Instruction, loaded: int) -> None:
        """Pass the instruction that `stores` was last asked about; `loaded` is the address that it loads, or 0."""

    def argument(self, number: int) -> int:
        """Return the address that a call now hands over as its argument of a number from 0; 0 if unknown."""


class Decoder(Protocol):
    """The instructions of one processor."""

    @property
    def name(self) -> str:
        """The processor's name, which its features file has too."""

    @property
    def relocations(self) -> Mapping[str, Relocations]:
        """The processor's relocation types, by binary format."""

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

    @property
    def numbers(self) -> Mapping[str, tuple[int, ...]]:
        """The decoder's own numbers, which take long to load and can be kept."""

    @property
    def asking(self) -> Codes:
        """The codes that ask the CPU what it has."""

    @property
    def answers(self) -> tuple[str, ...]:
        """How the names of the toolchain's variables start that hold what the CPU answered."""

    def decode(self, raw: bytes, address: int) -> Iterator[Instruction]:
        """Yield the instructions in `raw`, which is at an address."""

    def codes(self, raw: bytes, address: int) -> Codes:
        """Return the codes of the instructions in `raw`, which is at an address."""

    def named(self, raw: bytes, address: int, fixed: bool) -> set[int]:
        """Return the addresses that the instructions in `raw` name, and numbers that are none.

        These are where they jump to and what they read, write or point to; with `fixed` addresses, numbers too.
        """

    def text(self, instruction: Instruction) -> str:
        """Return an instruction as assembly has it."""

    def padding(self, raw: bytes) -> int:
        """Return how many bytes `raw` starts with that assemblers and linkers put between functions."""

    def jump(self, raw: bytes, address: int) -> int:
        """Return the address of the pointer that a jump of the linker's tables goes through; 0 if there is none."""

    def loaded(self, instruction: Instruction) -> tuple[Loaded, int]:
        """Return what an instruction loads into a register: how, and the address or number."""

    def addresses(self) -> Addresses:
        """Return the addresses in registers when a function starts: none is known."""

    def effect(self, instruction: Instruction) -> Effect:
        """Return what an instruction does to registers."""

    @property
    def number_size(self) -> int:
        """The size in bytes of a number in an instruction that may be an address; the number comes last."""

    @property
    def arguments(self) -> Sequence[int]:
        """The registers that hold the arguments of a call, in order."""

    @property
    def result(self) -> int:
        """The register that holds what a function returns."""

    @property
    def stack(self) -> int:
        """The register that points to the stack."""

    @property
    def kept(self) -> frozenset[int]:
        """The registers that hold after a call what they held before."""

    @property
    def thunks(self) -> tuple[str, ...]:
        """How the names of functions start that jump to an address in a register."""

    @property
    def informants(self) -> frozenset[str]:
        """The names of functions that tell what the CPU has."""

    def width(self, code: int) -> int:
        """Return the width in bits of the widest vector or tile register of a code's instructions; 0 without one."""

    def needs(self, features: Features) -> Mapping[int, frozenset[str]]:
        """Return the features that codes need, without codes that every CPU of the processor has or ignores."""
