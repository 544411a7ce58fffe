"""Profilers and disassemblers tell the levels of a function apart; debuggers find it, and its lines.

tests/packages/names is built once per compiler, at five levels. Each kind of function is asked for by each tool: a
function of an anonymous namespace, a static one with a name of three letters, a template, a method, and C's.
"""

import re
import subprocess
from pathlib import Path

import pytest

from isagen.binary.formats import format_of, load_object
from isagen.build.addresses import LevelAddresses
from support.compiling import need_runtime, read_object
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
    """Return whether a line of a tool's text names the function of a level."""
    end = f".{level.lower()}."
    return any(end in line and re.search(rf"{re.escape(function)}\b", line) for line in text.splitlines())


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
def test_symbolizers_name_the_functions(built, tool):
    """LLVM's with the level; GNU's show what debug information has, which is the name in the source."""
    need("nm", tool.split()[0])
    program = built.path("names")
    text = output(*tool.split(), program, *("0x" + address for address in addresses(program)))
    assert [f for f in CXX_FUNCTIONS + C_FUNCTIONS if f not in text] == []
    assert re.search(r"/blend\.cpp(\.AVX2\.cpp)?:\d", text)  # GNU's may show the copy's file
    for level in LEVELS if tool.startswith("llvm") else ():
        assert [f for f in CXX_FUNCTIONS + C_FUNCTIONS if not shows(text, f, level)] == []


def gdb(project: Project, level: str, *commands: str, check: bool = True) -> str:
    """What gdb says in a run of the program at a level."""
    need("gdb")
    words = ["-q", "-nx", "-batch", *(word for command in commands for word in ("-ex", command))]
    return project.run("gdb", *words, project.path("names"), check=check, NAMES_ISA=level).stdout


def test_gdb_stops_in_the_copy_that_runs_and_shows_its_level(built):
    where = f"kernels/blend.cpp:{LINE}"
    assert f"({len(LEVELS)} locations)" in gdb(built, LEVELS[0], f"break {where}")
    running = levels_that_run(built)
    for level in {running[0], running[-1]}:
        text = gdb(built, level, f"break {where}", "run", "backtrace", "info symbol $pc", "print count")
        (frame,) = (line for line in text.splitlines() if line.startswith("#0"))
        assert where in frame
        assert shows(text, "(anonymous namespace)::blend", level)
        assert f"in section .isa_text.{level} " in text
        assert "$1 = {value = 0}" in text


def test_gdb_calls_functions_of_the_copy_that_runs(built):
    level = levels_that_run(built)[-1]
    text = gdb(built, level, f"break kernels/blend.cpp:{LINE}", "run", "print count.add(1)", check=False)
    if "Couldn't write extended state status" in text:
        pytest.skip("this gdb cannot write the registers of this CPU")
    assert "$1 = 1" in text


def test_gdb_finds_functions_by_name(built):
    """A name is that of the copies of all levels."""
    names = ["dot", "(anonymous namespace)::blend", "counter::add", "total"]
    text = gdb(built, LEVELS[0], *(f"break {name}" for name in names))
    assert text.count(f"({len(LEVELS)} locations)") == len(names)


def test_lldb_stops_in_the_copy_that_runs(built):
    need("lldb-16")
    level = levels_that_run(built)[-1]
    commands = [f"breakpoint set -f blend.cpp -l {LINE}", "run", "bt", "quit"]
    words = [word for command in commands for word in ("-o", command)]
    text = built.run("lldb-16", "-x", "-b", *words, built.path("names"), NAMES_ISA=level, check=False).stdout
    frames = [line for line in text.splitlines() if "frame #0" in line]
    if not frames:
        pytest.skip("lldb cannot run programs here")
    assert "blend.cpp:" in frames[0]


def test_perf_shows_the_level(built, tmp_path):
    need("perf")
    levels = levels_that_run(built)
    loop = "; ".join(f"NAMES_ISA={level} {built.path('names')} 20000" for level in levels)
    data = tmp_path / "perf.data"
    done = built.run("perf", "record", "-q", "-e", "cpu-clock", "-o", data, "sh", "-c", loop, check=False)
    if done.returncode:
        pytest.skip("perf cannot record here")
    text = output("perf", "report", "-i", data, "--stdio", "--sort", "symbol", "-v")
    for level in levels:
        assert shows(text, "blend", level) or shows(text, "twice", level)
        assert shows(text, "total", level)


def instructions(program: Path) -> dict[str, list[str]]:
    """The bytes of each function's instructions, by the function's plain name, as GNU's objdump attributes them."""
    found: dict[str, list[str]] = {}
    for line in output("objdump", "-d", "-w", program).splitlines():
        if head := re.match(r"[0-9a-f]{16} <(.*)>:", line):
            name = re.sub(r"\.avx\w+\.\d+\Z", "", head.group(1))
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
def test_sanitizers_name_functions_of_sealed_objects(tmp_path, compiler):
    need_runtime(compiler, "-fsanitize=address")
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
    assert re.search(r"#0 .* in dot\b", report)
    assert re.search(r"#1 .* in (\(anonymous namespace\)::)?run\b", report)


def sealed_kernel(folder: Path, text: str, *compile_: str, suffix: str = ".cpp") -> Path:
    """Compile a kernel's source, seal it as AVX2's, and return the object."""
    source = folder / f"kernel{suffix}"
    source.write_text(text)
    plain = source.with_suffix(".o")
    output(*compile_, "-c", source, "-o", plain)
    private = LevelAddresses("AVX2", [read_object(plain, "AVX2")]).private_names()
    sealed = folder / "sealed.o"
    file = load_object(plain)
    sealed.write_bytes(format_of(file).seal(file, "AVX2", "7", dict.fromkeys(private, "AVX2")))
    return sealed


def test_clones_of_compilers_have_the_level_too(tmp_path):
    """GCC makes local clones of some functions, and drops the functions themselves."""
    need("g++", "nm")
    text = "#include <algorithm>\nvoid start(float *p, int n) { std::sort(p, p + n); }\n"
    sealed = sealed_kernel(tmp_path, text, "g++", "-g", "-O2", "-fPIC")
    assert re.search(r" \[clone \.(isra|constprop)\.0\] \[clone \.avx2\.7\]$", output("nm", "-C", sealed), re.MULTILINE)


def test_debug_information_stays_as_it_is(tmp_path):
    need("gcc", "readelf")
    text = "static __attribute__((noinline)) int run(int x) { return x * x; }\nint start(int x) { return run(x); }\n"
    sealed = sealed_kernel(tmp_path, text, "gcc", "-g", "-O1", "-fPIC", suffix=".c")
    dumps = [output("readelf", "-wi", path).split("\n", 2)[2] for path in (sealed.with_name("kernel.o"), sealed)]
    assert dumps[0] == dumps[1]
