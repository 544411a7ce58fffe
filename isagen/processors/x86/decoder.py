"""Decoding the code of x86-64 with iced-x86 (`isagen.processors.decoding.Decoder`), and its relocation types."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import chain
from operator import attrgetter

from ...binary.pointing import Relocations
from ..decoding import Codes, Effect, Instruction, Loaded
from .addresses import X86Addresses
from .effects import ARGUMENTS, KEPT, RESULT, STACK, X86Effects
from .iced import iced_x86, numbers
from .instructions import INVALID, needs, own_numbers, require_decoder

TYPE_CHECKING = False  # as in typing
if TYPE_CHECKING:
    from ..features import Features

# Of an instruction; faster than a generator expression.
CODE = attrgetter("code")
NAMED = attrgetter("near_branch_target", "ip_rel_memory_address")
NAMED_AT_FIXED_PLACES = attrgetter("near_branch_target", "ip_rel_memory_address", "immediate32")
# iced-x86's OpKind: a register; immediates that an address fits into.
REGISTER, IMMEDIATES = 0, frozenset({9, 10, 14})
# Relocation types in ELF (x86-64 psABI 1.0, "Relocation Types"); the first are GOTPCREL and its newer spellings.
THROUGH_GOT = frozenset({9, 41, 42, 43})
R_64, GLOB_DAT, JUMP_SLOT, RELATIVE, IRELATIVE = 1, 6, 7, 8, 37
ELF = Relocations(
    absolute=frozenset({R_64, 10, 11}),  # and the 32-bit ones, 32 and 32S
    relative=THROUGH_GOT | {2, 4, 24, 44, 45},  # PC32, PLT32, PC64, and newer spellings of the GOT's
    through_slot=THROUGH_GOT,
    slot=frozenset({R_64, GLOB_DAT, JUMP_SLOT}),
    rebased=RELATIVE,
    resolved=IRELATIVE,
)
# The registers in the names of iced-x86's OpCodeOperandKind, with their widths; a tile has 16 rows of 512 bits.
WIDTHS = {"XMM": 128, "YMM": 256, "ZMM": 512, "TMM": 8192, "SIBMEM": 8192}
# Padding between functions, by assemblers and linkers: zeros, breakpoints, and no-operations of all lengths.
PADDING = re.compile(
    rb"(?:[\x00\xcc]|\x66*\x90|\x66*\x2e?\x0f\x1f(?:\x00|\x40\x00|\x44\x00\x00|\x80\x00{4}|\x84\x00{5}))*"
)


class X86Decoder:
    """The instructions of x86-64. Raises `AuditError` where iced-x86 is not installed.

    `kept` are its `numbers`, which take long to load.
    """

    name = "x86"
    relocations = {"elf": ELF}  # noqa: RUF012
    invalid = INVALID
    longest = 15
    jump_size = 24
    number_size = 4
    # The first bytes of functions by Clang before 17, -fsanitize=function: a jump over a mark and the offset of the
    # function's type, which are no instructions (LLVM 16, TargetInfo.cpp, X86_64TargetCodeGenInfo).
    mark, mark_size = b"\xeb\x06v2", 8
    # Variables of libgcc, and of glibc in programs and in itself, which hold what CPUID told.
    answers = ("__cpu_model", "__cpu_features2", "_dl_x86_", "_rtld_global_ro")
    # libgcc's and compiler-rt's, and those of C libraries.
    informants = frozenset(
        {"__cpu_indicator_init", "__get_cpuid_max", "__get_cpuid", "__get_cpuid_count", "__x86_get_cpuid_feature_leaf"}
        | {"getauxval", "__get_cpu_features", "__x86_get_cpu_features", "_dl_x86_get_cpu_features", "elf_aux_info"}
    )
    # Indirect calls behind a barrier to speculation (-mindirect-branch=thunk, -mretpoline).
    thunks = ("__x86_indirect_thunk", "__llvm_retpoline", "__llvm_lvi_thunk")
    arguments, result, stack, kept = ARGUMENTS, RESULT, STACK, KEPT

    def __init__(self, kept: Mapping[str, tuple[int, ...]] | None = None) -> None:
        require_decoder()
        self.numbers = kept or own_numbers()
        self.asking: Codes = frozenset(self.numbers["asking"])
        # MOV and its conditional kinds.
        self._moves = frozenset(self.numbers["mov"] + self.numbers["chooses"])
        (self._lea,) = self.numbers["lea"]

    def decode(self, raw: bytes, address: int) -> Iterator[iced_x86.Instruction]:
        """Yield the instructions in `raw`, which is at an address."""
        return iter(iced_x86.Decoder(64, raw, ip=address))

    def codes(self, raw: bytes, address: int) -> Codes:
        """Return the codes of the instructions in `raw`, which is at an address."""
        return frozenset(map(CODE, iced_x86.Decoder(64, raw, ip=address)))

    def named(self, raw: bytes, address: int, fixed: bool) -> set[int]:
        """Return the addresses that the instructions in `raw` name, and numbers that are none."""
        named = NAMED_AT_FIXED_PLACES if fixed else NAMED
        return set(chain.from_iterable(map(named, iced_x86.Decoder(64, raw, ip=address))))

    def text(self, instruction: Instruction) -> str:
        """Return an instruction as Intel's assembly has it."""
        assert isinstance(instruction, iced_x86.Instruction)
        return self._formatter.format(instruction)

    @cached_property
    def _formatter(self) -> iced_x86.Formatter:
        formatter = iced_x86.Formatter(numbers("FormatterSyntax")["INTEL"])  # type: ignore[arg-type]
        formatter.hex_prefix, formatter.hex_suffix = "0x", ""
        formatter.rip_relative_addresses = True
        formatter.space_after_operand_separator = True
        return formatter

    def padding(self, raw: bytes) -> int:
        """Return how many bytes `raw` starts with that assemblers and linkers put between functions."""
        found = PADDING.match(raw)
        return found.end() if found else 0

    def jump(self, raw: bytes, address: int) -> int:
        """Return the address of the pointer that a jump of the linker's tables goes through; 0 if there is none.

        The code jumps through the pointer, or loads it for a thunk (-z retpolineplt).
        """
        for instruction in iced_x86.Decoder(64, raw, ip=address):
            if instruction.is_ip_rel_memory_operand:
                return instruction.ip_rel_memory_address
        return 0

    def loaded(self, instruction: Instruction) -> tuple[Loaded, int]:
        """Return what an instruction loads into a register: how, and the address or number."""
        assert isinstance(instruction, iced_x86.Instruction)
        lea = instruction.mnemonic == self._lea
        if instruction.op0_kind != REGISTER or not (lea or instruction.mnemonic in self._moves):
            return Loaded.NOTHING, 0
        if instruction.op_count == 2 and instruction.op1_kind in IMMEDIATES:
            return Loaded.NUMBER, instruction.immediate(1)
        if not instruction.is_ip_rel_memory_operand:
            return Loaded.NOTHING, 0
        return Loaded.ADDRESS if lea else Loaded.POINTER, instruction.ip_rel_memory_address

    def addresses(self) -> X86Addresses:
        """Return the addresses in registers when a function starts: none is known."""
        return X86Addresses(self.numbers)

    def effect(self, instruction: Instruction) -> Effect:
        """Return what an instruction does to registers."""
        assert isinstance(instruction, iced_x86.Instruction)
        return self._effects.of(instruction)

    @cached_property
    def _effects(self) -> X86Effects:
        return X86Effects(self.numbers)

    def width(self, code: int) -> int:
        """Return the width in bits of the widest vector or tile register of a code's instructions; 0 without one."""
        encoding = iced_x86.OpCodeInfo(code)  # type: ignore[arg-type]
        kinds = (encoding.op_kind(number) for number in range(encoding.op_count))
        return max((self._widths.get(kind, 0) for kind in kinds), default=0)

    @cached_property
    def _widths(self) -> Mapping[int, int]:
        kinds = numbers("OpCodeOperandKind")
        return {
            number: width
            for name, number in kinds.items()
            for register, width in WIDTHS.items()
            if name.startswith((register, f"MEM_VSIB32{register[0]}", f"MEM_VSIB64{register[0]}"))
        }

    def needs(self, features: Features) -> Mapping[int, frozenset[str]]:
        """Return the features that codes need, without codes that every CPU has or ignores."""
        return needs(features)
