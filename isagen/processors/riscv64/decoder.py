"""Decodes code of riscv64 by a table of encodings: instructions of 32 bits, and compressed ones of 16."""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import copy

from ...binary.reader import Binary, numbers_of
from ..addresses import MASK, NOTHING, Addresses, Found
from ..decoding import Abi, Codes, Decoder, Kind
from ..row_decoder import NO_WORD, Instruction, RowDecoder, Step
from . import fields as f

FLOATS = "zve32f"  # LLVM's name of the feature that floating-point vector instructions need


class RiscvDecoder(RowDecoder):
    """The instructions of riscv64.

    AUIPC and a branch right after it through the same register form one address together, so they are one step, whose
    word has 64 bits.
    """

    name = "riscv64"
    longest = 4
    jump_size = 16
    key = 0xF07F
    # C.NOP, NOP, and zeros.
    pad = re.compile(rb"(?:\x01\x00|\x13\x00\x00\x00|(?:\x00\x00)+)*")
    # These convert between integers and floating-point numbers twice as wide: with 8-bit elements, half precision.
    of_bytes = (
        *("vfwcvt.f.x.v", "vfwcvt.f.xu.v"),
        *("vfncvt.x.f.w", "vfncvt.xu.f.w", "vfncvt.rtz.x.f.w", "vfncvt.rtz.xu.f.w"),
    )
    # These convert between half and single precision, for which Zvfhmin is enough.
    of_halves = ("vfwcvt.f.f.v", "vfncvt.f.f.w")
    ends = ("mret", "sret", "mnret", "ebreak", "c.ebreak", "unimp", "c.unimp")

    def __init__(self, abi: Abi) -> None:
        super().__init__(abi)
        # For elements of 8 and of 16 bits: maps the code of a vector instruction to a further code. It stands for the
        # same instruction on such elements, and needs half precision, too.
        self._halves: dict[int, dict[int, int]] = {8: {}, 16: {}}
        for code, form in enumerate(tuple(self.encodings.forms)):
            if form.needs == (FLOATS,):
                needs = "zvfhmin or zvfh" if form.mnemonic in self.of_halves else "zvfh"
                size = 8 if form.mnemonic in self.of_bytes else 16
                self._halves[size][code] = len(self.encodings.forms)
                self.encodings.forms.append(form._replace(needs=(FLOATS, needs)))
                self.encodings.widths.append(self.width(code))

    def of_binary(self, binary: Binary) -> Decoder:
        """Return a decoder that knows the address in gp, if the linker's symbol ``__global_pointer$`` shows it."""
        addresses = (one.address for one in binary.symbols() if one.name == "__global_pointer$")
        address = next(filter(None, addresses), None)
        if address is None:
            return self
        decoder = copy(self)
        decoder.known = {f.GP: address}
        return decoder

    def decode(self, raw: bytes, address: int) -> Iterator[Instruction]:
        """Yield the instructions. The code of a vector instruction depends on the element size set before it."""
        bits = 0
        for at, after, word in self.placed(raw, address):
            code = self.encodings[word]
            if word & 127 == f.VECTOR and word != NO_WORD:
                bits = f.element_bits(word) if word >> 12 & 7 == f.SETS else bits
                code = self._halves.get(bits, {}).get(code, code)
            elif f.opcode(word) in (f.JAL, f.C_J) or f.through(word) is not None:
                bits = 0  # unknown: the width may be another after a call, or where jumps from elsewhere arrive
            yield Instruction(at, after, code, word)

    def codes(self, raw: bytes, address: int) -> Codes:
        codes = super().codes(raw, address)
        if codes.isdisjoint(self._halves[16].keys() | self._halves[8].keys()):
            return codes
        return frozenset(instruction.code for instruction in self.decode(raw, address))

    def placed(self, raw: bytes, address: int) -> Iterator[Step]:
        halves = numbers_of("H", raw, "little")
        place, end = 0, len(halves)
        while place < end:
            word, at = halves[place], address + 2 * place
            if word & 3 != 3:
                place += 1
                yield at, at + 2, word
            elif word & 0x1C != 0x1C and place + 1 < end:
                word |= halves[place + 1] << 16
                place += 2
                yield at, at + 4, word
            else:  # longer than 32 bits, or cut off
                place += 1
                yield at, at + 2, NO_WORD
        if len(raw) % 2:
            yield address + len(raw) - 1, address + len(raw), NO_WORD

    def steps(self, raw: bytes, address: int) -> Iterator[Step]:
        before: Step | None = None
        for step in self.placed(raw, address):
            if before is not None:
                through = f.through(step[2]) if step[2] != NO_WORD else None
                if through is not None and through.register == f.destination(before[2]):
                    yield before[0], step[1], step[2] << 32 | before[2]
                    before = None
                    continue
                yield before
            before = step if step[2] & 127 == f.AUIPC and step[2] != NO_WORD else None
            if before is None:
                yield step
        if before is not None:
            yield before

    def reference(self, word: int, at: int, addresses: Addresses, linked: bool, fixed: bool) -> Found:
        if word >> 32 > 0:
            first, through = word & 0xFFFFFFFF, f.through(word >> 32)
            assert through is not None
            self.forget(addresses, word)
            kind = Kind.CALL if through.link in f.LINKS else Kind.JUMP
            return kind, at + (f.upper(first) or 0) + through.offset & MASK
        code = self.encodings[word]
        if code in self.stops:
            return self.stops[code], 0
        target, through = f.branch_target(word, at), f.through(word)
        if target is not None:
            self.forget(addresses, word)
            kind = Kind.JUMP if f.opcode(word) in (f.JAL, f.C_J) else Kind.BRANCH
            return (Kind.CALL if f.is_call(word) else kind), target
        if through is not None:
            is_known = through.register in addresses.formed or through.register in addresses.loaded
            if not through.link and through.register in f.LINKS and not is_known:
                return Kind.END, 0
            return self.through_register(word, through.register, addresses, through.offset)
        return self._of_address(word, at, addresses, fixed) if linked else NOTHING

    def _of_address(self, word: int, at: int, addresses: Addresses, fixed: bool) -> Found:
        written, upper, added, accessed = f.written(word), f.upper(word), f.added(word), f.access(word)
        if upper is not None:
            addresses.forget(written)
            if written and (fixed or f.opcode(word) == f.AUIPC):
                addresses.formed[written[0]] = (at if f.opcode(word) == f.AUIPC else 0) + upper & MASK
            return NOTHING
        if added is not None and (base := addresses.formed.get(added[1])) is not None:
            sum_of_both = base + added[2] & MASK
            addresses.forget(written)
            if written:
                addresses.formed[written[0]] = sum_of_both
            return (Kind.NUMBER if fixed else Kind.ADDRESS, sum_of_both) if added[2] else NOTHING
        return addresses.used(accessed, written)

    # ---- facts about one word

    branch_target = staticmethod(f.branch_target)

    def is_call(self, word: int) -> bool:
        return f.is_call(word >> 32 or word)

    def written(self, word: int) -> tuple[int, ...]:
        return f.written(word) if word < 1 << 32 else ()

    def copied(self, word: int) -> tuple[int, int] | None:
        """See `RowDecoder.copied`. A load counts as a copy of its base: after AUIPC, it completes the address."""
        if word >= 1 << 32:
            return None
        added, accessed, written = f.added(word), f.access(word), f.written(word)
        if added is not None and written:
            return added[0], added[1]
        return (written[0], accessed.base) if accessed is not None and accessed.is_load and written else None
