"""Running a random project under the tracer."""

import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from isagen.binary.contents import Section
from isagen.binary.formats import open_binary
from isagen.binary.reader import Binary
from isagen.model.plan import Build
from support.checkout import ROOT

from .bases import OVERRIDE
from .images import Image
from .judging import ORDINARY, STUBS, Crossing, Judge, periods_of
from .systems import System

SOURCE = ROOT / "tests/cpp/stepping.c"
MARKER = "mark_phase"
# What qemu logs: an instruction, or the system call of mark_phase.
LOGGED = re.compile(r"^Trace \d+: \S+ \[\w+/0*(?P<pc>\w+)/.*$|^\d+ dup3\((?P<phase>\d+),(?P<level>\d+),-1\)", re.M)


class TracerError(Exception):
    """The tracer does not work here."""


class EmulatorError(Exception):
    """qemu itself fails: version 7.2 aborts on some code of riscv64's V."""


@dataclass(frozen=True)
class Run:
    """One run: the count of addresses, also by level; how it ended; what was wrong; and a number that it computed."""

    executed: int
    by_level: dict[str, int]
    ended: str
    crossings: tuple[Crossing, ...]
    result: str


class Tracer(Protocol):
    """Runs programs and records which instructions of a file are executed."""

    def lines(self, binary: Binary, output: Path, program: Path, override: str) -> list[str]:
        """Run `program`, which is or loads `output`; return the lines that tests/cpp/stepping.c describes."""


class Stepping:
    """The tracer of x86-64, which sets breakpoints, also in programs of another `system` that this one runs."""

    def __init__(self, folder: Path, system: System | None = None) -> None:
        self.system = system
        self.program = folder / "stepping"
        subprocess.run(["gcc", "-std=c11", "-O2", "-w", SOURCE, "-o", self.program], check=True)

    def lines(self, binary: Binary, output: Path, program: Path, override: str) -> list[str]:
        """See `Tracer`."""
        trace = program.with_name("trace.txt")
        marker = next(s.address for s in binary.symbols() if s.defined and s.name == MARKER)
        regions = [
            f"{section.address:x}:{section.address + section.size:x}:{'p' if binary.level_at(section.address) else 'o'}"
            for section in code_of(binary)
        ]
        kind = "fixed" if binary.fixed else "moved"
        command = [self.program, trace, output.resolve(), kind, f"{marker:x}", *regions, "--"]
        command += self.system.words(program.resolve()) if self.system else [program.resolve()]
        environment = self.system.environment() if self.system else {}
        said = program.with_name("said.txt")
        with said.open("w") as file:  # not a pipe: services of wine, which stay for a while, keep it open
            done = subprocess.run(
                [str(word) for word in command],
                env={**os.environ, **environment, OVERRIDE: override, "LD_BIND_NOW": ""},
                stdout=file,
                stderr=file,
                check=False,
            )
        if done.returncode != 0:
            raise TracerError(f"status {done.returncode}: {said.read_text(errors='replace')}")
        return trace.read_text(encoding="ascii").splitlines()


