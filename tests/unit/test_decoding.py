"""The decoders' protocol: what instructions refer to, and the kinds of code that are decoded."""

import pytest

from isagen.binary.elf.layout import architecture_of
from isagen.model.errors import AuditError
from isagen.processors.decoding import Kind
from isagen.processors.registry import decoder_of, is_decoded
from isagen.processors.s390x import fields as s390x
from isagen.processors.x86 import ELF, decoder


def head(bits=64, order="little", machine=62):
    start = b"\x7fELF" + bytes([bits // 32, 1 if order == "little" else 2]) + bytes(12)
    return start + machine.to_bytes(2, order)


@pytest.mark.parametrize(
    ("start", "shown"),
    [
        (head(order="big", machine=183), "AArch64"),
        (head(machine=258), "LoongArch"),
        (head(machine=3, bits=32), "x86 (32-bit)"),
        (head(bits=32), "x86-64 (32-bit)"),
        (head(order="big"), "x86-64 (big-endian)"),
        (head(order="big", machine=21), "64-bit PowerPC"),
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
    assert decoder_of(architecture_of(head(machine=183)), "f.so").name == "arm64"


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
        ("0fa2", Kind.CPU_CHECK, 0),  # cpuid
        ("06", Kind.INVALID, 0),
    ],
)
def test_what_an_instruction_refers_to(raw, kind, address):
    content = bytes.fromhex(raw)
    (found,) = decoder.X86Decoder(ELF).references(content, 0x1000)
    assert found == (0x1000, 0x1000 + len(content), kind, address)


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        (0x18000080, Kind.FLAG),  # ldr w0, .+16
        (0x58000080, Kind.LOAD),  # ldr x0, .+16
        (0x98000080, Kind.FLAG),  # ldrsw x0, .+16
        (0x1C000080, Kind.READ),  # ldr s0, .+16
        (0x5C000080, Kind.READ),  # ldr d0, .+16
    ],
)
def test_what_a_literal_of_arm64_is(word, kind):
    arm64 = decoder_of(architecture_of(head(machine=183)), "f.so")
    assert list(arm64.references(word.to_bytes(4, "little"), 0x1000)) == [(0x1000, 0x1004, kind, 0x1010)]


def test_numbers_that_may_be_addresses():
    x86 = decoder.X86Decoder(ELF)
    for raw in ("bf78563412", "8b04c578563412"):  # mov edi, 0x12345678; mov eax, [rax*8+0x12345678]
        assert list(x86.references(bytes.fromhex(raw), 0)) == []
        (found,) = x86.references(bytes.fromhex(raw), 0, fixed=True)
        assert (found.kind, found.address) == (Kind.NUMBER, 0x12345678)


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
    found = decoder.X86Decoder(ELF).call_arguments(b"".join(raw), 0x1000, {0x1000: 0x1234}, (), {last: (0, 1)})
    assert found == {last: [expected, 0]}
    assert decoder.X86Decoder(ELF).call_arguments(b"".join(raw), 0x1000, {0x1000: 0x1234}, {last}, {last: (0,)}) == {
        last: [0]
    }


def test_the_bits_that_code_tests():
    x86 = decoder.X86Decoder(ELF)
    words = {0x2000: -1, 0x200C: 0, 0x3000: 32}
    near = "f605{:08x}10".format(int.from_bytes((0x3000 - 0x1007).to_bytes(4, "little"), "big"))
    assert x86.tested_bits(bytes.fromhex(near), 0x1000, words, {}) == {36}  # test byte ptr [rip+..], 0x10
    slot = "488b05f90f0000 f6400d04"  # mov rax, [rip+..]; test byte ptr [rax+0xd], 4
    assert x86.tested_bits(bytes.fromhex(slot), 0x1000, words, {0x2000: 0x2000}) == {10}
    model = "488b05f90f0000 83780803"  # cmp dword ptr [rax+8], 3
    assert x86.tested_bits(bytes.fromhex(model), 0x1000, {**words, 0x2008: -1}, {0x2000: 0x2000}) == {-1}


def test_blocks_that_only_jumps_back_reach():
    """Registers have the values of the jump. Those of the inner block follow from those of the outer one."""
    words = (
        0xB000001A,  # 0: adrp x26, 0x1000
        0x14000005,  # 4: b 0x18
        0x9110035A,  # 8: outer: add x26, x26, #0x400
        0x14000003,  # 0xc: b 0x18
        0xD503201F,  # 0x10: inner: nop
        0x54FFFFA9,  # 0x14: b.ls outer
        0xD280001A,  # 0x18: mov x26, #0
        0x54FFFFA9,  # 0x1c: b.ls inner
        0xD65F03C0,  # 0x20: ret
    )
    raw = b"".join(word.to_bytes(4, "little") for word in words)
    arm64 = decoder_of(architecture_of(head(machine=183)), "f.so")
    kinds = [(one.at, one.kind) for one in arm64.references(raw, 0)]
    assert (8, Kind.ADDRESS) not in kinds
    assert (0x14, Kind.BRANCH) in kinds


@pytest.mark.parametrize(
    ("raw", "registers"),
    [
        ("0e24", {2, 3, 4, 5}),  # mvcl %r2,%r4
        ("0f24", {2, 3, 4, 5}),  # clcl %r2,%r4
        ("a8240000", {2, 3, 4, 5}),  # mvcle %r2,%r4,0
        ("eb240000008e", {2, 3, 4, 5}),  # mvclu %r2,%r4,0
        ("eb240000008f", {2, 3, 4, 5}),  # clclu %r2,%r4,0
        ("b92d6024", {2, 3, 4, 5, 6, 7}),  # kmctr %r2,%r6,%r4
        ("b9296024", {2, 3, 4, 5, 6, 7}),  # kma %r2,%r6,%r4
        ("ef2580009000", {2, 3, 4, 5}),  # lmd %r2,%r5,0(%r8),0(%r9)
        ("0a04", {2}),  # svc 4
        ("dd0020003000", {1, 2}),  # trt 0(1,%r2),0(%r3)
        ("e61200000050", {1, 2}),  # vcvb %r1,%v2,0
        ("e61200003058", set()),  # vcvd %v1,%r2,3,0
        ("e6120000305a", set()),  # vcvdg %v1,%r2,3,0
    ],
)
def test_the_registers_that_s390x_writes(raw, registers):
    """Some instructions may write one register too many: the default is a pair."""
    assert set(s390x.written(int(raw.ljust(12, "0"), 16))) == registers
