"""The rules: from what is in a binary, and what its build noted, to what is wrong with it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path

from ..binary.formats import open_binary
from ..binary.protocol import MERGEABLE, Binary
from ..model.names import CODE_SECTION
from ..model.record import Allowance, Record, matches
from ..processors.x86.instructions import INVALID, Codes, InstructionSets, normal
from .code import TABLES, Code, Event, Root, codes_of
from .demangle import demangle
from .findings import UNDECODABLE, Finding, Result
from .objects import Objects, borrowable

# Tells from which object and kernel a function comes, by symbol and level; empty strings where it cannot.
Origin = Callable[[str, str], tuple[str, str]]


def nowhere(symbol: str, level: str) -> tuple[str, str]:
    """Say that nothing is known of where a function comes from."""
    return "", ""


@dataclass
class Allowances:
    """The entries of isa.toml, and which functions they were used for."""

    entries: Sequence[Allowance] = ()
    used: dict[str, set[str]] = field(default_factory=dict)

    def cover(self, symbol: str) -> bool:
        """Return whether an entry allows the function, and remember that it was used."""
        whole = symbol.partition(".")[0]  # without what compilers and the seal append to parts and copies
        names = {symbol, whole, demangle(symbol), demangle(whole)}
        for entry in self.entries:
            if any(matches(name, entry.symbol) for name in names):
                self.used.setdefault(entry.symbol, set()).add(symbol)
                return True
        return False

    def allowed(self) -> tuple[tuple[str, str, int], ...]:
        """Return (pattern, reason, number of functions) of the entries that were used."""
        return tuple((x.symbol, x.reason, len(self.used[x.symbol])) for x in self.entries if x.symbol in self.used)

    def unused(self) -> tuple[tuple[str, str], ...]:
        """Return (pattern, reason) of the entries that allowed nothing."""
        return tuple((x.symbol, x.reason) for x in self.entries if x.symbol not in self.used)


@dataclass
class Audit:
    """One binary under audit: `baseline` are the features that any of its code may use."""

    code: Code
    sets: InstructionSets
    baseline: frozenset[str]
    allowances: Allowances
    origin: Origin = nowhere
    levels: Mapping[str, Iterable[str]] = field(default_factory=dict)
    level: str = ""
    _known: dict[int, tuple[Event, ...]] = field(default_factory=dict)

    def level_of(self, number: int) -> str:
        """Return the level that a function's section, or the whole object, belongs to."""
        name = self.code.section(number).name
        return name.removeprefix(CODE_SECTION) if name.startswith(CODE_SECTION) else self.level

    def finding(self, kind: str, number: int, codes: Codes, allowed: Iterable[str], level: str) -> Finding:
        """Describe a function that uses `codes`, none of which is `allowed`."""
        symbol = self.code.name(number)
        address, text = self.code.first(number, codes)
        place, kernel = self.origin(symbol, level)
        return Finding(
            kind=kind,
            symbol=symbol,
            level=level,
            object=place,
            kernel=kernel,
            features=self.sets.missing(codes, allowed),
            instruction=text,
            address=address,
        )

    # What runs by itself.

    def by_itself(self) -> dict[int, Finding]:
        """Return what code that runs by itself reaches beyond the baseline, by the function's number."""
        beyond = self.sets.beyond(self.baseline)
        found: dict[int, Finding] = {}
        seen: set[int] = set()
        for root in self.code.roots():
            first = self.code.entry(root.address)
            callers: dict[int, tuple[int, int]] = {}
            waiting = [first] if first >= 0 else []
            while waiting:
                number = waiting.pop()
                if number in seen:
                    continue
                seen.add(number)
                codes = self.code.codes(number) & beyond
                if codes and self._checked(number):
                    continue
                if codes or self.allowances.entries:
                    symbol = self.code.name(number)
                    if self.allowances.cover(symbol):
                        continue
                if codes:
                    found[number] = self._describe(root, number, codes, callers)
                for address, what, target in self.code.events(number):
                    if what == "call" and (callee := self.code.entry(target)) >= 0 and callee not in seen:
                        callers.setdefault(callee, (number, address))
                        waiting.append(callee)
        return found

    def _describe(self, root: Root, number: int, codes: Codes, callers: Mapping[int, tuple[int, int]]) -> Finding:
        finding = self.finding("load", number, codes, self.baseline, self.level_of(number))
        steps = [(number, finding.address)]
        while steps[0][0] in callers and len(steps) < 64:
            steps.insert(0, callers[steps[0][0]])
        path = tuple(self.code.name(step) for step, _ in steps)
        # What is initialised is named before the call that leads on, or near the instruction itself.
        names = (self._variable(step, address, step == number) for step, address in steps)
        variable = next((name for name in names if name), "")
        asked = self._asked(steps)
        detail = f"runs {root.when}" + (f", perhaps only where {asked} finds what it needs" if asked else "")
        return replace(finding, detail=detail, path=path, variable=variable)

    def _events(self, number: int) -> tuple[Event, ...]:
        """Return what a function on the way to a finding does; most are on the way to many."""
        if number not in self._known:
            self._known[number] = tuple(self.code.events(number))
        return self._known[number]

    def _asked(self, steps: Iterable[tuple[int, int]]) -> str:
        """Return the function that asks what the CPU has before a chain of calls goes on; nothing if none does."""
        for number, address in steps:
            if self.code.asks(number):
                return self.code.name(number)
            for at, what, target in self._events(number):
                if what == "call" and at < address and self.code.asks(callee := self.code.entry(target)):
                    return self.code.name(callee)
        return ""

    def _variable(self, number: int, address: int, after_too: bool) -> str:
        data = [event for event in self._events(number) if event[1] != "call"]
        nearest = [target for at, _, target in reversed(data) if at <= address]
        if after_too:  # the code itself sets it: what it sets comes before what it only points to
            after = [event for event in data if event[0] > address]
            nearest = [
                target for what in ("set", "point") for _, how, target in [*reversed(data), *after] if how == what
            ]
        for target in nearest:
            section = self.code.elf.section_at(target)
            if section is not None and section.writable:
                name = self.code.object_at(target)
                if name and name != "__dso_handle" and not name.startswith(("DW.ref.", "_ZGV")):
                    return name
        return ""

    # What somebody has to call.

    def by_call(
        self, skip: Mapping[int, Finding], others: Collection[str] | None = None
    ) -> tuple[list[Finding], Counter[str]]:
        """Judge every function by its level; return findings, and what cannot be told, counted by feature.

        `others` are functions of levels whose code is not in sections of its own: judged elsewhere, by their objects.
        """
        found: list[Finding] = []
        counted: Counter[str] = Counter()
        selected = self.code.selected()
        for number in chain(range(len(self.code)), self.unowned):
            level = self.level_of(number)
            allowed = self.baseline.union(self.levels[level]) if level in self.levels else self.baseline
            every = self.code.codes(number)
            codes = every & self.sets.beyond(allowed)
            if self.undecodable(number, every):
                counted[UNDECODABLE] += 1
            if not codes or (self.code.body(number) in skip and not level):
                continue
            if others is not None and self.code.name(number) in others:
                continue
            untold = self._nameless(number) or (others is not None and not self.code.named(number))
            if number in selected or untold or (not level and self._checked(number)):
                counted.update(self.sets.missing(codes, allowed))
            elif not self.allowances.cover(self.code.name(number)):
                found.append(self.finding("level" if level else "baseline", number, codes, allowed, level))
        for address, raw in self.code.between(self.unowned):
            level = self.level_of(self.code.at(address))
            allowed = self.baseline.union(self.levels.get(level, ()))
            counted.update(self.sets.missing(codes_of(raw, address) & self.sets.beyond(allowed), allowed))
        return found, counted

    def undecodable(self, number: int, codes: Codes) -> bool:
        """Return whether a function holds what the decoder does not know: data, or an instruction newer than it."""
        return INVALID in codes and self.code.sized(number) and self.code.named(number)

    @cached_property
    def unowned(self) -> tuple[int, ...]:
        """The pieces of code that no symbol covers, but that code leads to."""
        return tuple(self.code.unowned())

    def _checked(self, number: int) -> bool:
        """Return whether a function is one of the toolchain's that may use what it uses."""
        symbol = self.code.name(number)
        return any(matches(symbol, pattern) for pattern in self.sets.features.instructions.checked)

    def _nameless(self, number: int) -> bool:
        """Return whether a function's name is lost while there are names that would allow it."""
        return bool(self.allowances.entries) and self.code.elf.stripped and not self.code.named(number)

    def past_stubs(self) -> list[Finding]:
        """Return functions of levels that code outside their level calls by name, once each."""
        above = {level for level, needed in self.levels.items() if not self.baseline.issuperset(needed)}
        spans = [
            (section.address, section.address + section.size, level)
            for section in self.code.elf.sections
            if section.executable and (level := section.name.removeprefix(CODE_SECTION)) != section.name
        ]
        found: dict[int, Finding] = {}
        for number in chain(range(len(self.code)), self.unowned) if spans else ():
            caller = self.level_of(number)
            if self.code.section(number).name.startswith(TABLES):
                continue  # `calls` goes through them
            named = (next((n for start, end, n in spans if start <= x < end), caller) for x in self.code.leads(number))
            if all(level == caller for level in named):
                continue
            for address, target in self.code.calls(number):
                level = next((name for start, end, name in spans if start <= target < end), caller)
                callee = self.code.at(target)
                if level == caller or level not in above or callee in found:
                    continue
                symbol, name = self.code.name(callee), self.code.name(number)
                if not self.allowances.cover(symbol) and not self.allowances.cover(name):
                    place, kernel = self.origin(symbol, level)
                    why = f"called by {demangle(name)} at {address:#x}, of {caller or 'no level'}"
                    found[callee] = Finding("past", symbol, why, level, place, kernel)
        return list(found.values())

    def borrowed(self) -> list[Finding]:
        """Return functions of sealed levels that other objects can still borrow."""
        binary = self.code.elf
        found = []
        for symbol in binary.symbols():
            if not symbol.defined or symbol.binding not in MERGEABLE:
                continue
            number = self.code.at(symbol.address)
            if number < 0 or not (level := self.level_of(number)):
                continue
            name = binary.name(symbol)
            # Sealed names end in the level and the project's number; hidden ones are out of reach after the link.
            own = re.search(rf"\.{re.escape(level.lower())}\.\d+\Z", name)
            if symbol.visible or (binary.relocatable and not own):
                place, kernel = self.origin(name, level)
                found.append(Finding("shared", name, "it is still weak", level, place, kernel))
        return found


