"""Values in x86-64 registers within one run of instructions: arguments of calls, and tests of the toolchain's words."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence

from .iced import iced_x86

# iced-x86's Register, by the System V ABI for x86-64: the registers of a call's arguments, in order.
RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9 = range(53, 63)
ARGUMENTS = (RDI, RSI, RDX, RCX, R8, R9)
KEPT = frozenset({RBX, RSP, RBP, *range(65, 69)})  # what they hold after a call is what they held before
CALLS = frozenset({5, 6})  # iced-x86's FlowControl
AH, BH = 5, 8  # the first and the last of the registers of 8 bits that are a word's second byte
# iced-x86's OpAccess that write, and OpKind.
WRITES = frozenset({3, 4, 5, 6})
REGISTER, MEMORY = 0, 24
IMMEDIATES = frozenset(range(6, 15))
SIGNS = frozenset({9, 10})  # iced-x86's ConditionCode: s, ns
OTHER = -1  # in the place of a bit: a test that asks for something else


class Tracking:
    """What runs of instructions put into registers; `numbers` are the decoder's own."""

    def __init__(self, numbers: Mapping[str, tuple[int, ...]]) -> None:
        self._factory = iced_x86.InstructionInfoFactory()
        self._full = iced_x86.RegisterExt.full_register
        (self._mov,), (self._lea,) = numbers["mov"], numbers["lea"]
        self._by_number, self._tests = frozenset(numbers["by_number"]), frozenset(numbers["tests"])

    def handed(
        self,
        raw: bytes,
        address: int,
        formed: Mapping[int, int],
        entered: Container[int],
        calls: Mapping[int, Sequence[int]],
    ) -> Mapping[int, Sequence[int]]:
        """Return which values calls in `raw` hand over as arguments (`decoding.Decoder.handed`)."""
        known: dict[int, int] = {}
        found = {}
        for one in iced_x86.Decoder(64, raw, ip=address):
            if one.ip in entered:
                known.clear()
            if one.ip in calls:
                found[one.ip] = [known.get(ARGUMENTS[number], 0) for number in calls[one.ip]]
            if one.flow_control in CALLS:
                known = {register: value for register, value in known.items() if register in KEPT}
                continue
            value = formed.get(one.ip, 0)
            if one.mnemonic == self._mov and not value and one.op1_kind == REGISTER:
                value = known.get(one.op1_register, 0)
            for used in self._factory.info(one).used_registers() if known else ():
                if used.access in WRITES:
                    known.pop(self._full(used.register), None)
            if value:
                known[self._full(one.op0_register)] = value
        return found

    def asked(self, raw: bytes, address: int, words: Mapping[int, int], slots: Mapping[int, int]) -> frozenset[int]:
        """Return the bits that instructions test, by number; OTHER is among them where a test asks something else.

        `words` has the number of the first bit in each 32-bit word of the toolchain's variables, by address, and
        `slots` the addresses of these variables by those of the linker's pointers to them.
        """
        found: set[int] = set()
        bases: dict[int, int] = {}  # by register, the variable whose address it holds
        loaded = None  # where the value in a register is from
        for one in iced_x86.Decoder(64, raw, ip=address):
            kinds = [one.op_kind(number) for number in range(one.op_count)]
            place = self._place(one, bases) if MEMORY in kinds else None
            if place is not None and (place in slots or one.mnemonic == self._lea):
                bases[one.op0_register] = slots.get(place, place)
                continue
            if place is not None and (place & ~3) not in words:
                place = None
            number = next((one.immediate(n) for n, kind in enumerate(kinds) if kind in IMMEDIATES), None)
            if one.mnemonic == self._mov and number in words and kinds[0] == REGISTER:
                bases[self._full(one.op0_register)] = number or 0
            tests = one.mnemonic in self._tests and number is not None
            if place is not None and not tests:
                loaded = place
            elif tests and (at := place if place is not None else loaded) is not None:
                shift = 8 if kinds[0] == REGISTER and AH <= one.op0_register <= BH else 0
                found.update(self._bits(words, at, number or 0, shift, one.mnemonic in self._by_number))
            elif one.condition_code in SIGNS and loaded is not None:
                found.update(words[loaded & ~3] + bit for bit in (7, 15, 31) if words[loaded & ~3] >= 0)
        return frozenset(found)

    @staticmethod
    def _place(one: iced_x86.Instruction, bases: Mapping[int, int]) -> int | None:
        if one.is_ip_rel_memory_operand:
            return one.ip_rel_memory_address
        base = bases.get(one.memory_base) if one.memory_base else 0
        return base + one.memory_displacement if base is not None and not one.memory_index else None

    @staticmethod
    def _bits(words: Mapping[int, int], place: int, number: int, shift: int, is_bit: bool) -> Iterator[int]:
        first = words[place & ~3]
        if first < 0:
            yield OTHER
            return
        mask = 1 << (number & 31) if is_bit else number & 0xFFFFFFFF
        mask <<= shift + 8 * (place & 3)
        yield from (first + bit for bit in range(32) if mask >> bit & 1)
