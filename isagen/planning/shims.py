"""Registration from isa.toml: at each level, a kernel in Fortran or assembly gets a C source, its shim."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..model.errors import ConfigError
from ..model.languages import takes_macros
from ..model.plan import Cell, KernelRow, Verdict
from ..processors.table import Table
from .kernel_settings import Settings


def check_register(source: str, settings: Settings, shown: str) -> None:
    """Raise `ConfigError` for a registration of a kernel `source` that cannot work; `shown` names the file."""
    if settings.register and not settings.header and not takes_macros(source):
        raise ConfigError(
            "register needs the header that declares the stubs",
            where=f"{shown}: kernels.{source!r}",
            remedy='add header = "stubs.h", as a C source would include it',
        )
    for stub, function in settings.register.items():
        if "::" in function and not takes_macros(source):
            raise ConfigError(
                f"{function!r} is no symbol: {source} defines functions as C names them",
                where=f"{shown}: kernels.{source!r}.register.{stub}",
                remedy="name the symbol: of Fortran what bind(c) gives, of assembly the global label",
            )


def unsealed(source: str, table: Table) -> dict[str, str]:
    """Return the levels at which a kernel `source` cannot be built unsealed, each with the reason.

    C and C++ can make functions static. Fortran and assembly have the same symbols at all levels, and a linker would
    take those of one level.
    """
    if takes_macros(source):
        return {}
    reason = "by the Meson option isa_seal: without the seal, the lowest level's symbols would stand for all"
    return dict.fromkeys((name for name in table.names() if name != table.lowest.name), reason)


def with_shim(source: str, settings: Settings, cell: Cell) -> Cell:
    """Return the `cell` of a kernel `source`, with a shim if its copy cannot register its functions."""
    if not cell.copy or not settings.register or takes_macros(source):
        return cell
    name = cell.copy.rpartition(f".{cell.level}.")[0]
    return replace(cell, shim=f"{name}.stubs.{cell.level}.c")


def shim_of(cell: Cell, kernel: KernelRow, verdicts: Mapping[tuple[str, str], Verdict], table: Table) -> Cell:
    """Return the shim of a kernel's `cell` as another cell, with the flags of a C copy.

    If C cannot be built at the level, the shim is compiled without the level's flags: it contains no code.
    """
    flags = cell.flags
    if kernel.language != "c":
        verdict = verdicts[cell.level, "c"]
        defines = (f"-D{macro}" for macro in table.defines(cell.level))
        flags = (*(verdict.flags if verdict.available else ()), *defines)
    return replace(cell, copy=cell.shim, shim="", flags=flags)
