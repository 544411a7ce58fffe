"""The audit of assembly with few types and sizes, in files with isagen's record."""

import re
import subprocess
from dataclasses import replace

import pytest

from isagen.audit.records import Baseline
from isagen.model.errors import AuditError
from isagen.model.record import Allowance
from isagen.processors.table import load_table
from support.damaged import mutations
from support.foreign import audit_targets, number_of
from support.level_code import BASELINE, Level, assembly_of
from support.model import record_of
from support.projects import need

RECORD = record_of(
    project="assembly", baseline=BASELINE, levels={"DEFAULT": BASELINE, "AVX2": (*BASELINE, "avx", "avx2")}
)


@pytest.fixture
def audited(tmp_path):
    """Assemble and link functions, with a record; return the audit, and the findings by symbol."""
    need("gcc")

    def audited(text, *flags, record=RECORD):
        source, library = tmp_path / "source.s", tmp_path / "library.so"
        source.write_text(f"  .text\n{text}{assembly_of(record)}")
        subprocess.run(["gcc", source, "-o", library, *(flags or ("-shared",))], check=True)
        features = load_table("x86-64", tmp_path, "").required_features("X86_64")
        (result,) = audit_targets([library], Baseline("X86_64", features))
        return result, {f.symbol: f for f in result.findings}

    return audited


def function(name, body, after=""):
    return f"  .globl {name}\n  .type {name}, @function\n{name}:\n{body}\n  .size {name}, .-{name}\n{after}\n"


HELPER = "helper:\n  vpaddd %ymm0, %ymm1, %ymm2\n  ret"


@pytest.mark.parametrize(
    "body",
    ["  call helper\n  ret", "  jmp helper", "  jz helper\n  ret", "  leaq helper(%rip), %rax\n  call *%rax\n  ret"],
)
@pytest.mark.parametrize("align", ["", "  .p2align 6\n"])
def test_code_without_type_and_size_that_a_function_leads_to(audited, body, align):
    result, _ = audited(function("entry", body, align + HELPER + "\n  .p2align 4") + function("other", "  ret"))
    assert [(f.kind, f.symbol, f.features) for f in result.findings] == [("baseline", "helper", ("avx2",))]
    assert result.counted == {}


def test_code_that_only_such_code_leads_to(audited):
    chain = "first:\n  call second\n  ret\n  nop\nsecond:\n  jmp third\n  int3\nthird:\n  vzeroupper\n  ret"
    _, found = audited(function("entry", "  call first\n  ret", chain))
    assert {symbol: f.instruction for symbol, f in found.items()} == {"second": "vzeroupper"}


SHORT = """
  .globl entry
  .type entry, @function
entry:
  movl $1, %eax
{cut}
  vpaddd %ymm0, %ymm1, %ymm2
{after}
"""


@pytest.mark.parametrize(
    ("cut", "after"),
    [
        ("  .size entry, .-entry", "  ret"),
        ("  jnz 1f\n  ret\n  .size entry, .-entry\n1:", "  ret"),
        ("  call other\n  .size entry, .-entry", "  ret"),
        ("", "  .size entry, .-entry - 2\n  ret"),  # in the middle of the instruction
        ("", "  ret\n  .size entry, 6"),
    ],
)
def test_code_beyond_the_size_that_control_runs_into(audited, cut, after):
    text = SHORT.format(cut=cut, after=after) + "  .p2align 4\n" + function("other", "  ret")
    result, found = audited(text)
    assert [(f.kind, f.features) for f in found.values()] == [("baseline", ("avx2",))]
    assert result.counted == {} or "undecodable" in result.counted
    _, found = audited(text + '  .section .init_array, "aw"\n  .quad entry\n')
    assert {f.kind for f in found.values()} == {"load"}


def test_data_after_a_function_that_does_not_return_is_no_code(audited):
    data = "  .byte 0xc5, 0xf5, 0xfe, 0xd0, 0x06, 0x0e, 0x1e\n  .fill 40, 1, 7\n"
    result, found = audited(function("entry", "  call other", data) + function("other", "  ud2"))
    assert (found, number_of(result.counted)) == ({}, {"avx2": 1})


