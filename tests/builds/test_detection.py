"""Detection and selection on recorded CPUs: the generated C code of each table, compared with the Python model."""

import itertools
import json
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from isagen.cli.main import main
from isagen.configure.dispatch import dispatch_texts
from isagen.model.names import BIND_SYMBOL
from isagen.model.plan import Plan, Verdict
from isagen.planning.config import Config
from isagen.planning.plan import CopyOptions, make_plan
from isagen.processors.detection import ask_permissions, detect
from isagen.processors.registry import this_cpu_family
from isagen.processors.table import Table, load_table
from isagen.processors.x86.machine import ThisMachine
from support.checkout import ROOT
from support.model import build_of, write_dispatch
from support.projects import need
from support.recorded import FEATURES, SAMPLE, X86_TABLES, recorded

pytestmark = pytest.mark.smoke

CPUS = recorded()
BY_NAME = {cpu.name: cpu for cpu in CPUS}
UNKNOWN = "avx9"


@dataclass(frozen=True)
class Case:
    """What the C code did for one recording and one override; levels by name, None for none."""

    cpu: str
    override: str | None
    selected: str | None
    asked: int
    warning: str
    stubs: dict[str, str | None]
    bound: dict[str, str | None]
    missing: dict[str, str]
    supported: frozenset[str]


@dataclass(frozen=True)
class Binary:
    """A dispatch source: the plan that it is made from, and the stubs with the levels that have a kernel."""

    table: Table
    plan: Plan
    stubs: dict[str, list[str]]

    @property
    def built(self) -> list[str]:
        return [level.name for level in self.plan.levels if level.verdict == "built"]

    def overrides(self) -> list[str | None]:
        names = [name.lower() for name in self.table.names()]
        return [None, *names, f" {names[0]}", f"{names[-1]}\t ", UNKNOWN, "", "  "]

    def allowed(self, override: str | None) -> list[str]:
        """The built levels that the override leaves, highest rank first."""
        names = self.table.names()
        asked = next((name for name in names if name.lower() == override), None)
        left = names if asked is None else [*(level.name for level in self.table.below(asked)), asked]
        return [name for name in reversed(names) if name in left and name in self.built]


def binary(name: str, kind: str) -> Binary:
    """A plan of the table: `whole`, or `partial`, with every other level and more features for the highest."""
    table = load_table(name, Path())
    names = table.names()
    verdicts = {}
    for index, level in enumerate(names):
        extra = ("sha", "avx512_vbmi2") if kind == "partial" and index == len(names) - 1 else ()
        features = tuple(x for x in FEATURES.features if x in {*table.required_features(level), *extra})
        built = kind == "whole" or index % 2 == 0 or index == len(names) - 1
        verdicts[level, "c"] = Verdict(built, "", features=features)
    plan = make_plan(
        config=Config(Path("isa.toml"), override="TEST_ISA"),
        table=table,
        kernels=["k.c"],
        option_levels="",
        verdicts=verdicts,
        source_root="..",
        copy_options=CopyOptions(),
    )
    built = [level.name for level in plan.levels if level.verdict == "built"]
    return Binary(table, plan, {"all": built, "few": built[:1] + built[2:-1:2], "low": built[:1]})


