"""Extension modules that are dispatched as a whole: the check of their objects, and C text for their front.

The front is the module that Python imports: it opens the private module of the level that it selects.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ..binary.notes import note_text
from ..model.errors import BuildError
from ..model.record import LEVEL_OWNER
from ..model.registrations import Registrations
from .compiled import Compiled

INIT = "PyInit_"


def check_objects(module: str, registered: Registrations, objects: Iterable[Compiled]) -> None:
    """Raise `BuildError` if objects do not form the extension module, or if they register stubs."""
    for source, kernel in registered.kernels.items():
        for stub in kernel.registers:
            raise BuildError(
                f"{source} registers a kernel for it, but is a source of the module {module}, which is "
                "dispatched as a whole",
                where=stub,
                remedy="put the kernel into a set of its own in isa_sets, without 'module'",
            )
    names = {symbol.name for compiled in objects for symbol in compiled.symbols if symbol.defined}
    if INIT + module not in names:
        others = sorted(name.removeprefix(INIT) for name in names if name.startswith(INIT))
        raise BuildError(
            f"no source of the module defines {INIT}{module}" + (f"; they define {INIT}{others[0]}" if others else ""),
            where=f"isa_module = {module!r}",
            remedy="name the module as its sources do: a .pyx by its file name, C++ in PYBIND11_MODULE or NB_MODULE",
        )


def notes_text(notes: Iterable[bytes]) -> str:
    """Return the notes of levels as the elements of a C array."""
    return "\n".join(note_text(LEVEL_OWNER, note) for note in notes)


def module_table(module: str, levels: Iterable[str], built_levels: Collection[str]) -> str:
    """Return the C text that replaces the table of stubs: its only entry is the module, at each level that is built."""
    cells = ["ISA_CAST(const struct isa_kernel *, &isa_module)" if level in built_levels else "0" for level in levels]
    return "\n".join(
        [
            "static const char isa_module = 0; /* the address of a level that is built */",
            "ISA_OLDEST_CPU static void isa_bind_module(const struct isa_kernel *level)",
            "{",
            "  (void)level; /* the front loads the module of the level that is selected */",
            "}",
            "",
            "const unsigned isa_stub_total = 1;",
            "const struct isa_stub isa_stubs[1] = {",
            f'  {{"{module}", isa_bind_module, {{{", ".join(cells)}}}}},',
            "};",
            "int isa_stub_levels[1];",
        ]
    )