def test_a_function_that_runs_into_the_next(audited):
    text = function("first", "  nop") + "  .p2align 4\n" + function("second", "  vzeroupper\n  ret")
    _, found = audited(text + '  .section .init_array, "aw"\n  .quad first\n')
    assert (found["second"].kind, found["second"].path) == ("load", ("first", "second"))


@pytest.mark.parametrize(
    "flags",
    [
        ["-shared"],
        ["-no-pie"],
        ["-static"],
        ["-shared", "-Wl,-z,pack-relative-relocs"],
        ["-shared", "-fuse-ld=lld", "-Wl,-z,rel"],
    ],
    ids=" ".join,
)
def test_a_label_that_only_a_table_leads_to(audited, flags):
    if "-fuse-ld=lld" in flags:
        need("ld.lld")
    table = '  .section .data.rel.ro, "aw"\n  .balign 8\ntable:\n  .quad main\n  .quad helper\n'
    text = function("main", "  leaq table(%rip), %rax\n  call *8(%rax)\n  ret", HELPER + "\n  .p2align 4")
    result, found = audited(text + table, *flags)
    assert found["helper"].features == ("avx2",)
    assert not result.counted.get("avx2") or "-static" in flags
    # What no table names is counted still.
    result, found = audited(text + table.replace("helper", "main"), *flags)
    assert "helper" not in found
    assert result.counted["avx2"]


def test_code_that_nothing_leads_to_is_counted(audited):
    result, found = audited(function("entry", "  ret", HELPER))
    assert (found, number_of(result.counted)) == ({}, {"avx2": 1})


def test_programs_at_fixed_addresses(audited):
    text = function("main", "  movl $helper, %eax\n  call *%rax\n  ret", HELPER)
    assert list(audited(text, "-no-pie")[1]) == ["helper"]


def test_data_that_a_function_points_to_is_not_code(audited):
    table = "table:\n  .byte 0xc5, 0xf5, 0xfe, 0xd0, 0x06, 0x0e, 0x1e\n  .fill 40, 1, 7\n"
    data = function("entry", "  leaq table(%rip), %rax\n  ret", table)
    result, found = audited(data)
    assert (found, number_of(result.counted)) == ({}, {"avx2": 1})
    # With a type it is no code, even if its bytes could be.
    data = function("entry", "  leaq helper(%rip), %rax\n  ret", f"  .type helper, @object\n{HELPER}")
    data += "  .size helper, .-helper\n"
    assert audited(data)[1] == {}


def test_a_function_goes_on_after_one_that_is_nested_in_it(audited):
    inner = function("inner", "  vzeroupper\n  ret")
    outer = function("outer", f"  jmp 1f\n{inner}1:  vpaddd %ymm0, %ymm1, %ymm2\n  ret")
    entry = function("entry", "  jmp outer")
    text = outer + entry
    for code in (text, entry + outer):  # without libraries, nothing follows the last function
        result, found = audited(code, "-shared", "-nostdlib")
        assert {symbol: f.instruction.split()[0] for symbol, f in found.items()} == {
            "inner": "vzeroupper",
            "outer": "vpaddd",
        }
        assert result.counted == {}
    _, found = audited(text + '  .section .init_array, "aw"\n  .quad outer\n')
    assert (found["outer"].kind, found["outer"].path) == ("load", ("outer", "outer"))


def test_entries_in_the_middle_of_a_function(audited):
    text = "  .globl outer\n  .type outer, @function\nouter:\n  nop\n"
    text += function("inner", "  nop\n  vzeroupper\n  ret") + "  .size outer, .-outer\n"
    assert list(audited(text)[1]) == ["inner"]


def test_such_code_that_calls_past_a_stub(audited):
    level = '  .section .isa_text.AVX2, "ax"\n' + function("fast", "  vpaddd %ymm0, %ymm1, %ymm2\n  ret")
    level = level.replace(".globl fast", ".globl fast\n  .hidden fast")
    text = function("entry", "  call helper\n  ret", "helper:\n  call fast\n  ret")
    _, found = audited(text + level)
    assert (found["fast"].kind, found["fast"].detail.split(" at ")[0]) == ("past", "called by helper")


