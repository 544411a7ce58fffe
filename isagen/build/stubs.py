"""The table of stubs: the kernel of each stub at each level, from the registrations in the compiled objects.

Two checks come first: every stub has the kernels that it needs, and variables that all levels share have one initial
value. The table of an extension module that is dispatched as a whole has one entry, the module. Python imports the
module's front, which opens the private module of the level that it selects.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from ..binary.notes import note_text
from ..model.errors import BuildError
from ..model.matrix_notes import pack
from ..model.names import (
    BIND_SYMBOL,
    KERNEL_SYMBOL,
    LEVEL_NOTES_MARK,
    STUBS_MARK,
    UNREGISTERED_SYMBOL,
)
from ..model.record import LEVEL_OWNER
from ..model.registrations import Registrations
from .compiled import PYTHON_MODULE, Compiled

# For each kernel that folds, by (level, stub): the lower level whose kernel the stub calls instead.
Folded = Mapping[tuple[str, str], str]


def stubs_source(
    template: str, project: str, levels: Sequence[str], built_levels: Sequence[Registrations], module: str
) -> str:
    """Return the `template` with its marks replaced by the table of stubs and the notes of levels.

    `levels` are all levels of the plan, lowest first. Without a `module`, raises `BuildError` as `stubs_of` does.
    """
    notes = {registrations.level: pack(registrations.level_code(project)) for registrations in built_levels}
    if module:
        table = module_table(module, levels, notes)
    else:
        folded = {
            (registrations.level, stub): lower
            for registrations in built_levels
            for source, lower in registrations.folded.items()
            for stub in registrations.kernels[source].registers
        }
        table = stub_table(stubs_of(built_levels, levels[0]), levels, folded)
    return template.replace(STUBS_MARK, table).replace(LEVEL_NOTES_MARK, notes_text(notes.values()))


def stub_table(stubs: Mapping[str, Sequence[str]], levels: Sequence[str], folded: Folded) -> str:
    """Return the C text that declares every kernel and lists every stub with its kernels, lowest level first."""

    def kernel_symbol(level: str, stub: str) -> str:
        return f"{KERNEL_SYMBOL.format(level=folded.get((level, stub), level))}{stub}"

    lines = ["ISA_BEGIN_C"]
    for stub, stub_levels in stubs.items():
        lines += [f"ISA_HIDDEN void {BIND_SYMBOL}{stub}(const struct isa_kernel *kernel);"]
        own = [level for level in stub_levels if (level, stub) not in folded]
        lines += [f"extern ISA_HIDDEN const struct isa_kernel {kernel_symbol(level, stub)};" for level in own]
        lines += [f"extern ISA_HIDDEN void (*const {UNREGISTERED_SYMBOL}{stub})(const char *name);"]
        lines += [f"void (*const {UNREGISTERED_SYMBOL}{stub})(const char *name) = isa_no_level;"]
    rows = []
    for stub, stub_levels in stubs.items():
        cells = ", ".join(f"&{kernel_symbol(level, stub)}" if level in stub_levels else "0" for level in levels)
        rows.append(f'  {{"{stub}", {BIND_SYMBOL}{stub}, {{{cells}}}}},')
    return _table([*lines, "ISA_END_C", ""], rows)


def _table(before: Sequence[str], rows: Sequence[str]) -> str:
    total, head = f"const unsigned isa_stub_total = {len(rows)};", f"const struct isa_stub isa_stubs[{len(rows)}] = {{"
    return "\n".join([*before, total, head, *rows, "};", f"int isa_stub_levels[{len(rows)}];"])


def stubs_of(levels: Iterable[Registrations], lowest: str) -> dict[str, list[str]]:
    """Return the levels at which each stub has a kernel.

    Raises `BuildError` if there are no stubs, if a stub lacks a kernel, or if levels disagree on a shared variable's
    initial value. A stub needs a kernel at the `lowest` level. A kernel source that registers a stub must register the
    stub at each level that the source is compiled for, or register there that the stub has no kernel.
    """
    levels = list(levels)
    stubs: dict[str, list[str]] = {}
    first_sources: dict[str, str] = {}
    stubs_of_source: dict[str, set[str]] = {}
    for registrations in levels:
        for source, kernel in registrations.kernels.items():
            stubs_of_source.setdefault(source, set()).update(kernel.registers)
            for stub in kernel.registers:
                stubs.setdefault(stub, []).append(registrations.level)
                first_sources.setdefault(stub, source)
    if not stubs:
        raise BuildError(
            "no kernel registers itself",
            where="isa_kernels",
            remedy="end every kernel source with ISA_REGISTER_DISPATCH(stub, &function), outside anonymous namespaces, "
            "and compile it without link-time optimisation, whose objects do not show registrations",
        )
    for stub, stub_levels in sorted(stubs.items()):
        if lowest not in stub_levels:
            raise BuildError(
                f"{_registered(levels, first_sources[stub], stub)}, but no kernel does at {lowest}",
                where=stub,
                remedy=f"register one at {lowest} too, for CPUs without any higher level; if isa.toml restricts the "
                f"levels of the source, add {lowest} to them",
            )
    for registrations in levels:
        for source, kernel in registrations.kernels.items():
            for stub in sorted(stubs_of_source[source].difference(kernel.registers, kernel.without)):
                raise BuildError(
                    f"{_registered(levels, source, stub)}, but not at {registrations.level}, "
                    "which it is compiled for too",
                    where=stub,
                    remedy=f"write ISA_REGISTER_NO_DISPATCH({stub}) there, or leave the level out in isa.toml",
                )
    _check_shared(levels)
    return dict(sorted(stubs.items()))


def _registered(levels: Sequence[Registrations], source: str, stub: str) -> str:
    own = (one.level for one in levels if source in one.kernels and stub in one.kernels[source].registers)
    return f"{source} registers it at {', '.join(own)}"


def _check_shared(levels: Sequence[Registrations]) -> None:
    first: dict[str, tuple[str, str]] = {}
    for registrations in levels:
        for symbol, value in registrations.shared.items():
            first_level, first_value = first.setdefault(symbol, (registrations.level, value))
            if value != first_value:
                from ..binary.mangling import demangle

                raise BuildError(
                    f"all levels share this variable, but its initial value is {first_value} at {first_level} and "
                    f"{value} at {registrations.level}: both would read the value of {first_level}",
                    where=demangle(symbol),
                    remedy="give each level its own: make it static in the kernel source, move it or the function that "
                    "contains it into an anonymous namespace, or give it a name for each level; a constant may be "
                    "constexpr instead",
                )


# ---- extension modules that are dispatched as a whole


def check_objects(module: str, registered: Registrations, objects: Iterable[Compiled]) -> None:
    """Raise `BuildError` if none of the `objects` defines the extension `module`, or if one registers a stub."""
    for source, kernel in registered.kernels.items():
        for stub in kernel.registers:
            raise BuildError(
                f"{source} registers a kernel for it, but is a source of the module {module}, which is "
                "dispatched as a whole",
                where=stub,
                remedy="put the kernel into a set of its own in isa_sets, without 'module'",
            )
    names = {symbol.name for compiled in objects for symbol in compiled.symbols if symbol.defined}
    if PYTHON_MODULE + module not in names:
        others = sorted(name.removeprefix(PYTHON_MODULE) for name in names if name.startswith(PYTHON_MODULE))
        raise BuildError(
            f"no source of the module defines {PYTHON_MODULE}{module}"
            + (f"; they define {PYTHON_MODULE}{others[0]}" if others else ""),
            where=f"isa_module = {module!r}",
            remedy="take the name from the sources: the file name of the .pyx, or that in PYBIND11_MODULE or NB_MODULE",
        )


def notes_text(notes: Iterable[bytes]) -> str:
    """Return the notes of levels as the elements of a C array."""
    return "\n".join(note_text(LEVEL_OWNER, note) for note in notes)


def module_table(module: str, levels: Iterable[str], built_levels: Collection[str]) -> str:
    """Return the C text of the table of a whole module: the only entry is the module, at each level that is built."""
    cells = ["ISA_CAST(const struct isa_kernel *, &isa_module)" if level in built_levels else "0" for level in levels]
    before = [
        "static const char isa_module = 0; /* its address stands for a level that is built */",
        "ISA_OLDEST_CPU static void isa_bind_module(const struct isa_kernel *level)",
        "{",
        "  (void)level; /* the front loads the module of the level that is selected */",
        "}",
        "",
    ]
    return _table(before, [f'  {{"{module}", isa_bind_module, {{{", ".join(cells)}}}}},'])
