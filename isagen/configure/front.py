"""The source of a whole module's front, which loads the private module of the best level."""

from __future__ import annotations

from ..model.names import dispatch_name, front_name
from ..model.plan import Plan
from ..probe.cache import NO_CACHE, Cache
from ..rendering import render
from .kept_texts import Texts, kept_texts


def front_texts(plan: Plan, kept: Cache = NO_CACHE) -> Texts:
    """Return the source of the front by the name under which the build steps find it; none without a module."""
    if not plan.module:
        return {}
    name = front_name(plan.kernel_set, "c")
    values = {"header": dispatch_name(plan.kernel_set, "h"), "module": plan.module}
    return kept_texts(kept, {name: values}, lambda: {name: render("isa_front.c.j2", **values)})
