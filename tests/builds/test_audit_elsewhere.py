"""The audit on arm64, riscv64 and s390x: planted instructions are found; clean code and Debian's libraries are not."""

import json
import random
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from isagen.audit.records import Baseline
from isagen.audit.targets import audit_each
from isagen.model.errors import IsagenError
from support.cross import TARGETS
from support.pairs import paired
from support.projects import make_project


@dataclass(frozen=True)
class Planted:
    """An instruction in assembly that needs a feature, a level that has it, and C that detects it."""

    text: str
    needs: str
    level: str


PLANTED = {
    "riscv64": [
        Planted('__asm__ volatile(".4byte 0x00057057" ::: "memory");', "v", "V"),  # vsetvli zero, a0, e8, m1
        Planted('__asm__ volatile(".4byte 0x20a52533" ::: "a0");', "zba", "ZBB"),  # sh1add a0, a0, a0
        Planted('__asm__ volatile(".4byte 0x60151513" ::: "a0");', "zbb", "ZBB"),  # ctz a0, a0
    ],
    "s390x": [
        Planted('__asm__ volatile(".byte 0xe7, 0, 0, 0, 0, 0x56");', "vx", "VX"),  # vlr %v0, %v0
        Planted('__asm__ volatile(".byte 0xe7, 0, 0, 0, 0x20, 0xe3");', "vxe", "VXE"),  # wfasb %f0, %f2, %f4
    ],
}
ON_ARM64 = [
    Planted('__asm__ volatile(".inst 0x04a00000" ::: "v0");', "sve or sme", "SVE"),  # add z0.s, z0.s, z0.s
    Planted('__asm__ volatile(".inst 0x6e809400" ::: "v0");', "dotprod", "DOTPROD"),  # udot v0.4s
    Planted('__asm__ volatile(".inst 0x6e40fc00" ::: "v0");', "bf16", "BF16"),  # bfdot v0.4s
]
CASES = [(family, planted) for family, several in PLANTED.items() for planted in several]
COMPILERS = ["gcc", "clang-16"]
CONSTRUCTOR = "__attribute__((constructor)) static void first(void)"
FUNCTION = "__attribute__((noinline)) {} void planted(void) {{ {} }}\n"


def audited(path, family):
    """The findings of a file, except exported functions."""
    (result,) = audit_each([path], {family: Baseline("", ())})
    assert result.problem is None
    return [finding for finding in result.findings if finding.kind != "bindable"]


@pytest.fixture
def link(tmp_path):
    """Compile C for a target, and return the output."""

    def linked(family, compiler, source, *options):
        target = TARGETS[family]
        target.require(compiler)
        (tmp_path / "x.c").write_text(source)
        command = [*target.compiler(compiler, "c"), "-O2", *options, "x.c", "-o", "x"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return tmp_path / "x"

    return linked


KINDS = {
    "object": ["-fPIC", "-c"],
    "library": ["-fPIC", "-shared"],
    "program": [],
    "program at fixed addresses": ["-no-pie"],
    "program without relaxation": ["-Wl,--no-relax"],
    "without PLT": ["-fPIC", "-fno-plt", "-shared"],
    "static": ["-static"],
}


@pytest.mark.parametrize(("kind", "compiler"), paired(KINDS, COMPILERS))
@pytest.mark.parametrize("family", PLANTED)
def test_what_an_initialiser_calls_is_found(link, family, compiler, kind):
    planted = PLANTED[family][0]
    source = FUNCTION.format("static", planted.text) + f"{CONSTRUCTOR} {{ planted(); }}\nint main() {{ return 0; }}\n"
    (finding,) = audited(link(family, compiler, source, *KINDS[kind]), family)
    assert (finding.kind, finding.symbol, finding.features) == ("load", "planted", (planted.needs,))


@pytest.mark.parametrize(("kind", "compiler"), paired(KINDS, COMPILERS[::-1]))
@pytest.mark.parametrize("family", PLANTED)
def test_what_runs_at_exit_is_found(link, family, compiler, kind):
    """The address of the function is an argument. Which function an object calls is known when it is linked."""
    planted = PLANTED[family][0]
    source = (
        "#include <stdlib.h>\n" + FUNCTION.format("static", planted.text)
        + f"{CONSTRUCTOR} {{ atexit(planted); }}\nint main() {{ return 0; }}\n"
    )  # fmt: skip
    found = audited(link(family, compiler, source, *KINDS[kind]), family)
    kind = "unproven" if kind == "object" else "load"
    assert (kind, "planted") in {(finding.kind, finding.symbol) for finding in found}


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("family", PLANTED)
def test_tables_of_addresses_are_followed(link, family, compiler):
    """An initialiser hands out the address of a table."""
    source = (
        "extern void hand(void (*const *)(void));\n" + FUNCTION.format("static", PLANTED[family][0].text)
        + f"static void (*const table[])(void) = {{planted, planted}};\n{CONSTRUCTOR} {{ hand(table); }}\n"
    )  # fmt: skip
    (finding,) = audited(link(family, compiler, source, "-fPIC", "-shared"), family)
    assert (finding.kind, finding.cause) == ("unproven", "pointer")


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("object", "library", "without PLT")])
def test_addresses_that_riscv64_forms_from_gp_are_followed(link, compiler, kind):
    """Where data is near gp, the linker lets one instruction form its address. The initialiser hands it out."""
    source = (
        FUNCTION.format("static", PLANTED["riscv64"][0].text)
        + "long before[64] = {1};\nstatic void (*table[])(void) = {planted, planted};\n"
        + "static void (**volatile kept)(void);\n"
        + "__attribute__((noinline)) void hand(void (**to)(void)) { kept = to; }\n"
        + f"{CONSTRUCTOR} {{ hand(table); }}\nint main() {{ return !kept; }}\n"
    )
    (finding,) = audited(link("riscv64", compiler, source, *KINDS[kind]), "riscv64")
    assert (finding.kind, finding.cause) == ("unproven", "pointer")


