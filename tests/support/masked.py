"""Features that this copy of the checkout takes away from the CPU: none, unless tests/support/as_if.py made it."""

MASKED: frozenset[str] = frozenset()
