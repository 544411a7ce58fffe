"""The table of stubs: the kernel of each stub at each level, as sealing found it in the compiled objects.

Every stub must have the kernels that it needs, and data that all levels share must have one initial value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..model.errors import BuildError
from ..model.matrix_notes import pack
from ..model.names import (
    BIND_SYMBOL,
    KERNEL_SYMBOL,
    LEVEL_NOTES_MARK,
    STUBS_MARK,
    UNREGISTERED_SYMBOL,
)
from ..model.registrations import Registrations
from .modules import module_table, notes_text


def stubs_source(text: str, project: str, levels: Sequence[str], found: Sequence[Registrations], module: str) -> str:
    """Return the template `text`, with the stubs and the notes of levels in the places of marks.

    `levels` are those of the plan of a `project`, lowest first, and `found` those that are built. A whole `module` is
    the only stub of its own. Raises `BuildError` where a stub is incomplete.
    """
    notes = {one.level: pack(one.level_code(project)) for one in found}
    if module:
        table = module_table(module, levels, notes)
    else:
        table = stub_table(stubs_of(found, levels[0]), levels, folded_stubs(found))
    return text.replace(STUBS_MARK, table).replace(LEVEL_NOTES_MARK, notes_text(notes.values()))


def folded_stubs(found: Iterable[Registrations]) -> dict[tuple[str, str], str]:
    """Return the lower level whose kernel a folded stub calls, by (level, stub)."""
    return {
        (one.level, stub): lower
        for one in found
        for source, lower in one.folded.items()
        for stub in one.kernels[source].registers
    }


def kernel_symbol(level: str, stub: str, folded: Mapping[tuple[str, str], str]) -> str:
    """Return the symbol of the kernel of a stub at a level: of a lower one, where it is `folded`."""
    return f"{KERNEL_SYMBOL.format(level=folded.get((level, stub), level))}{stub}"


def stub_table(stubs: Mapping[str, Sequence[str]], levels: Sequence[str], folded: Mapping[tuple[str, str], str]) -> str:
    """Return the C text that declares every kernel and lists every stub with its kernels, lowest level first.

    At a level and for a stub that is `folded`, the kernel is that of the level given.
    """

    lines = ["ISA_BEGIN_C"]
    for stub, found in stubs.items():
        lines += [f"ISA_HIDDEN void {BIND_SYMBOL}{stub}(const struct isa_kernel *kernel);"]
        own = [level for level in found if (level, stub) not in folded]
        lines += [f"extern ISA_HIDDEN const struct isa_kernel {kernel_symbol(level, stub, folded)};" for level in own]
        lines += [f"extern ISA_HIDDEN void (*const {UNREGISTERED_SYMBOL}{stub})(const char *name);"]
        lines += [f"void (*const {UNREGISTERED_SYMBOL}{stub})(const char *name) = isa_no_level;"]
    lines += ["ISA_END_C", "", f"const unsigned isa_stub_total = {len(stubs)};"]
    lines += [f"const struct isa_stub isa_stubs[{len(stubs)}] = {{"]
    for stub, found in stubs.items():
        cells = ", ".join(f"&{kernel_symbol(level, stub, folded)}" if level in found else "0" for level in levels)
        lines.append(f'  {{"{stub}", {BIND_SYMBOL}{stub}, {{{cells}}}}},')
    return "\n".join([*lines, "};", f"int isa_stub_levels[{len(stubs)}];"])


def stubs_of(levels: Iterable[Registrations], lowest: str) -> dict[str, list[str]]:
    """Return, by stub, the levels at which it has a kernel. Raises `BuildError` for one that is incomplete.

    A stub needs a kernel at the `lowest` level. A kernel source that registers a stub must register it, or register
    that it has none, at each level that it is compiled for.
    """
    levels = list(levels)
    stubs: dict[str, list[str]] = {}
    first: dict[str, str] = {}
    for registrations in levels:
        for source, found in registrations.kernels.items():
            for stub in found.registers:
                stubs.setdefault(stub, []).append(registrations.level)
                first.setdefault(stub, source)
    if not stubs:
        raise BuildError(
            "no kernel registers itself",
            where="isa_kernels",
            remedy="end every kernel source with ISA_REGISTER_DISPATCH(stub, &function), outside anonymous namespaces",
        )
    for stub, found_at in sorted(stubs.items()):
        if lowest not in found_at:
            raise BuildError(
                f"{first[stub]} registers it at {', '.join(found_at)}, but no kernel does at {lowest}",
                where=stub,
                remedy=f"register a kernel at {lowest} too, for CPUs without any higher level",
            )
    _check_every_level(levels, stubs)
    _check_shared(levels)
    return dict(sorted(stubs.items()))


def _check_every_level(levels: Sequence[Registrations], stubs: Mapping[str, Sequence[str]]) -> None:
    said: dict[str, set[str]] = {}
    for registrations in levels:
        for source, found in registrations.kernels.items():
            said.setdefault(source, set()).update(found.registers)
    for registrations in levels:
        for source, found in registrations.kernels.items():
            silent = said[source] - set(found.registers) - set(found.without)
            for stub in sorted(silent):
                raise BuildError(
                    f"{source} registers it at {', '.join(stubs[stub])}, but not at {registrations.level}, "
                    "which it is compiled for too",
                    where=stub,
                    remedy=f"say ISA_REGISTER_NO_DISPATCH({stub}) there, or leave the level out in isa.toml",
                )


def _check_shared(levels: Sequence[Registrations]) -> None:
    """Raise `BuildError` for a shared variable whose size or initial value differs between levels."""
    first: dict[str, tuple[str, str]] = {}
    for registrations in levels:
        for symbol, value in registrations.shared.items():
            level, known = first.setdefault(symbol, (registrations.level, value))
            if value != known:
                from ..binary.formats import demangle

                raise BuildError(
                    f"all levels share this variable, but its initial value is {known} at {level} and {value} at "
                    f"{registrations.level}: each would read the first one's",
                    where=demangle(symbol),
                    remedy="make it static in the kernel source, or put it, or the function that holds it, into an "
                    "anonymous namespace, so that each level has its own; make a constant constexpr; or give it a name "
                    "for each level",
                )
