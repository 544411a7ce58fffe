"""The decoders' protocol: the names that it gives to numbers are iced-x86's, and the kinds of code that are decoded."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from iced_x86 import Code, FlowControl, OpAccess, OpKind, Register

from isagen.binary.elf.machines import architecture_of
from isagen.model.errors import AuditError
from isagen.processors import decoding, x86
from isagen.processors.decoding import How
from isagen.processors.registry import codes_of, decoder_of, is_decoded
from isagen.processors.x86 import addresses, decoder, effects
from isagen.processors.x86.iced import iced_x86


def test_flow_control_has_the_numbers_of_iced():
    names = {
        "NEXT": "NEXT",
        "UNCONDITIONAL": "UNCONDITIONAL_BRANCH",
        "INDIRECT_BRANCH": "INDIRECT_BRANCH",
        "CONDITIONAL": "CONDITIONAL_BRANCH",
        "RETURN": "RETURN",
        "CALL": "CALL",
        "INDIRECT_CALL": "INDIRECT_CALL",
        "INTERRUPT": "INTERRUPT",
        "TRANSACTION": "XBEGIN_XABORT_XEND",
        "EXCEPTION": "EXCEPTION",
    }
    assert {ours: getattr(decoding, ours) for ours in names} == {o: getattr(FlowControl, i) for o, i in names.items()}


CODE = bytes.fromhex("90 c5f877 62f17c4858c1 c3 0f1f4000 e800000000 06")


def test_codes_are_those_of_the_decoder():
    codes = codes_of(architecture_of(b"\x7fELF\x02\x01\x01" + bytes(9) + b"\1\0\x3e\0"))
    assert list(codes(CODE)) == [one.code for one in decoder.X86Decoder().decode(CODE, 0)]
    assert codes_of(None) is None
    assert codes_of(architecture_of(b"\x7fELF\x02\x01\x01" + bytes(9) + b"\1\0\xb7\0")) is None


def test_codes_are_read_without_the_names_of_the_library_which_loads_later():
    lines = [
        "import sys",
        "from isagen.processors.x86.iced import codes_in",
        f"found = list(codes_in({CODE!r}))",
        "assert 'iced_x86' not in sys.modules",
        "from isagen.processors.x86.decoder import X86Decoder",
        f"assert found == [one.code for one in X86Decoder().decode({CODE!r}, 0)]",
    ]
    subprocess.run([sys.executable, "-c", "\n".join(lines)], check=True)


def test_operands_and_registers_have_the_numbers_of_iced():
    writes = (OpAccess.WRITE, OpAccess.COND_WRITE, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE)
    assert frozenset(writes) == addresses.WRITES
    reads = (OpAccess.READ, OpAccess.COND_READ, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE)
    assert frozenset(reads) == effects.READS
    arguments = (Register.RDI, Register.RSI, Register.RDX, Register.RCX, Register.R8, Register.R9)
    assert arguments == addresses.ARGUMENTS == effects.ARGUMENTS
    kept = {Register.RBX, Register.RSP, Register.RBP, Register.R12, Register.R13, Register.R14, Register.R15}
    assert kept == effects.KEPT
    assert (Register.RAX, Register.RSP, Register.RIP) == (effects.RESULT, effects.STACK, effects.RIP)
    assert frozenset(range(Register.RAX, Register.R15 + 1)) == effects.GENERAL
    assert (OpKind.REGISTER, OpKind.MEMORY) == (effects.REGISTER, effects.MEMORY)
    numbers = {OpKind.IMMEDIATE32, OpKind.IMMEDIATE64, OpKind.IMMEDIATE8TO64, OpKind.IMMEDIATE32TO64}
    assert numbers == effects.NUMBERS
    assert OpKind.REGISTER == decoder.REGISTER
    assert {OpKind.IMMEDIATE32, OpKind.IMMEDIATE64, OpKind.IMMEDIATE32TO64} == decoder.IMMEDIATES
    assert Code.INVALID == decoder.INVALID


def head(bits=64, order="little", machine=62):
    start = b"\x7fELF" + bytes([bits // 32, 1 if order == "little" else 2]) + bytes(12)
    return start + machine.to_bytes(2, order)


@pytest.mark.parametrize(
    ("start", "shown"),
    [
        (head(machine=183), "AArch64"),
        (head(machine=3, bits=32), "x86 (32-bit)"),
        (head(bits=32), "x86-64 (32-bit)"),
        (head(order="big"), "x86-64 (big-endian)"),
        (head(order="big", machine=22), "S390"),
        (head(machine=4321), "machine 4321"),
    ],
)
def test_code_that_is_not_decoded(start, shown):
    architecture = architecture_of(start)
    assert architecture is not None
    assert (architecture.shown, is_decoded(architecture)) == (shown, False)
    with pytest.raises(AuditError, match=r"^f.so: code for .* is not decoded") as error:
        decoder_of(architecture, "f.so")
    assert f"code for {shown} is not decoded" in str(error.value)


def test_code_that_is_decoded():
    architecture = architecture_of(head())
    assert architecture is not None
    assert is_decoded(architecture)
    assert decoder_of(architecture, "f.so").name == "x86"


def test_a_file_that_names_no_processor():
    assert [architecture_of(start) for start in (head(machine=0), head()[:19], b"\x7fELF\3\1", b"")] == [None] * 4
    with pytest.raises(AuditError, match=r"f.so: does not say which processor"):
        decoder_of(None, "f.so")


RAX, RDX, RSI, RDI, RSP = 53, 55, 59, 60, 57


@pytest.mark.parametrize(
    ("raw", "how", "to", "source", "number", "reads"),
    [
        ("488d3510000000", How.ADDRESS, RSI, 0, None, set()),  # lea rsi, [rip+0x10]
        ("4889c7", How.COPY, RDI, RAX, None, {RAX}),  # mov rdi, rax
        ("4883c210", How.ADD, RDX, 0, 0x10, {RDX}),  # add rdx, 0x10
        ("4801d0", How.ADD, RAX, RDX, None, {RAX, RDX}),  # add rax, rdx
        ("4898", How.EXTEND, RAX, RAX, None, {RAX}),  # cdqe
        ("48630482", How.LOAD, RAX, 0, None, set()),  # movsxd rax, dword ptr [rdx+rax*4]
        ("bf78563412", How.NUMBER, RDI, 0, 0x12345678, set()),  # mov edi, 0x12345678
        ("488902", How.OTHER, 0, 0, None, {RAX}),  # mov [rdx], rax
        ("488912", How.OTHER, 0, 0, None, {RDX}),  # mov [rdx], rdx
        ("ffd0", How.OTHER, 0, 0, None, {RAX, RSP}),  # call rax
        ("f348a5", How.OTHER, 0, 0, None, {54, RSI, RDI}),  # rep movsq
    ],
)
def test_what_an_instruction_does_to_registers(raw, how, to, source, number, reads):
    x86 = decoder.X86Decoder()
    (instruction,) = x86.decode(bytes.fromhex(raw), 0x1000)
    effect = x86.effect(instruction)
    assert (effect.how, effect.number, set(effect.reads)) == (how, number, reads)
    if how != How.OTHER:
        assert (effect.to, effect.source) == (to, source)


def test_build_folders_have_the_numbers_that_the_decoder_asks_for():
    """And no other module of iced-x86."""
    folder = Path(x86.__file__).parent
    asked = {kind for path in folder.glob("*.py") for kind in re.findall(r'\bnumbers\("(\w+)"\)', path.read_text())}
    assert asked == set(x86.NUMBERS)
    parts = x86.PROCESSOR.decoder_parts()
    assert {name.removesuffix(".py") for name in parts if name.endswith(".py")} == asked
    assert [name for name in parts if not name.endswith(".py")] == [Path(iced_x86.__file__).name]
