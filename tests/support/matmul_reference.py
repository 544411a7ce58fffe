"""Reference matrix products, and the error bounds of ours.

Products of two bfloat16 or two halves are exact in float32, so only sums are rounded: with u = 2^-24 and k of them, in
any order, the error of an element is at most gamma(k, u) * sum |a| |b| (Higham, Accuracy and Stability of
Numerical Algorithms, 3.1: gamma(n, u) = n u / (1 - n u)). The functions below state additional terms.
"""

import numpy as np


def gamma(n: float, u: float) -> float:
    return n * u / (1 - n * u)


def floats_of_bf16(bits: np.ndarray) -> np.ndarray:
    """Return bfloat16 bits as float64."""
    return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def bf16_of_floats(x: np.ndarray) -> np.ndarray:
    """Return the bits of floats, cut off to bfloat16."""
    return (np.asarray(x, np.float32).view(np.uint32) >> 16).astype(np.uint16)


def exact_u8s8(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the product modulo 2^32."""
    return (a.astype(np.int64) @ b.astype(np.int64)).astype(np.uint64).astype(np.uint32).view(np.int32)


def check_floats(got: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
    """Check a product that was summed in float32; a and b are float64.

    VDPBF16PS, TDPBF16PS and BFMMLA take denormals, which are less than 2^-126, for zeros: those of a cost 2^-126 times
    the b that they meet, those of b likewise, and each of at most 2 k sums may be a denormal itself. BFMMLA rounds to
    odd, with errors up to 2^-23: the sum of two products, then this sum and the sum before. A product takes part in at
    most (k + 1) / 2 roundings. gamma(k / 2, 2^-23) is gamma(k, 2^-24), and an odd k counts as k + 1.
    """
    k = a.shape[1]
    largest = [float(np.abs(x).max(initial=0)) for x in (a, b)]
    flushed = 2.0**-126 * (k * sum(largest) + 2 * k)
    assert_near(got, a, b, gamma(k + k % 2, 2.0**-24), flushed)


def check_halves(got: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
    """Check a product that was summed in half precision, 32 products at a time; a and b are float64.

    docs/kernels.md derives the bound: u = 2^-11 within 32 products, u = 2^-24 beyond; and 2^-26 of the largest product
    for each element of k, by which scaled numbers and sums that are denormal halves are off.
    """
    k = a.shape[1]
    rows, columns = (np.abs(x).max(axis=axis, initial=0) for x, axis in ((a, 1), (b, 0)))
    relative = (1 + gamma(32, 2.0**-11)) * (1 + gamma(k / 32 + 3, 2.0**-24)) - 1
    assert_near(got, a, b, relative, k * 2.0**-26 * np.outer(rows, columns))


def assert_near(got, a, b, relative, absolute) -> None:
    off = np.abs(got.astype(np.float64) - a @ b)
    allowed = relative * (np.abs(a) @ np.abs(b)) + absolute
    assert (off <= allowed).all(), (off / np.maximum(allowed, 1e-300)).max()