class Emulated:
    """qemu-user, which logs each instruction and each system call; `words` are those before a program."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = words

    def lines(self, binary: Binary, output: Path, program: Path, override: str) -> list[str]:
        """See `Tracer`. The first of two runs tells where the file is; the second one's log is about its code alone."""
        log = program.with_name("trace.txt")
        base = 0 if binary.fixed else self._base(self._run(log, program, override, "page")[0], output)
        ranges = ",".join(f"{base + section.address:#x}+{section.size:#x}" for section in code_of(binary))
        text, status = self._run(log, program, override, "exec,nochain,page", "-singlestep", "-dfilter", ranges)
        if base != (0 if binary.fixed else self._base(text, output)):
            raise TracerError("the file is at another address in each run")
        found: list[str] = []
        period = "0 -1"
        seen: set[str] = set()
        for match in LOGGED.finditer(text):
            if match["pc"] and match["pc"] not in seen:
                seen.add(match["pc"])
                found.append(f"{period} {int(match['pc'], 16) - base:x}")
            elif match["phase"]:
                period, seen = f"{int(match['phase']) - 1000} {int(match['level']) - 1000}", set()
                found.append(f"phase {period}")
        if all(line.startswith("phase") for line in found):
            raise TracerError("nothing was recorded")
        return [*found, f"exit {status}" if status >= 0 else f"signal {-status}"]

    def _run(self, log: Path, program: Path, override: str, what: str, *options: str) -> tuple[str, int]:
        emulator, *more = self.words
        command = [emulator, "-strace", "-d", what, *options, "-D", str(log), *more, str(program.resolve())]
        environment = {**os.environ, OVERRIDE: override, "LD_BIND_NOW": ""}
        done = subprocess.run(command, env=environment, capture_output=True, check=False, timeout=120)
        if b"Assertion" in done.stderr:
            raise EmulatorError(done.stderr.decode(errors="replace"))
        return log.read_text(encoding="ascii", errors="replace"), done.returncode

    def _base(self, text: str, output: Path) -> int:
        """Return the address at which a log says that the file is loaded: the program, or a library that it maps."""
        opened = re.search(rf'openat\(\w+,"[^"]*{re.escape(output.name)}",.* = (\d+)$', text, re.M)
        where = re.compile(r"^([0-9a-f]+)-[0-9a-f]+ [0-9a-f]+ ", re.M)  # the program's place comes first
        if opened is not None:  # the map of pages may stand between a call and its result
            where = re.compile(rf"mmap\(\w+,[^)]*,{opened[1]},\w+\).*? = 0x([0-9a-f]+)$", re.M | re.S)
        found = where.search(text, opened.end() if opened else 0)
        assert found is not None
        return int(found[1], 16)


def code_of(binary: Binary) -> list[Section]:
    """Return the sections of code."""
    return [section for section in binary.sections if section.executable and section.size]


def phases_of(build: Build, usable: Sequence[str], stubs: Sequence[Sequence[str]]) -> list[tuple[int, str]]:
    """Return the phases of a program before its exit, each with the selected level, by the rules of selection.

    `usable` are the levels that the program goes through, `stubs` the levels at which each stub has a kernel.
    """
    rows = {level.name: level for level in build.plan.levels}
    phases = [(ORDINARY, "")]
    for level in usable:
        allowed = {level, *rows[level].requires}
        for number, found in enumerate(stubs):
            best = max((name for name in found if name in allowed), key=lambda name: rows[name].rank)
            phases += [(STUBS + number, best), (ORDINARY, "")]
    return phases


def run(
    tracer: Tracer,
    build: Build,
    output: Path,
    program: Path,
    override: str,
    expected_phases: Sequence[tuple[int, str]],
) -> Run:
    """Run `program` under the tracer, which watches `output`, and judge what was executed.

    Raises `TracerError` where the tracer fails, or where the phases are not those expected.
    """
    with Image(output) if isinstance(tracer, Stepping) and tracer.system else open_binary(output) as binary:
        *lines, ended = tracer.lines(binary, output, program, override)
        levels = [level.name for level in build.plan.levels]
        phases = [line for line in lines if line.startswith("phase")]
        if ended == "exit 0":
            expected = [f"phase {phase} {levels.index(level) if level else -1}" for phase, level in expected_phases]
            if phases[-len(expected) - 1 : -1] != expected:
                raise TracerError(f"the program's phases are {phases}, not {expected}")
        judge = Judge(build, binary)
        periods = periods_of(lines, levels)
        if missed := judge.missed(periods):
            raise TracerError(f"the tracer missed what ran after {', '.join(map(hex, missed))}")
        executed = sum(len(period.addresses) for period in periods)
        crossings = tuple(judge.crossings(periods))
        return Run(executed, judge.counted(periods), ended, crossings, phases[-1] if phases else "")


def not_traceable(tracer: Stepping, folder: Path) -> str:
    """Return why programs cannot be traced here; nothing where they can."""
    program = folder / "nothing"
    subprocess.run(["gcc", "-x", "c", "-", "-o", program], input="int main(void) { return 0; }", text=True, check=True)
    command = [tracer.program, folder / "nothing.txt", program, "moved", "0", "0:0:o", "--", program]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stderr.strip() or f"status {done.returncode}"