@pytest.mark.parametrize("family", PLANTED)
def test_libraries_of_debian_have_no_finding(family):
    folder = Path("/usr", TARGETS[family].triplet, "lib")
    paths = sorted({path.resolve() for path in folder.glob("*.so.*")})
    if len(paths) < 10:
        pytest.skip(f"the libraries of {family} are not installed")
    assert {str(path): found for path in paths if (found := audited(path, family))} == {}


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("family", PLANTED)
def test_a_program_with_the_libraries_in_it_has_no_finding(tmp_path, family, compiler):
    target = TARGETS[family]
    target.require(compiler)
    (tmp_path / "x.cpp").write_text(
        "#include <iostream>\n#include <string>\nstatic std::string text(99, 'x');\nint main() { std::cout << text; }\n"
    )
    command = [*target.compiler(compiler), "-O2", "-static", "x.cpp", "-o", "x"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert audited(tmp_path / "x", family) == []


@pytest.mark.parametrize(
    ("case", "compiler"), paired([*CASES, *(("aarch64", planted) for planted in ON_ARM64)], COMPILERS)
)
def test_planted_instructions_are_found_in_builds(tmp_path, case, compiler):
    """In a constructor, in ordinary code, and in a level that lacks the feature; not in the level that has it."""
    family, planted = case
    target = TARGETS[family]
    target.require(compiler)
    project = make_project(tmp_path, "portable")
    level, function = planted.level, f"__attribute__((used, noinline)) static void in_NAME() {{ {planted.text} }}\n"
    added = [
        ("main.cpp", function.replace("NAME", "main")),
        ("early.cpp", function.replace("NAME", "early").replace("((used", "((constructor, used")),
        ("kernels/dot.cpp", "#ifdef CPU_CAPABILITY_DEFAULT\n" + function.replace("NAME", "default") + "#endif\n"),
        ("kernels/dot.cpp", f"#ifdef CPU_CAPABILITY_{level}\n" + function.replace("NAME", "level") + "#endif\n"),
    ]
    for name, text in added:
        with (project.folder / name).open("a", encoding="utf-8") as stream:
            stream.write(text)
    options = ("-Disa_audit=warn", f"-Disa_levels={level}")
    project.setup("--cross-file", str(target.cross_file(tmp_path, compiler)), *options)
    project.ninja()
    report = json.loads(project.isagen("audit", "--format", "json", "build", check=False).stdout)
    found = [one for target in report["targets"] for one in target["findings"]]
    named = {(re.search(r"in_(main|early|default|level)", one["symbol"])[1], one["kind"]) for one in found}
    assert named == {("main", "baseline"), ("early", "load"), ("default", "level")}
    assert all(one["features"] == [planted.needs] for one in found)


IFUNC = """
static int base(int x) {{ return x; }}
__attribute__((noinline)) static int planted(int x) {{ {text} return x; }}
typedef int fn(int);
extern "C" fn *chooser({argument}) {{ return {condition} ? planted : base; }}
int chosen(int) __attribute__((ifunc("chooser")));
"""


@pytest.mark.parametrize(
    ("argument", "condition"),
    [("unsigned long hwcap", "hwcap & (3 << 21)"), ("", "true")],
)
@pytest.mark.parametrize(("family", "compiler"), paired([*PLANTED, "aarch64"], COMPILERS))
def test_resolvers_are_given_hwcap(tmp_path, family, compiler, argument, condition):
    """What a resolver chooses is unproven: for which features it asks is not read from the code."""
    TARGETS[family].require(compiler)
    project = make_project(tmp_path, "portable")
    with (project.folder / "main.cpp").open("a", encoding="utf-8") as stream:
        stream.write(IFUNC.format(text=PLANTED.get(family, ON_ARM64)[0].text, argument=argument, condition=condition))
    options = ("-Disa_audit=warn", "-Disa_levels=none")
    project.setup("--cross-file", str(TARGETS[family].cross_file(tmp_path, compiler)), *options)
    project.ninja()
    report = json.loads(project.isagen("audit", "--format", "json", "build", check=False).stdout)
    found = [one for target in report["targets"] for one in target["findings"]]
    assert {one["kind"] for one in found if "planted" in one["symbol"]} == {"unproven"}


@pytest.mark.parametrize("kind", ["object", "library"])
@pytest.mark.parametrize("family", [*PLANTED, "aarch64"])
def test_damaged_files_are_one_clear_error_or_a_report(link, tmp_path, family, kind):
    (planted, *_) = PLANTED.get(family, ON_ARM64)
    source = FUNCTION.format("static", planted.text) + f"{CONSTRUCTOR} {{ planted(); }}\n"
    whole = link(family, "gcc", source, *KINDS[kind]).read_bytes()
    chance = random.Random(3)
    for number in range(200):
        damaged = bytearray(whole)
        for _ in range(chance.choice((1, 4, 40))):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        path = tmp_path / f"damaged{number}"
        size = chance.choice((len(damaged), chance.randrange(64, len(damaged))))
        path.write_bytes(damaged[:size])
        try:
            results = list(audit_each([path], {family: Baseline("", ())}))
        except IsagenError:
            continue
        assert results
