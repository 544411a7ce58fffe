"""Running a random project under the tracer."""

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from isagen.binary.formats import open_binary
from isagen.model.plan import Build
from support.checkout import ROOT

from .bases import OVERRIDE
from .judging import EXIT, ORDINARY, STUBS, Crossing, Judge, periods_of

SOURCE = ROOT / "tests/cpp/stepping.c"
MARKER = "mark_phase"


class TracerError(Exception):
    """The tracer does not work here."""


@dataclass(frozen=True)
class Run:
    """One run: the addresses in order, each with phase and selected level; how it ended; and what was wrong."""

    executed: int
    by_level: dict[str, int]
    ended: str
    crossings: tuple[Crossing, ...]


def make_tracer(folder: Path) -> Path:
    """Compile the tracer."""
    program = folder / "stepping"
    subprocess.run(["gcc", "-std=c11", "-O2", "-w", SOURCE, "-o", program], check=True)
    return program


def phases_of(build: Build, usable: Sequence[str], stubs: Sequence[Sequence[str]]) -> list[tuple[int, str]]:
    """Return the phases of a program, each with the selected level, by the rules of selection.

    `usable` are the levels that the program goes through, `stubs` the levels at which each stub has a kernel.
    """
    rows = {level.name: level for level in build.plan.levels}
    phases = [(ORDINARY, "")]
    for level in usable:
        allowed = {level, *rows[level].requires}
        for number, found in enumerate(stubs):
            best = max((name for name in found if name in allowed), key=lambda name: rows[name].rank)
            phases += [(STUBS + number, best), (ORDINARY, "")]
    return [*phases, (EXIT, "")]


def run(
    tracer: Path,
    build: Build,
    output: Path,
    program: Path,
    override: str,
    expected_phases: Sequence[tuple[int, str]],
) -> Run:
    """Run `program` under the tracer, which watches `output`, and judge what was executed.

    Raises `TracerError` where the tracer fails, or where the phases are not those expected.
    """
    trace = program.with_name("trace.txt")
    with open_binary(output) as binary:
        code = [section for section in binary.sections if section.executable and section.size]
        marker = next(s.address for s in binary.symbols() if s.defined and binary.name(s) == MARKER)
        regions = [
            f"{section.address:x}:{section.address + section.size:x}:{'p' if binary.level_at(section.address) else 'o'}"
            for section in code
        ]
        kind = "fixed" if binary.fixed else "moved"
        command = [tracer, trace, output.resolve(), kind, f"{marker:x}", *regions, "--", program.resolve()]
        done = subprocess.run(
            [str(word) for word in command],
            env={**os.environ, OVERRIDE: override, "LD_BIND_NOW": ""},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise TracerError(f"status {done.returncode}: {done.stderr}")
        *lines, ended = trace.read_text(encoding="ascii").splitlines()
        levels = [level.name for level in build.plan.levels]
        phases = [line for line in lines if line.startswith("phase")]
        if ended == "exit 0":
            expected = [f"phase {phase} {levels.index(level) if level else -1}" for phase, level in expected_phases]
            if phases[-len(expected) :] != expected:
                raise TracerError(f"the program's phases are {phases}, not {expected}")
        judge = Judge(build, binary)
        periods = periods_of(lines, levels)
        if missed := judge.missed(periods):
            raise TracerError(f"the tracer missed what ran after {', '.join(map(hex, missed))}")
        executed = sum(len(period.addresses) for period in periods)
        return Run(executed, judge.counted(periods), ended, tuple(judge.crossings(periods)))


def not_traceable(tracer: Path, folder: Path) -> str:
    """Return why programs cannot be traced here; nothing where they can."""
    program = folder / "nothing"
    subprocess.run(["gcc", "-x", "c", "-", "-o", program], input="int main(void) { return 0; }", text=True, check=True)
    command = [tracer, folder / "nothing.txt", program, "moved", "0", "0:0:o", "--", program]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stderr.strip() or f"status {done.returncode}"
