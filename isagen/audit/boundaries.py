"""The rules at the boundaries of levels: calls past stubs, addresses of code, shared symbols, split variables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..binary import mangling
from ..binary.contents import MERGEABLE, within
from ..binary.formats import is_binary, load_object
from ..binary.mangling import demangle
from ..model.names import KERNEL_SYMBOL, TOOLCHAIN_SECTIONS
from ..processors.decoding import DIRECT
from .build_objects import BuildObjects
from .findings import Finding
from .subject import Subject

# The symbol of the GOT. It names no variable, although gold for arm64 gives it a size.
LINKER_TABLE = "_GLOBAL_OFFSET_TABLE_"


def crossings(subject: Subject) -> tuple[list[Finding], set[int]]:
    """Return the findings of references into levels, and the addresses outside levels to which code of levels refers.

    If a level needs more than the baseline, a reference to its code is a finding, unless the referring code may name
    the level (`_may_name`) or isa.toml allows it. Each function of a level has at most one finding: about a call if
    there is one, or else about its address.
    """
    beyond = _beyond_baseline(subject)
    code, references = subject.code, subject.references
    called: dict[int, Finding] = {}
    taken: dict[int, Finding] = {}
    outside: set[int] = set()
    for number in subject.numbers() if subject.binary.levels else ():
        level = subject.level_of(number)
        if within(code.pointers.plt_ranges, code.start(number)):
            continue  # skipped: what an entry of the PLT leads to counts as a reference of its callers
        targets = list(references.possible_targets(number))
        if level:
            outside.update(address for address in targets if not subject.level_at(address))
        if all(_may_name(subject, level, subject.level_at(address)) for address in targets):
            continue
        for reference in references.of(number):
            target_level = subject.level_at(reference.target)
            callee = code.functions.at(reference.target)
            findings, what = (called, "called") if reference.kind in DIRECT else (taken, "its address is taken")
            if target_level not in beyond or callee in findings or _may_name(subject, level, target_level):
                continue
            symbol, name = code.name(callee), code.name(number)
            if not subject.allowances.allows(symbol) and not subject.allowances.allows(name):
                why = f"{what} by {demangle(name)} at {reference.at:#x}, of {level or 'no level'}"
                kind = "past" if findings is called else "address"
                findings[callee] = subject.finding_about(kind, symbol, why, target_level)
    return list({**taken, **called}.values()), outside


def _beyond_baseline(subject: Subject) -> frozenset[str]:
    return frozenset(level for level, needed in subject.levels.items() if not subject.baseline.issuperset(needed))


def _may_name(subject: Subject, level: str, target: str) -> bool:
    """Return whether code of `level` may name code of the level `target`; "" is the level of ordinary code."""
    features = subject.levels
    return target in ("", level) or (
        level in features and target in features and set(features[target]) <= set(features[level])
    )


def code_outside(subject: Subject, addresses: Iterable[int]) -> tuple[str, ...]:
    """Return the names of functions that start at `addresses` and of vtables there; private names are left out."""
    code, names = subject.code, set()
    for address in addresses:
        number = code.functions.starting_at(address)
        if number >= 0 and not within(code.pointers.plt_ranges, address):
            names.add(code.name(number))
        elif number < 0 and mangling.is_vtable(name := code.variables.name_at(address)):
            names.add(name)
    return tuple(sorted(name for name in names if not subject.is_sealed(name)))


def bindable_functions(subject: Subject) -> Iterator[Finding]:
    """Yield the findings of levels' functions that the linker may merge, or that other libraries can call."""
    binary = subject.binary
    for symbol in binary.symbols():
        level = subject.level_at(symbol.address) if symbol.defined and symbol.binding in MERGEABLE else ""
        if level and symbol.visible:
            yield subject.finding_about("shared", symbol.name, "not sealed: the symbol is weak", level)
    for _, symbol, _ in subject.code.functions.bindable():
        level, name = subject.level_at(symbol.address), symbol.name
        if level and not subject.allowances.allows(name):
            yield subject.finding_about("address", name, "exported: other libraries can call it", level)


def stored_addresses(subject: Subject) -> list[Finding]:
    """Return the findings of public data that contains addresses of a level's code, and of wrong registrations.

    A registration is wrong if it points to anything but code of its level. But if the level needs no more than the
    baseline, the registration may point to ordinary code.
    """
    code = subject.code
    beyond = _beyond_baseline(subject)
    prefixes = {level: KERNEL_SYMBOL.format(level=level) for level in subject.levels}
    findings: dict[str, Finding] = {}
    pointers = subject.references.data_pointers if subject.binary.levels else {}
    for place, target in pointers.items():
        level = subject.level_at(target)
        symbol = code.variables.symbol_at(place)
        section = subject.binary.section_at(place)
        if symbol is None or section is None or section.name in TOOLCHAIN_SECTIONS:
            continue
        name = symbol.name
        if name == LINKER_TABLE or mangling.is_type(name):
            continue
        registered = next((level for level, prefix in prefixes.items() if name.startswith(prefix)), "")
        if not name or registered == level or name in findings or not (registered or subject.is_public(symbol)):
            continue
        if registered and registered not in beyond and not level:
            continue
        if registered and place != symbol.address:
            # Not in the registration, which is one pointer: without sizes of symbols, data after it seems part of it.
            continue
        what = "points to" if registered else "contains the address of"
        shown = f"{demangle(code.name(code.functions.at(target)))}, of {level or 'no level'}"
        findings[name] = subject.finding_about("address", name, f"{what} {shown}", registered or level)
    return list(findings.values())


def undefined_names(subject: Subject, objects: BuildObjects) -> list[Finding]:
    """Return the findings of ordinary objects that refer to names of levels (`BuildObjects.past_stubs`)."""
    undefined = {symbol.name for symbol in subject.binary.exports() if not symbol.defined and symbol.name}
    findings = []
    for path, name, levels in objects.past_stubs(undefined):
        if not subject.allowances.allows(name):
            what = "private to" if name in objects.private_names else "isagen's own name for"
            why = f"referred to by name, but {what} {', '.join(levels)}"
            findings.append(Finding("past", name, why, levels[0], objects.shown(path)))
    return findings


def split_variables(subject: Subject, objects: BuildObjects) -> list[Finding]:
    """Return the findings of variables that code initialises, and that ordinary objects and levels both define."""
    initialised, findings = objects.initialised_variables, {}
    for path in filter(is_binary, objects.others) if initialised else ():
        for name in (symbol.name for symbol in load_object(path).symbols if symbol.defined):
            if name in initialised and not mangling.is_guard(name) and not subject.allowances.allows(name):
                detail = f"one of ordinary code, and one of {', '.join(initialised[name])}"
                findings[name] = Finding("split", name, detail, object=objects.shown(path), variable=name)
    return list(findings.values())
