"""The rule for initialisers: they pass no address of their level's code to code that may store the address.

An initialiser is code of a level that runs at load or exit. No caller gives it an address of level code: it can pass on
only addresses that it takes itself. If it takes the address of level code, or of data that contains such an address,
each other function or variable that it names must be private to the level, known to store no address
(`known_functions`), or allowed by isa.toml. Objects whose initialisers may exchange addresses are judged as one.

If any initialiser calls through a pointer, every function whose address an initialiser takes counts as run at load: its
instructions and the names in its code are judged too. Virtual functions of classes that derive from a class of the C++
library always count, because the library calls them: a stream calls the virtual functions of its buffer.

No initialiser may name code of a lower level, because this rule does not read the objects of lower levels.

The rule reads names from relocations and direct references. It does not follow values through registers or memory.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain

from ..binary import mangling
from ..binary.contents import MERGEABLE, Binding
from ..binary.mangling import demangle
from ..code.references import ResolvedReference
from ..processors.decoding import CALLS, DIRECT, Codes
from .findings import Finding
from .known_functions import CALLBACK_ARGUMENTS, is_harmless, is_of_instrumentation
from .reachable import ReachableCode, Root
from .subject import Subject

BY_POINTER = "where a pointer to it is called at load or exit"


@dataclass
class LevelObject:
    """An object of a level, compiled from the kernel source `source`."""

    source: str
    open_subject: Callable[[], Subject]

    @cached_property
    def subject(self) -> Subject:
        """The object's code."""
        return self.open_subject()

    @cached_property
    def global_addresses(self) -> Mapping[str, int]:
        """The addresses of the symbols that the object defines for other objects, by name."""
        binary = self.subject.binary
        symbols = (symbol for symbol in binary.symbols() if symbol.defined and symbol.binding != Binding.LOCAL)
        return {symbol.name: symbol.address for symbol in symbols}


