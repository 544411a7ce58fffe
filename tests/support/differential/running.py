"""Running a random project under the tracer, and judging which addresses were executed in which phase."""

import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from isagen.binary.formats import open_binary
from isagen.binary.protocol import Binary
from isagen.model.names import level_of_section
from isagen.model.plan import Build
from isagen.processors.decoding import InstructionSets
from isagen.processors.features import features_of
from isagen.processors.registry import decoder_of
from support.checkout import ROOT

from .bases import OVERRIDE

SOURCE = ROOT / "tests/cpp/stepping.c"
MARKER = "mark_phase"
LOAD, ORDINARY, EXIT, STUBS = 0, 1, 2, 10


class TracerError(Exception):
    """The tracer does not work here."""


@dataclass(frozen=True)
class Crossing:
    """An instruction that ran where it must not: at an address, of a level or of none, in a phase."""

    address: int
    level: str
    phase: int
    selected: str
    why: str

    def __str__(self) -> str:
        phase = {LOAD: "load", ORDINARY: "ordinary code", EXIT: "exit"}.get(self.phase, f"stub {self.phase - STUBS}")
        where = f"{self.address:#x} of {self.level or 'no level'} in {phase}"
        return f"{where}, selected {self.selected or 'none'}: {self.why}"


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
        allowed = {level, *rows[level].below}
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
            f"{section.address:x}:{section.address + section.size:x}:{'p' if level_of_section(section.name) else 'o'}"
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
        hits = [_hit(line, levels) for line in lines if not line.startswith("phase")]
        spans = [(s.address, s.address + s.size, level_of_section(s.name)) for s in code]
        judge = _Judge(build, binary, spans)
        return Run(len(hits), judge.counted(hits), ended, tuple(judge.crossings(hits)))


Hit = tuple[int, str, int]  # phase, selected level, address


def _hit(line: str, levels: Sequence[str]) -> Hit:
    phase, level, address = line.split()
    return int(phase), levels[int(level)] if int(level) >= 0 else "", int(address, 16)


class _Judge:
    """The rules: which instructions may run in which phase."""

    def __init__(self, build: Build, binary: Binary, spans: Sequence[tuple[int, int, str]]) -> None:
        self.build, self.binary, self.spans = build, binary, spans
        decoder = decoder_of(binary.architecture, binary.shown)
        self.decoder = decoder
        self.sets = InstructionSets(features_of(build.record), decoder)
        self.baseline = self.sets.beyond(build.record.baseline)

    def _at(self, address: int) -> tuple[str, int]:
        """Return the level of the code at an address, and the code of its instruction."""
        for start, end, level in self.spans:
            if start <= address < end:
                raw = self.binary.read(address, min(15, end - address))
                return level, next(iter(self.decoder.decode(bytes(raw), address))).code
        raise AssertionError(f"{address:#x} is in no section")

    def counted(self, hits: Sequence[Hit]) -> dict[str, int]:
        """Return how many addresses of each level were executed in calls of stubs."""
        found: dict[str, int] = {}
        for phase, _, address in hits:
            if phase >= STUBS:
                level, _ = self._at(address)
                found[level] = found.get(level, 0) + 1
        return found

    def crossings(self, hits: Sequence[Hit]) -> Iterator[Crossing]:
        """Yield what ran where it must not."""
        selected_before: set[str] = set()
        for phase, selected, address in hits:
            level, code = self._at(address)
            beyond = code in self.baseline
            if phase >= STUBS:
                selected_before.add(selected)
            if not level:
                if beyond:
                    yield Crossing(address, level, phase, selected, "ordinary code beyond the baseline")
            elif phase >= STUBS:
                if level != selected:
                    yield Crossing(address, level, phase, selected, "another level's code")
            elif phase == ORDINARY:
                yield Crossing(address, level, phase, selected, "a level's code, past its stub")
            elif phase == LOAD and beyond:
                yield Crossing(address, level, phase, selected, "beyond the baseline, before dispatch")
            elif phase == EXIT and beyond and level not in selected_before:
                yield Crossing(address, level, phase, selected, "beyond the baseline, and never selected")


def not_traceable(tracer: Path, folder: Path) -> str:
    """Return why programs cannot be traced here; nothing where they can."""
    program = folder / "nothing"
    subprocess.run(["gcc", "-x", "c", "-", "-o", program], input="int main(void) { return 0; }", text=True, check=True)
    command = [tracer, folder / "nothing.txt", program, "moved", "0", "0:0:o", "--", program]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stderr.strip() or f"status {done.returncode}"
