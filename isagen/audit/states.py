"""What registers and the words of a function's stack frame may hold before an instruction."""

from __future__ import annotations

from collections.abc import Mapping

from ..model.frozen import dataclass
from ..processors.decoding import Effect, Instruction

HALF = 4  # bytes of a distance in a table of jumps
FEW = 16  # values of one register


@dataclass(frozen=True, slots=True)
class Entry:
    """Some entry of the constant table at an address: pointers of a WORD each, or distances from it of HALF a word.

    `added` says that the address of the table is added to a distance, which makes an address of it.
    """

    table: int
    size: int
    added: bool = False


@dataclass(frozen=True, slots=True)
class Frame:
    """An address in the function's stack frame, by its distance from the frame pointer.

    A `lent` one is in memory of the caller, by its distance from the address that the function is called with.
    """

    offset: int
    lent: bool = False


@dataclass(frozen=True)
class Lent:
    """What a function does with memory of its caller: where it writes, and which addresses of it it may return.

    Both are distances from the address that it is called with.
    """

    writes: tuple[tuple[int, int], ...]
    returns: frozenset[int]


@dataclass(frozen=True, slots=True)
class Result:
    """What the function at an address in this file returned."""

    function: int


# An address in this file, the name of an external function, an entry of a table, an address in the stack frame, or what
# a function returned.
# UNKNOWN is any other value; a pointer that is NULL is not called.
Value = int | str | Entry | Frame | Result
UNKNOWN: Value = 0
NULL: Value = ""
ANY: frozenset[Value] = frozenset({UNKNOWN})
# The values that registers may hold, for those of which anything is known, and words of the stack frame, by their
# negative distances from the frame pointer.
State = Mapping[int, frozenset[Value]]
# The key of a state that says that memory or code of others may know an address in the frame.
ESCAPED = 0
ESCAPE: frozenset[Value] = frozenset({Frame(0)})


def joined(one: State, other: State) -> dict[int, frozenset[Value]]:
    """Return what registers may hold where control comes with one state or another."""
    found = {}
    for register in {*one, *other}:
        known = one.get(register, ANY)
        values = known | other.get(register, ANY)
        # A pointer that a loop moves has no end of values: those that are known stand for the rest.
        if len(values) > FEW:
            if any(type(value) is Frame for value in values - known):
                found[ESCAPED] = ESCAPE
            values = known | ANY
        if values != ANY and register != ESCAPED:
            found[register] = values
    if ESCAPED in one or ESCAPED in other:
        found[ESCAPED] = ESCAPE
    return found


def added(distances: frozenset[Value], tables: frozenset[Value]) -> frozenset[Value] | None:
    """Return the entries of tables to which the addresses of these tables are added; None if the values are others."""
    found: set[Value] = set()
    for value in distances:
        if not isinstance(value, Entry) or value.size != HALF or value.added or value.table not in tables:
            return None
        found.add(Entry(value.table, HALF, True))
    return frozenset(found) or None


@dataclass(frozen=True, slots=True)
class Step:
    """An instruction, what it does, and the values in registers before it runs."""

    instruction: Instruction
    effect: Effect
    state: State

    def values(self, register: int) -> frozenset[Value]:
        """Return the values that a register may hold."""
        return self.state.get(register, ANY)

    def passed(self, register: int) -> frozenset[Value]:
        """Return the values in a register that mean the same in another function, and UNKNOWN for others."""
        return frozenset(UNKNOWN if type(one) in (Frame, Result) else one for one in self.values(register))


def signed(number: int) -> int:
    """Return the number with a sign that 64 bits of an instruction stand for."""
    return number - (1 << 64) if number >> 63 else number
