"""The build matrix as plain data, for programs."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..model.names import registrations_name
from ..model.plan_file import read_plan
from .baseline import baseline_origin, beyond_architecture

MATRIX_FORMAT = 1


def load_matrix(plan_path: Path) -> dict[str, Any]:
    """Return the matrix of the plan at `plan_path` as plain data; `object` tells whether a level's code is there."""
    build = read_plan(plan_path)
    return {
        "format": MATRIX_FORMAT,
        "isagen": build.isagen,
        "table": build.plan.table,
        "override": build.plan.override,
        "cpu_family": build.cpu_family,
        "system": build.system,
        "optimization": build.optimization,
        "lto": build.lto,
        "compilers": {language: compiler.name for language, compiler in build.compilers.items()},
        "baseline": build.record.baseline,
        "beyond_architecture": beyond_architecture(build),
        "baseline_origin": baseline_origin(build),
        "sealed": build.sealing.usable,
        "seal_reason": build.sealing.reason,
        "audited": build.link_audit.active,
        "audit_reason": build.link_audit.reason,
        "levels": [
            {**asdict(level), "object": (plan_path.parent / registrations_name(level.name)).is_file()}
            for level in build.plan.levels
        ],
        "kernels": [
            {
                "source": kernel.source,
                "language": kernel.language,
                "args": kernel.args,
                "levels": {
                    cell.level: {
                        "verdict": cell.verdict,
                        "reason": cell.reason,
                        "flags": cell.flags,
                        "copy": cell.copy,
                    }
                    for cell in kernel.cells
                },
            }
            for kernel in build.plan.kernels
        ],
    }
