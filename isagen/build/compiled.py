"""What sealing reads in compiled objects, as values that the step's memo stores: each object is read once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

from ..binary.formats import load_object
from ..binary.protocol import MERGEABLE, Binding
from ..binary.sealing_protocol import PointerTargets
from ..model.files import AnyPath, read_bytes
from ..model.matrix import Code
from ..model.names import KERNEL_SYMBOL, WITHOUT_SYMBOL
from .measure import Measure


class CompiledSymbol(NamedTuple):
    """A global symbol (`binary.protocol.NamedSymbol`) and the addresses in its data.

    `merged` is true of weak functions and constants: a linker would merge them across levels, so sealing makes them
    private. `value` is the size and the initial value of a variable.
    """

    name: str
    binding: Binding
    constant: bool
    defined: bool
    code: bool
    merged: bool
    value: str
    held: PointerTargets

    @property
    def is_mergeable_variable(self) -> bool:
        """Whether it names data that linkers merge across objects and that a program may write to."""
        return self.binding in MERGEABLE and not self.code and not self.constant


@dataclass(frozen=True)
class Compiled:
    """A compiled object.

    `content` is a digest of the file. `findable` maps each section that code finds by its name to the addresses in it.
    `initialised` are the variables that code initialises, with their guards. `besides` contains the variables that
    linkers merge, if the object contains only these, code and constants; otherwise it is None. `looks_for` are the
    sections whose bounds the object names.
    """

    path: str
    content: bytes
    symbols: tuple[CompiledSymbol, ...]
    findable: Mapping[str, PointerTargets]
    initialised: frozenset[str]
    runs_at_load: bool
    besides: frozenset[str] | None
    looks_for: frozenset[str]
    code: Code


def marks_of(level: str) -> tuple[str, str]:
    """Return the prefixes of the symbols by which an object of a level registers a stub, or that it has none."""
    return KERNEL_SYMBOL.format(level=level), WITHOUT_SYMBOL.format(level=level)


def compiled_object(path: AnyPath, level: str, measure: Measure) -> Compiled:
    """Read the object of a level at a path."""
    file = load_object(path)
    private = {symbol.name for symbol in file.weak_code_and_constants}
    symbols = []
    for one in file.symbols:
        held = file.pointer_targets(one) if one.defined and not one.code else PointerTargets()
        own = one.defined and one.name in private
        symbol = CompiledSymbol(one.name, one.binding, one.constant, one.defined, one.code, own, "", held)
        is_shared = one.defined and symbol.is_mergeable_variable
        symbols.append(symbol._replace(value=file.initial_value(one)) if is_shared else symbol)
    return Compiled(
        path=os.fspath(path),
        content=blake2b(read_bytes(path), digest_size=16).digest(),
        symbols=tuple(symbols),
        findable=file.findable_sections(),
        initialised=file.initialised_variables,
        runs_at_load=file.runs_at_load,
        besides=file.foldable_variables(),
        looks_for=file.bounded_sections,
        code=measure.code(file, marks_of(level)),
    )
