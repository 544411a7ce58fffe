"""macOS: zig and Clang build all levels, sealed; programs run in the tests' loader of Mach-O files, or qemu runs it.

No macOS was at hand. x86-64 programs run on this machine's CPU, and arm64 ones by qemu, with the answers of
`sysctlbyname` on Apple's CPUs.
"""

import json
import random
import re
import shutil
import struct
import subprocess
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

from isagen.binary.formats import open_binary
from isagen.binary.macho.sealing import MachoObject, sealed
from isagen.model.errors import IsagenError
from support.checkout import ROOT
from support.damaged import refused
from support.extensions import FAST
from support.levels import level_that_runs, supported_levels
from support.macho_loader import headers_of_python, libpython, words
from support.platforms import MACOS, ZIG
from support.projects import Project, make_project, matrix, need, verdicts
from support.what_ran import ON_MACOS

STUBS = ["dot_stub", "scale_stub", "wide_dot_stub"]
APPLE = {
    name: cpu for name, cpu in tomllib.loads((ROOT / "tests/arm64/cpus.toml").read_text()).items() if "sysctls" in cpu
}
AUDITED = r"audited +: not when linked: isagen does not take the linker's place .* Mach-O; run `isagen audit`\n"
LEAKS = ["sort", "growth", "method", "table", "thread_local", "throw", "catch", "lambda", "c_static"]
WIDTHS = {"DEFAULT": 128, "AVX2": 256, "AVX512": 512}


def configured(folder: Path, family: str, package: str, *options: str) -> Project:
    """The package, configured for macOS; the summary is its `last`."""
    platform = MACOS[family]
    platform.require()
    need("clang-16")
    project = make_project(folder, package)
    project.last = project.setup("--cross-file", str(platform.cross_file(folder)), *options)
    return project


def said(project: Project, family: str, program: Path, *arguments: str, cpu: str = "", **environment: str) -> str:
    """What a program prints in the loader, which qemu runs on `cpu` if it is for arm64."""
    options = ["-cpu", cpu] if cpu else []
    return project.run(*words(family, *options), program, *arguments, check=False, **environment).stdout


@pytest.fixture(scope="module", params=MACOS)
def portable(request, tmp_path_factory):
    """The portable project, built for each processor."""
    folder = tmp_path_factory.mktemp(request.param)
    project = configured(folder, request.param, "portable", "-Dwerror=true", "-Dwarning_level=3", "-Doptimization=3")
    project.ninja()
    return project


@pytest.fixture(scope="module", params=MACOS)
def few(request, tmp_path_factory):
    """The portable project at two levels of each processor, for tests that change its sources."""
    folder = tmp_path_factory.mktemp(f"few-{request.param}")
    project = configured(folder, request.param, "portable", "-Doptimization=3", "-Disa_levels=AVX2,I8MM")
    project.ninja()
    return project


@pytest.fixture
def family(request):
    """The processor that the test's project is built for."""
    params = request.node.callspec.params
    return params["few" if "few" in params else "portable"]


def sealed_only(family: str) -> list[str]:
    """The file that ninja makes for sources that need the C++ library, without which arm64 is linked."""
    return [] if family == "x86_64" else ["isagen/isa_DEFAULT.dot.cpp.o"]


@pytest.fixture
def dot(few):
    """A kernel source, which a test changes, and its text before."""
    source = few.folder / "kernels/dot.cpp"
    text = source.read_text()
    yield source, text
    source.write_text(text)


def test_all_levels_are_built_and_sealed(portable, family):
    found = verdicts(portable)
    built = {level for level, verdict in found.items() if verdict == "built"}
    if family == "x86_64":
        assert built == set(found)
    else:  # every Mac has the features of FP16FML, and none has SVE
        assert built == {"DEFAULT", "FP16FML", "I8MM", "BF16"}
        assert re.search(r"SVE +: unavailable: the system does not report sve, so that no CPU can be", portable.last)
    assert "WARNING: isagen" not in portable.last
    assert re.search(r"sealed +: yes", portable.last)
    assert re.search(AUDITED, portable.last)
    assert not matrix(portable)["baseline_only"]


