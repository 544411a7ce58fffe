"""Objects with one digest do the same: what changes a program, but for names of local symbols, changes the digest."""

import subprocess
from pathlib import Path

import pytest

from isagen.binary.formats import load_object
from support.projects import need

NUMBERS = ".section .rodata\nn:\n .long 1,2\n"
TABLE = '.section .data.rel.ro,"aw"\n'
UNWINDING = '.section .eh_frame,"a",@progbits\n'
CODE = ".text\nf:\n ret\ng:\n nop\n ret\n"


def assembled(folder: Path, name: str, text: str) -> Path:
    need("as")
    path = folder / f"{name}.o"
    subprocess.run(["as", "-o", path, "-"], input=text, text=True, check=True)
    return path


def digest(folder: Path, name: str, text: str, *marks: str) -> str:
    return load_object(assembled(folder, name, text)).digest(marks)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (".data\n.balign 16\n.quad 1,2,3,4,5,6,7,8", ".data\n.balign 64\n.quad 1,2,3,4,5,6,7,8"),
        (".data\n.quad x", ".data\n.weak x\n.quad x"),
        (".comm c,8,8\n.data\n.quad c", ".comm c,16,8\n.data\n.quad c"),
        (".comm c,8,8\n.data\n.quad c", ".comm c,8,32\n.data\n.quad c"),
        (
            '.section .init_array.00101,"aw",@init_array\n.quad 0',
            '.section .init_array.00102,"aw",@init_array\n.quad 0',
        ),
        (CODE + ".data\n.quad f", CODE + ".type f,%gnu_indirect_function\n.data\n.quad f"),
        (CODE + ".data\n.quad f,g", CODE + ".data\n.quad g,f"),
        (CODE + TABLE + ".quad f,g", CODE + TABLE + ".quad g,f"),
        (NUMBERS + TABLE + ".quad n", NUMBERS + TABLE + ".quad n+4"),
        (CODE + UNWINDING + ".quad f", CODE + UNWINDING + ".quad g"),
        ('.section .rodata.str1.1,"aMS",%progbits,1\n.asciz "a"', '.section .rodata.str1.1,"a",%progbits\n.asciz "a"'),
        (".bss\n.zero 8", ".bss\n.zero 16"),
        ('.section .x,"awT"\n.quad 1', '.section .x,"aw"\n.quad 1'),
    ],
)
def test_what_changes_the_digest(tmp_path, one, other):
    assert digest(tmp_path, "one", one + "\n") != digest(tmp_path, "other", other + "\n")


def test_names_of_local_symbols_do_not(tmp_path):
    text = '.section .text.LEVEL,"ax"\nf_LEVEL:\n ret\n.data\n.quad f_LEVEL\n'
    assert len({digest(tmp_path, level, text.replace("LEVEL", level)) for level in ("A", "B2")}) == 1


def test_two_stubs_that_change_places_do(tmp_path):
    """The functions behind two stubs are swapped: names alone tell."""
    text = CODE + ".data\n.globl {0}a,{0}b\n{0}{1}: .quad f\n{0}{2}: .quad g\n"
    plain = digest(tmp_path, "plain", text.format("mark_A__", "a", "b"), "mark_A__")
    assert plain == digest(tmp_path, "level", text.format("mark_B__", "a", "b"), "mark_B__")
    assert plain != digest(tmp_path, "swapped", text.format("mark_B__", "b", "a"), "mark_B__")


def test_all_sections_of_one_name_are_read(tmp_path):
    """As of variables in two COMDAT groups with one section attribute: the pointers of each count."""
    hooks = '.section hooks,"awG",@progbits,{0},comdat\n.weak {0}\n{0}: .quad {1}\n'
    text = CODE + hooks.format("first", "f") + hooks.format("second", "g")
    (targets,) = load_object(assembled(tmp_path, "hooks", text)).findable_sections().values()
    assert sorted(targets.local_code) == ["f", "g"]


def test_a_pointer_into_another_section_of_the_name_hides_nothing(tmp_path):
    """What the pointer reaches ends at the next label, and the whole of its section counts all the same."""
    text = CODE + (
        '.section hooks,"aw",@progbits,unique,1\nfirst: .quad 0\nsecond: .quad f\n'
        '.section hooks,"aw",@progbits,unique,2\n .quad first\n'
    )
    (targets,) = load_object(assembled(tmp_path, "hooks", text)).findable_sections().values()
    assert targets.local_code == ("f",)
