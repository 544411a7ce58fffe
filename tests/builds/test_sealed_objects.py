"""Sealing of single objects from compilers and assemblers, for several machines and byte orders."""

import random
import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from isagen.binary.contents import CODE_KINDS, Binding, SymbolKind
from isagen.binary.elf.objects import ElfObject
from isagen.binary.elf.sealing import sealed
from isagen.model.errors import BuildError, IsagenError
from isagen.model.names import private_name
from support.projects import need

MARK = "7"


def compiled(folder: Path, name: str, text: str, *command: str) -> Path:
    """Compile `text` into folder/name.o; the name's suffix is that of the language."""
    source = folder / name
    source.write_text(text)
    subprocess.run([*command, "-c", source, "-o", source.with_suffix(".o")], check=True)
    return source.with_suffix(".o")


def seal(level: str, *objects: Path) -> list[Path]:
    """Seal the objects of a level into files beside them."""
    files = [ElfObject.load(path) for path in objects]
    private = {symbol.name for file in files for symbol in file.weak_code_and_constants}
    bounded = frozenset().union(*(file.bounded_sections for file in files))
    places = [path.with_suffix(f".{level}.o") for path in objects]
    for place, file in zip(places, files, strict=True):
        place.write_bytes(sealed(file, level, MARK, dict.fromkeys(private, level), bounded))
    return places


def symbols(path: Path) -> dict:
    return {symbol.name: symbol for symbol in ElfObject.load(path).symbols}


def sections(path: Path) -> set[str]:
    return {section.name for section in ElfObject.load(path).sections}


CXX = """
#include <stdexcept>
#include <vector>
template <class T> struct base { virtual ~base() {} virtual T get() { return T(2); } };
struct shape : base<int>, base<float> { shape(); float x; };
inline shape::shape() : x(base<float>::get()) {}
inline int counter = 1;
inline thread_local std::vector<int> lots(3, 4);
inline int next() { static int calls = counter; return ++calls; }
void use(std::vector<float> &v)
{
  shape s;
  v.push_back(s.x + next() + lots[0]);
  if (v.size() > 9)
    throw std::runtime_error("full");
}
"""
C = """
__attribute__((weak)) int twice(int x) { return x * 2; }
__attribute__((weak)) extern const int table[3];
const int table[3] = {1, 2, 3};
__attribute__((weak)) int hits;
int use(int x) { return twice(x) + table[x] + ++hits; }
"""
MACHINES = {
    "host-gcc": ("x.cpp", CXX, ["g++", "-O1", "-g"]),
    "host-gcc-sections": ("x.cpp", CXX, ["g++", "-O1", "-g", "-fPIC", "-ffunction-sections", "-fdebug-types-section"]),
    "host-clang": ("x.cpp", CXX, ["clang++-16", "-O1", "-g", "-std=c++17", "-fPIC"]),
    "host-asan": ("x.cpp", CXX, ["clang++-16", "-O1", "-g", "-std=c++17", "-fPIC", "-fsanitize=address"]),
    "i386": ("x.c", C, ["gcc", "-m32", "-fPIC", "-O1", "-g"]),
    "aarch64": ("x.c", C, ["clang-16", "--target=aarch64-linux-gnu", "-O1", "-g"]),
    "arm": ("x.c", C, ["clang-16", "--target=armv7-linux-gnueabihf", "-O1", "-g"]),
    "riscv64": ("x.c", C, ["clang-16", "--target=riscv64-linux-gnu", "-O1", "-g"]),
    "s390x": ("x.c", C, ["clang-16", "--target=s390x-linux-gnu", "-O1", "-g"]),
    "mips": ("x.c", C, ["clang-16", "--target=mips-linux-gnu", "-O1", "-g", "-fPIC"]),
    "mips64el": ("x.c", C, ["clang-16", "--target=mips64el-linux-gnuabi64", "-O1", "-g", "-fPIC"]),
    "powerpc": ("x.c", C, ["clang-16", "--target=powerpc-linux-gnu", "-O1", "-g"]),
    "powerpc64": ("x.c", C, ["clang-16", "--target=powerpc64-linux-gnu", "-O1", "-g"]),
}


