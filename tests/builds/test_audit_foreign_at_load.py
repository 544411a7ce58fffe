"""The audit of what the loader runs in files without a record: calls of what is unknown, and the shortest path."""

import pytest

from support.foreign import AVX2, DOUBLE, HEAD, audit, run
from support.level_code import C_OF
from support.load_sources import COMPILERS, CONSTRUCTOR, HANDED_OUT, POINTERS, SOUND
from support.pairs import paired


@pytest.mark.parametrize("stripped", [False, True])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_calls_through_pointers_in_files_of_others(link, compiler, stripped):
    """They are not followed, which a note says."""
    for name, (kind, source) in POINTERS.items():
        library = link(source, compiler=compiler, kind=kind)
        if stripped:
            run("strip", library)
        result = audit(library)
        assert [finding for finding in result.findings if finding.kind != "bindable"] == [], name
        assert any("call through pointers, which are not followed: " in note for note in result.notes), name


@pytest.mark.parametrize("name", [*SOUND, "a registrar"])
@pytest.mark.parametrize(
    ("how", "compiler"),
    paired([([], None), (["-O0"], None), (["-fno-plt"], None), (["-Wl,-z,retpolineplt"], "lld")], COMPILERS),
)
def test_known_calls_in_files_of_others(link, compiler, name, how):
    (flags, linker), (kind, source) = how, SOUND.get(name) or HANDED_OUT[name][:2]
    library = link(source, *flags, compiler=compiler, linker=linker, kind=kind)
    assert [f for f in audit(library).findings if f.kind != "bindable"] == []


TABLE = (
    HEAD
    + f"""
{AVX2} static void planted(void) {{ {DOUBLE} }}
static void other(void) {{ data[1] = 2; }}
typedef void (*fn)(void);
struct module {{ int version; fn run[2]; }};
static struct module one = {{1, {{other, planted}}}};
extern void add(struct module *);
"""
)


@pytest.mark.parametrize("stripped", [False, True])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_table_that_is_handed_out_at_load(link, compiler, stripped):
    """As a module of Python hands over the functions that make it."""
    library = link(f"{TABLE}\n{CONSTRUCTOR} {{ add(&one); }}", "-O1", compiler=C_OF[compiler], kind=".c")
    if stripped:
        run("strip", library)
    (finding,) = audit(library).findings
    assert (finding.kind, finding.cause) == ("unproven", "pointer")
    assert "contains its address, and is used by code that runs when loaded" in finding.detail


BEHIND = """
  .text
  .type planted, @function
planted:
  vzeroupper
  ret
  .size planted, .-planted
  .type first, @function
first:
  leaq handed(%rip), %rdi
  call add@PLT
  ret
  .size first, .-first
  .section .init_array, "aw"
  .quad first
  .section .data.rel.ro, "aw"
  .balign 8
  .type handed, @object
handed:
  .quad exported + 8
  .size handed, 8
  .globl exported
  .type exported, @object
exported:
  .quad 0
  .size exported, 8
  .type other, @object
other:
  .quad planted
  .size other, 8
  .section .note.GNU-stack, "", @progbits
"""


@pytest.mark.parametrize("flags", [[], ["-z,rel"]])
def test_a_table_behind_an_exported_variable(link, flags):
    """A relocation has the distance from the variable, or the relocated place does."""
    library = link(BEHIND, *(f"-Wl,{flag}" for flag in flags), kind=".s", compiler="gcc", linker="lld")
    (finding,) = audit(library).findings
    assert (finding.symbol, finding.cause) == ("planted", "pointer")


@pytest.mark.parametrize("compiler", COMPILERS)
def test_what_python_calls_when_it_imports_a_module(link, compiler):
    text = (
        f"{HEAD}{AVX2} static void planted(void) {{ {DOUBLE} }}\nvoid *PyInit_foreign(void) {{ planted(); return 0; }}"
    )
    (finding,) = audit(link(text, compiler=C_OF[compiler], kind=".c")).findings
    assert (finding.kind, finding.symbol, finding.detail) == ("load", "planted", "runs when imported")


