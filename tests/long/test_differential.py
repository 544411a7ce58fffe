"""Random projects, built by isagen's own steps, run under a tracer: no level's code runs while another is selected.

Those for arm64, riscv64 and s390x run under qemu, whose log is the trace. Those for Windows run under wine, those for
macOS in the tests' loader: links are not audited there, so that they have no hostile code.

The count of projects and the first seed are ISAGEN_PROJECTS and ISAGEN_SEED in the environment; the folders of projects
that fail are kept below ISAGEN_KEEP.
"""

import os
import re
import sys
from collections import Counter
from itertools import product
from pathlib import Path

import pytest

from support.cross import TARGETS
from support.differential.building import FOUND, LINKER, REFUSED
from support.differential.campaign import BROKEN, FALSE, SOUND, UNPROVEN, Machine, table
from support.differential.generator import random_project
from support.differential.hostile_code import HOSTILE_CODE
from support.differential.hostile_handed import HOSTILE_HANDED
from support.differential.ingredients import HOSTILE, ingredient
from support.differential.running import not_traceable
from support.differential.systems import SYSTEMS
from support.projects import need

COUNT = int(os.environ.get("ISAGEN_PROJECTS", "6"))
ELSEWHERE = int(os.environ.get("ISAGEN_PROJECTS", "2"))  # for Windows and for macOS
SEED = int(os.environ.get("ISAGEN_SEED", "1"))
BY_NAME = {one.name: one for one in [*HOSTILE_CODE, *HOSTILE_HANDED]}

# What the audit reports or sealing refuses. Linked without the audit, it has to be seen to run where it must not.
OTHER_LEVEL = ingredient(
    "hook that the levels share",
    HOSTILE,
    """
// kernel:
static NOINLINE int work_$n(int x) { $body }
__attribute__((constructor)) static void store_$n(void) { ordinary_hook = work_$n; }
// call:
x += apply(ordinary_hook, x);
""",
    "c cpp",
    single=True,
)
# The audit assumes that a running kernel keeps its addresses to itself; sealing refuses the others.
STORED = ingredient(
    "hook that a call stores",
    HOSTILE,
    """
// kernel:
static NOINLINE int work_$n(int x) { $body }
// call:
if (!ordinary_hook)
  ordinary_hook = work_$n;
x += apply(ordinary_hook, x);
""",
    "c cpp",
    single=True,
)
BEYOND = ingredient(
    "ordinary code beyond the baseline",
    HOSTILE,
    """
// ordinary:
#ifdef __aarch64__
NOINLINE static void planted_$n() { __asm__ volatile(".inst 0x6e809400 /* udot */" ::: "v0"); }
#elif defined __riscv
NOINLINE static void planted_$n() { __asm__ volatile(".4byte 0x00057057 /* vsetvli */" ::: "memory"); }
#elif defined __s390x__
NOINLINE static void planted_$n() { __asm__ volatile(".byte 0xe7, 0, 0, 0, 0, 0x56 # vlr" ::: "memory"); }
#else
__attribute__((target("avx2"), noinline)) static void planted_$n()
{
  for (int i = 0; i < 64; i++)
    shared_data[i] *= 2;
}
#endif
// use:
planted_$n();
""",
)
CONTROLS = [
    (BY_NAME["registrar"], "a level's code, past its stub"),
    (OTHER_LEVEL, "another level's code"),
    (BY_NAME["initialiser beyond the baseline"], "beyond the baseline, before dispatch"),
    (BY_NAME["on_exit when loaded"], "beyond the baseline, and never selected"),
    (BEYOND, "ordinary code beyond the baseline"),
]


# Mach-O has no sizes of symbols: the padding after a shared variable counts, and may differ between levels.
PADDING = re.compile(r"its initial value is (.+) \(\d bytes\) at \w+ and \1 \(\d bytes\) at ")

# By family, a CPU of qemu with all levels that compilers at hand build and qemu reports.
# RARE: hostile code in which compilers rarely write instructions beyond the baseline.
EMULATED = {"aarch64": "max,sve-max-vq=2", "riscv64": "rv64,v=true,vext_spec=v1.0,vlen=256", "s390x": "max"}
RARE = dict.fromkeys(EMULATED, ("on_exit when loaded",)) | {
    "riscv64": ("on_exit when loaded", "initialiser beyond the baseline")
}


@pytest.fixture(scope="module", params=["x86-64", *EMULATED])
def machine(request, tmp_path_factory):
    if request.param in EMULATED:
        target = TARGETS[request.param]
        target.require("gcc")
        return Machine(tmp_path_factory.mktemp("differential"), target, EMULATED[request.param])
    return traced(tmp_path_factory.mktemp("differential"))


