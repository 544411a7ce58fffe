"""The source of a whole module's front, which loads the private module of the best level."""

from __future__ import annotations

from collections.abc import Mapping

from ..model.names import dispatch_name, front_name
from ..model.plan import Plan
from ..rendering import render


def front_texts(plan: Plan) -> Mapping[str, str]:
    """Return the source of the front by the name under which the build steps find it; none without a module."""
    if not plan.module:
        return {}
    header = dispatch_name(plan.kernel_set, "h")
    return {front_name(plan.kernel_set, "c"): render("isa_front.c.j2", header=header, module=plan.module)}
