"""The CPU features that this copy of the checkout hides: none, unless tests/support/as_if.py made the copy."""

MASKED: frozenset[str] = frozenset()