def test_the_tables_of_the_linker_lead_past_a_stub(audited):
    level = '  .section .isa_text.AVX2, "ax"\n' + function("fast", "  vpaddd %ymm0, %ymm1, %ymm2\n  ret")
    for call in ("call fast@PLT", "call *fast@GOTPCREL(%rip)"):
        _, found = audited(function("entry", f"  {call}\n  ret") + level)
        assert found["fast"].kind == "past", call


def test_damaged_files_with_a_record_are_one_clear_error_or_a_report(audited, tmp_path):
    level = '  .section .isa_text.AVX2, "ax"\n' + function("fast", "  vpaddd %ymm0, %ymm1, %ymm2\n  ret")
    inner = function("inner", "  vzeroupper\n  ret")
    outer = function("outer", f"  jmp 1f\n{inner}1:  leaq helper(%rip), %rax\n  call fast@PLT\n  ret", HELPER)
    audited(outer + level)
    content = (tmp_path / "library.so").read_bytes()
    damaged = tmp_path / "damaged.so"
    reports = 0
    for raw in mutations(content, 500):
        damaged.write_bytes(raw)
        try:
            audit_targets([damaged], Baseline("X86_64", BASELINE))
            reports += 1
        except AuditError as error:
            assert str(error).startswith(str(damaged)), error
    assert reports > 50


def test_a_label_that_only_a_table_of_an_object_leads_to(tmp_path):
    code = "  .text\nhelper:\n  vpaddd %zmm0, %zmm1, %zmm2\n  ret\n"
    table = '  .section .data.rel.ro, "aw"\n  .balign 8\ntable:\n  .quad {}\n'
    entry = function("entry", "  leaq table(%rip), %rax\n  call *(%rax)\n  ret", code)
    found = Level(tmp_path, f"  .text\n{entry}{table.format('helper')}", "gcc", kind=".s").found_in_object()
    assert [(f.kind, f.symbol, f.features) for f in found] == [("level", "helper", ("avx512_f",))]
    assert Level(tmp_path, f"  .text\n{entry}{table.format('entry')}", "gcc", kind=".s").found_in_object() == []


@pytest.mark.parametrize("number", [9, 41, 42, 43, 46, 49])
def test_relocations_through_the_got(tmp_path, number):
    """The psABI has six types. The last three are for instructions of APX, of which assemblers write only some."""
    helper = function("helper", "  vpaddd %zmm0, %zmm1, %zmm2\n  ret")
    entry = function("entry", "  call *helper@GOTPCREL(%rip)\n  ret", '  .section .init_array, "aw"\n  .quad entry')
    level = Level(tmp_path, f"  .text\n{helper}{entry}", "gcc", kind=".s")
    relocation = re.compile(rb"(?s)\x29\0\0\0(....\xfc\xff{7})")  # type 41, symbol, addend -4
    raw, count = relocation.subn(bytes([number, 0, 0, 0]) + rb"\1", level.object.read_bytes())
    assert count == 1
    level.object.write_bytes(raw)
    assert [(f.kind, f.symbol) for f in level.found_in_object()] == [("load", "helper"), ("level", "helper")]


def test_code_of_a_level_that_needs_a_feature_that_no_table_names(audited, tmp_path):
    record = replace(RECORD, allow=(Allowance("allowed", "behind a check"),))
    both = "".join(function(name, "  monitor\n  ret") for name in ("needy", "allowed"))
    code = f"{function('avx512', '  vaddps %zmm0, %zmm1, %zmm2')}{both}"
    section = '  .section .isa_text.AVX2, "ax", @progbits\n'
    result, found = audited(section + code.replace(".globl", ".local"), record=record)
    assert [pattern for pattern, _, _ in result.allowed] == ["allowed"]
    assert [(f.kind, f.features) for f in (found["needy"], found["avx512"])] == [
        ("level", ("monitor",)),
        ("level", ("avx512_f",)),
    ]
    assert "[extra_features]" in found["needy"].remedy
    assert "[[audit.allow]]" in found["needy"].remedy
