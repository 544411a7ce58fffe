"""The instructions of AMX and VFMADD231PH after Intel's SDM vol. 2, in NumPy and in exact arithmetic.

tests/kernels/test_tiles.py compares kernels/tiles_model.h with it. A matrix has a tile's contents: uint8, rows x column
bytes.
"""

from fractions import Fraction

import numpy as np


def dot_bytes(c: np.ndarray, a: np.ndarray, b: np.ndarray, a_signed: bool, b_signed: bool) -> np.ndarray:
    """Return c + a b as int32; c is int32. TDPBSSD and its like."""
    left = a.view(np.int8 if a_signed else np.uint8).astype(np.int64)
    rows, columns = b.shape[0], b.shape[1] // 4
    # Row i of b holds rows 4 i to 4 i + 3 of the matrix that is multiplied by, interleaved.
    right = b.view(np.int8 if b_signed else np.uint8).astype(np.int64)
    right = right.reshape(rows, columns, 4).transpose(0, 2, 1).reshape(4 * rows, columns)
    return (c.astype(np.int64) + left @ right).astype(np.uint64).astype(np.uint32).view(np.int32)


def exact(x: float) -> Fraction:
    """Return a finite float, a denormal one as zero."""
    return Fraction(0) if abs(x) < 2.0**-126 else Fraction(x)


def to_bits(size: Fraction, bits: int, smallest: int = -10000) -> Fraction:
    """Round a number that is not negative to so many bits, ties to even; the last is not less than 2^smallest."""
    if size == 0:
        return size
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1
    unit = Fraction(2) ** max(exponent - bits + 1, smallest)
    return round(size / unit) * unit  # round() takes ties to even


def rounded(x: Fraction) -> float:
    """Round to 24 bits, ties to even, with an unlimited exponent; then tiny is zero, and large is infinite."""
    size = to_bits(abs(x), 24)
    if size < Fraction(2) ** -126:
        return 0.0
    value = float("inf") if size >= Fraction(2) ** 128 else float(size)
    return -value if x < 0 else value


def fma(x: float, y: float, z: float) -> float:
    """Return x y + z, rounded once; denormals count as zero and become zero."""
    if not all(map(np.isfinite, (x, y, z))):
        with np.errstate(all="ignore"):
            x, y, z = (np.copysign(0, v) if abs(v) < 2.0**-126 else v for v in (x, y, z))
            return float(np.float64(x) * np.float64(y) + np.float64(z))  # inf or NaN: nothing is rounded
    return rounded(exact(x) * exact(y) + exact(z))


def bf16(matrix: np.ndarray) -> np.ndarray:
    """Return a tile of bfloat16 as float32."""
    return (matrix.view(np.uint16).astype(np.uint32) << 16).view(np.float32)


def dot_bf16(c: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return c + a b as float32; c is float32. TDPBF16PS: even and odd products apart, then together, then with c."""
    left, right = bf16(a), bf16(b)
    out = np.empty_like(c)
    for m in range(c.shape[0]):
        for n in range(c.shape[1]):
            even = odd = 0.0
            for k in range(b.shape[0]):
                even = fma(float(left[m, 2 * k]), float(right[k, 2 * n]), even)
                odd = fma(float(left[m, 2 * k + 1]), float(right[k, 2 * n + 1]), odd)
            out[m, n] = fma(1.0, fma(1.0, even, odd), float(c[m, n]))
    return out


def dot_halves(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a b, each element summed by fused multiplications and additions in half precision, in the order of k."""
    out = np.empty((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            total = Fraction(0)
            for x, y in zip(a[i], b[:, j], strict=True):
                total += Fraction(float(x)) * Fraction(float(y))
                total = to_bits(abs(total), 11, -24) * (-1 if total < 0 else 1)
            out[i, j] = float(total)
    return out