@pytest.mark.parametrize("machine", MACHINES)
def test_nothing_but_names_changes(tmp_path, machine):
    name, text, command = MACHINES[machine]
    need(command[0], "readelf")
    before = compiled(tmp_path, name, text, *command)
    (after,) = seal("AVX2", before)

    def described(path: Path) -> list[str]:
        listing = subprocess.run(
            ["readelf", "-W", "-S", "-s", "-r", "-g", "-u", path], capture_output=True, text=True, check=True
        )
        assert "warning" not in listing.stderr.lower()
        text = re.sub(r"(?:\.rela?)?\.isa_text\.AVX2|(?:\.rela?)?\.text[^ '\n]*", "CODE", listing.stdout)
        text = re.sub(rf"\.avx2\.{MARK}\b", "", text)
        text = re.sub(r"(CODE +PROGBITS +)[0-9a-f]+", r"\1ADDRESS", text)
        # What renaming changes: the string tables, which move to the end, debug information, which refers to other
        # strings, and the visibility of private symbols.
        kept = [line for line in text.splitlines() if "STRTAB" not in line and ".debug_" not in line]
        return [re.sub(r"\b(?:HIDDEN|DEFAULT|UNIQUE|WEAK|OBJECT) ", "", " ".join(line.split())) for line in kept]

    assert described(after) == described(before)
    code = [s.name for s in ElfObject.load(after).sections if s.executable]
    assert set(code) == {".isa_text.AVX2"}
    renamed = {name for name in symbols(after) if name.endswith(f".avx2.{MARK}")}
    assert renamed == {private_name(s.name, "AVX2", MARK) for s in ElfObject.load(before).weak_code_and_constants}
    assert renamed
    assert all(
        symbols(after)[name].hidden and symbols(after)[name].binding in (Binding.WEAK, Binding.GLOBAL)
        for name in renamed
    )


def test_sealing_twice_gives_the_same_bytes(tmp_path):
    need("g++")
    path = compiled(tmp_path, "x.cpp", CXX, "g++", "-g")
    file = ElfObject.load(path)
    assert sealed(file, "AVX2", MARK, {}) == sealed(file, "AVX2", MARK, {})


def test_objects_of_one_level_go_on_sharing_and_refer_to_each_other(tmp_path):
    """One object defines a weak function, another only calls it."""
    need("g++")
    one = compiled(tmp_path, "one.cpp", "template <class T> T f(T x) { return x; }\nint a() { return f(1); }\n", "g++")
    text = "template <class T> T f(T x);\nextern template int f(int);\nint b() { return f(2); }\n"
    two = compiled(tmp_path, "two.cpp", text, "g++")
    one, two = seal("AVX512_BF16", one, two)
    name = f"_Z1fIiET_S0_.avx512_bf16.{MARK}"
    assert symbols(one)[name].defined
    assert not symbols(two)[name].defined
    assert set(symbols(two)) == {name, "_Z1bv"}


ASSEMBLY = """
  .section .data.shared,"awG",@progbits,shared,comdat
  .weak shared
  .type shared, @object
  .size shared, 4
shared: .long {value}
  .section .text.answer,"axG",@progbits,shared,comdat
  .weak answer
  .type answer, @function
answer: mov ${value}, %eax
  ret
  .text
  .globl answer_{value}, place_{value}
answer_{value}: jmp answer
place_{value}: lea shared(%rip), %rax
  ret
  .section .note.GNU-stack,"",@progbits
"""
PROGRAM = """
int answer_1(void), answer_2(void);
void *place_1(void), *place_2(void);
int main(void) { return !(answer_1() == 1 && answer_2() == 2 && place_1() == place_2()); }
"""


@pytest.mark.parametrize("linker", ["bfd", "gold", "lld", "mold"])
def test_a_group_of_shared_data_with_code(tmp_path, linker):
    """Its signature is the variable, which stays shared, so the groups need other signatures."""
    need("gcc", {"bfd": "ld.bfd", "gold": "ld.gold", "lld": "ld.lld", "mold": "mold"}[linker])
    if subprocess.run(["uname", "-m"], capture_output=True, text=True, check=True).stdout.strip() != "x86_64":
        pytest.skip("assembly of x86-64")
    main = compiled(tmp_path, "main.c", PROGRAM, "gcc")
    raw = [compiled(tmp_path, f"a{value}.s", ASSEMBLY.format(value=value), "gcc") for value in (1, 2)]
    levels = [seal(level, path)[0] for level, path in zip(["AVX2", "AVX512"], raw, strict=True)]
    for objects, expected in ((levels, 0), (levels[::-1], 0), (raw, 1)):
        program = tmp_path / "program"
        subprocess.run(["gcc", f"-fuse-ld={linker}", main, *objects, "-o", program], check=True)
        assert subprocess.run([program], check=False).returncode == expected


