"""What functions and variables refer to, after PLT, GOT and relocations are resolved."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, islice
from typing import NamedTuple

from ..binary.protocol import within
from ..processors.decoding import DIRECT, LEAVES, SLOTS, UNKNOWN, Kind, Reference
from ..processors.instructions import CpuChecks
from .code import Code

SMALL = 64  # bytes of a function that only forwards
# The kind of a call or jump through a pointer, if the pointer's target is known, and if not.
RESOLVED = {Kind.CALL_SLOT: Kind.CALL, Kind.JUMP_SLOT: Kind.JUMP}
UNRESOLVED = {Kind.CALL_SLOT: Kind.CALL_UNKNOWN, Kind.JUMP_SLOT: Kind.JUMP_UNKNOWN}


class ResolvedReference(NamedTuple):
    """One reference of the instruction `at` an address: its kind, and the address of its target. `name` is that of a
    function of another file, or of one that calls its arguments. A call through the PLT or GOT has the kind of a direct
    one. An unknown target has neither address nor name.
    """

    at: int
    kind: Kind
    target: int
    name: str


class References:
    """The references of the functions and pieces of `code`, by number.

    `runs` maps each function that calls some of its arguments, such as atexit, to the numbers of these.
    """

    def __init__(self, code: Code, runs: Mapping[str, Sequence[int]], asked: CpuChecks) -> None:
        self.code = code
        self._runs = runs
        self._asked_by = asked
        self._binary = code.binary
        self._pointers = code.pointers
        self._functions = code.functions
        self._plt_targets: dict[int, tuple[int, str]] = {}
        self._asks: dict[tuple[int, bool], bool] = {}

    # ---- of code

    def of(self, number: int) -> Iterator[ResolvedReference]:
        """Yield the references of a function in order, and a jump to where it falls through.

        Jumps inside of the function are left out. A callback argument counts as called.
        """
        resolve = self._in_object if self._binary.relocatable else self._in_linked
        last = None
        for start, raw in self.code.raw(number):
            listed = list(resolve(start, raw))
            calls = {one.at: self._runs[found.name] for one, found in listed if self._is_run(found)}
            handed = self._handed(start, raw, listed, calls) if calls else {}
            last = listed[-1][0] if listed and listed[-1][0].kind is not Kind.ADDRESS else None
            for one, found in listed:
                jump = found.kind in (Kind.JUMP, Kind.BRANCH)
                if not (jump and self.code.covers(number, found.target)):
                    yield found
                for target, name in handed.get(one.at, ()) if self._is_run(found) else ():
                    yield ResolvedReference(found.at, Kind.CALL, target if self._functions.is_code(target) else 0, name)
        end = self.code.falls_through_to(number, last)
        if end:
            yield ResolvedReference(end, Kind.JUMP, end, "")

    def _is_run(self, one: ResolvedReference) -> bool:
        """Return whether a reference calls a function in `runs`."""
        return one.name in self._runs and one.kind is not Kind.ADDRESS

    def _handed(
        self,
        address: int,
        raw: bytes,
        listed: Sequence[tuple[Reference, ResolvedReference]],
        calls: Mapping[int, Sequence[int]],
    ) -> Mapping[int, Sequence[tuple[int, str]]]:
        """Return by address of a call the callbacks that it passes: (address, name if another file defines it), or (0,
        "") if unknown.

        `calls` has their argument numbers.
        """
        known = [(0, ""), *((found.target, found.name) for _, found in listed if found.kind is Kind.ADDRESS)]
        places = (found.at for _, found in listed if found.kind is Kind.ADDRESS)
        formed = {place: number for number, place in enumerate(places, 1) if any(known[number])}
        entered = {one.after for one, _ in listed if one.kind in LEAVES}
        entered |= {one.address for one, _ in listed if one.kind in (Kind.JUMP, Kind.BRANCH)}
        handed = self.code.decoder.call_arguments(raw, address, formed, entered, calls)
        return {call: [known[number] for number in numbers] for call, numbers in handed.items()}

    def _in_linked(self, address: int, raw: bytes) -> Iterator[tuple[Reference, ResolvedReference]]:
        """Yield the references in bytes of a linked file."""
        section_at = self._binary.section_at
        for one in self.code.decoder.references(raw, address, self._binary.fixed):
            kind, target, name = one.kind, one.address, ""
            if kind in DIRECT:
                target, name = self.resolve_plt(target)
            elif kind in SLOTS or kind is Kind.LOAD:
                target, name = self._pointers.follow(one.address), self._pointers.name(one.address)
                if target or name or self._pointers.is_resolved(one.address):
                    kind = RESOLVED.get(kind, Kind.ADDRESS)
                elif kind in SLOTS:
                    if self._pointers.is_null(one.address):
                        continue
                    kind = UNRESOLVED[kind]
                else:
                    kind, target = Kind.READ, one.address
            elif kind is Kind.NUMBER:
                if section_at(target) is None:
                    continue
                kind = Kind.ADDRESS
            yield one, ResolvedReference(one.at, kind, target, name)

    def _in_object(self, address: int, raw: bytes) -> Iterator[tuple[Reference, ResolvedReference]]:
        """Yield the references in bytes of an object: those with relocations, and those inside a section."""
        section = self._functions.section_of(address) if raw else None
        end = address + len(raw)
        waiting = iter(self._pointers.relocations(section, address, end) if section is not None else ())
        relocation = next(waiting, None)
        for one in chain(self.code.decoder.references(raw, address), [None]):
            # Relocations outside PC-relative operands are absolute addresses.
            while relocation is not None and relocation.address < (one.at if one is not None else end):
                target, name = self._pointers.target(relocation), self._pointers.target_name(relocation)
                known = Reference(relocation.address, relocation.address, Kind.ADDRESS, target)
                yield known, ResolvedReference(relocation.address, Kind.ADDRESS, target, name)
                relocation = next(waiting, None)
            if one is None:
                return
            kind, target, name = one.kind, one.address, ""
            if relocation is not None and relocation.address < one.after:
                direct = kind in DIRECT or kind in SLOTS
                found = self._pointers.target if direct else self._pointers.operand
                target = found(relocation, one.after)
                name = "" if target else self._pointers.target_name(relocation)
                if relocation.kind in self.code.decoder.abi.relocations.through_slot:
                    kind = RESOLVED.get(kind, Kind.ADDRESS)
                elif kind in UNKNOWN:  # the operand is a table of addresses
                    yield one, ResolvedReference(one.at, Kind.ADDRESS, target, name)
                    target, name = 0, ""
                relocation = next(waiting, None)
            if kind in SLOTS:  # a variable holds the address
                yield one, ResolvedReference(one.at, Kind.READ, target, name)
                kind, target, name = UNRESOLVED[kind], 0, ""
            elif kind is Kind.LOAD:
                kind = Kind.READ
            yield one, ResolvedReference(one.at, kind, target, name)

    def resolve_plt(self, target: int) -> tuple[int, str]:
        """Return the address that a call of `target` leads to, followed through the PLT, and its function's name.

        The name is that of an external function, or of one in `runs`.
        """
        if target not in self._plt_targets:
            self._plt_targets[target] = target, ""  # ends recursion of wrappers
            self._plt_targets[target] = self._resolve_plt(target)
        return self._plt_targets[target]

    def _resolve_plt(self, target: int) -> tuple[int, str]:
        if within(self._pointers.jumps, target):
            slot = self._jump_slot(target)
            return (self._pointers.follow(slot), self._pointers.name(slot)) if slot else (0, "")
        number = self._functions.starting_at(target)
        if number < 0:
            return target, ""
        if self._binary.stripped:
            return target, self._wrapped(number)
        name = self.code.name(number)
        return target, name if name in self._runs else ""

    def _jump_slot(self, address: int) -> int:
        """Return the address of the pointer that an entry of the PLT jumps through; 0 if there is none.

        The code jumps through the pointer, or loads it for a thunk (-z retpolineplt).
        """
        decoder = self.code.decoder
        found = decoder.references(self._binary.read(address, decoder.jump_size), address)
        return next((one.address for one in found if one.kind in (Kind.JUMP_SLOT, Kind.LOAD)), 0)

    def _wrapped(self, number: int) -> str:
        """Return the name in `runs` that an unnamed wrapper jumps to; "" if there is none.

        glibc links atexit statically: in stripped files it has no name.
        """
        if not self.code.sized(number) or self._functions.sizes[number] > SMALL:
            return ""
        for start, raw in self.code.raw(number):
            for one in self.code.decoder.references(raw, start):
                if one.kind is Kind.JUMP and within(self._pointers.jumps, one.address):
                    name = self.resolve_plt(one.address)[1]
                    return name if name in self._runs else ""
                if one.kind in DIRECT or one.kind in UNKNOWN:
                    break
        return ""

    def possible_targets(self, number: int) -> Iterator[int]:
        """Yield the addresses that a function of a linked file may call, jump to or use."""
        for address in self.code.operand_addresses(number):
            if not within(self._tables, address):
                yield address
            elif self._functions.is_code(address):
                yield self.resolve_plt(address)[0]
            else:
                yield self._pointers.follow(address)

    @cached_property
    def _tables(self) -> list[tuple[int, int]]:
        """Where PLT and GOT are."""
        return sorted([*self._pointers.jumps, *self._pointers.spans])

    # ---- of data

    @cached_property
    def data_pointers(self) -> Mapping[int, int]:
        """The targets of pointers in data, by the pointers' addresses."""
        return dict(self._pointers.in_data())

    @cached_property
    def _places(self) -> list[int]:
        return sorted(self.data_pointers)

    def code_reachable_from(self, address: int, seen: set[int] | None = None) -> Iterator[tuple[int, str]]:
        """Yield the code that pointers in the variable at an address lead to: (address, name if external).

        Variables that they point to are searched as well, except those whose start is in `seen`.
        """
        for target, name in self.reachable_from(address, seen):
            if name or self._functions.is_code(target):
                yield target, name

    def reachable_from(self, address: int, seen: set[int] | None = None) -> Iterator[tuple[int, str]]:
        """Yield all that can be reached from the variable at an address through pointers. Each is (address, name where
        another file defines it). Variables that start in `seen` are skipped; those searched are added to it.
        """
        seen = set() if seen is None else seen
        waiting = [address]
        while waiting:
            start, end = self.code.variables.extent(waiting.pop())
            if start in seen:
                continue
            seen.add(start)
            for target, name in self._between(start, end):
                yield target, name
                if not name and not self._functions.is_code(target):
                    waiting.append(target)

    def _between(self, start: int, end: int) -> Iterator[tuple[int, str]]:
        section = self._binary.section_at(start)
        if not self._binary.relocatable or section is None:
            for place in self._places[bisect_left(self._places, start) : bisect_left(self._places, end)]:
                yield self.data_pointers[place], ""
            return
        for relocation in self._pointers.relocations(section, start, end):
            target = self._pointers.target(relocation)
            yield target, "" if target else self._pointers.target_name(relocation)

    # ---- code in no function

    @cached_property
    def pieces(self) -> tuple[int, ...]:
        """The pieces of code in gaps that are reached from functions, other pieces or data."""
        gaps = self.code.gaps
        found: dict[int, None] = {}
        for target in self.data_pointers.values() if gaps else ():
            if within(gaps, target):
                self._add_piece(target, False, found)
        for start, _ in gaps:
            before = self.code.functions.at(start)
            if within(gaps, end := self.code.falls_through_to(before)):
                self._add_piece(end, True, found)
        for number in range(len(self.code) if gaps else 0):
            self._add_pieces_of(number, gaps, found)
        waiting = deque(found)
        while waiting:
            known = len(found)
            self._add_pieces_of(waiting.popleft(), gaps, found)
            waiting += islice(found, known, None)
        return tuple(found)

    def _add_pieces_of(self, number: int, gaps: Sequence[tuple[int, int]], found: dict[int, None]) -> None:
        """Add the pieces in `gaps` that a function or piece leads to."""
        if not self._binary.relocatable and not any(within(gaps, one) for one in self.code.operand_addresses(number)):
            return
        for one in self.of(number):
            if within(gaps, one.target) and not self.code.covers(number, one.target):
                self._add_piece(one.target, one.kind in DIRECT, found)

    def _add_piece(self, target: int, direct: bool, found: dict[int, None]) -> None:
        """Add the piece at an address in a gap, if a `direct` jump leads there or it cannot be data."""
        number = self.code.entry(target)
        piece = self.code.piece(number)
        if piece is not None and (direct or (piece.sound and not self.code.variables.name_at(target))):
            found.setdefault(number)

    # ---- questions

    def detects_features(self, number: int, libc_only: bool = False) -> bool:
        """Return whether a function detects CPU features, or reads the toolchain's variables of them.

        With `libc_only`, only reads of the C library's own variables count.
        """
        if number < 0:
            return False
        if (number, libc_only) not in self._asks:
            self._asks[number, libc_only] = any(self._is_question(one, libc_only) for one in self.of(number))
        return self._asks[number, libc_only]

    def _is_question(self, one: ResolvedReference, libc_only: bool) -> bool:
        if one.kind is Kind.QUESTION:
            return not libc_only
        name = one.name
        if not name and not self._binary.stripped and one.target:
            called = self._functions.starting_at(one.target)
            name = self.code.name(called) if called >= 0 else self.code.variables.name_at(one.target)
        by = self._asked_by
        return name.startswith(by.own) or (not libc_only and (name in by.functions or name.startswith(by.variables)))

    def detects_features_first(self, number: int) -> bool:
        """Return whether a function asks what the CPU has, or a function that it calls does."""
        return self.detects_features(number) or any(
            one.kind in DIRECT and one.target and self.detects_features(self.code.entry(one.target))
            for one in self.of(number)
        )
