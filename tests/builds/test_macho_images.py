"""Linked Mach-O files as the audit reads them: what lief finds in them too, damaged ones, and universal ones.

LLVM's linker writes them with chained fixups, and with the older opcodes.
"""

import random
import shutil
import struct
import subprocess
import zipfile
from itertools import product
from pathlib import Path

import pytest

from isagen.audit.binaries import audit_foreign
from isagen.audit.records import Baseline
from isagen.audit.targets import audit_each
from isagen.binary.contents import Binding, SymbolKind
from isagen.binary.formats import load_object, open_binary
from isagen.code.code import Code
from isagen.model.errors import IsagenError
from isagen.processors.registry import decoder_of
from support.projects import need

SOURCE = """\
extern "C" { int atoi(const char *); char *getenv(const char *); }
extern "C" { void abort(); void exit(int); void free(int (*)(int)); }
struct A { virtual ~A(); virtual int f(); };
A::~A() {}
int A::f() { return atoi("1"); }
struct B : A { int f() override; };
__attribute__((weak)) int w = 1;
thread_local int t = 2;
int (*hook)(const char *) = atoi;
int (*own)(int);
__attribute__((visibility("hidden"))) int shared;
static A early;
int B::f() { return w + t; }
extern "C" int run(int n)
{
  switch (n) {
  case 1: abort(); break;
  case 2: return 7;
  case 3: exit(3); break;
  case 4: return atoi("4");
  case 5: free(own); return 8;
  case 6: return hook("6");
  }
  return hook ? w++ : early.f();
}
static int quiet(int n) { return n * 3; }
static int (*table[])(int) = {run, quiet};
__attribute__((constructor)) static void begin() { own = table[w & 1]; hook(getenv("X")); }
"""
FIXUPS = ("fixup_chains", "no_fixup_chains")
LINKED = [*product(("x86_64", "arm64"), FIXUPS, ("-dylib", "-bundle"))]


def linked(folder: Path, processor: str, fixups: str, kind: str) -> Path:
    """A dylib or bundle."""
    need("clang++-16", "ld64.lld-16")
    (folder / "k.cpp").write_text(SOURCE)
    target = f"--target={processor}-apple-macos13"
    subprocess.run(["clang++-16", target, "-O2", "-c", folder / "k.cpp", "-o", folder / "k.o"], check=True)
    words = [f"-{fixups}", "-arch", processor, "-platform_version", "macos", "13", "13", kind]
    library = folder / "library.so"
    command = ["ld64.lld-16", *words, "-undefined", "dynamic_lookup", folder / "k.o", "-o", library]
    subprocess.run(command, check=True)
    return library


@pytest.mark.parametrize(("processor", "fixups", "kind"), LINKED)
def test_lief_finds_the_same(tmp_path, processor, fixups, kind):
    lief = pytest.importorskip("lief")
    path = linked(tmp_path, processor, fixups, kind)
    file = lief.MachO.parse(str(path))
    part = file.at(0)
    with open_binary(path) as binary:
        code = Code(binary, decoder_of(binary.architecture, str(path)))
        pointers = code.pointers
        names = {symbol.address: symbol.name for symbol in binary.symbols() if symbol.section}
        binds = {one.address: one.symbol.name.removeprefix("_") for one in part.bindings}
        slots = [slot for start, end in pointers.slot_ranges for slot in range(start, end, 8)]
        assert {"getenv", "abort", "free"} <= {pointers.follow(slot).name for slot in slots}
        assert all(pointers.follow(slot).name == binds.get(slot, "") for slot in slots)
        trie = part.dyld_info if part.has_dyld_info else part.dyld_exports_trie
        exported = {one.symbol.name.removeprefix("_"): one.address for one in trie.exports}
        assert {s.name: s.address for s in binary.exports() if s.defined and s.visible} == exported
        assert set(part.function_starts.functions) <= set(code.functions.starts)
        in_data = dict(pointers.in_data())
        places = {place.address for place in part.relocations} - binds.keys()
        assert places <= in_data.keys()
        assert all(binary.section_at(target) is not None for target in in_data.values())
        assert {names[address] for address, _ in pointers.called_by_loader()} == {"_ZL5beginv"}
        (run,) = [symbol for symbol in binary.symbols() if symbol.name == "run"]
        assert run.kind == SymbolKind.FUNCTION
        assert [in_data[place] for place in in_data if names.get(place) == "_ZL5table"] == [run.address]


