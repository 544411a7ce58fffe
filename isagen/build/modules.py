"""Whole modules: the notes in the objects of their private modules, and their fronts."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ..binary.formats import FORMATS
from ..model.errors import BuildError
from ..model.record import LEVEL_OWNER
from ..model.registrations import Registrations
from .compiled import Compiled

INIT = "PyInit_"
LINE = 32  # bytes in a line of a C array


def check_objects(module: str, registered: Registrations, objects: Iterable[Compiled]) -> None:
    """Raise `BuildError` if objects are no extension module, or register stubs that nothing calls."""
    for source, found in registered.kernels.items():
        for stub in found.registers:
            raise BuildError(
                f"{source} registers a kernel for it, but is a source of the module {module}, which is "
                "dispatched as a whole",
                where=stub,
                remedy="put the kernel into a set of its own in isa_sets, without 'module'",
            )
    wanted = INIT + module
    names = {symbol.name for file in objects for symbol in file.symbols if symbol.defined}
    if wanted not in names:
        others = sorted(name.removeprefix(INIT) for name in names if name.startswith(INIT))
        raise BuildError(
            f"no source of the module defines {wanted}" + (f"; they define {INIT}{others[0]}" if others else ""),
            where=f"isa_module = {module!r}",
            remedy="name the module as its sources do: a .pyx by its file name, C++ in PYBIND11_MODULE or NB_MODULE",
        )


def notes_text(notes: Iterable[bytes]) -> str:
    """Return notes as numbers that follow others in a C array."""
    content = b"".join(FORMATS[0].record(LEVEL_OWNER, note) for note in notes)
    lines = [content[place : place + LINE] for place in range(0, len(content), LINE)]
    return "\n  ".join(", ".join(map(str, line)) + "," for line in lines)


def module_table(module: str, levels: Iterable[str], built: Collection[str]) -> str:
    """Return the C text that takes the place of a table of stubs: the module itself, at the levels that are built."""
    cells = ["ISA_CAST(const struct isa_kernel *, &isa_module)" if level in built else "0" for level in levels]
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