def run(folder: Path, one: Binary) -> list[Case]:
    """Compile the dispatch source with the harness, and run it on every recording with every override."""
    names = one.table.names()
    write_dispatch(folder, dispatch_texts(build_of(one.plan), one.table), one.stubs, names)
    (folder / "recordings.h").write_text("\n".join([*recordings_text(), *program_text(one)]))
    shutil.copy(ROOT / "tests/cpp/detection.c", folder / "harness.c")
    flags = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1"]
    subprocess.run(["cc", *flags, "harness.c", "-o", "harness"], cwd=folder, check=True)
    done = subprocess.run([folder / "harness"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [case(one, line) for line in done.stdout.splitlines()]


def recordings_text() -> list[str]:
    """C text of the recordings: raw registers only."""
    lines, table = [], []
    for index, cpu in enumerate(CPUS):
        rows = ", ".join(f"{{{leaf}u, {sub}u, {c_array(row)}}}" for (leaf, sub), row in cpu.rows.items())
        lines.append(f"static const struct row rows_{index}[] = {{{rows}}};")
        xgetbv = f"{int(cpu.saved is not None)}, {cpu.saved or 0}u"
        sysctl = json.dumps(cpu.sysctls[0] if cpu.sysctls else "")
        table.append(
            f'  {{"{cpu.name}", rows_{index}, {len(cpu.rows)}, {c_array(cpu.otherwise)}, {xgetbv}, '
            f"{int(cpu.grants)}, {sysctl}}},"
        )
    return [*lines, "static const struct recording recordings[] = {", *table, "};"]


def c_array(values: tuple[int, ...]) -> str:
    return "{" + ", ".join(f"{value}u" for value in values) + "}"


def program_text(one: Binary) -> list[str]:
    """C text that replaces the rest of the program: kernels, stubs, and the overrides to try."""
    names = one.table.names()
    lines = [f"static int bound[{len(one.stubs)}];"]
    for index, (stub, levels) in enumerate(one.stubs.items()):
        lines += [f"const struct isa_kernel isa_kernel_{x}__{stub} = {{{names.index(x)}}};" for x in levels]
        lines += [f"void {BIND_SYMBOL}{stub}(const struct isa_kernel *kernel) {{ bound[{index}] = kernel->level; }}"]
    values = ", ".join("NULL" if value is None else json.dumps(value) for value in one.overrides())
    return [*lines, f"static const char *const overrides[] = {{{values}}};"]


def case(one: Binary, line: str) -> Case:
    names = (*one.table.names(), None)  # -1 is the last
    cpu, override, selected, asked, warning, stubs, *levels = line.split("\t")
    pairs = [[names[int(word)] for word in pair.split(":")] for pair in stubs.split(",")[:-1]]
    found = dict(zip(one.table.names(), (level.split(":", 1) for level in levels), strict=True))
    given = one.overrides()[int(override)]
    return Case(
        cpu=cpu,
        override=None if given is None else given.strip(),  # blanks around a level mean nothing
        selected=names[int(selected)],
        asked=int(asked),
        warning=warning,
        stubs={name: pair[0] for name, pair in zip(one.stubs, pairs, strict=True)},
        bound={name: pair[1] for name, pair in zip(one.stubs, pairs, strict=True)},
        missing={name: text for name, (_, text) in found.items()},
        supported=frozenset(name for name, (supported, _) in found.items() if supported == "1"),
    )


@pytest.fixture(scope="module", params=list(itertools.product(X86_TABLES, ["whole", "partial"])), ids="-".join)
def ran(request, tmp_path_factory):
    need("cc")
    one = binary(*request.param)
    cases = run(tmp_path_factory.mktemp("detection"), one)
    assert len(cases) == len(CPUS) * len(one.overrides())
    return one, cases


def needs(one: Binary) -> dict[str, frozenset[str]]:
    return {level.name: frozenset(level.features) for level in one.plan.levels}


def test_nothing_is_selected_that_the_cpu_or_the_override_forbids(ran):
    one, cases = ran
    for c in cases:
        machine = BY_NAME[c.cpu]
        cpu = ask_permissions(detect(FEATURES, machine), machine)
        usable = FEATURES.features.keys() - {lacking.split()[0] for lacking in cpu.missing(FEATURES.features)}
        for level in {c.selected, *c.stubs.values()} - {None}:
            assert needs(one)[level] <= usable, c
            assert level in one.allowed(c.override), c
        for stub, level in c.stubs.items():
            assert level == c.bound[stub], c
            assert level is None or level in one.stubs[stub], c


def test_c_and_python_agree(ran):
    one, cases = ran
    for c in cases:
        machine = BY_NAME[c.cpu]
        cpu = detect(FEATURES, machine)
        asked = False
        chosen: dict[str, str | None] = {}
        for stub, kernels in {"": one.built, **one.stubs}.items():
            chosen[stub] = None
            for level in one.allowed(c.override) if chosen[""] or not stub else []:
                if level not in kernels or cpu.missing(needs(one)[level]):
                    continue
                if any(FEATURES.features[name].state == "amx" for name in needs(one)[level]):
                    asked = True
                    cpu = ask_permissions(cpu, machine)
                if not cpu.missing(needs(one)[level]):
                    chosen[stub] = level
                    break
        assert {"": c.selected, **c.stubs} == chosen, c
        lacks = {level: " ".join(cpu.missing(features)) for level, features in needs(one).items()}
        assert c.missing == lacks, c
        assert c.supported == {level for level, text in lacks.items() if not text}, c
        # Permission is asked for when an AMX level is about to be selected, and only then.
        assert bool(c.asked) == asked, c


def test_the_override_is_validated(ran):
    one, cases = ran
    names = {name.lower(): name for name in one.table.names()}
    for c in cases:
        if c.override == UNKNOWN:
            listed = " ".join(one.table.names())
            assert c.warning == f"TEST_ISA={UNKNOWN} is not a level, and is ignored; levels: {listed}", c
        elif c.override and c.missing[names[c.override]] and c.selected:
            lacks = c.missing[names[c.override]]
            assert c.warning == (
                f"TEST_ISA={names[c.override]} needs features that CPU or OS lack ({lacks}); {c.selected} is used"
            ), c
        elif c.override and c.selected and names[c.override] not in one.built:
            assert c.warning == (f"TEST_ISA={names[c.override]} is not built into this binary; {c.selected} is used"), c
        else:
            assert c.warning == "", c


def test_what_is_known_of_these_cpus(ran):
    one, cases = ran
    if one.built != list(one.table.names()):
        return  # the recordings expect levels of whole tables
    found = {(c.cpu, c.override): c for c in cases}
    for cpu in CPUS:
        for override, level in cpu.selected.get(one.table.name, {}).items():
            c = found[cpu.name, None if override == "none" else override]
            assert c.selected == (level or None), c
            assert level or set(c.stubs.values()) == {None}, c
        for level, text in cpu.missing.get(one.table.name, {}).items():
            c = found[cpu.name, None]
            assert text in c.missing[level], c


# ---- `isagen cpu`


def cpu_command(*arguments: str, emulator: tuple[str, ...] = ()) -> str:
    command = [*emulator, sys.executable, "-m", "isagen", "cpu", *arguments]
    return subprocess.run(command, cwd="/", capture_output=True, text=True, check=True).stdout


@pytest.fixture
def x86():
    if this_cpu_family() != "x86_64":
        pytest.skip("this CPU has no CPUID")
    return ThisMachine()


def test_the_command_has_the_lines_of_the_sample(x86):
    pattern = re.sub(r"\\?\b(true|false)\b", "(true|false)", re.escape(" ".join(SAMPLE.split())))
    pattern = pattern.replace("00000000000602e7", "[0-9a-f]{16}")
    said = cpu_command("--format", "ipex")
    assert re.fullmatch(pattern, " ".join(said.split()))
    data = json.loads(cpu_command("--features", "--format", "json"))
    assert f"XCR0: {data['xcr0']:016x}\n" in said
    assert list(data["features"]) == list(FEATURES.features)
    assert list(data["os"]) == list(FEATURES.states)
    text = " ".join(cpu_command("--features").split())
    assert text.startswith(f"CPU: {data['cpu']} has: ")
    has, lacks = re.search("has: (.*) lacks: (.*) the OS saves", text).groups()
    assert has.split() == [name for name, there in data["features"].items() if there]
    assert lacks.split() == [name for name, there in data["features"].items() if not there]


def test_the_command_agrees_with_the_extension_of_the_kernels(x86):
    from isagen_kernels import isa

    said = json.loads(cpu_command("--levels", "--format", "json"))
    assert said["table"] == "x86"
    assert said["levels"].keys() == isa.levels.keys(), "the installed kernels have other levels: pip install ./python"
    assert {name: level["supported"] for name, level in said["levels"].items()} == {
        name: supported for name, (_, supported, _) in isa.levels.items()
    }
    text = cpu_command("--levels")
    assert re.search(r"^DEFAULT +supported$", text, re.M)
    assert len(re.findall(r"supported", text)) == len(said["levels"])
    assert text.startswith("CPU: ")
    assert f"\nruns: {said['runs']}, the highest level of table x86 " in cpu_command()
    assert said["runs"] == [name for name, level in said["levels"].items() if level["supported"]][-1]


@pytest.mark.parametrize(("cpu", "best"), [("Nehalem", "X86_64_V2"), ("Haswell-v4", "X86_64_V3")])
def test_the_command_on_other_cpus(x86, cpu, best):
    need("qemu-x86_64")
    said = cpu_command("--levels", "--table", "x86-64", "--format", "json", emulator=("qemu-x86_64", "-cpu", cpu))
    supported = [name for name, level in json.loads(said)["levels"].items() if level["supported"]]
    assert supported[-1] == best


def test_the_name_of_the_cpu_is_the_one_that_linux_tells(x86):
    cpuinfo = Path("/proc/cpuinfo")
    told = re.search(r"^model name\s*: (.*)$", cpuinfo.read_text(), re.M) if cpuinfo.exists() else None
    if told is None:
        pytest.skip("Linux does not tell the CPU's name")
    assert x86.cpu_name() == " ".join(told[1].split())


def test_the_name_of_a_cpu_without_a_brand(x86, monkeypatch, tmp_path):
    """Linux's file tells it; where it does not, Python does."""
    monkeypatch.setattr(x86, "cpuid", lambda leaf, subleaf: (0, 0, 0, 0))
    told = tmp_path / "cpuinfo"
    told.write_text("processor\t: 0\nuarch\t\t: sifive,u74-mc\n")
    monkeypatch.setattr("isagen.processors.machines.CPUINFO", told)
    assert x86.cpu_name() == "sifive,u74-mc"
    told.unlink()
    monkeypatch.setattr(platform, "processor", lambda: "riscv")
    assert x86.cpu_name() == "riscv"


def test_this_machine(x86):
    assert x86.cpuid(0, 0)[0] >= 1
    assert all(0 <= value < 1 << 32 for value in x86.cpuid(1, 0))
    assert x86.sysctl("no.such.sysctl") == 0


def test_on_another_architecture_the_command_says_so(monkeypatch, capsys):
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert main(["cpu", "--table", "x86"]) == 2
    said = capsys.readouterr().err
    assert "this CPU (aarch64) is not x86_64" in said
    assert "run isagen on x86_64, or choose a table for this CPU" in said