def audit_record(binary: Binary, record: Record, sets: InstructionSets, origin: Origin = nowhere) -> Result:
    """Audit a linked binary that says how it was built."""
    allowances = Allowances(record.allow)
    audit = Audit(Code(binary), sets, frozenset(record.baseline), allowances, origin, record.levels)
    load = audit.by_itself()
    findings = list(load.values())
    counted: Counter[str] = Counter()
    notes = []
    if record.sealed:
        called, counted = audit.by_call(load)
        findings += called + audit.borrowed() + audit.past_stubs()
        if binary.stripped and allowances.entries:
            notes.append("stripped: what isa.toml allows by name cannot be told from what it does not, and is counted")
    else:
        findings.append(Finding("unsealed", "", record.seal_reason))
    return Result(
        target=binary.shown,
        judged=judged(record, sets),
        findings=tuple(findings),
        counted=dict(counted),
        allowed=allowances.allowed(),
        unused=() if binary.stripped else allowances.unused(),
        notes=tuple(notes),
    )


def judged(record: Record, sets: InstructionSets) -> str:
    """Say what a build is judged by: its levels, and what code outside them may use that not every CPU has."""
    sealed = "sealed" if record.sealed else "not sealed"
    always = frozenset(map(normal, sets.features.instructions.always))
    more = " ".join(name for name in record.baseline if normal(name) not in always)
    levels = f"levels {' '.join(record.levels)}" + (f", everything else with {more}" if more else "")
    return f"{record.project}, built by isagen {record.isagen}, {sealed}, {levels}"


