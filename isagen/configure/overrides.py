"""The data of the generated override: the variables that narrow the level, and what their values mean."""

from __future__ import annotations

from collections.abc import Mapping

from ..model.plan import Plan

TYPE_CHECKING = False  # as in typing
if TYPE_CHECKING:
    from typing import Any


def override_values(plan: Plan) -> Mapping[str, Any]:
    """Return what the templates lay out: the variables in their order, each with the place of its words among all."""
    variables: list[dict[str, Any]] = []
    words: list[dict[str, Any]] = []
    if plan.override:
        variables.append({"name": plan.override, "first": 0, "count": 0})
    for alias in plan.aliases:
        said = {"": alias.always} if alias.always else alias.values
        variables.append({"name": alias.variable, "first": len(words), "count": len(said)})
        words += [{"word": word, **_meaning(meaning, plan, bool(alias.always))} for word, meaning in said.items()]
    return {"variables": variables, "words": words}


def _meaning(meaning: str, plan: Plan, always: bool) -> dict[str, Any]:
    """Return the level that is asked for, -1 where a lack of it is not worth a warning, and the levels allowed."""
    names = [level.name for level in plan.levels]
    if meaning.startswith("-"):
        off = meaning[1:]
        allowed = {level.name for level in plan.levels if level.name != off and off not in level.below}
        asked = -1
    else:
        row = plan.levels[names.index(meaning)]
        allowed, asked = {row.name, *row.below}, -1 if always else names.index(meaning)
    mask = sum(1 << place for place, name in enumerate(names) if name in allowed)
    return {"asked": asked, "allowed": f"0x{mask:x}u"}
