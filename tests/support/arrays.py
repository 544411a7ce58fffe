"""Arrays for the tests of the kernels: unaligned ones, special values, hypothesis strategies; the levels to run at."""

import os

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from isagen_kernels import isa

# Levels with a copy of some reference kernel that this CPU supports.
LEVELS = [
    level
    for level, (built, supported, _) in isa.levels.items()
    if built
    and supported
    and any(cells[level] for stub, cells in isa.kernels.items() if stub.startswith("cvt_fp32_to"))
]
LANES = {"DEFAULT": 4, "AVX2": 8}  # floats per vector; 16 above

SPECIAL = (np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-45, -1e-40, 1e-38, 3e38, -3e38)

# Of each property; every run draws others. Fewer under sanitizers, which take longer.
EXAMPLES = int(os.environ.get("ISAGEN_TEST_EXAMPLES", "40"))

quick = settings(deadline=None, max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow])


def unaligned(array, offset):
    """Return a writable copy: its data begin `offset` bytes into a block of malloc's, and end where the block ends."""
    raw = np.empty(offset + array.nbytes, np.uint8)
    copy = raw[offset:].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


@st.composite
def arrays(draw, dtypes=("float32",), axes=(1, 2, 3), special=SPECIAL):
    """Draw an array: its last axis is 0 to 200 long, or odd and larger; values of any size, including special ones."""
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    count = draw(st.sampled_from(axes))
    last = draw(st.one_of(st.integers(0, 200), st.sampled_from((255, 513, 1023, 4099))))
    shape = (*(draw(st.integers(0, 5)) for _ in range(count - 1)), last)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if dtype.kind == "f":
        array = rng.standard_normal(shape) * 10.0 ** draw(st.sampled_from((0, 1, -3, 6, -20, -41)))
        array = array.astype(dtype)
        if array.size:
            for value in draw(st.lists(st.sampled_from(special), max_size=4)) if special else ():
                array.flat[draw(st.integers(0, array.size - 1))] = value
    else:
        info = np.iinfo(dtype)
        array = rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    return unaligned(array, draw(st.sampled_from((0, 0, 4, 16, 1, 33))))


def exactly(got, want):
    """Whether two float arrays have the same values, NaN wherever the other has, and zeros of either sign."""
    return np.array_equal(np.asarray(got), np.asarray(want), equal_nan=True)


def within(got, want, tolerance):
    """Whether finite values differ by `tolerance` at most, and others are the same."""
    got, want, tolerance = np.broadcast_arrays(np.asarray(got, np.float64), want, tolerance)
    rounded = np.asarray(want, np.float64)  # only to tell what overflows: half a unit in the last place may decide
    finite = np.isfinite(rounded)
    if not np.array_equal(got[~finite], rounded[~finite], equal_nan=True):
        return False
    return bool((np.abs(got[finite] - want[finite]) <= tolerance[finite]).all())