def test_the_level_of_the_cpu_or_of_the_override_runs(portable, family, cell):
    built = [level for level, verdict in verdicts(portable).items() if verdict == "built"]
    if family == "x86_64":
        supported = [level for level in supported_levels() if level in built]
        machines = {"": (supported, {})}
    else:
        order = {name: built[: built.index(cpu["level"]) + 1] for name, cpu in APPLE.items()}
        machines = {name: (order[name], {"MACHO_SYSCTL": _sysctls(cpu), "cpu": "max"}) for name, cpu in APPLE.items()}
    for level in built:
        run = any(level in supported for supported, _ in machines.values())
        cell(ON_MACOS, family, level, "run in the tests' loader" if run else "built, not run: this CPU lacks it")
    for supported, how in machines.values():
        for asked in ("", *supported):
            level = level_that_runs(supported, asked) if asked and family == "x86_64" else asked or supported[-1]
            expected = f"14 200 30 {level}, in use: {level}, built: {built[-1]}, 3 stubs: "
            expected += " ".join(f"{stub}={level}" for stub in STUBS)
            output = said(portable, family, portable.path("portable"), PORTABLE_ISA=asked, **how)
            assert output.endswith(f"{expected}\n")


def _sysctls(cpu: dict) -> str:
    return ",".join(f"hw.optional.{name}=1" for name in cpu["sysctls"])


