"""Plans for tests of registrations: kernels that have the names of their copies."""

from isagen.model.plan import Plan

from .model import kernel_row, plan_of

LEVELS = ["DEFAULT", "AVX2", "AVX512_BF16"]


def plan_for(*copies: str) -> Plan:
    """A plan whose kernels have the names of their copies at DEFAULT."""
    return plan_of(LEVELS, [kernel_row(f"{copy}.cpp", {"DEFAULT": f"{copy}.cpp.DEFAULT.cpp"}) for copy in copies])
