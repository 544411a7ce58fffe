"""Debuggers, profilers and disassemblers tell the levels of a function apart.

tests/packages/names is built once per compiler, at five levels. Each kind of function is asked for by each tool: a
function of an anonymous namespace, a static one with a name of three letters, a template, a method, and C's.
"""

import re
import subprocess
from pathlib import Path

import pytest

from isagen.binary.formats import load_object, seal_objects
from isagen.build.addresses import LevelAddresses
from support.projects import PACKAGES, Project, make_project, need

LEVELS = ["DEFAULT", "AVX2", "AVX2_VNNI", "AVX512", "AVX512_VNNI"]
CXX_FUNCTIONS = ["(anonymous namespace)::blend", "dot", "twice", "(anonymous namespace)::counter::add"]
C_FUNCTIONS = ["total", "scale"]
LINE = 1 + next(
    number
    for number, line in enumerate((PACKAGES / "names/kernels/blend.cpp").read_text().splitlines())
    if "the tests' breakpoint" in line
)


@pytest.fixture(scope="module", params=["g++", "clang++-16"])
def built(request, tmp_path_factory) -> Project:
    """The project, built with debug information."""
    compiler = request.param
    need(compiler)
    project = make_project(tmp_path_factory.mktemp("built"), "names", "names")
    with (project.folder / "isagen/isa.toml").open("a") as settings:
        settings.write("\nfold = false  # some functions are the same at several levels, and each is to be seen\n")
    chosen = {"CC": compiler.replace("clang++", "clang").replace("g++", "gcc"), "CXX": compiler}
    project.setup(f"-Disa_levels={','.join(LEVELS[1:])}", **chosen)
    project.ninja()
    return project


def shows(text: str, function: str, level: str) -> bool:
    """Return whether a tool's text names the function of a level."""
    template = "<float>" if function == "twice" else ""
    tagged = f"{function}[abi:{level}]{template}" in text
    return tagged or (function in C_FUNCTIONS and f"{function}.{level.lower()}." in text)


def levels_that_run(project: Project) -> list[str]:
    """The levels of the project that this machine supports, as its program says."""
    said = {level: project.run(project.path("names"), NAMES_ISA=level).stdout.split()[0] for level in LEVELS}
    return [level for level in LEVELS if said[level] == level]


def output(*command: object) -> str:
    words = [str(word) for word in command]
    return subprocess.run(words, capture_output=True, text=True, check=True, timeout=60).stdout


def addresses(program: Path) -> list[str]:
    """The addresses of the kernels' functions."""
    wanted = re.compile(r"\b(blend|dot|twice|add|total|scale)\b")
    lines = output("nm", "-C", program).splitlines()
    return [line.split()[0] for line in lines if wanted.search(line) and line.split()[1] in "tTwW"]


def test_nm_shows_the_level_of_every_function(built, tmp_path):
    """With debug information, and without."""
    need("nm", "strip")
    stripped = tmp_path / "stripped"
    output("strip", "--strip-debug", built.path("names"), "-o", stripped)
    for program in (built.path("names"), stripped):
        text = output("nm", "-C", program)
        for level in LEVELS:
            assert [f for f in CXX_FUNCTIONS + C_FUNCTIONS if not shows(text, f, level)] == []


@pytest.mark.parametrize("tool", ["addr2line -Cfe", "llvm-symbolizer-16 --no-inlines -e", "llvm-symbolizer-16 -e"])
def test_symbolizers_show_the_level(built, tool):
    need("nm", tool.split()[0])
    program = built.path("names")
    text = output(*tool.split(), program, *("0x" + address for address in addresses(program)))
    for level in LEVELS:
        assert [f for f in CXX_FUNCTIONS + C_FUNCTIONS if not shows(text, f, level)] == []
    assert tool.startswith("addr2line") or "kernels/blend.cpp:" in text  # GNU's may show the copy's file


def gdb(project: Project, level: str, *commands: str) -> str:
    """What gdb says in a run of the program at a level."""
    need("gdb")
    words = [word for command in commands for word in ("-ex", command)]
    return project.run("gdb", "-q", "-nx", "-batch", *words, project.path("names"), NAMES_ISA=level).stdout


def test_gdb_stops_in_the_copy_that_runs_and_shows_its_level(built):
    where = f"kernels/blend.cpp:{LINE}"
    text = gdb(built, LEVELS[0], f"break {where}", "info breakpoints")
    assert [level for level in LEVELS if f"(anonymous namespace)::blend[abi:{level}]" not in text] == []
    running = levels_that_run(built)
    for level in {running[0], running[-1]}:
        text = gdb(built, level, f"break {where}", "run", "backtrace", "print count", "print count.add(1)")
        (frame,) = (line for line in text.splitlines() if line.startswith("#0"))
        assert f"(anonymous namespace)::blend[abi:{level}]" in frame
        assert where in frame
        assert "$1 = {value = 0}" in text
        assert "$2 = 1" in text


