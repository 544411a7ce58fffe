"""The rule for what a level's code keeps: no address of it in a variable that code outside the level knows.

Code of a level may hand out its addresses while it runs, as to `qsort`. Whether they are kept longer cannot be told in
general; what is found here are stores to variables whose address is known, by the level's functions themselves and by
those of the level that they call with the variable's address.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..binary.pointing import within
from ..model.frozen import dataclass
from ..processors.decoding import DIRECT, INDIRECT, How
from .demangle import demangle
from .findings import Finding
from .references import WORD
from .secrets import Secrets
from .states import UNKNOWN, State, Step
from .subject import Subject
from .values import DEEPEST as LENT
from .values import Values

DEEPEST = 6  # calls that the address of a variable is followed through
# Itanium C++ ABI: guards of variables hold no addresses.
GUARD = "_ZGV"
# Functions that copy what their second argument points to into what the first does.
COPIES = frozenset({"memcpy", "memmove", "mempcpy", "__memcpy_chk", "__memmove_chk", "bcopy"})

# A variable: its address, or its name if another file defines it.
Variable = int | str


@dataclass(frozen=True)
class Kept:
    """A store of the `secret` address, 0 if it is one of several, by an instruction at `place` of a function."""

    number: int
    place: int
    secret: int
    variable: Variable


def kept(subject: Subject) -> list[Finding]:
    """Return addresses of levels' code that the levels' functions store in variables of others."""
    return list(_Keepers(subject).findings())


class _Keepers:
    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._code = subject.code
        self._references = subject.references
        self._secrets = Secrets(subject)
        self._least = WORD // 2 if subject.binary.fixed else WORD  # bytes that an address fits into
        self._shared: dict[int, bool] = {}  # by address of data
        self._seen: set[tuple[int, tuple[tuple[int, frozenset[int]], ...]]] = set()  # functions, with their arguments

    def findings(self) -> Iterator[Finding]:
        """Yield one finding for each function that keeps an address, and each variable."""
        known: set[tuple[int, Variable]] = set()
        for number in self._subject.numbers():
            if not self._subject.level_of(number) or not any(map(self._leads, self._code.named_by(number))):
                continue
            for one in self._stores(number, {}, 0):
                start = one.variable if isinstance(one.variable, str) else self._secrets.start(one.variable)
                if (one.number, start) not in known:
                    known.add((one.number, start))
                    yield self._finding(one)

    def _finding(self, one: Kept) -> Finding:
        name, level = self._code.name(one.number), self._subject.level_of(one.number)
        what = self._secrets.shown(one.secret) if one.secret else "an address of the level's code"
        known = isinstance(one.variable, int)
        variable = self._code.variables.name_at(one.variable) if isinstance(one.variable, int) else one.variable
        shown = demangle(variable) if variable or not known else self._secrets.named(int(one.variable))
        why = f"stores {what}, in {shown}, which code outside the level knows, at {one.place:#x}"
        origin, kernel = self._subject.origin(name, level)
        return Finding("address", name, why, level, origin, kernel, address=one.place, variable=variable)

    # ---- variables

    def _leads(self, address: int) -> bool:
        """Return whether an address is one of a variable of others, or of the linker's pointer to such a variable."""
        pointers = self._code.pointers
        if not within(pointers.spans, address):
            return self._is_shared(address)
        target = pointers.follow(address)
        return self._is_shared(target) if target else bool(pointers.name(address))

    def _is_shared(self, address: int) -> bool:
        """Return whether an address is one of data that a level's code may write to, but that others know."""
        if address not in self._shared:
            section = self._code.binary.section_at(address) if address else None
            self._shared[address] = (
                section is not None
                and section.writable
                and not section.constant
                and not self._secrets.is_own(address)
                and not self._subject.is_sealed(name := self._code.variables.name_at(address))
                and bool(name)
                and not name.startswith(GUARD)
            )
        return self._shared[address]

    def _variables(self, step: Step, values: Values) -> list[Variable]:
        """Return the variables of others that an instruction's operand in memory may be in."""
        place = step.effect.place
        if place is None:
            return []
        address = values.base(step)
        held = step.values(place.base) if place.base and not address else frozenset({address})
        moved = [value + place.offset if not address and isinstance(value, int) else value for value in held if value]
        return [one for one in moved if isinstance(one, str) or (isinstance(one, int) and self._is_shared(one))]

    # ---- stores

    def _stores(self, number: int, given: State, depth: int) -> Iterator[Kept]:
        """Yield what a function that is called with the values `given` stores."""
        values = Values(self._references, number, given, LENT)
        hidden, unknown = False, []  # secrets in registers that are not followed, and stores out of such
        for step in values.steps:
            flow, effect, place = step.instruction.flow_control, step.effect, step.effect.place
            if flow in DIRECT or flow in INDIRECT:
                yield from self._passed(number, step, depth)
                continue
            if effect.compares:
                continue
            secrets = self._taken(step)
            if place is None or not place.written:
                hidden = hidden or (bool(secrets) and effect.how == How.OTHER) or self._is_loaded(step, values)
                hidden = hidden or bool(self._secrets.among(values.held(step)))
                if secrets and place is None:
                    yield from self._copied(number, step, secrets)
                continue
            for variable in self._variables(step, values) if place.size >= self._least else ():
                if secrets:
                    yield Kept(number, step.instruction.ip, secrets[0], variable)
                elif (
                    place.size >= WORD  # half of a register that is not followed is a number
                    and effect.number is None
                    and all(UNKNOWN in step.values(register) for register in effect.reads)
                ):
                    unknown.append(Kept(number, step.instruction.ip, 0, variable))
        yield from unknown if hidden else ()

    def _taken(self, step: Step) -> list[int]:
        """Return the secret addresses that an instruction reads."""
        found = [value for register in step.effect.reads for value in self._secrets.of(step, register)]
        number = self._references.number(step.instruction, step.effect) if step.effect.how == How.OTHER else 0
        return [*found, number] if self._secrets.is_secret(number) else found

    def _is_loaded(self, step: Step, values: Values) -> bool:
        """Return whether an instruction loads a secret address from memory into a register that is not followed."""
        effect, place = step.effect, step.effect.place
        if place is None or not place.read or place.size < WORD:
            return False
        if effect.how == How.OTHER and effect.to in effect.reads:
            return False  # arithmetic with a register: of addresses, it would compute one from parts
        address = values.base(step)
        if not address:  # a pointer that a loop moves through a table
            held = step.values(place.base) if place.base else frozenset()
            return len(held) > 1 and any(isinstance(one, int) and one and self._secrets.is_table(one) for one in held)
        section = self._code.binary.section_at(address)
        if section is None or section.executable or (effect.how != How.OTHER and section.constant):
            return False  # no data, or a constant whose value is followed
        return bool(self._secrets.held(address, 0 if place.index else place.size))

    def _copied(self, number: int, step: Step, secrets: list[int]) -> Iterator[Kept]:
        """Yield what an instruction copies that has both addresses in registers, as those for strings do."""
        for register in step.effect.reads:
            for value in step.values(register):
                if isinstance(value, int) and self._is_shared(value):
                    yield Kept(number, step.instruction.ip, secrets[0], value)

    def _passed(self, number: int, step: Step, depth: int) -> Iterator[Kept]:
        """Yield what is stored by a function that is called with the address of a variable of others."""
        target, name = self._references.called(step.instruction)
        arguments = self._code.decoder.arguments
        if name in COPIES:
            secrets = self._secrets.of(step, arguments[1])
            for value in step.values(arguments[0]) if secrets else ():
                if isinstance(value, int) and self._is_shared(value):
                    yield Kept(number, step.instruction.ip, secrets[0], value)
        callee = self._code.entry(target) if target else -1
        if callee < 0 or callee == number or depth == DEEPEST or not self._subject.level_of(callee):
            return
        given = {register: frozenset(self._of_interest(step, register)) for register in arguments}
        given = {register: values for register, values in given.items() if values}
        key = (callee, tuple(given.items()))
        if key not in self._seen and any(map(self._is_shared, (one for values in given.values() for one in values))):
            self._seen.add(key)
            yield from self._stores(callee, given, depth + 1)

    def _of_interest(self, step: Step, register: int) -> Iterator[int]:
        """Yield the addresses in an argument that are secret, or of variables of others."""
        for value in step.values(register):
            if isinstance(value, int) and (self._is_shared(value) or self._secrets.is_secret(value)):
                yield value
