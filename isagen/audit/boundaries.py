"""The rules at the boundaries of levels: calls past stubs, addresses of code, and names that other files can bind
to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..binary.formats import demangle
from ..binary.protocol import MERGEABLE, within
from ..model.names import KERNEL_SYMBOL, TOOLCHAIN_SETS
from ..processors.decoding import DIRECT
from .build_objects import BuildObjects
from .findings import Finding
from .subject import Subject


def crossings(subject: Subject) -> tuple[list[Finding], set[int]]:
    """Return findings of references into a level from outside, and the addresses outside that code of levels refers to.

    A function that is called is not reported for its address as well.
    """
    above = {level for level, needed in subject.levels.items() if not subject.baseline.issuperset(needed)}
    code, references = subject.code, subject.references
    called: dict[int, Finding] = {}
    taken: dict[int, Finding] = {}
    outside: set[int] = set()
    for number in subject.numbers() if subject.binary.levels else ():
        caller = subject.level_of(number)
        if within(code.pointers.jumps, code.start(number)):
            continue  # `leads` goes through them
        leads = list(references.possible_targets(number))
        if caller:
            outside.update(address for address in leads if not subject.level_at(address))
        if all(subject.level_at(address) in ("", caller) for address in leads):
            continue
        for one in references.of(number):
            level = subject.level_at(one.target)
            callee = code.functions.at(one.target)
            found, what = (called, "called") if one.kind in DIRECT else (taken, "its address is taken")
            if level == caller or level not in above or callee in found:
                continue
            symbol, name = code.name(callee), code.name(number)
            if not subject.allowances.cover(symbol) and not subject.allowances.cover(name):
                why = f"{what} by {demangle(name)} at {one.at:#x}, of {caller or 'no level'}"
                found[callee] = subject.fault("past" if found is called else "address", symbol, why, level)
    return [*called.values(), *(one for callee, one in taken.items() if callee not in called)], outside


def code_outside(subject: Subject, addresses: Iterable[int]) -> tuple[str, ...]:
    """Return the names of functions, and of vtables, of no level at `addresses` that code of levels leads to."""
    code, found = subject.code, set()
    for address in addresses:
        number = code.functions.starting_at(address)
        if number >= 0 and not within(code.pointers.jumps, address):
            found.add(code.name(number))
        elif number < 0 and subject.binary.mangling.is_vtable(name := code.variables.name_at(address)):
            found.add(name)
    return tuple(sorted(name for name in found if not subject.is_sealed(name)))


def bindable(subject: Subject) -> Iterator[Finding]:
    """Yield functions of sealed levels that other objects can still bind to, or call past their stubs."""
    binary, functions = subject.binary, subject.code.functions
    for symbol in binary.symbols():
        level = subject.level_at(symbol.address) if symbol.defined and symbol.binding in MERGEABLE else ""
        if level and symbol.visible:  # hidden ones cannot be bound to after the link
            yield subject.fault("shared", binary.name(symbol), "it is still weak", level)
    for _, symbol, _ in functions.bindable():
        level, name = subject.level_at(symbol.address), binary.name(symbol)
        if level and not subject.allowances.cover(name):
            yield subject.fault("address", name, "exported: other libraries can call it", level)


def stored(subject: Subject) -> list[Finding]:
    """Return data that holds addresses of a level's code, but is not the level's own, and wrong registrations."""
    code = subject.code
    prefixes = {level: KERNEL_SYMBOL.format(level=level) for level in subject.levels}
    found: dict[str, Finding] = {}
    pointers = subject.references.data_pointers if subject.binary.levels else {}
    for place, target in pointers.items():
        level = subject.level_at(target)
        symbol = code.variables.symbol_at(place)
        name = subject.binary.name(symbol) if symbol is not None else ""
        registered = next((one for one, start in prefixes.items() if name.startswith(start)), "")
        section = subject.binary.section_at(place)
        if not name or registered == level or section is None or section.name in TOOLCHAIN_SETS:
            continue
        if symbol is None or name in found or not (registered or subject.is_known(symbol)):
            continue
        what = "points to" if registered else "holds the address of"
        shown = f"{demangle(code.name(code.functions.at(target)))}, of {level or 'no level'}"
        found[name] = subject.fault("address", name, f"{what} {shown}", registered or level)
    return list(found.values())


def unresolved(subject: Subject, objects: BuildObjects) -> list[Finding]:
    """Return names that objects of no level refer to, but that only levels may."""
    undefined = {subject.binary.name(one) for one in subject.binary.exports() if not one.defined and one.named}
    found = []
    for path, name, levels in objects.past_stubs(undefined):
        if not subject.allowances.cover(name):
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
