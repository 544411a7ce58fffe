"""What sealing needs of a compiled object. The step's memo stores it, so that each object is read once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ..binary.contents import MERGEABLE, Binding
from ..binary.formats import load_object
from ..binary.initial_values import PointerTargets
from ..model.files import AnyPath, content_digest, read_bytes
from ..model.matrix import Code
from ..model.names import KERNEL_SYMBOL, WITHOUT_SYMBOL
from .measure import NeedsOf, measured

# The prefix of the function that Python calls when it imports a module.
PYTHON_MODULE = "PyInit_"


class CompiledSymbol(NamedTuple):
    """A global symbol, `defined` by the object or undefined; `code` is whether it names code of the object.

    Sealing renames each `weak_code_or_constant`, because linkers would merge it across levels. A `mergeable_variable`
    names writable data that linkers merge across objects. Its `initial_value` is a text with the value and the size of
    the data; that of other symbols is "". `pointer_targets` are the symbols that the data of this symbol points to.
    """

    name: str
    binding: Binding
    defined: bool
    code: bool
    weak_code_or_constant: bool
    mergeable_variable: bool
    initial_value: str
    pointer_targets: PointerTargets


@dataclass(frozen=True)
class Compiled:
    """A compiled object.

    `findable_sections` maps the sections that code finds by name to the symbols that they point to.
    `initialised_variables` are the variables that code initialises, and their guards. `may_fold` is whether it
    contains only code and constants. `bounded_sections` are the sections whose __start_ and __stop_ symbols it uses.
    """

    path: str
    content_digest: str
    symbols: tuple[CompiledSymbol, ...]
    findable_sections: Mapping[str, PointerTargets]
    initialised_variables: frozenset[str]
    runs_at_load: bool
    may_fold: bool
    bounded_sections: frozenset[str]
    code: Code


def registration_prefixes(level: str) -> tuple[str, str]:
    """Return two prefixes of symbols: those that register a kernel for a stub, and those that register none for it."""
    return KERNEL_SYMBOL.format(level=level), WITHOUT_SYMBOL.format(level=level)


def compiled_object(path: AnyPath, level: str, needs_of: NeedsOf) -> Compiled:
    """Read the object of a level at a path; `needs_of` is the same as in `measured`."""
    file = load_object(path)
    weak = {symbol.name for symbol in file.weak_code_and_constants}
    symbols = []
    for symbol in file.symbols:
        is_code = file.is_code(symbol)
        is_data = symbol.definition and not is_code
        mergeable = is_data and symbol.binding in MERGEABLE and not file.is_constant(symbol)
        symbols.append(
            CompiledSymbol(
                name=symbol.name,
                binding=symbol.binding,
                defined=symbol.definition,
                code=is_code,
                weak_code_or_constant=symbol.definition and symbol.name in weak,
                mergeable_variable=mergeable,
                initial_value=file.initial_value(symbol) if mergeable else "",
                pointer_targets=file.pointer_targets(symbol) if is_data else PointerTargets(),
            )
        )
    return Compiled(
        path=os.fspath(path),
        content_digest=content_digest(read_bytes(path)),
        symbols=tuple(symbols),
        findable_sections=file.findable_sections(),
        initialised_variables=file.initialised_variables,
        runs_at_load=file.runs_at_load,
        may_fold=file.may_fold,
        bounded_sections=file.bounded_sections,
        code=measured(file, registration_prefixes(level), needs_of),
    )