def test_gdb_finds_functions_by_name(built):
    """Those of C++ with and without the level; those of C with it."""
    level = levels_that_run(built)[-1]
    text = gdb(built, level, "break dot", "break (anonymous namespace)::blend", "break counter::add")
    assert text.count(f"({len(LEVELS)} locations)") == 3
    text = gdb(built, level, f"break total[abi:{level}]", "run", "backtrace")
    frames = [line for line in text.splitlines() if line.startswith(("#0", "#1"))]
    assert [shows(frame, f, level) for frame, f in zip(frames, ["total", "scale"], strict=True)] == [True, True]


def test_lldb_shows_the_level(built):
    need("lldb-16")
    level = levels_that_run(built)[-1]
    commands = [f"breakpoint set -f blend.cpp -l {LINE}", "run", "bt", "quit"]
    words = [word for command in commands for word in ("-o", command)]
    text = built.run("lldb-16", "-x", "-b", *words, built.path("names"), NAMES_ISA=level, check=False).stdout
    frames = [line for line in text.splitlines() if "frame #0" in line]
    if not frames:
        pytest.skip("lldb cannot run programs here")
    assert f"blend[abi:{level}]" in frames[0]


def test_perf_shows_the_level(built, tmp_path):
    need("perf")
    levels = levels_that_run(built)
    loop = "; ".join(f"NAMES_ISA={level} {built.path('names')} 20000" for level in levels)
    data = tmp_path / "perf.data"
    done = built.run("perf", "record", "-q", "-e", "cpu-clock", "-o", data, "sh", "-c", loop, check=False)
    if done.returncode:
        pytest.skip("perf cannot record here")
    text = output("perf", "report", "-i", data, "--stdio", "--sort", "symbol")
    for level in levels:
        assert shows(text, "(anonymous namespace)::blend", level) or shows(text, "twice", level)
        assert shows(text, "total", level)


def instructions(program: Path) -> dict[str, list[str]]:
    """The bytes of each function's instructions, by the function's plain name, as GNU's objdump attributes them."""
    found: dict[str, list[str]] = {}
    for line in output("objdump", "-d", "-w", program).splitlines():
        if head := re.match(r"[0-9a-f]{16} <(.*)>:", line):
            name = re.sub(r"B\d+AVX\w*?(?=E|P|I|v)|\.avx\w+\.\d+\Z", "", head.group(1))
            body = found.setdefault(name, [])
        elif line.startswith(" "):
            body.append(line.split("\t")[1].strip())
    return found


def test_objdump_reads_sealed_objects(built):
    """A kernel has several sections of code, all of which have one name when they are sealed."""
    need("objdump")
    (compiled,) = built.path("isagen").glob("libisa_AVX512.a.p/*blend*.o")
    sealed = built.path("isagen/isa_AVX512.blend.cpp.o")
    before, after = instructions(compiled), instructions(sealed)
    assert len(before) >= 4
    assert after == before


@pytest.mark.parametrize("compiler", ["g++", "clang++-16"])
def test_sanitizers_show_the_level(tmp_path, compiler):
    need(compiler)
    kernel = """
static __attribute__((noinline)) float dot(const float *p, int n) { float s = 0; while (n--) s += p[n]; return s; }
namespace { __attribute__((noinline)) float run(const float *p, int n) { return dot(p, n) + 1; } }
extern "C" float (*const isa_kernel_AVX2__run)(const float *, int) = run;
"""
    main = """
extern "C" float (*const isa_kernel_AVX2__run)(const float *, int);
int main() { float p[3] = {}; return isa_kernel_AVX2__run(p, 8) == 0; }
"""
    flags = [compiler, "-g", "-O1", "-fPIC", "-fsanitize=address"]
    sealed = sealed_kernel(tmp_path, kernel, *flags)
    (tmp_path / "main.cpp").write_text(main)
    output(*flags, tmp_path / "main.cpp", sealed, "-o", tmp_path / "program")
    report = subprocess.run([tmp_path / "program"], capture_output=True, text=True, check=False).stderr
    assert re.search(r"#0 .* dot\[abi:AVX2\]", report)
    assert re.search(r"#1 .* (\(anonymous namespace\)::)?run\[abi:AVX2\]", report)


def sealed_kernel(folder: Path, text: str, *compile_: str, suffix: str = ".cpp") -> Path:
    """Compile a kernel's source, seal it as AVX2's, and return the object."""
    source = folder / f"kernel{suffix}"
    source.write_text(text)
    plain = source.with_suffix(".o")
    output(*compile_, "-c", source, "-o", plain)
    objects = [load_object(plain)]
    sealed = folder / "sealed.o"
    sealed.write_bytes(seal_objects(objects, "AVX2", "7", LevelAddresses("AVX2", objects).private_names())[0])
    return sealed


