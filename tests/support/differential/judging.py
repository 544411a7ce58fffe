"""Judging a trace: which instructions ran in which phase, and which of them must not have."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from iced_x86 import FlowControl

from isagen.binary.reader import Binary
from isagen.model.plan import Build
from isagen.processors.decoding import Instruction
from isagen.processors.features import features_of
from isagen.processors.instruction_sets import InstructionSets
from isagen.processors.registry import decoder_of

# The phases of a program, by number: from STUBS on, calls of the first stub, the second, and so on.
LOAD, ORDINARY, EXIT, STUBS = 0, 1, 2, 10


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
class Period:
    """The time from one mark to the next: its phase, the level that the stub calls, and the addresses executed."""

    phase: int
    selected: str
    addresses: list[int] = field(default_factory=list)


def periods_of(lines: Sequence[str], levels: Sequence[str]) -> list[Period]:
    """Return the periods of a trace; `levels` are all levels, lowest rank first."""
    periods = [Period(LOAD, "")]
    for line in lines:
        words = line.split()
        if words[0] == "phase":
            phase, number = int(words[1]), int(words[2])
            periods.append(Period(phase, "" if phase == EXIT or number < 0 else levels[number]))
        else:
            periods[-1].addresses.append(int(words[2], 16))
    return periods


class Judge:
    """The rules for the linked file of a build."""

    def __init__(self, build: Build, binary: Binary) -> None:
        self.binary = binary
        self.decoder = decoder_of(binary.architecture, binary.shown)
        sets = InstructionSets(features_of(build.record.features), self.decoder)
        # Those that need a question of CPUID have it: the audit judges that.
        self.beyond = sets.beyond(build.record.baseline).difference(sets.after)
        self._spans = [
            (section.address, section.address + section.size, binary.level_at(section.address))
            for section in binary.sections
            if section.executable
        ]
        self._known: dict[int, tuple[str, Instruction]] = {}

    def at(self, address: int) -> tuple[str, Instruction]:
        """Return the level of the code at an address, and its instruction."""
        if address not in self._known:
            end, level = next((end, level) for start, end, level in self._spans if start <= address < end)
            raw = self.binary.read(address, min(self.decoder.longest, end - address))
            self._known[address] = level, next(iter(self.decoder.decode(bytes(raw), address)))
        return self._known[address]

    def missed(self, periods: Sequence[Period]) -> list[int]:
        """Return the instructions of levels after which others must have run, but none is recorded."""
        found = []
        for period in periods:
            executed = set(period.addresses)
            for address in executed:
                level, instruction = self.at(address)
                flow = getattr(instruction, "flow_control", None)  # of x86, whose tracer may miss some
                if level and flow == FlowControl.NEXT and instruction.next_ip not in executed:
                    found.append(address)
        return sorted(found)

    def counted(self, periods: Sequence[Period]) -> dict[str, int]:
        """Return how many addresses of each level were executed in calls of stubs."""
        found: dict[str, int] = {}
        for period in periods:
            for address in period.addresses if period.phase >= STUBS else ():
                if level := self.at(address)[0]:
                    found[level] = found.get(level, 0) + 1
        return found

    def crossings(self, periods: Sequence[Period]) -> Iterator[Crossing]:
        """Yield what ran where it must not."""
        selected_before: set[str] = set()
        for period in periods:
            if period.phase >= STUBS:
                selected_before.add(period.selected)
            for address in period.addresses:
                level, instruction = self.at(address)
                beyond = instruction.code in self.beyond
                if why := _fault(period, level, beyond, level in selected_before):
                    yield Crossing(address, level, period.phase, period.selected, why)


def _fault(period: Period, level: str, beyond: bool, selected_before: bool) -> str:
    """Return what is wrong with an instruction of a `level`, or of none, in a period; nothing if it may run there."""
    if not level:
        return "ordinary code beyond the baseline" if beyond else ""
    if period.phase >= STUBS:
        return "another level's code" if level != period.selected else ""
    if period.phase == ORDINARY:
        return "a level's code, past its stub"
    if period.phase == LOAD:
        return "beyond the baseline, before dispatch" if beyond else ""
    return "beyond the baseline, and never selected" if beyond and not selected_before else ""
