"""What ran where: tests fill cells of tables, and `--what-ran=PAGE` writes the tables when the run ends.

A test calls the fixture `cell` before anything that may skip it. The cell then says how it ran, why it was
skipped, or that it failed; "not run" where no test filled it.
"""

import platform
import shutil
import subprocess
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

import pytest

from isagen.processors.table import load_table

from . import newer
from .cross import TARGETS
from .levels import ALL
from .platforms import MACOS, PLATFORMS, WINDOWS, ZIG_WITH_LIBRARY

PROPERTY = "what ran"
PROGRAMS = (
    *("gcc", "g++-11", "clang-14", "clang-16", "clang-19", "clang-22"),
    *(f"{target.triplet}-gcc" for target in TARGETS.values() if "gcc" in target.compilers),
    *("x86_64-w64-mingw32-gcc", "arm-linux-gnueabihf-gcc", "qemu-x86_64", "qemu-aarch64", "wine"),
)
INTRODUCTION = """\
# What ran where

`.ci/run` writes this page: each cell says what the tests did in its last run, on [this machine](#the-machine), and "not
run" where they did nothing. CPUs of other processors are those of qemu: no such machine was at hand. Compilers are
those of Debian 12, without Clang 15, zig, and newer ones where they are installed: none of Intel, Apple and Microsoft.
"""


@dataclass(frozen=True)
class Grid:
    """A table of the page: what it shows, the rows and columns that are expected."""

    text: str
    rows: Collection[str]
    columns: Collection[str]


def _levels(family: str) -> tuple[str, ...]:
    return load_table(TARGETS[family].table, Path()).names()


COMPILERS = ("gcc", "clang-14", "clang-16", "zig")
SELECTION, KERNELS, X86 = "Levels that CPUs select", "Reference kernels: {}", "Levels of x86-64"
SYSTEMS, INTRINSICS = "Other platforms", "Intrinsics"
ON_WINDOWS, ON_MACOS = "Levels on Windows", "Levels on macOS"
ONE_PROJECT = "One project on every platform"
# How tests/packages/everywhere runs on each platform, where it does.
EVERYWHERE = {
    "Linux x86-64": "levels run",
    "Linux x86-64, musl": "levels run",
    "Linux arm64": "levels run with qemu-aarch64",
    "Linux arm64, musl": "the baseline run with qemu-aarch64",
    "Windows, MinGW's GCC": "levels run with wine",
    "Windows, zig": "levels run with wine",
    "Windows arm64": "the baseline built and audited, not run",
    "Windows, clang-cl": "levels run with wine",
    "macOS x86-64": "levels run in the tests' loader",
    "macOS arm64": "levels run in the tests' loader with qemu-aarch64",
    "FreeBSD": "levels built and audited, not run",
    "WebAssembly": "the baseline run with wasmtime",
    "Linux armv7": "the baseline run with qemu-arm",
    "an unknown system": "the baseline run",
}
BUILT_BY = "What compilers build: table {}"
# The compilers of C++ that each table is tried with.
CLANGS = [f"clang-{version}" for version in (14, 16, 19, 22)]
ON_X86 = {
    **{f"gcc-{version}": [f"g++-{version}"] for version in (11, 12)},
    **{name: [newer.cxx(name)] for name in (*newer.GCC, *CLANGS, *newer.CLANG)},
    "zig": [*ZIG_WITH_LIBRARY, "x86_64-linux-musl", "c++", "-mcpu=x86_64", "-nostdlib++"],
    "mingw gcc": ["x86_64-w64-mingw32-g++"],
}
TABLE_COMPILERS = {
    **dict.fromkeys(("x86", "aten", "ipex", "numpy", "sse", "x86-64"), ON_X86),
    **{
        target.table: {
            compiler: target.compiler(compiler)
            for compiler in (["gcc", *CLANGS, "zig"] if "gcc" in target.compilers else target.compilers)
        }
        for target in TARGETS.values()
    },
}
TABLE_COMPILERS["aten-arm64"] = TABLE_COMPILERS["arm64"]
GRIDS = {
    **{
        BUILT_BY.format(name): Grid("Built, or the reason why not.", load_table(name, Path()).names(), compilers)
        for name, compilers in TABLE_COMPILERS.items()
    },
    SELECTION: Grid(
        "The level that a cross-built program selects on each CPU of qemu-user, by compiler.",
        [f"{family}: {cpu}" for family, target in TARGETS.items() for cpu in target.selected],
        COMPILERS,
    ),
    X86: Grid(
        "The level selected, or asked for and selected, by the reference kernels' extension.",
        ALL,
        ["this machine's CPU", "qemu Nehalem", "qemu Haswell-v4", "the tests' emulator"],
    ),
    **{
        KERNELS.format(family): Grid(
            "All reference kernels at each level that the CPU of qemu has, compared with plain loops.",
            target.selected,
            _levels(family),
        )
        for family, target in TARGETS.items()
        if "gcc" in target.compilers
    },
    INTRINSICS: Grid(
        "Intrinsics, with their lanes, compiled with a level's flags and run under qemu, compared with scalar code.",
        [f"{family}: {level}" for family in TARGETS for level in _levels(family)[1:]],
        ("gcc", "clang-16"),
    ),
    ON_WINDOWS: Grid(
        "The level selected under wine, or asked for and selected, by compiler.", [*WINDOWS, "clang-cl"], ALL
    ),
    ON_MACOS: Grid(
        "The level that a Mach-O program selects, or is asked for and selects, in the tests' loader on Linux.",
        MACOS,
        dict.fromkeys((*ALL, *load_table("arm64", Path()).names())),
    ),
    ONE_PROJECT: Grid(
        "`tests/packages/everywhere`, built without an edit: each kernel runs its own code at each level.",
        EVERYWHERE,
        ["how"],
    ),
    SYSTEMS: Grid("The baseline alone is built there.", PLATFORMS, ["built", "run"]),
}


