"""Writes the build matrix in a few lines, for Meson's summary."""

from __future__ import annotations

from ..model.matrix import LevelRow
from ..model.optimization import SCALAR, reason_for_plain_code
from ..model.plan import BUILT, UNAVAILABLE, UNREAD_LINKS, Build
from ..processors.baseline import additions_text
from ..processors.registry import find_processor
from .planned import planned_matrix
from .words import count_text, disabled_levels, facts


def summary_lines(build: Build) -> list[tuple[str, str]]:
    """Return the (name, text) of each line of Meson's summary."""
    plan, matrix_facts = build.plan, dict(facts(planned_matrix(build)))
    lines = {"table": plan.table, "levels": matrix_facts.get("levels"), "baseline": matrix_facts.get("baseline")}
    for number, level in enumerate(plan.levels):
        if level.verdict == BUILT or (level.verdict == UNAVAILABLE and level.reason != build.limit.reason):
            built = sum(kernel.cells[number].verdict == BUILT for kernel in plan.kernels)
            kernels = f"{built} of {count_text(len(plan.kernels), 'kernel')}"
            lines[level.name] = _level(level, kernels, "above" if "baseline" in matrix_facts else "of the compiler")
    lines["disabled"] = disabled_levels(plan.levels)
    names = [level.name for level in plan.levels if level.verdict == BUILT]
    for kernel in plan.kernels:
        built_at = [cell.level for cell in kernel.cells if cell.verdict == BUILT]
        if built_at != names:
            lines[kernel.source] = f"only {' '.join(built_at)}" if built_at else "at no level"
    if plan.module and build.sealing.active:
        lines["module"] = f"{plan.module}, whole: the best level's private module is loaded"
    else:
        lines["sealed"] = "yes" if build.sealing.active else f"no: {build.sealing.reason}"
    options = build.optimization
    lines |= {"audited": _audited(build), "lto": matrix_facts.get("lto")}
    lines["optimized"] = reason_for_plain_code(options) if options in SCALAR else options
    return [(name, text) for name, text in lines.items() if text]


def _level(level: LevelRow, kernels: str, baseline: str) -> str:
    """Return a level's text. `kernels` says how many kernels are built for it.

    `baseline` is "above" if the summary has a line for the baseline, and otherwise "of the compiler".
    """
    if level.verdict != BUILT:
        return f"{level.verdict}: {level.reason}"
    flags = " ".join(dict.fromkeys(flag for flags in level.flags.values() for flag in flags))
    additions = additions_text(level)
    return f"{kernels}, {flags or f'no flags: the baseline {baseline}'}{additions and f'; {additions}'}"


def _audited(build: Build) -> str:
    audit = build.link_audit
    if not (audit.active or audit.of_targets):
        processor = find_processor(build.record.features)
        decodable = processor.decodable if processor is not None else None
        can_audit = decodable is not None and decodable.installed and audit.how != UNREAD_LINKS
        return f"not when linked: {audit.how}" + ("; run `isagen audit`" if can_audit else "")
    return f"when linked, {audit.how}" + (", with warnings only" if audit.mode == "warn" else "")
