"""tests/packages/everywhere on each platform, without an edit: kernels of C and C++, a near include, a template that
linkers merge over levels, a level of the project's own tables, a source for one level.
"""

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from isagen.processors.detection import ask_permissions, detect, missing_by_level
from isagen.processors.table import Table, load_table
from isagen.processors.x86.machine import ThisMachine
from support import clang_cl, macho_loader
from support.checkout import ROOT
from support.cross import TARGETS
from support.platforms import MACOS, OTHERS, PLATFORMS, STATIC, WINDOWS, Platform, surroundings
from support.projects import PACKAGES, Project, make_project, need, verdicts
from support.what_ran import EVERYWHERE, ONE_PROJECT

OWN = {name: load_table(str(PACKAGES / "everywhere/isagen" / name), Path()) for name in ("own.toml", "own-arm64.toml")}
# The sources for one level, by that level; DEFAULT has one, too.
ROWS = {"DEFAULT": "any", "AVX2": "x86", "FP16FML": "arm64"}
BASELINE = {"": ("DEFAULT",)}
ARM64 = TARGETS["aarch64"]
APPLE = {
    name: cpu for name, cpu in tomllib.loads((ROOT / "tests/arm64/cpus.toml").read_text()).items() if "sysctls" in cpu
}


@dataclass(frozen=True)
class Row:
    """A platform: how Meson is told of it, and how a program runs on a CPU, with what in its environment.

    `cpus` are those that run it, each with the levels of `table` that it has; none where nothing runs. `table` is ""
    where only the baseline is built, for the reason `limit`. `found` is what the audit says.
    """

    setup: Callable[[Project, Path], Sequence[str]]
    table: str = "own.toml"
    words: Callable[[str], Sequence[str]] = lambda cpu: ()
    cpus: Callable[[], Mapping[str, Sequence[str]]] = lambda: BASELINE
    environment: Callable[[str], Mapping[str, str]] = lambda cpu: {}
    built: Sequence[str] = ()
    found: str = "  nothing found"
    limit: str = ""
    suffix: str = ""


def levels_with(table: Table, features: Sequence[str]) -> list[str]:
    return [level for level in table.names() if set(table.required_features(level)) <= set(features)]


def of_this_machine() -> Mapping[str, Sequence[str]]:
    machine, table = ThisMachine(), OWN["own.toml"]
    missing = missing_by_level(table, ask_permissions(detect(table.features, machine), machine))
    return {"": [level for level, lacks in missing.items() if not lacks]}


def of_arm64(cpus: Mapping[str, str]) -> Mapping[str, Sequence[str]]:
    """The levels of the project's table that CPUs have, by what they select of the table arm64."""
    known = load_table("arm64", Path())
    return {cpu: levels_with(OWN["own-arm64.toml"], known.required_features(level)) for cpu, level in cpus.items()}


def cross(platform: Platform, project: Project, folder: Path) -> list[str]:
    platform.require()
    if platform.system == "windows":
        project.environment |= surroundings()
    return ["--cross-file", str(platform.cross_file(folder)), *(STATIC if platform is WINDOWS["mingw"] else ())]


def by_gcc_for_arm64(project: Project, folder: Path) -> list[str]:
    ARM64.require("gcc")
    return ["--cross-file", str(ARM64.cross_file(folder, "gcc"))]


def by_gcc(project: Project, folder: Path) -> list[str]:
    need("gcc", "g++")
    project.environment |= {"CC": "gcc", "CXX": "g++"}
    return []


def by_clang_cl(project: Project, folder: Path) -> list[str]:
    clang_cl.require(clang_cl.VERSIONS[-1])
    return ["--cross-file", str(clang_cl.prepare(project, folder, clang_cl.VERSIONS[-1]))]


def answers(cpu: str) -> dict[str, str]:
    """What macOS says on a CPU of Apple's."""
    return {"MACHO_SYSCTL": ",".join(f"hw.optional.{name}=1" for name in APPLE[cpu]["sysctls"])}


def by_wine(setup: Callable[[Project, Path], Sequence[str]]) -> Row:
    return Row(setup, words=lambda cpu: ["wine"], cpus=of_this_machine, suffix=".exe")


def baseline(name: str, found: str) -> Row:
    platform = PLATFORMS[name]
    suffix = platform.program.removeprefix("portable")
    runs = partial(lambda words, cpu: words, platform.runner or ())
    reason = "table own is for x86_64, and this build is for arm" if name == "arm" else platform.reason
    return Row(partial(cross, platform), "", words=runs, found=found, limit=reason, suffix=suffix)


