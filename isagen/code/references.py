"""Finds the references of functions and variables, and resolves them through PLT, GOT and relocations."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from ..binary.contents import within
from ..processors.decoding import DIRECT, LEAVES, SLOTS, UNKNOWN, Kind, Reference
from ..processors.instructions import CpuChecks
from .code import Code

IMPORTED = "__imp_"  # the prefix of the symbol of a pointer to a DLL's function
# The kind of a call or jump through a pointer if its target is known.
RESOLVED = {Kind.CALL_SLOT: Kind.CALL, Kind.JUMP_SLOT: Kind.JUMP}
# The kind of such a call or jump if its target is unknown.
UNRESOLVED = {Kind.CALL_SLOT: Kind.CALL_UNKNOWN, Kind.JUMP_SLOT: Kind.JUMP_UNKNOWN}


class ResolvedReference(NamedTuple):
    """A reference by the instruction at the address `at`. `target` is an address in this file, or 0.

    `name` is only set if linker or loader find the target by its name, or if the target is a function in the
    `callbacks` of `References`. A call or jump through the PLT, the GOT or the pointer to a DLL's function has the kind
    of a direct one if its target is known. An unknown target has neither address nor name.
    """

    at: int
    kind: Kind
    target: int
    name: str


class References:
    """The references of the functions and pieces of `code`, by number.

    `callbacks` maps functions that call some of their arguments, as atexit does, to the positions of these arguments.
    """

    def __init__(self, code: Code, callbacks: Mapping[str, Sequence[int]], detection: CpuChecks) -> None:
        self.code = code
        self._callbacks = callbacks
        self._detection = detection
        self._binary = code.binary
        self._pointers = code.pointers
        self._functions = code.functions
        self._plt_targets: dict[int, tuple[int, str]] = {}

    # ---- references of code

    def of(self, number: int) -> Iterator[ResolvedReference]:
        """Yield the references of a function or piece in order, except jumps inside it.

        If control falls through at its end, the last reference is a jump to where control continues. Functions that are
        passed as callbacks count as called.
        """
        resolve = self._in_object if self._binary.relocatable else self._in_linked
        last = None
        for start, raw in self.code.raw(number):
            pairs = list(resolve(start, raw))
            callers = (resolved for _, resolved in pairs if self._takes_callbacks(resolved))
            calls = {resolved.at: self._callbacks[resolved.name] for resolved in callers}
            arguments = self._arguments(start, raw, pairs, calls) if calls else {}
            last = pairs[-1][0] if pairs and pairs[-1][0].kind is not Kind.ADDRESS else None
            for reference, resolved in pairs:
                jump = resolved.kind in (Kind.JUMP, Kind.BRANCH)
                if not (jump and self.code.covers(number, resolved.target)):
                    yield resolved
                if self._takes_callbacks(resolved):
                    for address, name in self._callbacks_in(arguments.get(reference.at, ())):
                        yield ResolvedReference(resolved.at, Kind.CALL, address, name)
        end = self.code.falls_through_to(number, last)
        if end:
            yield ResolvedReference(end, Kind.JUMP, end, "")

    def _callbacks_in(self, arguments: Sequence[tuple[int, str]]) -> Iterator[tuple[int, str]]:
        """Yield (address, name) of each argument, with the address 0 if no code of this file is there.

        If two arguments are the ends of an array, yield the targets of the pointers in the array instead.
        """
        ends = sorted(address for address, _ in arguments if self._binary.section_at(address) is not None)
        if len(ends) == len(arguments) == 2 and not any(map(self._binary.is_code, ends)):
            yield from self._between(*ends)
            return
        for address, name in arguments:
            yield address if self._binary.is_code(address) else 0, name

    def _takes_callbacks(self, resolved: ResolvedReference) -> bool:
        return resolved.name in self._callbacks and resolved.kind is not Kind.ADDRESS

    def _arguments(
        self,
        address: int,
        raw: bytes,
        pairs: Sequence[tuple[Reference, ResolvedReference]],
        calls: Mapping[int, Sequence[int]],
    ) -> Mapping[int, Sequence[tuple[int, str]]]:
        """Return (address, name) of each callback argument of each call, by the call's address; (0, "") if unknown."""
        formed = [resolved for _, resolved in pairs if resolved.kind is Kind.ADDRESS]
        values = [(0, ""), *((resolved.target, resolved.name) for resolved in formed)]
        value_numbers = {resolved.at: number for number, resolved in enumerate(formed, 1) if any(values[number])}
        join_points = {reference.after for reference, _ in pairs if reference.kind in LEAVES}
        join_points |= {reference.address for reference, _ in pairs if reference.kind in (Kind.JUMP, Kind.BRANCH)}
        passed = self.code.decoder.call_arguments(raw, address, value_numbers, join_points, calls)
        return {call: [values[number] for number in numbers] for call, numbers in passed.items()}

    def _in_linked(self, address: int, raw: bytes) -> Iterator[tuple[Reference, ResolvedReference]]:
        for reference in self.code.decoder.references(raw, address, self._binary.fixed):
            kind, target, name = reference.kind, reference.address, ""
            if kind in DIRECT:
                target, name = self.resolve_plt(target)
            elif kind in SLOTS or kind is Kind.LOAD:
                target, name, resolved, null = self._pointers.follow(reference.address)
                if target and not name:
                    target, name = self.resolve_plt(target)
                if target or name or resolved:
                    kind = RESOLVED.get(kind, Kind.ADDRESS)
                elif kind in SLOTS:
                    if null:
                        continue
                    kind = UNRESOLVED[kind]
                else:
                    kind, target = Kind.READ, reference.address
            elif kind is Kind.ADDRESS and within(self._pointers.slot_ranges, target):
                kind = Kind.READ  # the GOT's two words for thread-local storage, which are no pointers
            elif kind is Kind.NUMBER:
                if self._binary.section_at(target) is None:
                    continue
                kind = Kind.ADDRESS
            yield reference, ResolvedReference(reference.at, kind, target, name)

    def _in_object(self, address: int, raw: bytes) -> Iterator[tuple[Reference, ResolvedReference]]:
        section = self._functions.section_of(address) if raw else None
        end = address + len(raw)
        relocations = iter(self._pointers.relocations(section, address, end) if section is not None else ())
        relocation = next(relocations, None)
        for reference in chain(self.code.decoder.references(raw, address, linked=False), [None]):
            # A relocation before the next reference is in an instruction without a reference, such as a move of an
            # immediate. This instruction forms the address.
            while relocation is not None and relocation.address < (reference.at if reference is not None else end):
                target = self._pointers.target(relocation)
                name = "" if target else self._pointers.target_name(relocation)
                immediate = Reference(relocation.address, relocation.address, Kind.ADDRESS, target)
                yield immediate, ResolvedReference(relocation.address, Kind.ADDRESS, target, name)
                relocation = next(relocations, None)
            if reference is None:
                return
            kind, target, name = reference.kind, reference.address, ""
            if relocation is not None and relocation.address < reference.after:
                if relocation.kind in self.code.decoder.abi.relocations.of_loader:
                    kind = Kind.READ
                direct = kind in DIRECT or kind in SLOTS
                target_of = self._pointers.target if direct else self._pointers.operand
                target = target_of(relocation, reference.after)
                name = "" if target else self._pointers.target_name(relocation)
                if relocation.kind in self.code.decoder.abi.relocations.through_slot:
                    kind = RESOLVED.get(kind, Kind.ADDRESS)
                elif kind in SLOTS and name.startswith(IMPORTED):
                    kind, name = RESOLVED[kind], name.removeprefix(IMPORTED)
                elif kind in UNKNOWN:  # the relocation is for the table of addresses through which control jumps
                    yield reference, ResolvedReference(reference.at, Kind.ADDRESS, target, name)
                    target, name = 0, ""
                relocation = next(relocations, None)
            if kind in SLOTS:  # the pointer is a variable
                yield reference, ResolvedReference(reference.at, Kind.READ, target, name)
                kind, target, name = UNRESOLVED[kind], 0, ""
            elif kind is Kind.LOAD:
                kind = Kind.READ
            yield reference, ResolvedReference(reference.at, kind, target, name)

    def resolve_plt(self, target: int) -> tuple[int, str]:
        """Return the address and the name of the function that a call of `target` reaches, directly or through the PLT.

        Only a function that the loader finds by its name, or one in `callbacks`, has a name.
        """
        if target not in self._plt_targets:
            self._plt_targets[target] = self._resolve_plt(target)
        return self._plt_targets[target]

    def _resolve_plt(self, target: int) -> tuple[int, str]:
        if within(self._pointers.plt_ranges, target):
            slot = self._jump_slot(target)
            return self._pointers.follow(slot)[:2] if slot else (0, "")
        number = self._functions.starting_at(target)
        name = self.code.name(number) if number >= 0 else ""
        return target, name if name in self._callbacks else ""

    def _jump_slot(self, address: int) -> int:
        """Return the address of the pointer that a PLT entry jumps through, or loads for a thunk (-z retpolineplt)."""
        decoder = self.code.decoder
        references = decoder.references(self._binary.read(address, decoder.jump_size), address)
        return next((reference.address for reference in references if reference.kind in (Kind.JUMP_SLOT, Kind.LOAD)), 0)

    def possible_targets(self, number: int) -> Iterator[int]:
        """Yield the addresses to which a function may refer, and 0 for those that are unknown.

        In a linked file, the target of an entry of the PLT or of a pointer in the GOT takes the place of the entry or
        pointer. A pointer with an unknown target is yielded itself.
        """
        if self._binary.relocatable:
            yield from (resolved.target for resolved in self.of(number))
            return
        for address in self.code.operand_addresses(number):
            if not self._binary.is_code(address):
                yield self._pointers.follow(address).address or address
            else:
                yield self.resolve_plt(address)[0] if within(self._tables, address) else address

    @cached_property
    def _tables(self) -> list[tuple[int, int]]:
        """The ranges (first address, address after the last) of PLT, GOT, and arrays of functions for the loader."""
        return sorted([*self._pointers.plt_ranges, *self._pointers.slot_ranges])

    # ---- references of data

    @cached_property
    def data_pointers(self) -> Mapping[int, int]:
        """The target of each pointer in data, by the address of the pointer."""
        return dict(self._pointers.in_data())

    @cached_property
    def _pointer_addresses(self) -> list[int]:
        return sorted(self.data_pointers)

    def reachable_from(self, address: int, seen: set[int] | None = None) -> Iterator[tuple[int, str]]:
        """Yield (address, name) of the code and variables that pointers in a variable lead to, directly or not.

        Only a target that another file defines has a name. In a linked file, pointers to other files are skipped.
        `seen` contains the starts of variables that are not followed; this call adds those that it follows.
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
                if not name and not self._binary.is_code(target):
                    waiting.append(target)

    def _between(self, start: int, end: int) -> Iterator[tuple[int, str]]:
        """Yield (address, name) of the targets of pointers from `start` to before `end`."""
        section = self._binary.section_at(start)
        if not self._binary.relocatable or section is None:
            first, last = (bisect_left(self._pointer_addresses, address) for address in (start, end))
            for place in self._pointer_addresses[first:last]:
                yield self.data_pointers[place], ""
            return
        for relocation in self._pointers.relocations(section, start, end):
            target = self._pointers.target(relocation)
            yield target, "" if target else self._pointers.target_name(relocation)

    # ---- code in no function

    @cached_property
    def reached_pieces(self) -> tuple[int, ...]:
        """The pieces in gaps that functions, other pieces or data lead to."""
        gaps = self.code.gaps
        if not gaps:
            return ()
        pointed = ((target, False) for target in self.data_pointers.values())
        ends = ((self.code.falls_through_to(self.code.functions.at(start)), True) for start, _ in gaps)
        pieces = dict.fromkeys(self._pieces_at(chain(pointed, ends)))
        for number in range(len(self.code)):
            pieces.update(dict.fromkeys(self._pieces_of(number)))
        waiting = deque(pieces)
        while waiting:
            new = dict.fromkeys(piece for piece in self._pieces_of(waiting.popleft()) if piece not in pieces)
            pieces.update(new)
            waiting += new
        return tuple(pieces)

    def _pieces_of(self, number: int) -> Iterator[int]:
        """Yield the pieces in gaps that a function or piece leads to."""
        gaps = self.code.gaps
        if self._binary.relocatable or any(within(gaps, address) for address in self.code.operand_addresses(number)):
            references = (resolved for resolved in self.of(number) if not self.code.covers(number, resolved.target))
            yield from self._pieces_at((resolved.target, resolved.kind in DIRECT) for resolved in references)

    def _pieces_at(self, entries: Iterable[tuple[int, bool]]) -> Iterator[int]:
        """Yield the pieces at `entries` in gaps, except data.

        An entry is (address, whether control arrives there). An address to which only a pointer leads counts as data if
        a named variable is there, or if the bytes cannot be decoded.
        """
        for address, is_code in entries:
            if within(self.code.gaps, address):
                number = self.code.entry(address)
                piece = self.code.piece(number)
                if piece is not None and (is_code or (piece.decodable and not self.code.variables.name_at(address))):
                    yield number

    # ---- detection of CPU features

    def detects_features(self, number: int, libc_only: bool = False) -> bool:
        """Return whether a function detects CPU features, by itself or through symbols of the toolchain.

        With `libc_only`, only the C library's functions and variables for this detection count.
        """
        return number >= 0 and any(self._is_detection(resolved, libc_only) for resolved in self.of(number))

    def _is_detection(self, resolved: ResolvedReference, libc_only: bool) -> bool:
        if resolved.kind is Kind.CPU_CHECK:
            return not libc_only
        name, detection = resolved.name, self._detection
        if not name and not self._binary.stripped and resolved.target:
            called = self._functions.starting_at(resolved.target)
            name = self.code.name(called) if called >= 0 else self.code.variables.name_at(resolved.target)
        of_toolchain = name in detection.functions or name.startswith(detection.variables)
        return name.startswith(detection.libc) or (of_toolchain and not libc_only)

    def detects_or_calls_detection(self, number: int) -> bool:
        """Return whether a function, or one that it directly calls or jumps to, detects CPU features."""
        calls = (resolved for resolved in self.of(number) if resolved.kind in DIRECT and resolved.target)
        return self.detects_features(number) or any(
            self.detects_features(self.code.entry(call.target)) for call in calls
        )
