"""The audit of what the loader runs in files without a record: calls of what is unknown, and the shortest path."""

import pytest

from support.foreign import AVX2, DOUBLE, HEAD, audit, run
from support.load_sources import COMPILERS, CONSTRUCTOR, HANDED_OUT, SOUND, UNKNOWN


@pytest.mark.parametrize("stripped", [False, True])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_calls_through_pointers_in_files_of_others(link, compiler, stripped):
    for name, (kind, source) in UNKNOWN.items():
        library = link(source, compiler=compiler, kind=kind)
        if stripped:
            run("strip", library)
        (finding,) = audit(library).findings
        assert (finding.kind, finding.level) == ("unproven", ""), name
        assert finding.detail == "runs when loaded; where it leads is unknown"
        assert finding.instruction.split()[0] in ("call", "jmp")


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name", [*SOUND, "a registrar", "qsort"])
def test_known_calls_in_files_of_others(link, compiler, name):
    kind, source = SOUND.get(name) or HANDED_OUT[name][:2]
    for flags in ([], ["-O0"], ["-fno-plt"], ["-Wl,-z,retpolineplt", "-fuse-ld=lld"]):
        # Without a record, values are not followed into calls, nor through the stack frame.
        if "is called through" not in name or flags != ["-O0"]:
            library = link(source, *flags, compiler=compiler, kind=kind)
            assert [f for f in audit(library).findings if f.kind != "bindable"] == [], flags


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