QEMU = of_arm64({cpu: ARM64.selected[cpu] for cpu in ("cortex-a53", "neoverse-n1", "max,sve=off")})
MACS = of_arm64({cpu: APPLE[cpu]["level"] for cpu in ("apple-m1", "apple-m2")})
PLATFORM = {
    "Linux x86-64": Row(by_gcc, cpus=of_this_machine),
    "Linux x86-64, musl": Row(partial(cross, OTHERS["musl"]), cpus=of_this_machine),
    "Linux arm64": Row(by_gcc_for_arm64, "own-arm64.toml", words=ARM64.emulated, cpus=lambda: QEMU),
    "Linux arm64, musl": Row(
        partial(cross, OTHERS["musl on arm64"]),
        "own-arm64.toml",
        words=ARM64.emulated,
        cpus=lambda: dict.fromkeys(QEMU, ("DEFAULT",)),
        built=["DEFAULT"],
    ),
    "Windows, MinGW's GCC": by_wine(partial(cross, WINDOWS["mingw"])),
    "Windows, zig": by_wine(partial(cross, WINDOWS["zig"])),
    "Windows arm64": Row(
        partial(cross, OTHERS["Windows on arm64"]),
        "own-arm64.toml",
        cpus=dict,
        built=["DEFAULT"],
        suffix=".exe",
    ),
    "Windows, clang-cl": by_wine(by_clang_cl),
    "macOS x86-64": Row(
        partial(cross, OTHERS["macOS"]), words=lambda cpu: macho_loader.words("x86_64"), cpus=of_this_machine
    ),
    "macOS arm64": Row(
        partial(cross, MACOS["aarch64"]),
        "own-arm64.toml",
        words=lambda cpu: macho_loader.words("aarch64", "-cpu", "max"),
        cpus=lambda: MACS,
        environment=answers,
        built=["DEFAULT", "FP16FML", "OWN"],
    ),
    "FreeBSD": Row(partial(cross, OTHERS["FreeBSD"]), cpus=dict),
    "WebAssembly": baseline("wasm32", f"nothing here can be audited\n  {PLATFORMS['wasm32'].reason}"),
    "Linux armv7": baseline("arm", "code for Arm (32-bit) is not decoded"),
    "an unknown system": baseline("made-up", "  nothing found"),
}


@pytest.mark.parametrize("name", PLATFORM)
def test_each_level_runs_its_own_code(tmp_path, cell, name):
    cell(ONE_PROJECT, name, "how", EVERYWHERE[name])
    row = PLATFORM[name]
    project = make_project(tmp_path, "everywhere")
    summary = project.setup(*row.setup(project, tmp_path))
    project.ninja()
    found = project.isagen("audit", project.build, check=False).stdout
    built = [level for level, verdict in verdicts(project).items() if verdict == "built"]
    assert row.found in found
    assert re.findall(r"levels +: (.*)", summary) == ([f"only DEFAULT: {row.limit}"] if row.limit else [])
    assert built == list(row.built or (OWN[row.table].names() if row.table else ["DEFAULT"]))
    assert re.search(r"sealed +: yes", summary) or row.limit
    if name == "FreeBSD":  # zig has a linker of its own, so the audit is a command of its own
        assert re.search(r"audited +: not when linked: .*run `isagen audit`", summary)
    program = project.path(f"everywhere{row.suffix}")
    assert program.is_file()
    for cpu, supported in row.cpus().items():
        usable = [level for level in built if level in supported]
        for asked in ("", *usable):
            expected = said_at(row, usable, asked)
            run = [*row.words(cpu), program]
            said = project.run(*run, check=False, EVERYWHERE_ISA=asked, **row.environment(cpu)).stdout
            assert said.replace("\r", "").endswith(f"{expected}\n"), (cpu, asked)
        if len(usable) > 1:  # a linker keeps one copy of the template, if it is not sealed
            run = [*row.words(cpu), project.path(f"unsealed{row.suffix}")]
            said = project.run(*run, check=False, **row.environment(cpu)).stdout
            assert f"{usable[-1]} sort=" in said, cpu
            assert said_at(row, usable, usable[-1]) not in said, cpu


def said_at(row: Row, usable: Sequence[str], asked: str) -> str:
    """What the program says under an override, on a CPU that has the `usable` levels."""
    level = asked or usable[-1]
    below = (*(one.name for one in OWN[row.table].below(level)), level) if row.table else ("DEFAULT",)
    source = [ROWS[one] for one in below if one in ROWS and one in usable][-1]
    return f"{level} sort={level} sum={level} row={source} main=DEFAULT right"