def test_a_mac_that_lacks_a_feature_of_the_baseline(portable, family):
    """The features of Clang's default CPU that macOS reports are checked when the program is loaded."""
    if family == "x86_64":
        pytest.skip("this machine's CPU has the features of every Mac")
    less = {**APPLE["apple-m1"], "sysctls": [name for name in APPLE["apple-m1"]["sysctls"] if "SHA3" not in name]}
    run = [*words(family, "-cpu", "max"), portable.path("portable")]
    done = subprocess.run(
        run, env={**portable.environment, "MACHO_SYSCTL": _sysctls(less)}, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "error: this program or library is compiled for features that CPU or OS lack: sha3\n" in done.stderr


def test_the_matrix_is_read_from_the_program(portable):
    found = matrix(portable, portable.path("portable"))
    assert [level["verdict"] for level in found["levels"]] == list(verdicts(portable).values())
    kernels = [kernel["levels"]["DEFAULT"]["stubs"] for kernel in found["kernels"]]
    assert sorted(stub for stubs in kernels for stub in stubs) == STUBS


def audited(project: Project, path: Path | str, *options: str) -> tuple[list[tuple[str, str]], dict]:
    """The kind and the symbol of each finding in a file, and the audit's data of it."""
    done = project.isagen("audit", path, "--format", "json", *options, check=False)
    (target,) = json.loads(done.stdout)["targets"]
    return sorted((finding["kind"], finding["symbol"]) for finding in target["findings"]), target


def strip(project: Project, path: Path) -> Path:
    """A copy of a linked file without the symbols that other files cannot bind to."""
    need("llvm-strip-16")
    project.run("llvm-strip-16", "-x", path, "-o", stripped := path.with_name(f"{path.name}.stripped"))
    return stripped


NOTE = "stripped: functions without names may be of levels or allowed, so they are judged only if they run at load"


def test_an_audit_of_what_was_built_finds_nothing(portable, tmp_path):
    program = portable.path("portable")
    built = {level for level, verdict in verdicts(portable).items() if verdict == "built"}
    with open_binary(program) as binary:
        assert binary.levels == built
    for path in (portable.build, program):
        found, target = audited(portable, path)
        assert (found, target["notes"]) == ([], [])
    shutil.copy(program, tmp_path)
    found, target = audited(portable, strip(portable, tmp_path / "portable"))
    assert (found, target["notes"]) == ([], [NOTE])


WIDE = """\
#include <stdlib.h>
#ifdef __x86_64__
#include <immintrin.h>
#define WIDE(p) _mm256_storeu_si256((void *)(p), _mm256_abs_epi32(_mm256_loadu_si256((void *)(p))))
#else
#include <arm_neon.h>
#define WIDE(p) vst1q_s32(p, vmmlaq_s32(vld1q_s32(p), vld1q_s8((void *)(p)), vld1q_s8((void *)(p))))
#endif
static int data[64];
"""
FLAGS = {"x86_64": "-mavx2", "aarch64": "-march=armv8.2-a+i8mm"}
NOINLINE = "__attribute__((noinline))"
# By place: the source, and the findings in the program, and in the stripped one.
PLANTED = {
    "constructor": (
        "__attribute__((constructor)) static void planted(void) { WIDE(data); }",
        *([("load", "planted")], [("load", "function")]),
    ),
    "handler at exit": (
        "static void planted(void) { WIDE(data); }\n"
        "__attribute__((constructor)) static void start(void) { atexit(planted); }",
        *([("load", "planted")], [("load", "function")]),
    ),
    "ordinary code": (
        f"{NOINLINE} static void planted(int *p) {{ WIDE(p); }}\nint use(int *p) {{ planted(p); return *p; }}",
        *([("baseline", "planted")], []),
    ),
    "exported function": ("void planted(int *p) { WIDE(p); }", [("baseline", "planted")], [("baseline", "planted")]),
}


@pytest.mark.parametrize("place", PLANTED)
def test_planted_code_beyond_the_baseline_is_found(portable, family, tmp_path, place):
    text, findings, if_stripped = PLANTED[place]
    source, compilers, linked = tmp_path / "planted.c", MACOS[family].compilers, tmp_path / "program"
    source.write_text(WIDE + text)
    portable.run(*compilers["c"], "-O2", FLAGS[family], "-c", source, "-o", tmp_path / "planted.o")
    objects = [*portable.path("isagen").glob("isa_*.o"), *portable.path("portable.p").glob("*.o")]
    portable.run(*compilers["cpp"], tmp_path / "planted.o", *objects, "-o", linked)
    assert audited(portable, linked)[0] == findings
    found, target = audited(portable, strip(portable, linked))
    assert [(kind, symbol.partition(" ")[0]) for kind, symbol in found] == if_stripped
    assert target["notes"] == [NOTE]


def test_code_of_a_level_is_judged_by_the_level_and_entered_through_stubs(few, family, dot, tmp_path):
    """A kernel with code of another level, and ordinary code that names a level's function or holds its address."""
    source, text = dot
    level = "AVX2" if family == "x86_64" else "I8MM"
    wide = "vpxord %zmm0, %zmm0, %zmm0" if family == "x86_64" else ".inst 0x2598e080"  # ptrue p0.s
    source.write_text(
        f"{text}\n#ifdef CPU_CAPABILITY_{level}\n#define TIMES 3\n#else\n#define TIMES 5\n#endif\n"
        f'__attribute__((used)) int helper(int x) {{ __asm__ volatile("{wide}"); return x * TIMES; }}\n'
    )
    few.ninja(check=False)
    found = {finding[:2] for finding in audited(few, few.build)[0]}
    assert {kind for kind, _ in found} == {"level"}
    (name,) = {symbol for _, symbol in found if f".{level.lower()}." in symbol}
    planted = tmp_path / "planted.c"
    planted.write_text(
        f'int helper(int) __asm__("_{name}");\n'
        "int call(int x) { return helper(x) + 1; }\nint (*hook)(int) = helper;\n"
    )
    compilers = MACOS[family].compilers
    few.run(*compilers["c"], "-O2", "-c", planted, "-o", tmp_path / "planted.o")
    objects = [*few.path("isagen").glob("isa_*.o"), *few.path("portable.p").glob("*.o")]
    few.run(*compilers["cpp"], tmp_path / "planted.o", *objects, "-o", tmp_path / "program")
    found = {(kind, symbol) for kind, symbol in audited(few, tmp_path / "program")[0] if kind != "level"}
    assert found == {("past", name), ("address", "hook")}


def test_llvm_s_linker(portable, family, tmp_path):
    """ld64.lld links the sealed objects into a library; it reads no libSystem of zig, so the loader finds functions."""
    need("ld64.lld-16")
    library = tmp_path / "portable.dylib"
    objects = portable.run("ninja", "-C", "build", "-t", "inputs", "portable").stdout.split()
    architecture = {"aarch64": "arm64"}.get(family, family)
    words = ["-arch", architecture, "-platform_version", "macos", "13", "13", "-dylib", "-undefined", "dynamic_lookup"]
    inputs = [str(portable.path(one)) for one in objects if re.search(r"portable\.p/.*\.o$|isagen/isa_[^/]*\.o$", one)]
    portable.run("ld64.lld-16", *words, *inputs, "-o", library)
    machine = {} if family == "x86_64" else {"MACHO_SYSCTL": _sysctls(APPLE["apple-m2"]), "cpu": "max"}
    built = [level for level, verdict in verdicts(portable).items() if verdict == "built"]
    for asked in [level for level in supported_levels() if level in built] if family == "x86_64" else built:
        level = level_that_runs(supported_levels(), asked) if family == "x86_64" else asked
        output = said(portable, family, library, "int:main()", PORTABLE_ISA=asked, **machine)
        assert f" {level}, in use: {level}, built: {built[-1]}, 3 stubs: " in output
    assert "nothing found" in portable.isagen("audit", str(library)).stdout
    with open_binary(library) as binary:
        names = [symbol.name for symbol in binary.exports() if symbol.defined and symbol.visible]
        assert not [name for name in names if any(f".{level.lower()}" in name for level in built)]


def test_equal_copies_are_linked_once(portable, family):
    (cells,) = [one["levels"] for one in matrix(portable)["kernels"] if one["source"] == "kernels/dot.cpp"]
    upper, lower = ("AVX512_BF16", "AVX512_VNNI") if family == "x86_64" else ("BF16", "DEFAULT")
    assert cells[upper]["folded"] == lower
    assert MachoObject.load(portable.path(f"isagen/isa_{upper}.dot.cpp.o")).symbols == ()


def test_a_missing_kernel_is_an_error_of_the_build(few, dot):
    source, text = dot
    source.write_text(text.replace("ISA_REGISTER_DISPATCH(wide_dot_stub, &dot)", ""))
    failed = few.ninja(check=False)
    assert re.search(r"undefined symbol.*isa_needs_isa_kernels_dep_\w*wide_dot_stub", failed)


def test_a_missing_kernel_of_a_module_fails_when_it_is_loaded(few, family, dot):
    """Python's modules are linked with undefined symbols allowed."""
    source, text = dot
    source.write_text(text.replace("ISA_REGISTER_DISPATCH(wide_dot_stub, &dot)", ""))
    few.ninja(check=False)
    objects = [*few.path("isagen").glob("isa_*.o"), *few.path("portable.p").glob("*.o")]
    module = few.path("module.so")
    options = ["-shared", "-undefined", "dynamic_lookup", "-nostdlib++"]
    few.run(*MACOS[family].compilers["cpp"], *options, *objects, "-o", module)
    undefined = few.run("llvm-nm-16", "--undefined-only", module).stdout.split()
    assert "_isa_needs_isa_kernels_dep_and_ISA_REGISTER_DISPATCH_for_wide_dot_stub" in undefined


ADDED = {
    "a shared variable that differs": (
        "inline int lanes = sizeof(int) * (WIDE + 1);\nint use() { return lanes++; }\n",
        r"lanes: all levels share this variable, but its initial value is 4 \(4 bytes\) at DEFAULT and 8 \(4 bytes\)",
    ),
    "a variable of each thread that differs": (
        "inline thread_local int lanes = WIDE + 1;\nint use() { return lanes++; }\n",
        r"lanes: all levels share this variable, but its initial value is .*; \(1\) 1 \(.*; \(1\) 2 \(24 bytes\)",
    ),
    "a shared variable that points to code": (
        "static int twice(int x) { return 2 * x; }\ninline int (*hook)(int) = twice;\nint use() { return hook(1); }\n",
        r"hook: this variable of kernels/dot.cpp is shared by all levels, but points to twice\(int\)",
    ),
    "a function in a section that code finds by name": (
        "static int twice(int x) { return 2 * x; }\n"
        '__attribute__((used, section("__DATA,hooks"))) static int (*const hook)(int) = twice;\n',
        r"__DATA,hooks: kernels/dot.cpp puts the address of twice\(int\), a function of \w+, into this section",
    ),
    "code of a level at load": (
        "#include <stdlib.h>\nstatic float table[64];\n"
        'static const int done = [] { const float k = getenv("X") ? 2.f : 3.f; for (int i = 0; i < 64; i++) '
        "table[i] = table[63 - i] * k; return 1; }();\nfloat use(int i) { return table[i] + done; }\n",
        r"kernels/dot.cpp at AVX2: \S* runs when loaded, but needs avx \(v",
    ),
}


@pytest.mark.parametrize("added", ADDED)
def test_the_rules_of_other_formats_hold(few, family, dot, added):
    source, text = dot
    lines, problem = ADDED[added]
    if family == "aarch64" and "AVX2" in problem:
        pytest.skip("the levels for Macs of arm64 vectorise this code as the baseline does")
    wide = "#ifdef CPU_CAPABILITY_DEFAULT\n#define WIDE 0\n#else\n#define WIDE 1\n#endif\n"
    source.write_text(wide + lines + text)
    assert re.search(problem, few.ninja(check=False))


SOUND = {
    "a function of the system": 'fprintf(stderr, "%s", getenv("NONE") ? "some" : "");',
    "a large frame": "volatile char frame[20000]; frame[1] = 1; (void)frame[1];",
}


@pytest.mark.parametrize("used", SOUND)
def test_what_a_level_may_use_at_load(few, family, dot, used):
    source, text = dot
    source.write_text(
        "#include <stdio.h>\n#include <stdlib.h>\nstruct shape {\n  float sizes[64];\n  virtual ~shape() = default;\n"
        "  virtual void grow() { for (float &size : sizes) size = size * 3 + 1; }\n"
        f"  __attribute__((noinline)) shape() {{ {SOUND[used]} }}\n}};\nstatic shape one;\n"
        "shape *use() { one.grow(); return &one; }\n" + text
    )
    few.run("ninja", "-C", few.build, *sealed_only(family))


def test_weak_definitions_are_private_to_a_level_and_not_exported(few, family, dot):
    source, text = dot
    source.write_text(
        'template <class T> struct __attribute__((visibility("default"))) shape { virtual ~shape(); T sides; };\n'
        "template <class T> shape<T>::~shape() { sides = 0; }\ntemplate struct shape<int>;\n"
        "__attribute__((weak)) int weak_count(int x) { return x + 1; }\n"
        "inline int calls = 3;\nint use_weak() { return weak_count(calls++); }\n" + text
    )
    few.run("ninja", "-C", few.build, *sealed_only(family))
    level = "AVX2" if family == "x86_64" else "DEFAULT"
    listed = few.run("llvm-nm-16", "-m", few.path(f"isagen/isa_{level}.dot.cpp.o")).stdout.splitlines()
    defined = [line for line in listed if "(undefined)" not in line and "non-external" not in line]
    kinds = {line.split()[-1]: line for line in defined}
    private = [name for name in kinds if f".{level.lower()}." in name]
    assert {re.sub(r"\..*", "", name) for name in private} >= {
        "__Z10weak_counti",
        "__ZN5shapeIiED1Ev",
        "__ZTV5shapeIiE",
    }
    assert all("private external" in kinds[name] for name in private)
    assert "weak external" in kinds["_calls"]
    assert "weak external" in kinds["__ZTI5shapeIiE"]
    if sealed_only(family):
        return
    exported = few.run("llvm-objdump-16", "--macho", "--exports-trie", few.path("portable")).stdout
    assert "_calls" in exported
    assert f".{level.lower()}." not in exported


def test_names_of_assembly_stay_apart_from_those_of_c(tmp_path):
    """Compilers put an underscore before a name in C, and not before one that the source gives in assembly."""
    need("clang++-16", "llvm-nm-16")
    source, made = tmp_path / "kernel.cpp", tmp_path / "kernel.o"
    source.write_text(
        'extern "C" inline int twice(int x) { return 2 * x; }\ninline int other(int x) __asm__("twice");\n'
        "inline int other(int x) { return 3 * x; }\nint use(int x) { return twice(x) + other(x); }\n"
    )
    words = ["--target=x86_64-apple-macos13", "-std=c++17", "-c", source, "-o", made]
    subprocess.run(["clang++-16", *words], check=True)
    made.write_bytes(sealed(MachoObject.load(made), "AVX2", "1", {}))
    listed = subprocess.run(["llvm-nm-16", "-j", made], capture_output=True, text=True, check=True).stdout.split()
    assert {"_twice.avx2.1", "twice.avx2.1"} <= set(listed)


@pytest.fixture(scope="module")
def leaks(tmp_path_factory):
    """The kernels that are built to leak, with zig's libc++."""
    project = configured(tmp_path_factory.mktemp("leaks"), "x86_64", "leaks")
    project.ninja()
    return project


def test_an_audit_of_classes_and_exceptions_that_levels_share(leaks):
    """zig's linker keeps the data of weak definitions that it does not take, without their names."""
    assert audited(leaks, leaks.build)[0] == [("split", "buffer")]


def linked(project: Project, copies: str, levels: Sequence[str]) -> Path:
    """Link the program by hand: lowest level first after the rest, or highest level first before the rest."""
    rest = sorted(project.path("leaks.p").glob("*.o"))
    objects = [sorted(project.path("").glob(copies.format(level))) for level in levels]
    assert [len(found) for found in objects] == [3 if level == "DEFAULT" else 2 for level in levels]
    parts = [rest, *objects] if levels[0] == "DEFAULT" else [*objects, rest]
    program = project.path(f"{copies.partition('/')[2][:3]}-{levels[0]}")
    numbered = []  # as zig's linker sorts objects by name
    for place, path in enumerate(path for part in parts for path in part):
        numbered.append(shutil.copy(path, program.with_name(f"{program.name}-{place:02}.o")))
    project.run(*ZIG, "c++", "-target", "x86_64-macos", *numbered, "-o", program)
    return program


def widths(project: Project, program: Path, level: str) -> dict[str, str]:
    """The widths of the code that each leak ran: "128 256" is the baseline's and the level's."""
    lines = said(project, "x86_64", program, LEAKS_ISA=level).splitlines()
    return dict(line.split(" ", 1) for line in lines if line.partition(" ")[0] in (*LEAKS, "c_plain"))


@pytest.mark.parametrize("order", [list(WIDTHS), list(WIDTHS)[::-1]], ids=["lowest first", "highest first"])
def test_sealed_levels_run_their_own_code(leaks, order):
    """Also exceptions that other levels catch."""
    program = linked(leaks, "isagen/isa_{}.*.o", order)
    for level in set(WIDTHS).intersection(supported_levels()):
        expected = dict.fromkeys(LEAKS, f"128 {WIDTHS[level]}")
        assert widths(leaks, program, level) == {**expected, "c_plain": "128 128"}


@pytest.mark.parametrize("order", [list(WIDTHS), list(WIDTHS)[::-1]], ids=["lowest first", "highest first"])
def test_unsealed_levels_leak(leaks, order):
    if "AVX2" not in supported_levels():
        pytest.skip("this CPU has no AVX2")
    program = linked(leaks, "isagen/libisa_{}.a.p/*.o", order)
    found = widths(leaks, program, "AVX2")
    assert {name for name in LEAKS if found.get(name) != "128 256"} >= {"sort", "growth", "method", "throw", "lambda"}


def copies_of_sort(project: Project, program: Path) -> dict[str, bool]:
    """Whether each copy of std::sort has instructions of AVX or AVX-512, by the end of its name."""
    need("llvm-objdump-16")
    listing = project.run("llvm-objdump-16", "-d", "--no-show-raw-insn", program).stdout
    found: dict[str, bool] = {}
    for name, code in re.findall(r"<__ZNSt3__1\w*sort\w*less_noting_width\w*(\.\w+)?\S*>:\n((?:.+\n)+)", listing):
        found[name] = found.get(name, False) or bool(re.search(r"\tv\w+\t.*%[xyz]mm", code))
    return found


def test_avx512_code_of_std_sort_ends_a_program_on_an_old_cpu_unless_it_is_sealed(leaks):
    """Nehalem has no AVX, so that DEFAULT is selected."""
    need("qemu-x86_64")
    highest_first = list(WIDTHS)[::-1]
    said = {}
    for copies in ("isagen/libisa_{}.a.p/*.o", "isagen/isa_{}.*.o"):
        program = linked(leaks, copies, highest_first)
        done = leaks.run("qemu-x86_64", "-cpu", "Nehalem", *words("x86_64"), program, check=False)
        said[copies] = (
            re.findall(r"^sort (?:qemu: .*\n)?(.*)", done.stdout, re.MULTILINE),
            copies_of_sort(leaks, program),
        )
    unsealed, sealed = said.values()
    assert unsealed == (["signal 4"], {"": True})
    assert sealed == (["128 128"], {"": False, ".default": False, ".avx2": True, ".avx512": True})


def test_kernels_that_have_a_python_front_elsewhere(tmp_path):
    project = configured(tmp_path, "x86_64", "reductions")
    project.ninja()
    built = [level for level, verdict in verdicts(project).items() if verdict == "built"]
    lines = said(project, "x86_64", project.path("check")).splitlines()[-len(built) :]
    assert lines == [f"{level} right" for level in built if level in supported_levels()]


def test_an_extension_module_of_python(tmp_path):
    """The host's Python imports it. A warning about the override is Python's."""
    library, platform = libpython(), MACOS["x86_64"]
    platform.require()
    project = make_project(tmp_path, "portable")
    (project.folder / "fast.c").write_text(FAST)
    program = "executable('portable', 'main.cpp', 'early.cpp',"
    options = "name_prefix: '', name_suffix: 'so', link_args: ['-undefined', 'dynamic_lookup'],"
    headers = headers_of_python(tmp_path)
    project.edit(
        "meson.build", program, f"shared_library('fast', 'fast.c', 'early.cpp', {options} c_args: '-I{headers}',"
    )
    project.setup("--cross-file", str(platform.cross_file(tmp_path)), "-Doptimization=3")
    project.ninja()
    code = "import fast; print(fast.dot, fast.isa.current)"
    for asked in supported_levels():
        done = said(project, "x86_64", project.path("fast.so"), "--python", library, code, PORTABLE_ISA=asked)
        assert done == f"14 {level_that_runs(supported_levels(), asked)}\n"
    done = said(project, "x86_64", project.path("fast.so"), "--python", library, code, PORTABLE_ISA="AVX3")
    assert "RuntimeWarning: PORTABLE_ISA=AVX3 is not a level, and is ignored; levels: DEFAULT AVX2" in done


def test_whole_modules_are_built_once(tmp_path):
    """Notes are added to ELF objects alone."""
    project = configured(tmp_path, "x86_64", "raw_modules")
    assert "only DEFAULT: whole modules have levels only where objects are ELF" in project.last


def test_a_universal_file_is_named_as_such(portable, tmp_path):
    """As lipo joins files for several processors."""
    part = portable.path("portable").read_bytes()
    head = struct.pack(">IIIIIII", 0xCAFEBABE, 1, 0x01000007, 3, 4096, len(part), 12)
    (tmp_path / "both.so").write_bytes(head.ljust(4096, b"\0") + part)
    done = portable.isagen("matrix", tmp_path, check=False)
    assert "its binaries are universal Mach-O files, which isagen does not read\n  take a part" in done.stdout


KERNEL = (
    "#include <stdlib.h>\nstruct A { virtual ~A(); virtual int f(); };\nA::~A() {}\ninline int A::f() { return 1; }\n"
    "inline int (*hook)(float *) = nullptr;\n__attribute__((weak)) int w = 1;\nthread_local int t = 2;\n"
    'inline thread_local int u = atoi("3");\nstatic A early;\n'
    "int run(float *a, int n) { A x; t += u; switch (n) { case 1: abort(); case 2: return 7; case 3: exit(3); "
    'case 4: return atoi("4"); case 5: free(a); } return hook ? w++ : x.f() + early.f(); }\n'
)


@pytest.mark.parametrize("flags", [[], ["-g"]], ids=["", "-g"])
@pytest.mark.parametrize("processor", ["x86_64", "arm64"])
def test_damaged_objects_are_refused(tmp_path, processor, flags):
    """Thousands of changes of real objects: an error that names the file, or a sealed object that can be read."""
    need("clang++-16")
    pytest.importorskip("ziglang")
    source = tmp_path / "kernel.cpp"
    source.write_text(KERNEL)
    made = make_project(tmp_path)
    command = [*MACOS["aarch64"].compilers["cpp"], f"--target={processor}-apple-macos13", "-std=c++17", "-O2", *flags]
    made.run(*command, "-c", source, "-o", tmp_path / "k.o")
    assert 200 < refused(MachoObject, tmp_path / "k.o", 2000) < 2000


def test_damaged_programs_are_refused(portable, tmp_path):
    whole, chance, read = portable.path("portable").read_bytes(), random.Random(24994), 0
    for _ in range(300):
        data = bytearray(whole)
        data[(place := chance.randrange(3000)) : place + 4] = chance.randbytes(4)
        (tmp_path / "program").write_bytes(data)
        try:
            with open_binary(tmp_path / "program") as binary:
                read += bool(binary.notes("isagen"))
        except IsagenError as error:
            assert str(error).startswith(str(tmp_path / "program"))
    assert read