def audit_object(
    binary: Binary, record: Record, sets: InstructionSets, level: str, allowances: Allowances, origin: Origin = nowhere
) -> tuple[list[Finding], Counter[str]]:
    """Audit an object of a build, all of it of `level`, or of none: its own code, and what of it runs by itself."""
    audit = Audit(Code(binary), sets, frozenset(record.baseline), allowances, origin, record.levels, level)
    load = audit.by_itself()
    called, counted = audit.by_call(load)
    return [*load.values(), *called], counted


def audit_foreign(binary: Binary, baseline: Iterable[str], sets: InstructionSets, name: str) -> Result:
    """Audit a binary of which nothing is known but the `baseline`, called `name`, that it should run on."""
    code = Code(binary)
    allowed = frozenset(baseline)
    audit = Audit(code, sets, allowed, Allowances())
    load = audit.by_itself()
    beyond = sets.beyond(allowed)
    counted: Counter[str] = Counter()
    offenders = {}
    for number in range(len(code)):
        every = code.codes(number)
        if audit.undecodable(number, every):
            counted[UNDECODABLE] += 1
        if every & beyond:
            offenders[number] = every & beyond
    findings = list(load.values())
    bound = set()
    for number, symbol, why in code.bindable():
        body = code.body(number)
        codes = code.codes(body) & beyond if number in offenders else frozenset()
        if codes and body not in load:
            bound.add(number)
            finding = audit.finding("bindable", body, codes, allowed, "")
            findings.append(replace(finding, symbol=binary.name(symbol), detail=why))
    for number, codes in offenders.items():
        if code.body(number) not in load and number not in bound:
            counted.update(sets.missing(codes, allowed))
    for address, raw in code.between():
        counted.update(sets.missing(codes_of(raw, address) & beyond, allowed))
    return Result(binary.shown, f"no record of isagen in it; judged as code for {name}", tuple(findings), dict(counted))


