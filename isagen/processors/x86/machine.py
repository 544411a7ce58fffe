"""The machine that isagen runs on, as `isagen.cpu` asks it."""

from __future__ import annotations

from ...model.errors import CpuError


class ThisMachine:
    """This CPU and OS. Raises `CpuError` where there is no CPUID, or no extension module to ask with."""

    def __init__(self) -> None:
        try:
            from ... import _cpu
        except ImportError:  # isagen runs from its source tree: while it is built, or by hand
            raise CpuError(
                "this isagen has no extension module to ask the CPU with",
                where="isagen._cpu",
                remedy="install isagen (pip install .) and call the installed one",
            ) from None
        if not _cpu.has_cpuid:
            raise CpuError("this CPU has no CPUID", remedy="only x86 CPUs can be asked so far")
        self._cpu = _cpu

    def cpuid(self, leaf: int, subleaf: int) -> tuple[int, int, int, int]:
        """Return (eax, ebx, ecx, edx)."""
        return self._cpu.cpuid(leaf, subleaf)

    def xgetbv(self, index: int) -> int:
        """Return XCR0."""
        return self._cpu.xgetbv(index)

    def permission(self, component: int) -> bool:
        """Ask Linux for an XSAVE component, for this process."""
        return self._cpu.request_permission(component)

    def is_enabled(self, sysctl: str) -> bool:
        """Return whether a sysctl of macOS is 1."""
        return self._cpu.is_enabled(sysctl)
