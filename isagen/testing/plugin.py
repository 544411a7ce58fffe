"""The pytest plugin: the fixture `isa_level` runs a test once per level that is built, or that --isa-levels names.

pytest loads this file in every project if isagen is installed. So the file imports nothing of isagen, and imports the
project's modules only for tests that use the fixture.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import pytest

INI = "isa_modules"
OPTION = "--isa-levels"
NO_ISA = "\n  name the extension module itself, which calls isa_add_to_module(), such as fastdot._core"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option --isa-levels and the key isa_modules of pytest's configuration."""
    group = parser.getgroup("isagen", "levels of CPU features")
    group.addoption(OPTION, default="", metavar="NAME,...", help="levels of the fixture isa_level; default: all built")
    parser.addini(INI, "modules whose levels the fixture isa_level switches, through their attribute isa", type="args")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test that uses the fixture run once per level."""
    if "isa_level" in metafunc.fixturenames:
        metafunc.parametrize("isa_level", _levels(metafunc.config), indirect=True)


@pytest.fixture
def isa_level(request: pytest.FixtureRequest) -> Iterator[str]:
    """Run the test at each built level of the modules in `isa_modules`, or at those that --isa-levels names.

    The value is the level's name.
    """
    level: str = getattr(request, "param", "")
    if not level:
        pytest.fail(
            "isa_level works neither in a unittest.TestCase nor through request.getfixturevalue\n"
            "  name it among the arguments of a test function",
            pytrace=False,
        )
    using = [isa for isa in _introspected(request.config) if isa.levels.get(level, (False,))[0]]
    if not using:
        pytest.skip(next(isa for isa in _introspected(request.config) if level in isa.levels).why(level))
    with ExitStack() as stack:
        for isa in using:
            try:
                stack.enter_context(isa.use(level))
            except RuntimeError as problem:  # CPU or OS lack features, or a whole module cannot change its level
                pytest.skip(str(problem))
        yield level


def _levels(config: pytest.Config) -> list[str]:
    """Return the levels that the option names, built or not; the built levels if it names none; lowest first."""
    found = _introspected(config)
    known = {level: False for isa in found for level in isa.levels}
    for isa in found:
        known |= {level: True for level, (built, *_) in isa.levels.items() if built}
    asked = config.getoption(OPTION).replace(",", " ").upper().split()
    if unknown := [name for name in asked if name not in known]:
        raise pytest.Collector.CollectError(f"{OPTION}: {unknown[0]!r} is not a level; levels: {', '.join(known)}")
    return [level for level, built in known.items() if (level in asked if asked else built)]


def _introspected(config: pytest.Config) -> Sequence[Any]:
    names: list[str] = config.getini(INI)
    if not names:
        message = f"the fixture isa_level needs {INI} in pytest's configuration: {INI} = fastdot._core"
        raise pytest.Collector.CollectError(message)
    try:
        return [importlib.import_module(name).isa for name in names]
    except (ImportError, AttributeError) as problem:
        remedy = NO_ISA if isinstance(problem, AttributeError) else ""
        raise pytest.Collector.CollectError(f"{INI}: {problem}{remedy}") from problem
