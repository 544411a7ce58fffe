"""Writing the dispatch source: which kernel every stub has at every level, as found in the compiled objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ..model.files import write_if_changed
from ..model.names import BIND_SYMBOL, KERNEL_SYMBOL, LEVEL_NOTES_MARK, STUBS_MARK, UNREGISTERED_SYMBOL, front_name
from ..model.plan_file import read_plan, read_registrations
from ..model.registrations import Registrations
from .completeness import stubs_of
from .modules import level_notes, module_table, notes_text
from .texts import dispatch_source, front_source


def write_dispatch_source(plan_path: Path, registrations: Sequence[Path], output: Path) -> None:
    """Write the dispatch source from what sealing noted. Raises `BuildError` where a stub is incomplete.

    Beside that of a whole module, the source of its front is written.
    """
    plan = read_plan(plan_path).plan
    levels = [level.name for level in plan.levels]
    notes: list[bytes] = []
    if plan.module:
        table = module_table(plan)
        notes += level_notes(plan, plan_path.parent)
        front = output.with_name(front_name(plan.kernel_set, output.suffix.removeprefix(".")))
        write_if_changed(front, front_source(plan_path, plan.kernel_set))
    else:
        found = [read_registrations(path) for path in registrations]
        stubs = stubs_of(found, levels[0]) if plan.kernels else {}
        table = stub_table(stubs, levels, folded_stubs(found))
    text = dispatch_source(plan_path, plan.kernel_set).replace(STUBS_MARK, table)
    write_if_changed(output, text.replace(LEVEL_NOTES_MARK, notes_text(notes)))


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
        lines += [f"ISA_HIDDEN void {UNREGISTERED_SYMBOL}{stub}(void);"]
        lines += [f'void {UNREGISTERED_SYMBOL}{stub}(void) {{ isa_no_level("{stub}"); }}']
    # One more element than there are stubs: C has no empty arrays.
    lines += ["ISA_END_C", "", f"static const unsigned isa_stub_total = {len(stubs)};"]
    lines += [f"static const struct isa_stub isa_stubs[{len(stubs)} + 1] = {{"]
    for stub, found in stubs.items():
        cells = ", ".join(f"&{kernel(level, stub)}" if level in found else "NULL" for level in levels)
        lines.append(f'  {{"{stub}", {BIND_SYMBOL}{stub}, {{{cells}}}}},')
    lines.append("  {NULL, NULL, {NULL}},")
    return "\n".join(
        [*lines, "};", "", f"static int isa_stub_levels[{len(stubs)} + 1]; /* the level that each stub calls, or -1 */"]
    )