def audit_unsealed(binary: Binary, record: Record, sets: InstructionSets, objects: Objects) -> Result:
    """Audit a linked binary whose levels are not sealed, by the objects that it was linked from."""
    allowances = Allowances(record.allow)
    findings: list[Finding] = []
    counted: Counter[str] = Counter()
    groups = [(level, paths) for level, paths in objects.by_level.items() if level in record.levels]
    for level, paths in (*groups, ("", objects.others)):
        for path in paths:
            place = (objects.shown(path), objects.kernel(path))
            with open_binary(path, place[0]) as part:
                found, more = audit_object(part, record, sets, level, allowances, lambda *_, place=place: place)
            findings += found
            counted.update(more)
    findings += lent(record, objects)
    # Merged as they are: what runs by itself may have got another level's copy of what it calls, and what is of no
    # level may be from archives.
    known = {(finding.kind, finding.symbol) for finding in findings}
    audit = Audit(Code(binary), sets, frozenset(record.baseline), allowances, objects.origin)
    load = audit.by_itself()
    called, more = audit.by_call(load, objects.functions)
    findings += [finding for finding in (*load.values(), *called) if (finding.kind, finding.symbol) not in known]
    counted |= more
    return Result(
        target=binary.shown,
        judged=judged(record, sets),
        findings=tuple(findings),
        counted=dict(counted),
        allowed=allowances.allowed(),
        unused=allowances.unused(),
    )


def lent(record: Record, objects: Objects) -> list[Finding]:
    """Return the weak symbols that more than one level defines, or a level and code of no level."""
    baseline = frozenset(record.baseline)
    users: dict[str, dict[str, Path]] = {}
    for level, paths in (*objects.by_level.items(), ("", objects.others)):
        # A level that needs no more than the baseline has the baseline's code.
        group = level if level and not baseline.issuperset(record.levels.get(level, ())) else ""
        for path in paths:
            for symbol in borrowable(path):
                users.setdefault(symbol, {}).setdefault(group, path)
    findings = []
    for symbol, found in sorted(users.items()):
        if len(found) > 1:
            level, path = next((level, path) for level, path in found.items() if level)
            names = ", ".join(name or "the baseline" for name in found)
            findings.append(
                Finding("shared", symbol, f"defined by {names}", level, objects.shown(path), objects.kernel(path))
            )
    return findings
