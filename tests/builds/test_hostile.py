"""Hostile projects: a level's code that is let out is refused, found, or never runs where it must not.

What was found before is built with both compilers, the rest with one. A case without a linker of its own takes one of
those that are installed, in turn. ISAGEN_TESTS=all builds every case with every compiler, linker and level of
optimisation.
"""

import platform
import re
import zlib
from dataclasses import replace

import pytest

from support.hostile import ASSUMED, BROKEN, COMPILERS, DIED, LINKERS, SOUND, Workshop, available, cases
from support.levels import lacks
from support.pairs import ALL, paired
from support.projects import need

FILES = ("loading", "holding", "keeping", "linking", "further")
EVERYTHING = [one for name in FILES for one in cases(name) if ALL and not one.broken]
pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the cases are for x86-64")


def parameters(*files):
    """Return the cases of files as parameters; what is known to be broken is expected to fail. A tenth is for smoke."""
    found = []
    for name in files:
        for number, one in enumerate(cases(name)):
            marks = [pytest.mark.xfail(strict=True, reason=one.broken)] if one.broken else []
            if number % 10 == 0:
                marks.append(pytest.mark.smoke)
            found.append(pytest.param(one, id=f"{name}: {one.name}", marks=marks))
    return found


@pytest.fixture(scope="module")
def workshop(tmp_path_factory):
    need("gcc", "g++")
    return Workshop(tmp_path_factory.mktemp("hostile"))


def in_turn(one, compiler):
    """Return the linkers of a case that are installed; where it takes any, one of them."""
    linkers = available(one.linkers)
    if ALL or one.linkers != tuple(LINKERS) or not linkers:
        return linkers
    return linkers[zlib.crc32(f"{one.name}, {compiler}".encode()) % len(linkers) :][:1]


def outcomes(workshop, one, compiler, tmp_path, linkers=None):
    """Return what became of a case by linker; skip it where something is missing."""
    if not available([compiler]):
        pytest.skip(f"there is no {compiler}")
    levels = {level.name: level for level in workshop.base(compiler).build.plan.levels}
    missing = [name for name in one.levels if lacks(levels[name].features)]
    if missing:
        pytest.skip(f"this CPU lacks {missing[0]}")
    linkers = available(linkers) if linkers else in_turn(one, compiler)
    if not linkers:
        pytest.skip(f"there is none of {' '.join(one.linkers)}")
    return workshop.outcomes(one, compiler, tmp_path, linkers)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("one", parameters("issue", "values", "checks"))
def test_what_was_found_before(workshop, tmp_path, one, compiler):
    for linker, seen in outcomes(workshop, one, compiler, tmp_path).items():
        assert seen.is_one_of(one.expected), f"{linker}: {seen.outcome}\n{seen.detail}"
        assert re.search(one.says, seen.detail), f"{linker}: {seen.detail}"


@pytest.mark.parametrize("one", parameters(*FILES))
def test_hostile_project(workshop, tmp_path, one):
    for linker, seen in outcomes(workshop, one, one.compilers[0], tmp_path).items():
        assert seen.is_one_of(one.expected), f"{linker}: {seen.outcome}\n{seen.detail}"
        assert re.search(one.says, seen.detail), f"{linker}: {seen.detail}"


@pytest.mark.parametrize("one", parameters("harmless"))
def test_harmless_project(workshop, tmp_path, one):
    for linker, seen in outcomes(workshop, one, one.compilers[0], tmp_path).items():
        assert seen.is_one_of(one.expected), f"{linker}: {seen.outcome}\n{seen.detail}"


SETTINGS = paired(COMPILERS, ["-O0", "-O1", "-O2", "-O3", "-O2 -D_GLIBCXX_DEBUG"])
# Each case is built with two of the settings in turn.
ORDINARY = [
    pytest.param(*case.values, *setting, id=f"{case.id}, {' '.join(setting)}", marks=case.marks)
    for number, case in enumerate(parameters("ordinary"))
    for turn, setting in enumerate(SETTINGS)
    if ALL or (turn - 2 * number) % len(SETTINGS) < 2
]


@pytest.mark.parametrize(("one", "compiler", "opt"), ORDINARY)
def test_ordinary_kernels(workshop, tmp_path, one, compiler, opt):
    level, *args = opt.split()
    one = replace(one, opt=level, args=tuple(args))
    for linker, seen in outcomes(workshop, one, compiler, tmp_path, ("bfd",)).items():
        assert seen.is_one_of(one.expected), f"{linker}: {seen.outcome}\n{seen.detail}"


@pytest.mark.skipif(not ALL, reason="ISAGEN_TESTS=all builds all combinations")
@pytest.mark.parametrize("opt", ["-O0", "-O2"])
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("one", EVERYTHING, ids=lambda one: one.name)
def test_no_combination_is_broken(workshop, tmp_path, one, compiler, opt):
    for linker, seen in outcomes(workshop, replace(one, opt=opt), compiler, tmp_path, tuple(LINKERS)).items():
        assert seen.outcome not in (BROKEN, DIED) or ASSUMED in one.expected, f"{linker}: {seen.detail}"


@pytest.mark.smoke
def test_a_project_that_breaks_the_rule_is_seen(workshop, tmp_path):
    """The check can fail: linked without the audit, a registrar is seen to let code of a level run."""
    one = next(one for one in cases("issue") if one.name.startswith("registrar"))
    assert workshop.outcomes(one, "g++", tmp_path, ("bfd",), audit="off")["bfd"].outcome == BROKEN
    assert workshop.outcomes(one, "g++", tmp_path, ("bfd",))["bfd"].outcome not in (SOUND, BROKEN)
