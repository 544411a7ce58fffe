"""The rules for what passes between levels: calls past stubs, addresses of code, and names that others can bind to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ..binary.protocol import MERGEABLE, within
from ..code.demangle import demangle
from ..model.names import KERNEL_SYMBOL, TOOLCHAIN_SETS
from ..processors.decoding import DIRECT
from .build_objects import BuildObjects
from .findings import Finding
from .subject import Subject


@dataclass
class Crossings:
    """What leads from code of one level, or of none, to another level's: findings, by function and kind.

    `outside` are the addresses of no level that code of levels leads to.
    """

    found: dict[tuple[int, str], Finding] = field(default_factory=dict)
    outside: set[int] = field(default_factory=set)

    def findings(self) -> list[Finding]:
        """Return the findings; a function that is called is not reported for its address as well."""
        called = {number for number, kind in self.found if kind == "past"}
        return [finding for (number, kind), finding in self.found.items() if kind == "past" or number not in called]


def crossings(subject: Subject) -> Crossings:
    """Return what leads to code of levels from outside of them."""
    above = {level for level, needed in subject.levels.items() if not subject.baseline.issuperset(needed)}
    code, references = subject.code, subject.references
    result = Crossings()
    for number in subject.numbers() if subject.binary.levels else ():
        caller = subject.level_of(number)
        if within(code.pointers.jumps, code.start(number)):
            continue  # `leads` goes through them
        leads = list(references.leads(number))
        if caller:
            result.outside.update(address for address in leads if not subject.level_at(address))
        if all(subject.level_at(address) in ("", caller) for address in leads):
            continue
        for kind, place, target in _crossing(subject, number):
            level = subject.level_at(target)
            callee = code.functions.at(target)
            if callee >= 0 and level != caller and level in above and (callee, kind) not in result.found:
                finding = _crossed(subject, kind, number, place, callee, level)
                if finding is not None:
                    result.found[callee, kind] = finding
    return result


def _crossing(subject: Subject, number: int) -> Iterator[tuple[str, int, int]]:
    """Yield what a function calls, and whose address it takes: (kind of finding, instruction's address, target)."""
    for one in subject.references.of(number):
        if one.target:
            yield "past" if one.kind in DIRECT else "address", one.place, one.target


def _crossed(subject: Subject, kind: str, number: int, place: int, callee: int, level: str) -> Finding | None:
    """Return the finding of what function `number` does at a `place`; None where an entry of isa.toml allows it."""
    symbol, name = subject.code.name(callee), subject.code.name(number)
    if subject.allowances.cover(symbol) or subject.allowances.cover(name):
        return None
    origin, kernel = subject.origin(symbol, level)
    what = "called" if kind == "past" else "its address is taken"
    why = f"{what} by {demangle(name)} at {place:#x}, of {subject.level_of(number) or 'no level'}"
    return Finding(kind, symbol, why, level, origin, kernel)


def code_outside(subject: Subject, addresses: Iterable[int]) -> tuple[str, ...]:
    """Return the names of functions, and of vtables, of no level at `addresses` that code of levels leads to."""
    code, mangling, found = subject.code, subject.binary.mangling, set()
    for address in addresses:
        number = code.functions.starting_at(address)
        if number >= 0 and not within(code.pointers.jumps, address):
            found.add(code.name(number))
        elif number < 0 and (name := code.variables.name_at(address)) and mangling.is_vtable(name):
            found.add(name)
    return tuple(sorted(name for name in found if not subject.is_sealed(name)))


def borrowed(subject: Subject) -> list[Finding]:
    """Return functions of sealed levels that other objects can still borrow."""
    binary = subject.binary
    found = []
    for symbol in binary.symbols():
        if not symbol.defined or symbol.binding not in MERGEABLE:
            continue
        number = subject.code.functions.at(symbol.address)
        if number < 0 or not (level := subject.level_of(number)):
            continue
        name = binary.name(symbol)
        # Hidden ones are out of reach after the link.
        if symbol.visible or (binary.relocatable and not subject.is_sealed(name)):
            place, kernel = subject.origin(name, level)
            found.append(Finding("shared", name, "it is still weak", level, place, kernel))
    return found


def exported(subject: Subject) -> list[Finding]:
    """Return functions of levels that other libraries can call, past their stubs."""
    found = []
    for _, symbol, _ in subject.code.functions.bindable():
        level = subject.level_of(subject.code.functions.at(symbol.address))
        name = subject.binary.name(symbol)
        if level and not subject.allowances.cover(name):
            place, kernel = subject.origin(name, level)
            found.append(Finding("address", name, "exported: other libraries can call it", level, place, kernel))
    return found


def stored(subject: Subject) -> list[Finding]:
    """Return data that holds addresses of a level's code, but is not the level's own, and wrong registrations."""
    prefixes = {level: KERNEL_SYMBOL.format(level=level) for level in subject.levels}
    found: dict[str, Finding] = {}
    stored = subject.references.stored if subject.binary.levels else {}
    for place, target in stored.items():
        level = subject.level_at(target)
        symbol = subject.code.variables.symbol_at(place)
        name = subject.binary.name(symbol) if symbol is not None else ""
        registered = next((one for one, start in prefixes.items() if name.startswith(start)), "")
        section = subject.binary.section_at(place)
        if not name or registered == level or section is None or section.name in TOOLCHAIN_SETS:
            continue
        if registered:
            found[name] = _holds(subject, "points to", name, place, registered, level)
        elif level and symbol is not None and not (subject.is_own(symbol) or subject.is_sealed(name)):
            found.setdefault(name, _holds(subject, "holds the address of", name, place, level, level))
    return list(found.values())


def _holds(subject: Subject, what: str, name: str, place: int, level: str, held: str) -> Finding:
    target = subject.references.stored[place]
    shown = demangle(subject.code.name(subject.code.functions.at(target)))
    origin = subject.origin(name, level)
    return Finding("address", name, f"{what} {shown}, of {held or 'no level'}", level, *origin)


def unresolved(subject: Subject, objects: BuildObjects) -> list[Finding]:
    """Return names that objects of no level refer to, but that only levels may."""
    undefined = {subject.binary.name(one) for one in subject.binary.exports() if not one.defined and one.named}
    found = []
    for path, name, levels in objects.past_stubs(undefined):
        if subject.allowances.cover(name):
            continue
        what = "private to" if name in objects.private else "isagen's own name for"
        why = f"referred to by name, but {what} {', '.join(levels)}"
        found.append(Finding("past", name, why, levels[0], objects.shown(path)))
    return found


def split(subject: Subject, objects: BuildObjects) -> list[Finding]:
    """Return the variables of which levels and ordinary code each have their own, because code initialises them."""
    found = {}
    for path, name, levels in objects.shared_with_levels():
        if not subject.binary.mangling.is_guard(name) and not subject.allowances.cover(name):
            detail = f"one of ordinary code, and one of {', '.join(levels)}"
            found[name] = Finding("split", name, detail, object=objects.shown(path), variable=name)
    return list(found.values())
