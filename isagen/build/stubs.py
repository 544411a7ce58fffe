"""The source of stubs: which kernel every stub has at every level, as sealing found it in the compiled objects."""

from __future__ import annotations

from ..model.names import BIND_SYMBOL, KERNEL_SYMBOL, LEVEL_NOTES_MARK, STUBS_MARK, UNREGISTERED_SYMBOL
from .completeness import stubs_of

TYPE_CHECKING = False  # as in typing
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ..model.registrations import Registrations


def stubs_source(text: str, levels: Sequence[str], found: Sequence[Registrations]) -> str:
    """Return the `text` that configuring laid out with the stubs in the place of the mark.

    `levels` are those of the plan, lowest first, and `found` those that are built. Raises `BuildError` where a stub is
    incomplete.
    """
    return text.replace(STUBS_MARK, stub_table(stubs_of(found, levels[0]), levels, folded_stubs(found)))


def module_source(text: str, module: str, levels: Sequence[str], notes: Mapping[str, bytes]) -> str:
    """Return the `text` that configuring laid out with a whole `module` as the only stub, and the notes of its levels.

    `notes` are those of the levels that are built.
    """
    from .modules import module_table, notes_text

    table = module_table(module, levels, notes)
    return text.replace(STUBS_MARK, table).replace(LEVEL_NOTES_MARK, notes_text(notes.values()))


def folded_stubs(found: Iterable[Registrations]) -> dict[tuple[str, str], str]:
    """Return the level whose kernel a stub calls at a level, by (level, stub), where that is another."""
    return {
        (one.level, stub): lower
        for one in found
        for source, lower in one.folded.items()
        for stub in one.kernels[source].registers
    }


def stub_table(stubs: Mapping[str, Sequence[str]], levels: Sequence[str], folded: Mapping[tuple[str, str], str]) -> str:
    """Return the C text that declares every kernel and lists every stub with its kernels, lowest level first.

    At a level and for a stub that is `folded`, the kernel is that of the level given.
    """

    def kernel(level: str, stub: str) -> str:
        return f"{KERNEL_SYMBOL.format(level=folded.get((level, stub), level))}{stub}"

    lines = ["ISA_BEGIN_C"]
    for stub, found in stubs.items():
        lines += [f"ISA_HIDDEN void {BIND_SYMBOL}{stub}(const struct isa_kernel *kernel);"]
        own = [level for level in found if (level, stub) not in folded]
        lines += [f"extern ISA_HIDDEN const struct isa_kernel {kernel(level, stub)};" for level in own]
        lines += [f"extern ISA_HIDDEN void (*const {UNREGISTERED_SYMBOL}{stub})(const char *name);"]
        lines += [f"void (*const {UNREGISTERED_SYMBOL}{stub})(const char *name) = isa_no_level;"]
    lines += ["ISA_END_C", "", f"const unsigned isa_stub_total = {len(stubs)};"]
    lines += [f"const struct isa_stub isa_stubs[{len(stubs)}] = {{"]
    for stub, found in stubs.items():
        cells = ", ".join(f"&{kernel(level, stub)}" if level in found else "0" for level in levels)
        lines.append(f'  {{"{stub}", {BIND_SYMBOL}{stub}, {{{cells}}}}},')
    return "\n".join([*lines, "};", f"int isa_stub_levels[{len(stubs)}];"])