@pytest.mark.parametrize("processor", ["x86_64", "arm64"])
def test_hidden_symbols_stay_hidden_when_the_linker_makes_them_local(tmp_path, processor):
    """Other sources could refer to them. The linker keeps the mark of private externals."""
    with open_binary(linked(tmp_path, processor, "fixup_chains", "-dylib")) as binary:
        symbols = {symbol.name: symbol for symbol in binary.symbols()}
        hidden, own, exported = (symbols[name] for name in ("shared", "_ZL5table", "run"))
        assert [symbol.binding == Binding.LOCAL for symbol in (hidden, own, exported)] == [True, True, False]
        assert [symbol.local for symbol in (hidden, own, exported)] == [False, True, False]
        assert [symbol.visible for symbol in (hidden, own, exported)] == [False, False, True]


@pytest.mark.parametrize("option", ["-data_in_code_info", "-no_data_in_code_info"])
def test_jump_tables_are_no_code(tmp_path, option):
    """Apple's newer linkers do not list them."""
    path = linked(tmp_path, "x86_64", "fixup_chains", "-dylib")
    if option.startswith("-no"):
        data = bytearray(path.read_bytes())
        place = data.index(struct.pack("<II", 0x29, 16))
        data[place + 12 : place + 16] = bytes(4)
        path.write_bytes(data)
    with open_binary(path) as binary:
        sections = [section for section in binary.sections if section.name == "__TEXT,__text"]
        assert [section.executable for section in sections] == [True, False, True]
        assert sections[1].size == 6 * 4


def changed(path: Path, number: int):
    """Yield damaged copies of a file: changes of its commands, of what it has for the loader, of anything, and cuts."""
    whole, dice = path.read_bytes(), random.Random(32)
    commands = 32 + struct.unpack_from("<I", whole, 20)[0]
    odd = (0, 1, 7, 0xFF, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 40, (1 << 62) - 1, (1 << 63) - 8, (1 << 64) - 1)
    for turn in range(number):
        data = bytearray(whole)
        for _ in range(dice.choice((1, 1, 2, 5))):
            if turn % 4 == 0:
                struct.pack_into("<I", data, dice.randrange(0, commands - 8, 4), dice.choice(odd) & 0xFFFFFFFF)
            elif turn % 4 == 1:
                struct.pack_into("<Q", data, dice.randrange(0, commands - 8, 4), dice.choice(odd))
            elif turn % 4 == 2:
                data[dice.randrange(len(data) - 3000, len(data))] = dice.randrange(256)
            else:
                struct.pack_into("<Q", data, dice.randrange(0, len(data) - 8, 8), dice.choice(odd))
        yield bytes(data) if turn % 9 else bytes(data[: dice.randrange(len(data))])


@pytest.mark.parametrize(("processor", "fixups"), [*product(("x86_64", "arm64"), FIXUPS)])
def test_damaged_files_are_refused_or_audited(tmp_path, processor, fixups):
    """Thousands of changes: an error that names the file, or an audit."""
    path, damaged, refused = linked(tmp_path, processor, fixups, "-dylib"), tmp_path / "damaged", 0
    for data in changed(path, 1500):
        damaged.write_bytes(data)
        try:
            with open_binary(damaged) as binary:
                audit_foreign(binary, Baseline("", ()))
        except IsagenError as error:
            assert str(error).startswith(f"{damaged}: ")
            refused += 1
    assert 100 < refused < 1400


def test_files_that_are_not_read_say_why(tmp_path):
    path = linked(tmp_path, "arm64", "fixup_chains", "-dylib")
    data = path.read_bytes()
    whats = {
        "its pointers are signed (arm64e), which is not read": data[:8] + b"\2" + data[9:],
        "it is loaded at fixed addresses (it is no PIE), which is not read": data[:12] + b"\2" + data[13:],
    }
    start = data.index(struct.pack("<HH", 0x4000, 2))  # the size of pages, and the format of pointers
    signed = data[: start + 2] + b"\1" + data[start + 3 :]
    whats["it is damaged: its pointers are of format 1 of arm64e, which is not read"] = signed
    for what, content in whats.items():
        path.write_bytes(content)
        with pytest.raises(IsagenError) as raised, open_binary(path) as binary:
            audit_foreign(binary, Baseline("", ()))
        assert str(raised.value) == f"{path}: is not a Mach-O file that can be read: {what}"


def universal(parts, magic=0xCAFEBABE, header=">IIIII", more=()) -> bytes:
    """A universal file of `parts`: (processor, subtype, content)."""
    head, content = struct.pack(">II", magic, len(parts)), b""
    for kind, subtype, data in parts:
        head += struct.pack(header, kind, subtype, 4096 + len(content), len(data), 12, *more)
        content += data
    return head.ljust(4096, b"\0") + content


