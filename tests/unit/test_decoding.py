"""The decoders' protocol: the names that it gives to numbers are iced-x86's, and the kinds of code that are decoded."""

import re
from pathlib import Path

import pytest
from iced_x86 import Code, ConditionCode, FlowControl, OpAccess, OpKind, Register

from isagen.binary.elf.machines import architecture_of
from isagen.model.errors import AuditError
from isagen.processors import x86
from isagen.processors.decoding import Kind
from isagen.processors.registry import codes_of, decoder_of, is_decoded
from isagen.processors.x86 import decoder, tracking
from isagen.processors.x86.iced import iced_x86


def test_flow_control_has_the_numbers_of_iced():
    names = {
        "NEXT": "NEXT",
        "GOES": "UNCONDITIONAL_BRANCH",
        "GOES_INDIRECT": "INDIRECT_BRANCH",
        "BRANCHES": "CONDITIONAL_BRANCH",
        "RETURNS": "RETURN",
        "CALLS": "CALL",
        "CALLS_INDIRECT": "INDIRECT_CALL",
        "INTERRUPT": "INTERRUPT",
        "TRANSACTION": "XBEGIN_XABORT_XEND",
        "EXCEPTION": "EXCEPTION",
    }
    assert {ours: getattr(decoder, ours) for ours in names} == {o: getattr(FlowControl, i) for o, i in names.items()}
    assert frozenset({FlowControl.CALL, FlowControl.INDIRECT_CALL}) == tracking.CALLS


CODE = bytes.fromhex("90 c5f877 62f17c4858c1 c3 0f1f4000 e800000000 06")


def test_codes_are_those_of_the_decoder():
    codes = codes_of(architecture_of(b"\x7fELF\x02\x01\x01" + bytes(9) + b"\1\0\x3e\0"))
    assert list(codes(CODE)) == [one.code for one in decoder.X86Decoder().decode(CODE, 0)]
    assert codes_of(None) is None
    assert codes_of(architecture_of(b"\x7fELF\x02\x01\x01" + bytes(9) + b"\1\0\xb7\0")) is None


def test_operands_and_registers_have_the_numbers_of_iced():
    writes = (OpAccess.WRITE, OpAccess.COND_WRITE, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE)
    assert frozenset(writes) == tracking.WRITES
    arguments = (Register.RDI, Register.RSI, Register.RDX, Register.RCX, Register.R8, Register.R9)
    assert arguments == tracking.ARGUMENTS
    kept = {Register.RBX, Register.RSP, Register.RBP, Register.R12, Register.R13, Register.R14, Register.R15}
    assert kept == tracking.KEPT
    assert (Register.AH, Register.BH) == (tracking.AH, tracking.BH)
    assert {ConditionCode.S, ConditionCode.NS} == tracking.SIGNS
    assert (OpKind.REGISTER, OpKind.MEMORY) == (tracking.REGISTER, tracking.MEMORY)
    assert (OpKind.REGISTER, OpKind.MEMORY) == (decoder.REGISTER, decoder.MEMORY)
    every = {number for name, number in vars(OpKind).items() if name.startswith("IMMEDIATE")}
    assert every == tracking.IMMEDIATES == decoder.NUMBERS
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


