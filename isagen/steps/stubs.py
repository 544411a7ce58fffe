"""Writing the dispatch source: which kernel every stub has at every level, as found in the compiled objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ..errors import BuildError
from ..files import write_if_changed
from .objects import defined_symbols
from .plan_file import read_plan

PREFIX = "isa_kernel_"
MARK = "/*@ISA_STUBS@*/"


def write_dispatch_source(plan_path: Path, objects: Sequence[Path], output: Path) -> None:
    """Write the dispatch source for the stubs that `objects` register. Raises `BuildError` where one is incomplete."""
    plan = read_plan(plan_path)
    levels = [level["name"] for level in plan["levels"]]
    stubs = registered(symbol.name for path in objects for symbol in defined_symbols(path))
    if not stubs:
        raise BuildError(
            "no kernel registers itself",
            where="isa_kernels",
            remedy="end every kernel source with ISA_REGISTER_DISPATCH(stub, &function), outside anonymous namespaces",
        )
    for stub, found in stubs.items():
        if levels[0] not in found:
            raise BuildError(
                f"no kernel is registered at {levels[0]}, only at {', '.join(found)}",
                where=stub,
                remedy=f"every stub needs a kernel at {levels[0]}, for CPUs without any higher level",
            )
    write_if_changed(output, plan["dispatch"]["source"].replace(MARK, stub_table(stubs, levels)))


def registered(names: Iterable[str]) -> dict[str, list[str]]:
    """Return, by stub, the levels at which a kernel is registered, from symbols called ``isa_kernel_LEVEL__stub``."""
    stubs: dict[str, list[str]] = {}
    for name in names:
        if name.startswith(PREFIX):
            level, separator, stub = name.removeprefix(PREFIX).partition("__")
            if separator:
                stubs.setdefault(stub, []).append(level)
    return dict(sorted(stubs.items()))


def stub_table(stubs: Mapping[str, Sequence[str]], levels: Sequence[str]) -> str:
    """Return the C text that declares every kernel and lists every stub with its kernels, lowest level first."""
    lines = ["ISA_BEGIN_C"]
    for stub, found in stubs.items():
        lines += [f"ISA_HIDDEN void isa_bind_{stub}(const struct isa_kernel *kernel);"]
        lines += [f"extern ISA_HIDDEN const struct isa_kernel isa_kernel_{level}__{stub};" for level in found]
        lines += [f"ISA_HIDDEN void isa_unregistered_{stub}(void);"]
        lines += [f'void isa_unregistered_{stub}(void) {{ isa_no_level("{stub}"); }}']
    lines += ["ISA_END_C", "", "static const struct isa_stub isa_stubs[] = {"]
    for stub, found in stubs.items():
        cells = ", ".join(f"&isa_kernel_{level}__{stub}" if level in found else "NULL" for level in levels)
        lines.append(f"  {{isa_bind_{stub}, {{{cells}}}}},")
    return "\n".join([*lines, "};"])
