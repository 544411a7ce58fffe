"""The rule for what a level runs at load or exit: no address of its code reaches code that may keep it.

An initialiser has no arguments: what it names is all that it can hand out. So code that takes an address of the level's
code, or of data that holds one, must name nothing else of the program but variables that are private to the level, and
functions that keep nothing (`known_functions`). Where any of it calls through a pointer, all code whose address it
takes counts as run: it keeps to the baseline, and what it names counts, too. The virtual functions of classes that are
derived from those of the C++ library always do: a stream calls those of its buffer.

It is decided by what code names, as relocations and direct references tell; values are not followed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from ..binary.formats import demangle
from ..binary.protocol import MERGEABLE, Binding
from ..code.references import ResolvedReference
from ..processors.decoding import CALLS, DIRECT, UNKNOWN, Kind
from .findings import Finding
from .known_functions import RUNS, is_harmless
from .reachable import Reached, Root
from .subject import Subject

BY_POINTER = "where a pointer to it is called at load or exit"


class Member:
    """One object of a level: its kernel `source`, and its code, which `opened` reads when it is first asked for."""

    def __init__(self, source: str, opened: Callable[[], Subject]) -> None:
        self.source = source
        self._opened = opened

    @cached_property
    def subject(self) -> Subject:
        """The object's code."""
        return self._opened()

    @cached_property
    def reached(self) -> Reached:
        """What of it runs at load or exit."""
        return Reached(self.subject)

    def address(self, name: str) -> int:
        """Return the address of what the object defines by a name."""
        return self._defined.get(name, 0)

    @cached_property
    def _defined(self) -> Mapping[str, int]:
        binary = self.subject.binary
        found = (one for one in binary.symbols() if one.defined and one.binding != Binding.LOCAL)
        return {binary.name(one): one.address for one in found}


def initialiser_findings(
    level: str, members: Sequence[Member], run: Iterable[int], defined: Mapping[str, int], private: Collection[str]
) -> list[Finding]:
    """Return what the objects of a level do at load or exit that breaks the rule.

    The loader runs code of the `members` whose numbers are in `run`. `defined` has the number of the member that
    defines each name, and `private` are the names that no other level may use.
    """
    return _Level(level, members, defined, private).findings(run)