@pytest.fixture
def cell(record_property: Callable[[str, object], None]) -> Callable[..., None]:
    """Say that this test fills a cell: (table, row, column, how)."""

    def fill(table: str, row: str, column: str, how: str = "run") -> None:
        assert row in GRIDS[table].rows
        assert column in GRIDS[table].columns
        record_property(PROPERTY, [table, row, column, how])

    return fill


@dataclass(eq=False)
class Writer:
    """Collects the cells of the run's tests, of all processes, and writes the grid."""

    path: Path
    cells: dict[tuple[str, str, str], list[str]] = field(default_factory=dict)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what became of the cells of a test."""
        if report.when == "call" or report.skipped or report.failed:
            for name, value in report.user_properties:
                if name == PROPERTY:
                    table, row, column, how = value  # type: ignore[misc]
                    became = {"passed": how, "skipped": f"not run: {_reason(report)}", "failed": "**failed**"}
                    said = self.cells.setdefault((table, row, column), [])
                    if became[report.outcome] not in said:
                        said.append(became[report.outcome])

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Write the page and say so."""
        self.path.write_text(self.text(), encoding="utf-8")
        terminalreporter.write_line(f"what ran where: {self.path}")

    def text(self) -> str:
        """The grid."""
        parts = [INTRODUCTION]
        for title, grid in GRIDS.items():
            parts.append(f"## {title}\n\n{grid.text}\n\n| |{''.join(f' {one} |' for one in grid.columns)}")
            parts[-1] += "\n|---|" + "---|" * len(grid.columns)
            for row in grid.rows:
                cells = ["; ".join(self.cells.get((title, row, one), ["not run"])) for one in grid.columns]
                cells = [one.replace("|", "\\|") for one in cells]
                parts[-1] += f"\n| {row} |" + "".join(f" {one} |" for one in cells)
            parts[-1] += "\n"
        return "\n".join([*parts, "## The machine\n", *_machine()])


def _reason(report: pytest.TestReport) -> str:
    return str(report.longrepr[2] if isinstance(report.longrepr, tuple) else "").removeprefix("Skipped: ")


def _machine() -> Iterable[str]:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    models = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    yield f"- CPU: {models[0] if models else platform.processor() or 'unknown'} ({platform.machine()})"
    yield f"- Python {platform.python_version()}"
    for program in PROGRAMS:
        if shutil.which(program):
            done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
            yield f"- {program}: {(done.stdout.splitlines() or ['?'])[0]}"
        else:
            yield f"- {program}: not installed"
    with suppress(metadata.PackageNotFoundError):
        yield f"- zig: {metadata.version('ziglang')}"
    yield ""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names the page."""
    parser.addoption("--what-ran", metavar="PAGE", help="write a page of what ran where, such as docs/what-ran.md")


def pytest_configure(config: pytest.Config) -> None:
    """Collect cells where the page is asked for, in the process that all others report to."""
    path = config.getoption("--what-ran")
    if path and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Writer(Path(path).resolve()))