def traced(folder, system=None):
    """The machine of this CPU, whose programs are those of Linux or of another system."""
    if sys.platform != "linux" or os.uname().machine != "x86_64":
        pytest.skip("the tracer is for Linux on x86-64")
    need("gcc", "g++")
    if system is not None:
        system.require()
    made = Machine(folder, system=system)
    if reason := not_traceable(made.tracer, folder):
        pytest.skip(f"programs cannot be traced here: {reason}")
    if len(made.choices.levels) < 3:
        pytest.skip("this CPU has fewer than three levels")
    return made


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    return traced(tmp_path_factory.mktemp("here"))


@pytest.fixture(scope="module", params=SYSTEMS)
def elsewhere(request, tmp_path_factory):
    return traced(tmp_path_factory.mktemp(request.param), SYSTEMS[request.param])


def kept(tmp_path):
    return Path(os.environ.get("ISAGEN_KEEP", tmp_path))


def test_no_code_of_a_level_runs_while_another_is_selected(machine, tmp_path):
    """A random project is refused, reported, or sound; a benign one is sound."""
    outcomes, failures = [], []
    print(f"seeds {SEED} to {SEED + COUNT - 1}, levels {' '.join(machine.choices.levels)}")
    for outcome in machine.campaign(range(SEED, SEED + COUNT), kept(tmp_path)):
        outcomes.append(outcome)
        if outcome.failed:
            failures.append(f"{outcome.outcome}: {outcome.project.described}\n{outcome.detail}")
    print(table(outcomes))
    print(Counter(outcome.outcome for outcome in outcomes))
    assert not failures, "\n\n".join(failures)
    ran = Counter[str]()
    for outcome in outcomes:
        ran.update(outcome.run.by_level if outcome.run else {})
    found = {outcome.outcome for outcome in outcomes}
    assert SOUND in found
    assert len(ran) > 1
    if COUNT >= 100:  # else chance may leave some out
        assert {*machine.choices.levels} <= set(ran)
        assert {FOUND, REFUSED} <= found


@pytest.mark.parametrize(("control", "why"), CONTROLS, ids=lambda value: getattr(value, "name", None))
def test_code_that_runs_where_it_must_not_is_seen(machine, tmp_path, control, why):
    """The check can fail: linked without the audit, such projects are seen to cross; with it, they are reported."""
    if control.name in RARE.get(machine.family, ()):
        pytest.skip("compilers rarely write instructions beyond the baseline for such functions")
    seen = Counter[str]()
    for seed in range(8):
        project = random_project(seed, machine.choices, [control])
        folder = tmp_path / str(seed)
        unaudited = machine.outcome(project, folder / "unaudited", "off")
        audited = machine.outcome(project, folder / "audited")
        if unaudited.outcome == BROKEN:
            assert audited.outcome != SOUND
        seen.update({crossing.why for crossing in unaudited.run.crossings} if unaudited.run else {})
        if why in seen:
            assert audited.outcome in (FOUND, REFUSED, LINKER, UNPROVEN)
            return
    pytest.fail(f"never seen: {why}; seen: {dict(seen)}")


def test_each_level_runs_its_own_code_on_windows_and_macos(elsewhere, here, tmp_path):
    """Each executed address is of the level that is selected, and programs compute what those of Linux compute."""
    outcomes = []
    for outcome in elsewhere.campaign(range(SEED, SEED + ELSEWHERE), kept(tmp_path), benign=True):
        if (outcome.outcome, elsewhere.choices.compilers) == (FALSE, ("darwin",)) and PADDING.search(outcome.detail):
            print(f"refused for its padding: {outcome.project.described}")
            continue
        assert outcome.outcome == SOUND, f"{outcome.outcome}: {outcome.project.described}\n{outcome.detail}"
        if elsewhere.choices.levels == here.choices.levels:
            assert outcome.run.result == here.result(outcome.project), outcome.project.described
        outcomes.append(outcome)
    print(f"{len(outcomes)} projects, {sum(outcome.run.executed for outcome in outcomes)} addresses")


@pytest.mark.parametrize(
    ("control", "why"),
    [(STORED, "another level's code"), (BEYOND, "ordinary code beyond the baseline")],
    ids=lambda value: getattr(value, "name", None),
)
def test_code_that_runs_where_it_must_not_is_seen_on_windows_and_macos(elsewhere, tmp_path, control, why):
    for seed in range(8):
        project = random_project(seed, elsewhere.choices, [control])
        outcome = elsewhere.outcome(project, tmp_path / str(seed))
        if outcome.run and why in {crossing.why for crossing in outcome.run.crossings}:
            return
    pytest.fail(f"never seen: {why}")


def test_a_seed_gives_the_same_project(machine):
    for seed in range(5):
        assert random_project(seed, machine.choices) == random_project(seed, machine.choices)


def test_every_compiler_and_linker_has_a_project(machine):
    projects = [random_project(seed, machine.choices) for seed in range(1, 101)]
    assert {(project.compiler, project.linker) for project in projects} == {
        *product(machine.choices.compilers, machine.choices.linkers)
    }
