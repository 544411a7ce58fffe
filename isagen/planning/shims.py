"""Registration from isa.toml: a kernel in Fortran or assembly gets a C source at each level, its shim."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..model.errors import ConfigError
from ..model.languages import takes_macros
from ..model.plan import Cell, KernelRow, Verdict
from ..processors.table import Table
from .kernel_settings import Settings


def check_register(source: str, own: Settings, shown: str) -> None:
    """Raise `ConfigError` if `shown` registers functions of a kernel `source` in a way that cannot work."""
    if own.register and not own.header and not takes_macros(source):
        raise ConfigError(
            "register needs the header that declares the stubs",
            where=f"{shown}: kernels.{source!r}",
            remedy='add header = "stubs.h", as a C source would include it',
        )
    for stub, function in own.register.items():
        if "::" in function and not takes_macros(source):
            raise ConfigError(
                f"{function!r} is no symbol: {source} defines functions as C names them",
                where=f"{shown}: kernels.{source!r}.register.{stub}",
                remedy="name the symbol: of Fortran what bind(c) gives, of assembly the global label",
            )


def unsealed(source: str, table: Table) -> dict[str, str]:
    """Return the levels at which a kernel `source` cannot be built unsealed, each with the reason.

    C and C++ can make functions static; symbols of Fortran and assembly are the same at all levels, of which a linker
    would keep one.
    """
    if takes_macros(source):
        return {}
    why = "by the Meson option isa_seal: without the seal, the lowest level's symbols would stand for all"
    return dict.fromkeys((name for name in table.names() if name != table.base.name), why)


def with_shim(source: str, own: Settings, cell: Cell) -> Cell:
    """Return the `cell` of a kernel `source`, with a shim where its copy cannot register its functions itself."""
    if not cell.copy or not own.register or takes_macros(source):
        return cell
    name = cell.copy.rpartition(f".{cell.level}.")[0]
    return replace(cell, shim=f"{name}.stubs.{cell.level}.c")


def shim_of(cell: Cell, kernel: KernelRow, verdicts: Mapping[tuple[str, str], Verdict], table: Table) -> Cell:
    """Return the shim of a `kernel`'s `cell` as a cell of its own, with the flags of C copies beside it.

    A shim holds no code, so that it is compiled without the level's flags where C cannot be built at the level.
    """
    flags = cell.flags
    if kernel.language != "c":
        verdict = verdicts[cell.level, "c"]
        defines = (f"-D{one}" for one in table.defines(cell.level))
        flags = (*(verdict.flags if verdict.available else ()), *defines)
    return replace(cell, copy=cell.shim, shim="", flags=flags)
