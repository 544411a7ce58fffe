"""The data of a compiled object that sealing needs. `seal.Memo` keeps it: later runs read only objects that changed."""

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
    """A symbol that is not local. It is `defined` or undefined in the object; `code` is true if it names code there.

    Sealing renames each `weak_code_or_constant`, because linkers would merge it across levels. A `mergeable_variable`
    names writable data that linkers merge across objects: its `initial_value` is a text with the value and the size of
    the data. For other symbols, this text is "". `pointer_targets` are what pointers in the symbol's data lead to.
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
    `initialised_variables` are the variables that code initialises, and their guards. `runs_at_load` is true if some
    function runs at load or exit. `may_fold` is true if the object contains only code and constants, and no such
    function. `bounded_sections` are the sections whose __start_ or __stop_ symbols the object uses.
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
    """Return two prefixes, of symbols that register a kernel for a stub, and of those that say that it has none."""
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