def test_the_parts_of_universal_files_are_audited(tmp_path):
    """In a wheel, in a folder, and where the file is named; a part for another processor is named as not read."""
    folders = {kind: tmp_path / kind for kind in ("x86_64", "arm64")}
    for folder in folders.values():
        folder.mkdir()
    parts = [(0x01000007, 3, linked(folders["x86_64"], "x86_64", "fixup_chains", "-bundle").read_bytes())]
    parts += [(0x0100000C, 0, linked(folders["arm64"], "arm64", "fixup_chains", "-bundle").read_bytes())]
    audited = ["(arm64)", "(x86_64)"]
    for more, others in (([], []), ([(7, 3, b"\xce\xfa\xed\xfe" + bytes(60))], ["both.so"])):
        file, wheel = tmp_path / "both.so", tmp_path / "both.whl"
        file.write_bytes(universal([*parts, *more]))
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.write(file, "pkg/both.so")
        for target in (file, wheel):
            results = {result.target.split()[-1].rpartition("/")[2]: result for result in audit_each([target], {})}
            assert sorted(results) == [*audited, *others]
            assert all(results[name].decoded and not results[name].problem for name in audited)
            assert all("universal Mach-O, which is not read" in results[name].judged for name in others)
        names = [f"{tmp_path}/in/{place}/both.so" for place in ("a", "b")]
        for name in names:
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, name)
        found = {result.target for result in audit_each([tmp_path / "in"], {}) if result.decoded}
        assert found == {f"{name} {processor}" for name in names for processor in audited}
        unread = {result.target for result in audit_each([tmp_path / "in"], {}) if not result.decoded}
        assert unread == (set(names) if others else set())


def test_two_parts_for_one_processor(tmp_path):
    """The second one is named as not read."""
    part = linked(tmp_path, "x86_64", "fixup_chains", "-bundle").read_bytes()
    file = tmp_path / "both.so"
    file.write_bytes(universal([(0x01000007, 3, part)] * 2))
    shown = {result.target: result.judged for result in audit_each([file], {})}
    assert list(shown) == [f"{file} (x86_64)", str(file)]
    assert "universal Mach-O, which is not read" in shown[str(file)]


def test_universal_files_with_offsets_of_64_bits(tmp_path):
    """A wheel that has one names it as not read."""
    part = linked(tmp_path, "x86_64", "fixup_chains", "-bundle").read_bytes()
    with zipfile.ZipFile(tmp_path / "both.whl", "w") as archive:
        archive.writestr("pkg/both.so", universal([(0x01000007, 3, part)], 0xCAFEBABF, ">IIQQII", (0,)))
    (result,) = audit_each([tmp_path / "both.whl"], {})
    assert (result.target, result.judged) == (
        "both.whl/pkg/both.so",
        "not audited: a file of the format Mach-O, which is not read",
    )


@pytest.mark.parametrize(("section", "folds"), [("__TEXT,__const", True), ("__DATA_CONST,hooks", False)])
def test_an_object_whose_data_is_found_by_its_section_does_not_fold(tmp_path, section, folds):
    need("clang-16")
    (tmp_path / "k.c").write_text(f'__attribute__((used, section("{section}"))) static const int entry = 1;\n')
    command = ["clang-16", "--target=arm64-apple-macos13", "-c", tmp_path / "k.c", "-o", tmp_path / "k.o"]
    subprocess.run(command, check=True)
    assert load_object(tmp_path / "k.o").may_fold is folds


@pytest.mark.parametrize("processor", ["x86_64", "arm64"])
def test_what_every_mac_has_is_no_finding(tmp_path, processor):
    """Clang turns on SSE4.1, and the atomic instructions of the M1, for macOS. A baseline that is asked for counts."""
    need("clang-16", "ld64.lld-16")
    (tmp_path / "k.c").write_text(
        "#ifdef __x86_64__\nvoid f(int *a) { for (int i = 0; i < 64; i++) a[i] = a[i] > 3 ? a[i] : 3; }\n"
        "#else\nlong f(long *p) { return __atomic_fetch_add(p, 1, 5); }\n#endif\n"
    )
    subprocess.run(
        ["clang-16", f"--target={processor}-apple-macos13", "-O2", "-c", tmp_path / "k.c", "-o", tmp_path / "k.o"],
        check=True,
    )
    words = ["-arch", processor, "-platform_version", "macos", "13", "13", "-dylib"]
    subprocess.run(["ld64.lld-16", *words, tmp_path / "k.o", "-o", tmp_path / "k.dylib"], check=True)
    name = {"x86_64": "x86", "arm64": "arm64"}[processor]
    found = {}
    for everywhere in (False, True):
        (result,) = audit_each([tmp_path / "k.dylib"], {name: Baseline("LEVEL", (), everywhere)})
        found[everywhere] = [(finding.kind, finding.symbol) for finding in result.findings]
    assert found == {False: [], True: [("bindable", "f")]}