def test_helpers_that_the_compiler_puts_into_groups(tmp_path):
    """i386 reads the program counter through a function that is global, not weak, in a group."""
    need("gcc")
    text = "int x; int f(void) { return x; }\n"
    (path,) = seal("AVX2", compiled(tmp_path, "x.c", text, "gcc", "-m32", "-fPIC", "-O1"))
    helpers = [name for name in symbols(path) if name.startswith("__x86.get_pc_thunk")]
    assert helpers
    assert all(name.endswith(f".avx2.{MARK}") for name in helpers)
    assert {"x", "f"} <= set(symbols(path))


def test_functions_that_choose_themselves_are_code(tmp_path):
    need("g++")
    text = """
template <class T> __attribute__((target_clones("avx2", "default"))) T f(T x) { return x * 2; }
int a() { return f(1); }
"""
    (path,) = seal("AVX2", compiled(tmp_path, "x.cpp", text, "g++", "-fPIC", "-O1"))
    assert SymbolKind.RESOLVER in {symbol.kind for symbol in symbols(path).values()}
    assert [s.name for s in symbols(path).values() if s.kind in CODE_KINDS and not s.hidden] == ["_Z1av"]


def test_unique_constants_are_private_and_unique_variables_shared(tmp_path):
    need("g++")
    text = """
template <class T> T *f(int i) { static const T c[] = {1, 2}; static T v[2]; return i ? const_cast<T *>(&c[i]) : v; }
int *a(int i) { return f<int>(i); }
"""
    raw = compiled(tmp_path, "x.cpp", text, "g++", "-fgnu-unique")
    assert [s.binding for s in symbols(raw).values() if s.kind == SymbolKind.DATA] == [Binding.UNIQUE, Binding.UNIQUE]
    (path,) = seal("AVX2", raw)
    found = {s.name.split("E")[-1]: (s.binding, s.hidden) for s in symbols(path).values() if s.kind == SymbolKind.DATA}
    assert found == {f"1c.avx2.{MARK}": (Binding.WEAK, True), "1v": (Binding.UNIQUE, False)} or found == {
        f"c.avx2.{MARK}": (Binding.WEAK, True),
        "v": (Binding.UNIQUE, False),
    }


def test_sections_that_are_looked_for_by_name_keep_it(tmp_path):
    need("gcc")
    text = """
extern char __start_hot[], __stop_hot[];
__attribute__((section("hot"))) void f(void) {}
__attribute__((section("cold"))) void g(void) {}
__attribute__((section(".init"))) void h(void) {}
long size(void) { return __stop_hot - __start_hot; }
"""
    (path,) = seal("AVX2", compiled(tmp_path, "x.c", text, "gcc"))
    assert {"hot", ".init", ".isa_text.AVX2"} <= sections(path)
    assert not {"cold", ".text"} & sections(path)


def test_more_sections_than_a_symbol_can_name(tmp_path):
    need("gcc", "readelf")
    lines = [f'  .section .text.f{i},"axG",@progbits,f{i},comdat\n  .weak f{i}\nf{i}: ret' for i in range(33000)]
    raw = compiled(tmp_path, "x.s", "\n".join(lines) + "\n", "gcc")
    (path,) = seal("AVX2", raw)
    found = symbols(path)
    assert len(found) == 33000
    assert all(s.hidden and s.section and s.name.endswith(f".avx2.{MARK}") for s in found.values())
    program = compiled(tmp_path, "main.c", "int main(void) { return 0; }\n", "gcc")
    subprocess.run(["gcc", program, path, "-o", tmp_path / "program"], check=True)
    assert subprocess.run([tmp_path / "program"], check=False).returncode == 0


def test_projects_in_one_program_have_names_of_their_own(tmp_path):
    need("g++")
    text = "template <class T> T f(T x) { return x; }\nint a() { return f(1); }\n"
    elf = ElfObject.load(compiled(tmp_path, "x.cpp", text, "g++"))
    one, other = (ElfObject(sealed(elf, "AVX2", mark, {}), Path(mark)) for mark in ("1", "2"))
    assert {s.name for s in one.symbols} & {s.name for s in other.symbols} == {"_Z1av"}