CXX = """
template <class T> __attribute__((noinline)) T twice(T x) { return x * 2; }
namespace { __attribute__((noinline)) float run(float x) { return twice(x) + 1; } }
static __attribute__((noinline)) float helper(float x) { float run = x; return run / 3; }
float start(float x) { return run(x) + helper(x); }
"""
C = """
static __attribute__((noinline)) float run(float x) { return x * x; }
static __attribute__((noinline)) float helper(float run) { return run / 3; }
float start(float x) { return run(x) + helper(x); }
"""
COMPILERS = {
    "gcc": ["gcc"],
    "g++-11": ["g++-11"],
    "clang-14": ["clang-14"],
    "clang++-16": ["clang++-16"],
    "aarch64-gcc": ["aarch64-linux-gnu-gcc"],
    "aarch64-clang": ["clang-16", "--target=aarch64-linux-gnu"],
}
KINDS = {
    "5": ["-gdwarf-5"],
    "4": ["-gdwarf-4"],
    "compressed": ["-g", "-gz"],
    "lines": ["-g1"],
    "types": ["-g", "-fdebug-types-section"],
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("compiler", COMPILERS)
def test_debug_information_of_all_kinds_names_the_level(tmp_path, compiler, kind):
    need(COMPILERS[compiler][0], "readelf", "ld.lld")
    text, suffix = (CXX, ".cpp") if "++" in compiler else (C, ".c")
    sealed = sealed_kernel(tmp_path, text, *COMPILERS[compiler], "-O1", "-fPIC", *KINDS[kind], suffix=suffix)
    library = tmp_path / "library.so"
    output("ld.lld", "-shared", sealed, "-o", library)
    dump = subprocess.run(["readelf", "-wi", library], capture_output=True, text=True, check=True)
    assert "warning" not in dump.stderr.lower()
    functions = [entry for entry in dump.stdout.split("Abbrev Number")[1:] if "DW_TAG_subprogram" in entry]
    linkage = re.findall(r"DW_AT_linkage_name.*: (_Z\S+)$", "\n".join(functions), re.MULTILINE)
    names = re.findall(r"DW_AT_name +:(?:.*:)? (\S+)$", "\n".join(functions), re.MULTILINE)
    assert all(name.endswith(".avx2.7") for name in linkage)
    for name in ("run", "helper", "start"):
        tagged = f"{name}[abi:AVX2]" in names or any(f"{len(name)}{name}B4AVX2" in found for found in linkage)
        assert tagged or (kind == "lines" and name not in names)  # Clang has no functions there
    others = re.findall(
        r"DW_TAG_(?:variable|formal_parameter).*?DW_AT_name +:(?:.*?:)? (\S+)$", dump.stdout, re.S | re.M
    )
    assert not any("[abi:" in name for name in others)


def test_debug_information_of_clones_names_the_level(tmp_path):
    """GCC makes local clones of some functions, and drops the functions themselves."""
    need("g++", "nm", "addr2line")
    text = "#include <algorithm>\nvoid start(float *p, int n) { std::sort(p, p + n); }\n"
    sealed = sealed_kernel(tmp_path, text, "g++", "-g", "-O2", "-fPIC")
    library = tmp_path / "library.so"
    output("g++", "-shared", sealed, "-o", library)
    symbols = dict(line.split()[::2] for line in output("nm", "--defined-only", library).splitlines())
    clones = {address: name for address, name in symbols.items() if re.search(r"\.(isra|constprop)\.0\.avx2\.7$", name)}
    assert clones
    for address, name in clones.items():
        (function,) = re.findall(r"\d(__\w+?)B4AVX2", name)
        assert f"{function}[abi:AVX2]<" in output("addr2line", "-Cfe", library, f"0x{address}")


def test_other_debug_information_stays_as_it_is(tmp_path):
    """With names elsewhere, or in a compressed form that is not read: the symbols still tell the level."""
    need("gcc", "nm")
    for flags in (["-gsplit-dwarf"], ["-gz=zstd"]):
        done = subprocess.run(["gcc", *flags, "-xc", "-c", "/dev/null", "-o", tmp_path / "try.o"], capture_output=True)
        if done.returncode == 0:
            sealed = sealed_kernel(tmp_path, C, "gcc", "-g", "-O1", *flags, suffix=".c")
            assert " t run.avx2.7" in output("nm", sealed)


def test_sealing_with_debug_information_is_reproducible(tmp_path):
    need("g++")
    once, again = (sealed_kernel(tmp_path, CXX, "g++", "-g").read_bytes() for _ in range(2))
    assert once == again