@pytest.mark.parametrize(
    ("raw", "kind", "address"),
    [
        ("e810000000", Kind.CALL, 0x1015),
        ("eb10", Kind.JUMP, 0x1012),
        ("7410", Kind.BRANCH, 0x1012),
        ("ff1510000000", Kind.CALL_SLOT, 0x1016),
        ("ff2510000000", Kind.JUMP_SLOT, 0x1016),
        ("ffd0", Kind.CALL_UNKNOWN, 0),
        ("ff24c500100000", Kind.JUMP_UNKNOWN, 0),  # jmp [rax*8+0x1000]
        ("c3", Kind.END, 0),
        ("0f0b", Kind.END, 0),  # ud2
        ("488d3510000000", Kind.ADDRESS, 0x1017),  # lea rsi, [rip+0x10]
        ("488b3510000000", Kind.LOAD, 0x1017),  # mov rsi, [rip+0x10]
        ("8b3510000000", Kind.FLAG, 0x1016),  # mov esi, [rip+0x10]
        ("803d1000000000", Kind.FLAG, 0x1017),  # cmp byte ptr [rip+0x10], 0
        ("893510000000", Kind.WRITE, 0x1016),  # mov [rip+0x10], esi
        ("48893510000000", Kind.WRITE, 0x1017),  # mov [rip+0x10], rsi
        ("0fa2", Kind.QUESTION, 0),  # cpuid
        ("06", Kind.INVALID, 0),
    ],
)
def test_what_an_instruction_refers_to(raw, kind, address):
    content = bytes.fromhex(raw)
    (found,) = decoder.X86Decoder().references(content, 0x1000)
    assert found == (0x1000, 0x1000 + len(content), kind, address)


def test_numbers_that_may_be_addresses():
    x86 = decoder.X86Decoder()
    for raw in ("bf78563412", "8b04c578563412"):  # mov edi, 0x12345678; mov eax, [rax*8+0x12345678]
        assert list(x86.references(bytes.fromhex(raw), 0)) == []
        (found,) = x86.references(bytes.fromhex(raw), 0, fixed=True)
        assert (found.kind, found.address) == (Kind.NUMBER, 0x12345678)
        assert 0x12345678 in x86.named(bytes.fromhex(raw), 0, True)


LEA_RDI, LEA_RBX, MOV, CALL = "488d3d10000000", "488d1d10000000", "4889df", "e800000000"


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([LEA_RDI, CALL], 0x1234),
        ([LEA_RBX, MOV, CALL], 0x1234),
        ([LEA_RBX, CALL, MOV, CALL], 0x1234),  # a register that calls preserve
        ([LEA_RDI, CALL, CALL], 0),
        ([LEA_RDI, "480f44f8", CALL], 0),  # cmove rdi, rax
        ([CALL], 0),
    ],
)
def test_the_argument_of_a_call(parts, expected):
    raw = [bytes.fromhex(part) for part in parts]
    last = 0x1000 + sum(map(len, raw[:-1]))
    found = decoder.X86Decoder().handed(b"".join(raw), 0x1000, {0x1000: 0x1234}, (), {last: (0, 1)})
    assert found == {last: [expected, 0]}
    assert decoder.X86Decoder().handed(b"".join(raw), 0x1000, {0x1000: 0x1234}, {last}, {last: (0,)}) == {last: [0]}


def test_the_bits_that_code_tests():
    x86 = decoder.X86Decoder()
    words = {0x2000: -1, 0x200C: 0, 0x3000: 32}
    near = "f605{:08x}10".format(int.from_bytes((0x3000 - 0x1007).to_bytes(4, "little"), "big"))
    assert x86.asked(bytes.fromhex(near), 0x1000, words, {}) == {36}  # test byte ptr [rip+..], 0x10
    slot = "488b05f90f0000 f6400d04"  # mov rax, [rip+..]; test byte ptr [rax+0xd], 4
    assert x86.asked(bytes.fromhex(slot), 0x1000, words, {0x2000: 0x2000}) == {10}
    model = "488b05f90f0000 83780803"  # cmp dword ptr [rax+8], 3
    assert x86.asked(bytes.fromhex(model), 0x1000, {**words, 0x2008: -1}, {0x2000: 0x2000}) == {-1}


def test_build_folders_have_the_numbers_that_the_decoder_asks_for():
    """And no other module of iced-x86."""
    folder = Path(x86.__file__).parent
    asked = {kind for path in folder.glob("*.py") for kind in re.findall(r'\bnumbers\("(\w+)"\)', path.read_text())}
    assert asked == set(x86.NUMBERS)
    parts = x86.PROCESSOR.decoder_parts()
    assert {name.removesuffix(".py") for name in parts if name.endswith(".py")} == asked
    assert [name for name in parts if not name.endswith(".py")] == [Path(iced_x86.__file__).name]