@dataclass
class Initialisers:
    """The code of a level that runs at load or exit.

    `defined` maps each name to the index of an object that defines it; several objects may define a weak name.
    `private_names` are those that sealing makes private to the level, and `lower_names` those of lower levels that the
    objects use. Unless `links_are_audited`, all code beyond the baseline that runs at load or exit is a finding.
    """

    level: str
    objects: Sequence[LevelObject]
    defined: Mapping[str, int]
    private_names: Collection[str]
    lower_names: Collection[str] = ()
    links_are_audited: bool = True
    _exposed: dict[int, frozenset[int]] = field(default_factory=dict)  # the memo of `_is_exposed`, by object
    _reached: dict[int, ReachableCode] = field(default_factory=dict)  # by the index of an object
    _calls_pointers: bool = False

    def findings(self, at_load: Iterable[int]) -> list[Finding]:
        """Return the findings. `at_load` are the indexes of the objects whose code the loader calls."""
        for index in at_load:
            self._follow(index, list(self.objects[index].subject.code.pointers.called_by_loader()))
        followed: set[tuple[int, Root]] = set()
        while new := {root: None for root in self._further_roots() if root not in followed}:
            followed.update(new)
            for index, root in new:
                self._follow(index, [root])
        leaks = (finding for group in self._groups() for finding in self._leaks(group))
        return [*leaks, *self._beyond_baseline()]

    def _follow(self, index: int, roots: Sequence[Root]) -> None:
        self._reached.setdefault(index, ReachableCode(self.objects[index].subject)).follow(roots)

    def _further_roots(self) -> Iterator[tuple[int, Root]]:
        """Yield (object's index, root in it) of each function that code in `_reached` calls, or may call by pointer."""
        calls = ChainMap(*(reached.calls for reached in self._reached.values()))
        for name in sorted(calls.keys() & self.defined.keys()):
            index = self.defined[name]
            yield index, (self.objects[index].global_addresses.get(name, 0), calls[name])
        self._calls_pointers = any(reached.pointer_callers() for reached in self._reached.values())
        for index in list(self._reached):
            for owner, target, is_of_library in self._taken(index):
                if self._calls_pointers or is_of_library:
                    yield owner, (target, BY_POINTER)

    def _groups(self) -> Iterator[list[int]]:
        """Yield groups of objects that may exchange addresses: they share variables, or one uses another's names."""
        group_of = {index: index for index in self._reached}
        owners: dict[str, int] = {}
        for index, reached in self._reached.items():
            subject = self.objects[index].subject
            for reference in chain.from_iterable(reached.references.values()):
                section = subject.binary.section_at(reference.target)
                symbol = subject.code.variables.symbol_at(reference.target)
                if reference.name in self.defined:
                    other = self.defined[reference.name]
                elif section is None or section.constant or symbol is None or symbol.binding not in MERGEABLE:
                    continue
                else:
                    other = owners.setdefault(symbol.name, index)
                if other in group_of:
                    old, new = group_of[other], group_of[index]
                    group_of = {one: new if group == old else group for one, group in group_of.items()}
        for group in sorted(set(group_of.values())):
            yield [index for index in group_of if group_of[index] == group]

    # ---- addresses of the level's code

    def _led_to(self, index: int, reference: ResolvedReference) -> Iterator[tuple[int, int, str]]:
        """Yield what a reference of an object leads to, directly or by pointers in data of the level's objects.

        Each is (index of an object, address in it, ""). For a name that no object of the level defines, it is (index of
        an object that refers to the name, 0, name).
        """
        waiting = [(index, reference.target, reference.name)]
        seen = set()
        searched: dict[int, set[int]] = {}  # by the index of an object: the variables whose pointers were followed
        while waiting:
            owner, target, name = waiting.pop()
            if name in self.defined:
                owner = self.defined[name]
                target, name = self.objects[owner].global_addresses.get(name, 0), ""
            if (owner, target, name) in seen or not (target or name):
                continue
            seen.add((owner, target, name))
            yield owner, target, name
            references = self.objects[owner].subject.references
            shared = self._shared_name(owner, target)
            if not (name or references.code.binary.is_code(target) or (shared and not mangling.is_type(shared))):
                pointed = references.reachable_from(target, searched.setdefault(owner, set()))
                waiting += [(owner, *pointer) for pointer in pointed]

    def _taken(self, index: int) -> Iterator[tuple[int, int, bool]]:
        """Yield (object's index, address, is_of_library) of each function whose address an initialiser takes.

        `is_of_library` is true if the reference also leads to a type of the C++ library, as one to a derived class's
        vtable does.
        """
        for function, references in self._reached[index].references.items():
            if is_of_instrumentation(self.objects[index].subject.code.name(function)):
                continue
            for reference in references:
                if reference.kind not in DIRECT and reference.kind not in CALLS:
                    found = list(self._led_to(index, reference))
                    is_of_library = any(mangling.is_type(name) and mangling.is_standard(name) for *_, name in found)
                    for owner, target, _ in found:
                        if target and self._is_function(owner, target, direct=target == reference.target):
                            yield owner, target, is_of_library

    def _is_function(self, index: int, target: int, direct: bool) -> bool:
        """Return whether a function, and not a label of a jump table, is at an address.

        A destructor whose address the code takes `direct`ly does not count: the address is for a call at exit.
        """
        code = self.objects[index].subject.code
        if not code.binary.is_code(target):
            return False
        entry = code.entry(target)
        in_jump_table = index in self._reached and entry in self._reached[index].when and code.start(entry) != target
        return not in_jump_table and not (direct and mangling.is_destructor(code.name(entry)))

    def _finding(self, kind: str, index: int, function: int, codes: Codes = frozenset()) -> Finding:
        finding = self._reached[index].described(kind, function, codes)
        return replace(finding, kernel=self.objects[index].source, level=self.level)

    def _leaks(self, group: Sequence[int]) -> Iterator[Finding]:
        """Yield a finding for each use of a lower level's name, and one if an address that is taken may be stored."""
        stores = list(dict.fromkeys(store for index in group for store in self._stores(index)))
        for index, function, name in stores:
            if name in self.lower_names:
                finding = self._finding("address", index, function)
                what = f"uses {demangle(name)}, unchecked code of a lower level"
                yield replace(finding, detail=f"{finding.detail}; {what}")
        taken = next((taken for index in group for taken in self._taken(index)), None) if stores else None
        if taken is not None:
            (index, function, name), (owner, target, _) = stores[0], taken
            code = self.objects[owner].subject.code
            symbol = code.name(code.entry(target))
            finding = self._finding("address", index, function)
            what = f"takes the address of {demangle(symbol)}, and uses {demangle(name)}, which may store it"
            yield replace(finding, symbol=symbol, detail=f"{finding.detail}; {what}")

    def _stores(self, index: int) -> Iterator[tuple[int, int, str]]:
        """Yield (object's index, function, name) if the function leads to `name`, which may store an address."""
        allowances = self.objects[index].subject.allowances
        for function, references in self._reached[index].references.items():
            for owner, target, name in chain.from_iterable(self._led_to(index, one) for one in references):
                name = name or self._shared_name(owner, target)
                if name and not self._is_harmless(name) and not allowances.allows(name):
                    yield index, function, name

    def _is_harmless(self, name: str) -> bool:
        """Return whether a function or variable outside the level is known to store no address.

        A function that takes callbacks (`CALLBACK_ARGUMENTS`) is harmless too, because these are followed.
        """
        subject = self.objects[0].subject
        checks = subject.sets.rules.cpu_checks
        if self._calls_pointers and mangling.is_vtable(name) and not mangling.is_standard(name):
            return False  # the vtable's functions may be called, and may store an address
        is_detection = name in checks.functions or name.startswith(checks.variables)
        return name in CALLBACK_ARGUMENTS or is_harmless(name) or is_detection

    def _shared_name(self, index: int, target: int) -> str:
        """Return the name of the variable at an address if code outside the level may use and change it, else ""."""
        subject = self.objects[index].subject
        variables, section = subject.code.variables, subject.binary.section_at(target)
        if section is None or section.constant or subject.binary.is_code(target):
            return ""
        symbol = variables.symbol_at(target)
        is_own = symbol is None or symbol.binding not in MERGEABLE or symbol.name in self.private_names
        if is_own and not section.findable and not self._is_exposed(index, variables.extent(target)[0]):
            return ""
        return variables.name_at(target)

    def _is_exposed(self, index: int, start: int) -> bool:
        """Return whether pointers lead from public data of an object to the variable that starts at an address."""
        if index not in self._exposed:
            owner = self.objects[index]
            public = {place for name, place in owner.global_addresses.items() if name not in self.private_names}
            pointed = {target for place in public for target, _ in owner.subject.references.reachable_from(place)}
            variables = owner.subject.code.variables
            self._exposed[index] = frozenset(variables.extent(target)[0] for target in pointed)
        return start in self._exposed[index]

    # ---- code beyond the baseline

    def _beyond_baseline(self) -> Iterator[Finding]:
        """Yield the findings of code beyond the baseline, without those that the audit of the link reports.

        That audit, if there is one, reports all functions but those that run only through a pointer.
        """
        for index, reached in self._reached.items():
            for function, codes in reached.offenders.items():
                if not self.links_are_audited or reached.when[function] == BY_POINTER:
                    yield self._finding("load", index, function, codes)
