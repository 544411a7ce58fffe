"""The table of stubs that sealing writes as an object, beside what compilers make of the same table in C."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from isagen.binary.elf.objects import ElfObject
from isagen.binary.formats import object_with_variables
from isagen.binary.protocol import Variable
from isagen.build.stubs import stubs_variables
from isagen.configure.dispatch import dispatch_texts
from isagen.model.errors import BuildError
from isagen.model.plan import Verdict
from isagen.planning.config import Config
from isagen.planning.plan import Style, make_plan
from isagen.processors.table import load_table
from support.model import build_of, registered_at, write_dispatch
from support.projects import need

TABLE = load_table("x86", Path())
LEVELS = TABLE.names()
# Two stubs, each at some of the levels.
STUBS = {"dot": LEVELS[:3], "sum": [LEVELS[0], *LEVELS[2:4]]}
COMPILERS = ("gcc", "gcc-11", "clang-14", "clang-16")


def compile_c(folder: Path, name: str, text: str, *command: str) -> Path:
    (folder / f"{name}.c").write_text(text)
    subprocess.run([*command, "-c", f"{name}.c", "-o", f"{name}.o"], cwd=folder, check=True)
    return folder / f"{name}.o"


def written(folder: Path, like: Path, variables: Sequence[Variable], name: str = "table") -> Path:
    """Write an object of variables, for the processor and ABI of an object that a compiler made."""
    place = folder / f"{name}.o"
    place.write_bytes(object_with_variables(ElfObject.load(like), variables))
    return place


def table() -> list[Variable]:
    """The table of `STUBS`."""
    found = [
        registered_at(level, **{stub: stub for stub, levels in STUBS.items() if level in levels})
        for level in LEVELS[:4]
    ]
    return stubs_variables("project", LEVELS, found)


def defined(path: Path) -> dict[str, tuple]:
    """What each named variable of an object is: visibility, size, its bytes and what its words point to."""
    with path.open("rb") as stream:
        elf = ELFFile(stream)
        symbols = elf.get_section_by_name(".symtab")
        pointers = {}
        for section in elf.iter_sections("SHT_RELA"):
            for one in section.iter_relocations():
                target = symbols.get_symbol(one["r_info_sym"])
                pointers[section["sh_info"], one["r_offset"]] = (one["r_info_type"], target, one["r_addend"])
        found = {}
        for symbol in symbols.iter_symbols():
            index, start, size = symbol["st_shndx"], symbol["st_value"], symbol["st_size"]
            if not isinstance(index, int) or not size or symbol["st_info"]["bind"] == "STB_LOCAL":
                continue
            section = elf.get_section(index)
            written = section["sh_flags"] & 1 and not section.name.startswith(".data.rel.ro")
            content = section.data()[start : start + size] if section["sh_type"] != "SHT_NOBITS" else bytes(size)
            held = {
                place - start: (kind, *named(elf, symbol, addend))
                for (where, place), (kind, symbol, addend) in pointers.items()
                if where == index and start <= place < start + size
            }
            found[symbol.name] = (symbol["st_other"]["visibility"], size, bool(written), content, held)
        return found


def named(elf: ELFFile, symbol, addend: int) -> tuple[str, str | int]:
    """What a pointer is to: a name and its visibility, or the text in a section of this object."""
    if symbol.name and symbol["st_info"]["type"] != "STT_SECTION" and symbol["st_info"]["bind"] != "STB_LOCAL":
        return symbol.name, symbol["st_other"]["visibility"]
    content = elf.get_section(symbol["st_shndx"]).data()[symbol["st_value"] + addend :]
    return "text", content[: content.index(b"\0")].decode()


@pytest.mark.parametrize("compiler", COMPILERS)
def test_the_object_is_what_a_compiler_makes_of_the_source(tmp_path, compiler):
    need(compiler)
    plan = make_plan(
        config=Config(Path("isa.toml")),
        table=TABLE,
        kernels=["k.c"],
        option_levels="",
        verdicts={(name, "c"): Verdict(True, "", features=TABLE.required_features(name)) for name in LEVELS},
        source_root="..",
        style=Style(),
    )
    write_dispatch(tmp_path, dispatch_texts(build_of(plan), TABLE), STUBS, LEVELS)
    text = (tmp_path / "isa_dispatch.c").read_text()
    only_table = text[text.index('#include "isa_dispatch.h"', text.index("The kernels of every stub")) :]
    source = compile_c(tmp_path, "source", only_table, compiler, "-fPIC", "-O2")
    assert defined(written(tmp_path, source, table())) == defined(source)


@pytest.mark.parametrize("linker", ["bfd", "gold", "lld", "mold"])
@pytest.mark.parametrize("kind", [["-fPIE", "-pie"], ["-fno-pie", "-no-pie"], ["-fPIE", "-static-pie"]])
def test_linkers_take_the_object(tmp_path, linker, kind):
    need("gcc", f"ld.{linker}")
    if "-static-pie" in kind and linker == "gold":
        pytest.skip("gold cannot link static programs that are position-independent")
    program = """
    #include <stdio.h>
    extern const char *const texts[]; extern const unsigned numbers[]; extern int zeros[];
    extern int (*const calls[])(void);
    int seven(void) { return 7; }
    int main(void)
    {
      zeros[2] = texts[1] == 0;
      printf("%s %s %u %u ", texts[0], texts[2], numbers[0], numbers[1]);
      printf("%d %d %d", zeros[0], zeros[2], calls[0]());
      return 0;
    }
    """
    variables = [
        Variable("zeros", zeros=12),
        Variable("texts", pointers=[b"one", None, b"two words"]),
        Variable("numbers", numbers=[3, 4_294_967_295]),
        Variable("calls", pointers=["seven"]),
    ]
    main = compile_c(tmp_path, "main", program, "gcc", kind[0])
    made = written(tmp_path, main, variables)
    warned = subprocess.run(
        ["gcc", kind[1], f"-fuse-ld={linker}", "-Wl,--fatal-warnings", main, made, "-o", tmp_path / "program"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (warned.returncode, warned.stderr) == (0, "")
    said = subprocess.run([tmp_path / "program"], capture_output=True, text=True, check=True).stdout
    assert said == "one two words 3 4294967295 0 1 7"


def test_nobody_may_write_to_a_table(tmp_path):
    """The loader fills its pointers in; a write after that ends the program."""
    need("gcc")
    main = compile_c(tmp_path, "main", "extern int *pointers[]; int main(void) { pointers[0] = 0; return 0; }", "gcc")
    made = written(tmp_path, main, [Variable("pointers", pointers=["main"])])
    subprocess.run(["gcc", "-pie", "-Wl,-z,relro,-z,now", main, made, "-o", tmp_path / "program"], check=True)
    assert subprocess.run([tmp_path / "program"], check=False).returncode < 0


@pytest.mark.parametrize("compiler", ["gcc", "clang-16"])
@pytest.mark.parametrize("protection", ["full", "none"])
def test_what_an_object_says_to_the_linker_stays(tmp_path, compiler, protection):
    """A linker turns branch protection off where one object does not say that it has it."""
    need(compiler)
    like = compile_c(tmp_path, "like", "int one(void) { return 1; }", compiler, f"-fcf-protection={protection}")
    made = written(tmp_path, like, [Variable("pointers", pointers=["one"])])
    assert (property_of(like) is not None) == (protection == "full")
    joined = tmp_path / "joined.o"
    subprocess.run(["ld", "-r", like, made, "-o", joined], check=True)
    assert property_of(made) == property_of(joined) == property_of(like)


def property_of(path: Path) -> bytes | None:
    """What an object says of its branch protection and the like."""
    with path.open("rb") as stream:
        section = ELFFile(stream).get_section_by_name(".note.gnu.property")
        return section.data() if section is not None else None


@pytest.mark.parametrize("command", [["aarch64-linux-gnu-gcc"], ["gcc", "-mx32"]], ids=" ".join)
def test_a_processor_whose_pointers_are_unknown(tmp_path, command):
    """Configuring writes no such table: the compiler changed since."""
    need(command[0])
    like = compile_c(tmp_path, "like", "int one;", *command)
    with pytest.raises(BuildError, match=r"like\.o: is for a processor for which isagen writes no tables\n.*new build"):
        written(tmp_path, like, [Variable("a", numbers=[1])])


def test_thousands_of_stubs(tmp_path):
    need("gcc")
    like = compile_c(tmp_path, "like", "int one;", "gcc")
    names = [f"stub_{number}" for number in range(3000)]
    cells = [cell for name in names for cell in (name.encode(), f"bind_{name}", *[f"kernel_{name}"] * 8)]
    made = written(tmp_path, like, [Variable("table", pointers=cells), Variable("levels", zeros=4 * len(names))])
    held = defined(made)["table"][4]
    assert len(held) == len(cells)
    assert held[8 * 10 * 2999][1:] == ("text", "stub_2999")
    assert os.path.getsize(made) < 2_000_000