class _Level:
    def __init__(
        self, level: str, members: Sequence[Member], defined: Mapping[str, int], private: Collection[str]
    ) -> None:
        self._level = level
        self._members = members
        self._defined = defined
        self._private = private
        self._pointed: dict[int, frozenset[int]] = {}
        self._run: dict[int, Reached] = {}  # by the number of an object, what of it runs
        self._calls_unknown = False  # whether any of that calls through a pointer

    def findings(self, run: Iterable[int]) -> list[Finding]:
        """Follow what runs at load or exit, and judge it."""
        for number in run:
            self._follow(number, list(self._members[number].subject.code.pointers.called_by_loader()))
        followed: set[tuple[int, Root]] = set()
        while new := {found: None for found in self._further() if found not in followed}:
            followed.update(new)
            for number, root in new:
                self._follow(number, [root])
        return [*(finding for group in self._groups() for finding in self._leaks(group)), *self._beyond()]

    def _follow(self, number: int, roots: Sequence[Root]) -> None:
        self._run[number] = self._members[number].reached
        self._run[number].follow(roots)

    def _further(self) -> Iterator[tuple[int, Root]]:
        """Yield what the code that runs calls in other objects, and may call through pointers: (object, root)."""
        for name in sorted({name for reached in self._run.values() for name in reached.calls & self._defined.keys()}):
            number = self._defined[name]
            yield number, (self._members[number].address(name), "when loaded")
        self._calls_unknown = any(map(_calls_unknown, self._run.values()))
        for number in list(self._run):
            for where, target, standard in self._taken(number):
                if self._calls_unknown or standard:
                    yield where, (target, BY_POINTER)

    def _groups(self) -> Iterator[list[int]]:
        """Yield the objects between which addresses may pass: they name each other's code, or the same variables."""
        group = {number: number for number in self._run}
        owners: dict[str, int] = {}
        for number, reached in self._run.items():
            variables = self._members[number].subject.code.variables
            for one in _named(reached):
                if one.name in self._defined:
                    other = self._defined[one.name]
                elif not one.name and one.target and self._merges(number, one):
                    other = owners.setdefault(variables.name_at(one.target), number)
                else:
                    continue
                if other in group:
                    old, new = group[other], group[number]
                    group = {key: new if value == old else value for key, value in group.items()}
        for which in sorted(set(group.values())):
            yield [number for number, one in group.items() if one == which]

    def _merges(self, number: int, one: ResolvedReference) -> bool:
        """Return whether a reference is to a variable that the linker merges with those of other objects."""
        subject = self._members[number].subject
        section, symbol = subject.binary.section_at(one.target), subject.code.variables.symbol_at(one.target)
        is_variable = section is not None and section.writable and not section.constant
        return is_variable and symbol is not None and symbol.binding in MERGEABLE

    # ---- addresses of the level's code

    def _taken(self, number: int) -> Iterator[tuple[int, int, bool]]:
        """Yield the code whose address an object's code takes, itself or in data.

        Each is (number of an object, address, whether it is beside the type of a class of the C++ library).
        """
        mangling = self._members[number].subject.binary.mangling
        for one in _named(self._run[number]):
            if one.kind in DIRECT or one.kind in CALLS or (not one.target and not one.name):
                continue
            waiting = [(number, one.target, one.name)]
            seen = set()
            found, derived = [], False
            while waiting:
                where, target, name = waiting.pop()
                if not target and name in self._defined:
                    where = self._defined[name]
                    target = self._members[where].address(name)
                derived |= not target and mangling.is_type(name) and mangling.is_standard(name)
                if not target or (where, target) in seen:
                    continue
                seen.add((where, target))
                references = self._members[where].subject.references
                code = references.code
                if not code.functions.is_code(target):
                    waiting += [(where, to, external) for to, external in references.code_reachable_from(target)]
                    continue
                entry = code.entry(target)
                inside = entry in self._members[where].reached.when and code.start(entry) != target
                passed = target == one.target and mangling.is_destructor(code.name(entry))
                if not inside and not passed:  # an entry of a table of jumps, what runs at exit
                    found.append((where, target))
            yield from ((where, target, derived) for where, target in found)

    def _leaks(self, group: Sequence[int]) -> Iterator[Finding]:
        """Yield the finding of objects whose code takes an address and names what might keep it."""
        opens = next((found for number in group for found in self._opens(number)), None)
        taken = next((found for number in group for found in self._taken(number)), None)
        if opens is None or taken is None:
            return
        (number, function, name), (where, target, _) = opens, taken
        code = self._members[where].subject.code
        secret = code.name(code.entry(target))
        finding = self._run[number].described("address", function, frozenset())
        detail = (
            f"{finding.detail}; takes the address of {demangle(secret)}, and uses {demangle(name)}, which may keep it"
        )
        yield replace(finding, symbol=secret, detail=detail, kernel=self._members[number].source, level=self._level)

    def _opens(self, number: int) -> Iterator[tuple[int, int, str]]:
        """Yield what an object's code names that may keep an address: (number of the object, function, name)."""
        subject = self._members[number].subject
        seen: dict[int, set[int]] = {}
        for function, listed in self._run[number].names.items():
            for one in listed:
                for name in self._outside(number, one, seen):
                    if not subject.allowances.cover(name):
                        yield number, function, name

    def _outside(self, number: int, one: ResolvedReference, seen: dict[int, set[int]]) -> Iterator[str]:
        """Yield what a reference, or a pointer in the data that it is to, leads to outside of the level.

        `seen` are the variables that are looked through, by the number of their object.
        """
        waiting = [(number, one.target, one.name)]
        while waiting:
            where, target, name = waiting.pop()
            if name in self._defined:
                where, target = self._defined[name], self._members[self._defined[name]].address(name)
            elif name:
                if not self._is_known(name):
                    yield name
                continue
            subject = self._members[where].subject
            if not target or subject.code.functions.is_code(target):
                continue
            shown = subject.code.variables.name_at(target)
            if not self._is_own(where, target):
                if shown and not self._is_known(shown):
                    yield shown
            elif subject.code.variables.extent(target)[0] not in seen.setdefault(where, set()):
                waiting += [(where, *pointed) for pointed in subject.references.reachable_from(target, seen[where])]

    def _is_known(self, name: str) -> bool:
        """Return whether a name of no level is that of what keeps no address, or runs it, which is followed."""
        subject = self._members[0].subject
        asked, mangling = subject.sets.rules.cpu_checks, subject.binary.mangling
        if self._calls_unknown and mangling.is_vtable(name) and not mangling.is_standard(name):
            return False  # whose functions may be called
        return name in RUNS or is_harmless(name) or name in asked.functions or name.startswith(asked.variables)

    def _is_own(self, number: int, target: int) -> bool:
        """Return whether a variable of an object is a constant, or one of the level alone."""
        subject = self._members[number].subject
        section, symbol = subject.binary.section_at(target), subject.code.variables.symbol_at(target)
        if section is None or section.constant:
            return True
        if section.findable or subject.code.variables.extent(target)[0] in self._exposed(number):
            return False
        return symbol is None or symbol.binding not in MERGEABLE or subject.binary.name(symbol) in self._private

    def _exposed(self, number: int) -> frozenset[int]:
        """Return the variables of an object, by address, that data which others know by name points to."""
        if number not in self._pointed:
            subject = self._members[number].subject
            variables, binary = subject.code.variables, subject.binary
            known = (one for one in binary.symbols() if one.defined and one.binding != Binding.LOCAL)
            starts = {one.address for one in known if binary.name(one) not in self._private}
            found = {to for start in starts for to, _ in subject.references.reachable_from(start)}
            self._pointed[number] = frozenset(variables.extent(to)[0] for to in found)
        return self._pointed[number]

    # ---- code that pointers may lead to

    def _beyond(self) -> Iterator[Finding]:
        """Yield code beyond the baseline that a call through a pointer may run; the link's audit finds the other."""
        for number, reached in self._run.items():
            for function, codes in reached.offenders.items():
                if reached.when[function] == BY_POINTER:
                    finding = reached.described("load", function, codes)
                    yield replace(finding, kernel=self._members[number].source, level=self._level)


def _named(reached: Reached) -> Iterator[ResolvedReference]:
    for listed in reached.names.values():
        yield from listed


def _calls_unknown(reached: Reached) -> bool:
    """Return whether code calls through a pointer, or hands over code to be run in a way that is not seen."""
    return any(
        one.kind in UNKNOWN or (one.kind is Kind.CALL and not one.target and not one.name) for one in _named(reached)
    )
