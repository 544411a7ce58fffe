"""AMX's tile configuration on every path of compiled code, read from the machine code of a shared library.

A function starts without a configuration. On every path, one LDTILECFG comes before the first other tile instruction,
and TILERELEASE comes before every way out: a return, a jump to another library's function,
an exception. Where exceptions land is read from the exception tables (Itanium C++ ABI, "Exception Handling Tables").
"""

import io
from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.elffile import ELFFile
from iced_x86 import Code, Decoder, FlowControl, Instruction, Mnemonic, OpKind

CONFIGURE = {Code.VEX_LDTILECFG_M512}
RELEASE = {Code.VEX_TILERELEASE}
DOTS = ["TDPBSSD", "TDPBSUD", "TDPBUSD", "TDPBUUD", "TDPBF16PS"]
TILE = {getattr(Mnemonic, name) for name in ["TILEZERO", "TILELOADD", "TILELOADDT1", "TILESTORED", "STTILECFG", *DOTS]}
# Functions of other libraries that never return, and that never throw.
LAST = {"_Unwind_Resume", "__cxa_throw", "__cxa_rethrow", "__stack_chk_fail", "abort", "_ZSt9terminatev"}
QUIET = {"memcpy", "memset", "memmove", "__cxa_begin_catch", "__stack_chk_fail", "abort", "_ZSt9terminatev"}


@dataclass
class Function:
    """A range of code, and where exceptions of its calls land."""

    start: int
    end: int
    sites: list[tuple[int, int, int]]  # first byte, byte beyond, landing pad or 0


class Library:
    """A shared library's code: its instructions, its functions by its .eh_frame, and what calls go to."""

    def __init__(self, path: Path):
        self.data = path.read_bytes()
        elf = ELFFile(io.BytesIO(self.data))
        self.segments = [
            (s["p_vaddr"], s["p_vaddr"] + s["p_filesz"], s["p_offset"]) for s in elf.iter_segments("PT_LOAD")
        ]
        self.instructions: dict[int, Instruction] = {}
        for section in elf.iter_sections():
            if section["sh_flags"] & 4 and section["sh_type"] == "SHT_PROGBITS":
                for instruction in Decoder(64, section.data(), ip=section["sh_addr"]):
                    self.instructions[instruction.ip] = instruction
        self.imports = {}  # address of a pointer: the symbol that it is set to
        symbols = elf.get_section_by_name(".dynsym")
        for section in elf.iter_sections("SHT_RELA"):
            for relocation in section.iter_relocations():
                self.imports[relocation["r_offset"]] = symbols.get_symbol(relocation["r_info_sym"]).name
        self.functions = sorted(self.read_functions(elf), key=lambda function: function.start)
        self.starts = [function.start for function in self.functions]

    def read_functions(self, elf):
        for entry in elf.get_dwarf_info().EH_CFI_entries():
            if hasattr(entry, "lsda_pointer") and "initial_location" in entry.header:
                start = entry["initial_location"]
                sites = self.read_sites(entry.lsda_pointer, start) if entry.lsda_pointer else []
                yield Function(start, start + entry["address_range"], sites)

    def read_sites(self, address, start):
        """Read a call-site table."""
        reader = Reader(self, address)
        landing_base = reader.encoded(start)
        types = reader.byte()
        if types != 0xFF:
            reader.unsigned()
        encoding = reader.byte()
        assert encoding == 1, "call sites are ULEB128, as GCC and Clang write them"
        end = reader.unsigned()
        end += reader.address
        sites = []
        while reader.address < end:
            first, length, landing, _action = (reader.unsigned() for _ in range(4))
            sites.append((start + first, start + first + length, landing_base + landing if landing else 0))
        return sites

    def at(self, address: int) -> int:
        """Return where an address lies in the file."""
        for first, last, offset in self.segments:
            if first <= address < last:
                return address - first + offset
        raise ValueError(hex(address))

    def function_at(self, address: int) -> Function | None:
        """Return the function that an address lies in."""
        i = bisect_right(self.starts, address) - 1
        return self.functions[i] if i >= 0 and address < self.functions[i].end else None

    def landing_pad(self, call: Instruction) -> int:
        """Return where an exception of a call goes: 0 if out of the function."""
        function = self.function_at(call.ip)
        for first, last, landing in function.sites if function else ():
            if first <= call.ip < last:
                return landing
        return 0

    def imported(self, instruction: Instruction) -> str | None:
        """Return the name of another library's function that a call or jump goes to, by a stub or at once."""
        for _ in range(4):
            if instruction.flow_control in (FlowControl.INDIRECT_BRANCH, FlowControl.INDIRECT_CALL):
                if instruction.is_ip_rel_memory_operand:
                    return self.imports.get(instruction.ip_rel_memory_address)
                return None
            if instruction.op0_kind == OpKind.NEAR_BRANCH64:
                target = instruction.near_branch_target
                if self.function_at(target) and not self.is_stub(target):
                    return None
                instruction = self.instructions[target]
            else:
                instruction = self.instructions.get(instruction.next_ip)
                if instruction is None:
                    return None
        return None

    def is_stub(self, address: int) -> bool:
        """Whether the instructions here jump through a pointer at once: a stub of the PLT."""
        for _ in range(3):
            instruction = self.instructions[address]
            if instruction.flow_control == FlowControl.INDIRECT_BRANCH:
                return instruction.is_ip_rel_memory_operand
            if instruction.mnemonic not in (Mnemonic.ENDBR64, Mnemonic.NOP):
                return False
            address = instruction.next_ip
        return False

    def may_throw(self, call: Instruction, seen: frozenset[int] = frozenset()) -> bool:
        """Whether an exception may come out of a call, as far as can be seen."""
        name = self.imported(call)
        if name is not None or call.flow_control == FlowControl.INDIRECT_CALL:
            return name not in QUIET
        function = self.function_at(call.near_branch_target)
        if function is None or function.start in seen:
            return function is None
        return any(
            self.may_throw(i, seen | {function.start})
            for i in self.body(function)
            if i.flow_control in (FlowControl.CALL, FlowControl.INDIRECT_CALL)
        )

    def body(self, function: Function):
        """Yield a function's instructions in the order of their addresses."""
        address = function.start
        while address < function.end:
            instruction = self.instructions[address]
            yield instruction
            address = instruction.next_ip


