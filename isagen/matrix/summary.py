"""The build matrix in a few lines, for Meson's summary."""

from __future__ import annotations

from ..model.plan import BUILT, UNAVAILABLE, Build, LinkAudit
from ..processors.registry import find_processor
from .baseline import additions_text, baseline_origin, beyond_architecture

WITHOUT_LTO = "kernels are compiled without it: it would merge code of different levels"

NEEDED = "every user's CPU must have them"


def summary_lines(build: Build) -> list[tuple[str, str]]:
    """Return the lines of Meson's summary: baseline, levels, kernels not at every level, sealing, audit, LTO."""
    plan = build.plan
    lines = [("table", plan.table)]
    if build.limit.reason:
        lines.append(("levels", f"only {plan.levels[0].name}: {build.limit.reason}"))
    beyond = beyond_architecture(build)
    if beyond:
        lines.append(("baseline", f"{' '.join(beyond)} ({baseline_origin(build)}): {NEEDED}"))
    plain = f"no flags: the baseline{' above' if beyond else ' of the compiler'}"
    for number, level in enumerate(plan.levels):
        if level.verdict == UNAVAILABLE and level.reason == build.limit.reason:
            continue
        built = sum(kernel.cells[number].verdict == BUILT for kernel in plan.kernels)
        if level.verdict == BUILT:
            flags = " ".join(dict.fromkeys(flag for flags in level.flags.values() for flag in flags))
            kernels = _count(len(plan.kernels), "kernel")
            text = f"{built} of {kernels}, {flags or plain}"
            text = "; ".join(part for part in (text, additions_text(level)) if part)
        else:
            text = f"{level.verdict}: {level.reason}"
        lines.append((level.name, text))
    names = [level.name for level in plan.levels if level.verdict == BUILT]
    for kernel in plan.kernels:
        own = [cell.level for cell in kernel.cells if cell.verdict == BUILT]
        if own != names:
            lines.append((kernel.source, "only " + " ".join(own)))
    if plan.module and build.sealing.usable:
        lines.append(("module", f"{plan.module}, whole: the best level's private module is loaded"))
    else:
        lines.append(("sealed", "yes" if build.sealing.usable else f"no: {build.sealing.reason}"))
    lines.append(("audited", _audited(build.link_audit, is_decoded(build) and not build.limit.opaque)))
    if build.lto:
        lines.append(("lto", WITHOUT_LTO))
    return lines


def is_decoded(build: Build) -> bool:
    """Return whether isagen decodes code for the processor of a build."""
    processor = find_processor(build.record.features)
    return processor is not None and processor.decodable is not None


def _audited(audit: LinkAudit, decoded: bool) -> str:
    if audit.reason:
        return f"not when linked: {audit.reason}" + ("; `isagen audit` does" if decoded else "")
    return "when linked" + (", with warnings only" if audit.mode == "warn" else "")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
