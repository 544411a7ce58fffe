"""Values that tests combine: each of them once, or every combination where ISAGEN_TESTS=all asks for it."""

import os
from collections.abc import Iterable
from itertools import cycle, islice, product

# Whether tests combine everything with everything, which takes hours.
ALL = os.environ.get("ISAGEN_TESTS") == "all"


def paired(first: Iterable, second: Iterable) -> list[tuple]:
    """Return as few pairs as have every value: the shorter list starts again where it ends."""
    one, other = list(first), list(second)
    if ALL:
        return list(product(one, other))
    return list(islice(zip(cycle(one), cycle(other), strict=False), max(len(one), len(other))))