class Reader:
    """Reads an exception table."""

    def __init__(self, library: Library, address: int):
        self.binary, self.address = library, address

    def byte(self) -> int:
        self.address += 1
        return self.binary.data[self.binary.at(self.address - 1)]

    def unsigned(self) -> int:
        """Read an ULEB128."""
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def encoded(self, default: int) -> int:
        """Read an encoding and a pointer of that encoding."""
        encoding = self.byte()
        if encoding == 0xFF:
            return default
        base = self.address if encoding & 0x70 == 0x10 else 0
        size, signed = {0: (8, False), 3: (4, False), 11: (4, True)}[encoding & 0x0F]
        return base + int.from_bytes(bytes(self.byte() for _ in range(size)), "little", signed=signed)


def is_tile(instruction: Instruction) -> bool:
    return instruction.mnemonic in TILE or instruction.code in CONFIGURE | RELEASE


def faults(library: Library) -> tuple[int, list[str]]:
    """Follow every path; return how many tile instructions there are, and what is wrong with them."""
    tile_instructions = [i for i in library.instructions.values() if is_tile(i) and library.function_at(i.ip)]
    with_tiles = {library.function_at(i.ip).start for i in tile_instructions}
    jumped_to = {
        i.near_branch_target
        for i in library.instructions.values()
        if i.flow_control in (FlowControl.CONDITIONAL_BRANCH, FlowControl.UNCONDITIONAL_BRANCH)
        and i.op0_kind == OpKind.NEAR_BRANCH64
    }
    landing_pads = {landing for function in library.functions for _, _, landing in function.sites}
    # Parts of functions that lie elsewhere (.cold) are entered by jumps and exceptions, with the state of that place.
    entries = [f.start for f in library.functions if f.start not in jumped_to | landing_pads]

    wrong: dict[str, None] = {}
    states: set[tuple[int, bool]] = set()
    left = [(entry, False) for entry in entries]
    while left:
        address, configured = left.pop()
        if (address, configured) in states:
            continue
        states.add((address, configured))
        instruction = library.instructions.get(address)
        if instruction is None:
            continue

        def fault(what: str, place: Instruction = instruction) -> None:
            wrong[f"{place.ip:#x} {place}: {what}"] = None

        if instruction.code in CONFIGURE:
            if configured:
                fault("a second configuration")
            configured = True
        elif instruction.code in RELEASE:
            if not configured:
                fault("nothing to release")
            configured = False
        elif is_tile(instruction) and not configured:
            fault("no configuration on a path to here")

        following = [instruction.next_ip]
        flow = instruction.flow_control
        if flow in (FlowControl.CONDITIONAL_BRANCH, FlowControl.UNCONDITIONAL_BRANCH):
            name = library.imported(instruction)
            if flow == FlowControl.UNCONDITIONAL_BRANCH:
                following = []
            if name is None:
                following.append(instruction.near_branch_target)
            elif configured:
                fault(f"leaves for {name} without a release")
        elif flow in (FlowControl.RETURN, FlowControl.INDIRECT_BRANCH):
            following = []
            if configured:
                fault("leaves without a release")
        elif flow in (FlowControl.INTERRUPT, FlowControl.EXCEPTION):
            following = []
        elif flow in (FlowControl.CALL, FlowControl.INDIRECT_CALL):
            name = library.imported(instruction)
            landing = library.landing_pad(instruction)
            if configured and landing == 0 and name != "__stack_chk_fail" and library.may_throw(instruction):
                fault(f"an exception of {name or 'the callee'} leaves without a release")
            if configured and name is None and flow == FlowControl.CALL:
                callee = library.function_at(instruction.near_branch_target)
                if callee and callee.start in with_tiles:
                    fault("a call of a function with tiles of its own")
            if name in LAST:
                following = []
            if landing:
                following.append(landing)
        left += [(target, configured) for target in following]

    reached = {address for address, _ in states}
    wrong |= {f"{i.ip:#x} {i}: no path to here is known": None for i in tile_instructions if i.ip not in reached}
    return len(tile_instructions), list(wrong)