def test_variables_on_the_way(link):
    """A variable of a toolchain tells what the CPU has; of any other, that is unknown."""
    text = """
float data[64];
{attribute} static void planted(void) {{ {double} }}
int {name};
__attribute__((constructor)) static void first(void) {{ data[1] = 1; if ({name}) planted(); data[2] = 3; }}
"""
    for name, kind in (("__kmp_tpause_enabled", "unproven"), ("enabled", "load")):
        library = link(text.format(attribute=AVX2, double=DOUBLE, name=name), "-fvisibility=hidden", "-O1")
        (finding,) = audit(library).findings
        assert (finding.kind, finding.symbol) == (kind, "planted")
        assert (f", perhaps only if a test of {name} allows it" in finding.detail) == (kind == "unproven")


@pytest.mark.parametrize("code", ["d5 10 50", "c4 e5 7b fd c1"], ids=["apx", "amx-fp8"])
@pytest.mark.parametrize("stripped", [False, True])
def test_code_at_load_that_cannot_be_decoded(link, code, stripped):
    text = f"""
  .text
  .type first, @function
first:
  .byte {", ".join(f"0x{byte}" for byte in code.split())}
  ret
  .size first, .-first
  .section .init_array, "aw"
  .quad first
  .section .note.GNU-stack, "", @progbits
"""
    library = link(text, kind=".s", compiler="gcc")
    if stripped:
        run("strip", library)
    (finding,) = audit(library).findings
    assert (finding.kind, finding.cause) == ("unproven", "bytes")


def test_bytes_behind_a_return_that_only_pad(link):
    """Intel's compilers count them into the size of a function."""
    text = """
  .text
  .type first, @function
first:
  nop
  ret
  nopw 0(%rax,%rax)
  .size first, .-first
  .type planted, @function
planted:
  vzeroupper
  ret
  .size planted, .-planted
  .section .init_array, "aw"
  .quad first
  .section .note.GNU-stack, "", @progbits
"""
    assert audit(link(text, kind=".s", compiler="gcc")).findings == ()
    (finding,) = audit(link(text.replace("  ret\n  nopw", "  nopw"), kind=".s", compiler="gcc")).findings
    assert (finding.kind, finding.path) == ("load", ("first", "planted"))


OLD_START = """
  .section .init, "ax"
  call constructors
  ret
  .text
  .type constructors, @function
constructors:
  push %rbx
  mov last(%rip), %rax
  cmp $-1, %rax
  je 2f
  lea last(%rip), %rbx
1:  sub $8, %rbx
  call *%rax
  mov (%rbx), %rax
  cmp $-1, %rax
  jne 1b
2:  pop %rbx
  ret
  .size constructors, .-constructors
  .type planted, @function
planted:
  vzeroupper
  ret
  .size planted, .-planted
  .section .ctors, "aw"
  .quad -1
last:
  .quad planted
  .section .note.GNU-stack, "", @progbits
"""


def test_the_start_code_of_older_compilers_calls_roots(link):
    library = link(OLD_START, "-nostartfiles", compiler="gcc", kind=".s", linker="lld")
    assert [(f.kind, f.symbol) for f in audit(library).findings] == [("load", "planted")]


@pytest.mark.parametrize(("section", "detail"), [(".init", "runs when loaded"), (".fini", "runs at exit")])
def test_the_part_of_an_object_in_what_the_loader_runs(link, section, detail):
    """As in the file that is linked from it."""
    text = f"""
  .section {section}, "ax"
  call planted
  .text
  .type planted, @function
planted:
  vzeroupper
  ret
  .size planted, .-planted
  .section .note.GNU-stack, "", @progbits
"""
    for flags in (["-c"], []):
        (finding,) = audit(link(text, *flags, compiler="gcc", kind=".s")).findings
        assert (finding.kind, finding.symbol, finding.detail) == ("load", "planted", detail)


def test_the_path_that_is_shown_is_the_shortest_from_any_root(link):
    steps = "".join(
        f"__attribute__((noinline)) static void step{i}(void) {{ data[{i}] = 1; step{i + 1}(); data[{i}] = 2; }}\n"
        for i in range(9, -1, -1)
    )
    source = (
        f"{HEAD}{AVX2} static void step10(void) {{ {DOUBLE} }}\n{steps}"
        f"{CONSTRUCTOR} {{ data[20] = 1; step0(); data[20] = 3; }}\n"
        "__attribute__((constructor)) static void second(void) { data[21] = 1; step9(); data[21] = 3; }\n"
    )
    (finding,) = audit(link(source)).findings
    assert finding.path == ("second", "step9", "step10")
