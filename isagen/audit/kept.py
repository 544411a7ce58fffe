"""The rule for what a level's code keeps: no address of it in a variable that code outside the level knows.

Code of a level may hand out its addresses while it runs, as to `qsort`. Whether they are kept longer cannot be told in
general; what is found here are stores to variables whose address is known, by the level's functions themselves and by
those of the level that they call with the variable's address.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..processors.decoding import DIRECT, How
from .findings import Finding
from .references import WORD
from .secrets import Secrets
from .states import State, Step
from .subject import Subject
from .values import DEEPEST as LENT
from .values import Values

DEEPEST = 6  # calls that the address of a variable is followed through
# Itanium C++ ABI: guards of variables hold no addresses.
GUARD = "_ZGV"


def kept(subject: Subject) -> list[Finding]:
    """Return addresses of levels' code that the levels' functions store in variables of others."""
    return list(_Kept(subject).findings())


class _Kept:
    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._code = subject.code
        self._references = subject.references
        self._secrets = Secrets(subject)
        self._shared: dict[int, bool] = {}  # by address of data
        self._seen: set[tuple[int, int, int]] = set()  # functions, with an argument's register and address

    def findings(self) -> Iterator[Finding]:
        """Yield one finding for each function that keeps an address, and each variable."""
        known: set[tuple[int, int]] = set()
        for number in self._subject.numbers():
            if not self._subject.level_of(number) or not any(map(self._names_shared, self._code.named_by(number))):
                continue
            for function, place, value, variable in self._stores(number, {}, 0):
                start = self._secrets.start(variable)
                if (function, start) not in known:
                    known.add((function, start))
                    yield self._finding(function, place, value, variable)

    def _finding(self, number: int, place: int, value: int, variable: int) -> Finding:
        name, level = self._code.name(number), self._subject.level_of(number)
        what = self._secrets.shown(value) if value else "an address of the level's code"
        why = f"stores {what}, in {self._secrets.named(variable)}, which code outside the level knows, at {place:#x}"
        origin, kernel = self._subject.origin(name, level)
        return Finding("address", name, why, level, origin, kernel, variable=self._code.variables.name_at(variable))

    def _names_shared(self, address: int) -> bool:
        """Return whether an address that code names is one of data of others, or of the linker's pointer to it."""
        return self._is_shared(address) or self._is_shared(self._code.pointers.follow(address))

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

    def _stores(self, number: int, given: State, depth: int) -> Iterator[tuple[int, int, int, int]]:
        """Yield what a function, called with the values `given`, stores: (function, place, secret or 0, variable)."""
        values = Values(self._references, number, given, LENT)
        hidden, wide = False, []  # secrets in registers that are not followed, and stores out of such
        for step in values.steps:
            if step.instruction.flow_control in DIRECT:
                yield from self._passed(number, step, depth)
                continue
            effect, place = step.effect, step.effect.place
            if effect.compares:
                continue
            secrets = self._taken(step)
            if place is None or not place.written:
                hidden = hidden or (bool(secrets) and effect.how == How.OTHER) or self._is_loaded(step, values)
                hidden = hidden or bool(self._secrets.among(values.held(step)))
                continue
            variable = values.address(step)
            if place.size < WORD or not self._is_shared(variable):
                continue
            if secrets:
                yield number, step.instruction.ip, secrets[0], variable
            elif not effect.reads and effect.number is None:
                wide.append((step.instruction.ip, variable))
        if hidden:
            yield from ((number, place, 0, variable) for place, variable in wide)

    def _taken(self, step: Step) -> list[int]:
        """Return the secret addresses that an instruction reads."""
        found = [value for register in step.effect.reads for value in self._secrets.of(step, register)]
        number = self._references.number(step.instruction, step.effect) if step.effect.how == How.OTHER else 0
        return [*found, number] if self._secrets.is_secret(number) else found

    def _is_loaded(self, step: Step, values: Values) -> bool:
        """Return whether an instruction loads secret addresses from constants into a register that is not followed."""
        place = step.effect.place
        if place is None or not place.read or place.size < WORD or step.effect.how != How.OTHER or place.index:
            return False
        address = values.base(step)
        section = self._code.binary.section_at(address) if address else None
        return section is not None and not section.executable and bool(self._secrets.held(address, place.size))

    def _passed(self, number: int, step: Step, depth: int) -> Iterator[tuple[int, int, int, int]]:
        """Yield what a function of the level stores that is called with the address of a variable of others."""
        target = self._references.called(step.instruction)[0]
        callee = self._code.entry(target) if target else -1
        if callee < 0 or callee == number or depth == DEEPEST or not self._subject.level_of(callee):
            return
        for register in self._code.decoder.arguments:
            for value in step.values(register):
                if isinstance(value, int) and self._is_shared(value):
                    key = (callee, register, value)
                    if key not in self._seen:
                        self._seen.add(key)
                        yield from self._stores(callee, {register: frozenset({value})}, depth + 1)
