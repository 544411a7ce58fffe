"""The output of `isagen cpu`: the report of IPEX's cpu_features tool, and what this CPU lacks for each level."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .detection import Cpu
from .table import Table


def report(cpu: Cpu) -> dict[str, Any]:
    """Return registers, the states that the OS saves, and every feature that the CPU has, whatever the OS allows."""
    lines = cpu.features.report
    return {
        **cpu.registers,
        "os": {name: state in cpu.saved for name, state in lines.os},
        "features": {name: feature in cpu.bits for name, feature in lines.features},
    }


def report_text(cpu: Cpu) -> str:
    """Return the report as the cpu_features tool writes it."""
    found = report(cpu)
    lines = [f"{name.upper()}: {value:016x}" for name, value in cpu.registers.items()]
    lines += [f"os --> {name}: {_word(saved)}" for name, saved in found["os"].items()]
    lines += [f"{name}:\t\t\t{_word(present)}" for name, present in found["features"].items()]
    return "".join(f"{line}\n" for line in lines)


@dataclass(frozen=True)
class Asked:
    """The compiler that was asked what the flags of levels turn on, or the `problem` why none was.

    `unavailable` are the levels that it cannot build: only what the table lists is known of them.
    """

    compiler: str = ""
    problem: str = ""
    unavailable: tuple[str, ...] = ()

    @property
    def said(self) -> str:
        """What the answer rests on, in a sentence."""
        if self.problem:
            return f"what the levels' flags turn on besides their features is not known: {self.problem}"
        return f"features: those of the table, and what the levels' flags turn on under {self.compiler}"


def levels_json(table: Table, missing: Mapping[str, tuple[str, ...]], asked: Asked) -> dict[str, Any]:
    """Return the table's name, and per level whether it is supported and what is missing."""
    levels = {
        name: {"supported": not lacks, "missing": list(lacks), "available": _available(name, asked)}
        for name, lacks in missing.items()
    }
    return {"table": table.name, "compiler": asked.compiler or None, "levels": levels}


def _available(level: str, asked: Asked) -> bool | None:
    return None if asked.problem else level not in asked.unavailable


def levels_text(missing: Mapping[str, tuple[str, ...]], asked: Asked) -> str:
    """Return a line per level: that it is supported, or what CPU and OS lack; and what the answer rests on."""
    width = max(map(len, missing))
    lines = [
        f"{name:<{width}}  {'unsupported: ' + ' '.join(lacks) if lacks else 'supported'}"
        + (f" ({asked.compiler} cannot build it)" if name in asked.unavailable else "")
        for name, lacks in missing.items()
    ]
    return "\n".join([*lines, asked.said]) + "\n"


def _word(value: bool) -> str:
    return "true" if value else "false"