def test_demanglers_read_the_names(tmp_path):
    need("c++filt")
    name = private_name("_Z1fIiET_S0_", "AVX512_BF16", "7")
    said = subprocess.run(["c++filt", name], capture_output=True, text=True, check=True).stdout
    assert said == "int f<int>(int) [clone .avx512_bf16.7]\n"


# A group whose signature, for all constructors of the class, names no other symbol: _ZN1AC5Ev.
GROUPS = "struct A { A(); int i; }; inline __attribute__((noinline)) A::A() : i(1) {} int a() { A a; return a.i; }\n"


def test_a_group_with_a_name_from_nowhere_is_an_error(tmp_path):
    need("g++")
    raw = bytearray(compiled(tmp_path, "x.cpp", GROUPS, "g++").read_bytes())
    elf = ElfObject(bytes(raw), Path("x.o"))
    (group,) = (group for group in elf.groups if group.name == "_ZN1AC5Ev")
    table = elf.file.full_table
    struct.pack_into("<I", raw, table.offset + group.signature * elf.file.layout.symbol.size, 0x7FFFFFFF)
    with pytest.raises(BuildError, match="is not an object file that isagen can read"):
        ElfObject(bytes(raw), Path("x.o"))


@pytest.mark.parametrize(
    ("name", "text", "command"),
    [
        *(("x.c", C, ["gcc"]), ("x.cpp", GROUPS, ["g++"]), ("x.c", C, ["gcc", "-g"]), ("x.c", C, ["clang-16", "-g"])),
        ("x.cpp", GROUPS, ["aarch64-linux-gnu-g++"]),
    ],
)
def test_damaged_objects_are_errors_and_nothing_else(tmp_path, name, text, command):
    need(command[0])
    whole = compiled(tmp_path, name, text, *command).read_bytes()
    chance = random.Random(4)
    errors = 0
    for _ in range(3000):
        damaged = bytearray(whole)
        for _ in range(chance.choice((1, 2, 20))):
            place = chance.randrange(chance.choice((64, len(whole))))
            damaged[place] = chance.randrange(256)
        damaged = damaged[: chance.choice((len(whole), len(whole), chance.randrange(len(whole))))]
        try:
            file = ElfObject(bytes(damaged), Path("damaged.o"))
            sealed(file, "AVX2", MARK, {})
            for symbol in file.symbols:
                file.initial_value(symbol)
            file.digest(("isa_kernel_",))
        except IsagenError as problem:
            errors += 1
            assert re.match(r"damaged\.o: is not an (object|ELF) file that (isagen )?can (be )?read", str(problem))
    assert errors > 500


def test_a_program_is_not_an_object(tmp_path):
    with pytest.raises(BuildError, match="it is a program or library, not an object"):
        ElfObject.load(Path(shutil.which("true") or "/bin/true"))


def test_the_value_of_a_long_list(tmp_path):
    """Each node of 3,000 points to the next one; the last one differs."""

    def value(last: int) -> str:
        nodes = [f"static node n{number} = {{&n{number + 1}, 1}};\n" for number in range(2999, -1, -1)]
        text = f"struct node {{ node *next; long value; }};\nstatic node n3000 = {{nullptr, {last}}};\n{''.join(nodes)}"
        text += "inline node *head = &n0;\nnode *use() { return head; }\n"
        file = ElfObject.load(compiled(tmp_path, "list.cpp", text, "g++", "-std=c++17", "-O1"))
        (head,) = (symbol for symbol in file.symbols if symbol.name == "head")
        return file.initial_value(head)

    need("g++")
    assert value(1) == value(1) != value(2)


@pytest.mark.parametrize("compiler", ["gcc", "s390x-linux-gnu-gcc"])
def test_initial_values_of_wide_strings_and_numbers(tmp_path, compiler):
    need(compiler)
    values = set()
    for word in ("ab", "ac"):
        text = f'const void *words = U"{word}"; int lanes = 4;'
        path = compiled(tmp_path, f"{word}.c", text, compiler, "-fno-merge-constants")
        file = ElfObject.load(path)
        values.add(tuple(file.initial_value(symbol) for symbol in file.symbols if symbol.name in ("words", "lanes")))
    (first, lanes), (second, others) = values
    assert first != second
    assert lanes == others == "4 (4 bytes)"
