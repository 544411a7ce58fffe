"""The base class of decoders that look up instructions in a table of encodings (`encodings`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from .addresses import Addresses, Found
from .decoding import LEAVES, Abi, Codes, Decoder, Kind, Reference
from .decoding import Instruction as AnyInstruction
from .encodings import INVALID, Encodings
from .instructions import OR, Instructions, normal_name

FOLDER = Path(__file__).parent
MOST_WALKS = 6  # through a function: if loops are nested, each walk may find the registers of more blocks
Step = tuple[int, int, int]  # address of an instruction, the address after it, its word


class Instruction(NamedTuple):
    """One instruction (`isagen.processors.decoding.Instruction`); `word` is its encoding."""

    ip: int
    next_ip: int
    code: int
    word: int


class RowDecoder(Decoder, ABC):
    """A decoder that looks up instructions in `instructions.toml` of its folder.

    `key` is the mask of the bits by which rows are indexed. An instruction whose mnemonic starts with one of `ends`
    does not continue with the next instruction. `known` are the addresses in registers that no function writes.
    """

    key: int
    ends: tuple[str, ...]
    invalid = INVALID
    passes_features = True
    known: Mapping[int, int] = {}

    def __init__(self, abi: Abi) -> None:
        self.abi = abi
        self.encodings = Encodings(FOLDER / self.name, self.key)
        forms = enumerate(self.encodings.forms)
        self.end_codes = {code for code, form in forms if form.mnemonic.startswith(self.ends)}

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

    # ---- the protocol

    def needs(self, rules: Instructions) -> Mapping[int, frozenset[str]]:
        ours = {normal_name(name): name for name in rules.features}

        def name_of(feature: str) -> str:
            names = (rules.names.get(one) or ours.get(normal_name(one), one) for one in feature.split(OR))
            return OR.join(dict.fromkeys(names))

        result = {}
        for code, form in enumerate(self.encodings.forms):
            needed = frozenset(name_of(one) for one in form.needs if rules.always.isdisjoint(one.split(OR)))
            if needed and form.mnemonic not in rules.harmless:
                result[code] = needed
        return result

    def codes_of(self, mnemonic: str) -> Codes:
        return frozenset(code for code, form in enumerate(self.encodings.forms) if form.mnemonic == mnemonic)

    def width(self, code: int) -> int:
        """See `Decoder.width`. A register whose width depends on the CPU counts as 128 bits, the smallest width."""
        return self.encodings.forms[code].width

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
        """Return the references, and the addresses in registers at the starts of blocks that only backward jumps reach.

        Instructions are read in the order of their addresses, so such a block is read before the jump to it. `behind`
        contains the addresses that an earlier walk returned for these blocks.
        """
        # `left`: control does not go on from the instruction before
        addresses, left = Addresses(dict(self.known)), False
        found: list[Reference] = []
        ahead: dict[int, Addresses] = {}  # at the targets of forward jumps
        seen: dict[int, Addresses | None] = {}  # as returned; None until a jump to the block is read
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
        """Return the reference of a branch or call through a register. Forget the registers that a call may change."""
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
            addresses.forget({*addresses.formed, *addresses.loaded} - self.abi.preserved)

    def text(self, instruction: AnyInstruction) -> str:
        """Return the mnemonic with a branch's target, or with the word, because operands are not decoded."""
        assert isinstance(instruction, Instruction)
        mnemonic = self.encodings.forms[instruction.code].mnemonic
        target = self.branch_target(instruction.word, instruction.ip)
        return f"{mnemonic} {target:#x}" if target is not None else f"{mnemonic} ({self.shown(instruction)})"

    def shown(self, instruction: Instruction) -> str:
        """Return an instruction's word in hexadecimal digits."""
        return f"{instruction.word:0{2 * (instruction.next_ip - instruction.ip)}x}"

    def tested_bits(
        self, raw: bytes, address: int, words: Mapping[int, int], slots: Mapping[int, int]
    ) -> frozenset[int]:
        """Return -1, a test of unknown bits: masks are in registers, whose values are not followed."""
        return frozenset({-1})
