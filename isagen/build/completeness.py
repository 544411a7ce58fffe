"""Checking across levels that every stub has the kernels that it needs, and that shared data is of one size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..model.errors import BuildError
from ..model.registrations import Registrations


def stubs_of(levels: Iterable[Registrations], lowest: str) -> dict[str, list[str]]:
    """Return, by stub, the levels at which it has a kernel. Raises `BuildError` for one that is incomplete.

    A stub needs a kernel at the `lowest` level, and every kernel source that registers a stub must say something of it
    at every level that it is compiled for.
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
    """Raise `BuildError` for data that all levels share, but that is not of the same size at all of them."""
    first: dict[str, tuple[str, int]] = {}
    for registrations in levels:
        for symbol, size in registrations.shared.items():
            level, known = first.setdefault(symbol, (registrations.level, size))
            if size != known:
                raise BuildError(
                    f"this variable is shared by all levels, but has {known} bytes at {level} and {size} at "
                    f"{registrations.level}",
                    where=symbol,
                    remedy="let it be a constant that the compiler computes, or put it, or the function that holds it, "
                    "into an anonymous namespace: then each level has its own",
                )
