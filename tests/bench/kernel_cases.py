"""The cases of bench/kernels.py: kernels and sizes, and their equivalents in torch and NumPy, on the same memory.

To add a case, append a function that returns a `Case` to CASES. Arrays are made when a case is measured, not before.
"""

from collections.abc import Callable
from dataclasses import dataclass

import isagen_kernels as k
import numpy as np

try:
    import torch
except ImportError:
    torch = None

M = 1 << 20


@dataclass
class Case:
    """A kernel on arrays of one size.

    `stub` is the stub behind it, which says at which levels it has code of its own. `make` returns functions:
    ours(threads), numpy() or None, torch() or None. `traffic` is what it must read and write, in bytes; `items` how
    many the larger of its arguments and its result has; `flops` what it must compute, if that is what bounds it.
    """

    kernel: str
    size: str
    stub: str
    make: Callable[[], tuple]
    traffic: int
    items: int
    flops: int = 0

    @property
    def name(self):
        return f"{self.kernel} {self.size}"


def empty(shape, dtype="float32"):
    """An array at a multiple of 64 bytes, as torch makes them, whose pages exist; torch sees the same memory."""
    count = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(count + 64, np.uint8)
    raw[::4096] = 0
    start = -raw.ctypes.data % 64
    return raw[start : start + count].view(dtype).reshape(shape)


def normal(shape):
    array = empty(shape)
    np.random.default_rng(1).standard_normal(out=array, dtype=np.float32)
    return array


def size_text(shape):
    text = "x".join(str(n) for n in shape)
    return {"1048576": "1M", "67108864": "64M", "65536x1024": "64Kx1024"}.get(text, text)


def on_rows(name, stub, shape, ours, in_numpy, in_torch):
    """A kernel from rows to rows of the same size."""

    def make():
        src, dst = normal(shape), empty(shape)
        from_, to = (torch.from_numpy(src), torch.from_numpy(dst)) if torch else (None, None)
        return (
            lambda threads: ours(src, -1, out=dst, threads=threads),
            (lambda: in_numpy(src, dst)) if in_numpy else None,
            (lambda: in_torch(from_, to)) if torch and in_torch else None,
        )

    return Case(name, size_text(shape), stub, make, 8 * int(np.prod(shape)), int(np.prod(shape)))


def to_numbers(name, stub, shape, ours, in_numpy, in_torch):
    """A reduction of rows."""

    def make():
        src = normal(shape)
        from_ = torch.from_numpy(src) if torch else None
        return (
            lambda threads: ours(src, -1, threads=threads),
            lambda: in_numpy(src),
            (lambda: in_torch(from_)) if torch else None,
        )

    return Case(name, size_text(shape), stub, make, 4 * int(np.prod(shape)), int(np.prod(shape)))


def convert(name, stub, count, ours, source, target, names):
    """A conversion; `names` are the dtypes that torch has for the two."""

    def make():
        src, dst = empty(count, source), empty(count, target)
        floats = normal(count)
        if source == "float32":
            src[:] = floats
        elif source == "float16":
            src[:] = floats.astype(np.float16)
        else:
            src[:] = floats.view(np.uint32) >> 16
        of_numpy = None if "uint16" in (source, target) else lambda: np.copyto(dst, src, casting="unsafe")
        if torch is None:
            return lambda threads: ours(src, dst, threads=threads), of_numpy, None

        def seen(array, dtype):
            if array.dtype == np.uint16:
                array = array.view(np.int16)
            return torch.from_numpy(array).view(getattr(torch, dtype))

        from_, to = seen(src, names[0]), seen(dst, names[1])
        return lambda threads: ours(src, dst, threads=threads), of_numpy, lambda: to.copy_(from_)

    item_bytes = np.dtype(source).itemsize + np.dtype(target).itemsize
    return Case(name, size_text((count,)), stub, make, item_bytes * count, count)


def shuffle(shape, groups, last, given=False):
    """channel_shuffle; all allocate their result, as torch's does, unless it is `given` to ours."""

    def make():
        images, channels, height, width = shape
        src = normal((images, height, width, channels) if last else shape)
        axes = (images, height, width, groups, -1) if last else (images, groups, -1, height, width)

        def in_numpy():
            return np.ascontiguousarray(src.reshape(axes).swapaxes(*((3, 4) if last else (1, 2))))

        dst = empty(src.shape) if given else None
        ours = lambda threads: k.channel_shuffle(src, groups, channels_last=last, out=dst, threads=threads)  # noqa: E731
        if torch is None:
            return ours, in_numpy, None
        from_ = torch.from_numpy(src)
        from_ = from_.permute(0, 3, 1, 2) if last else from_
        return ours, in_numpy, lambda: torch.channel_shuffle(from_, groups)

    kind = "last" if last else "first"
    stub = "shuffle_pixels_stub" if last else "shuffle_rows_stub"
    size = f"{size_text(shape)} g{groups}"
    return Case(f"channel_shuffle channels {kind}", size, stub, make, 8 * int(np.prod(shape)), int(np.prod(shape)))


def fused(shape):
    """ShuffleNet's concatenation and shuffle, channels last, on the halves of what a split leaves."""

    def make():
        images, channels, height, width = shape
        both = normal((images, height, width, 2 * channels))
        a, b, dst = both[..., :channels], both[..., channels:], empty(both.shape)

        def in_numpy():
            dst[...] = np.concatenate([a, b], -1).reshape(*both.shape[:3], 2, -1).swapaxes(3, 4).reshape(both.shape)

        ours = lambda threads: k.concat_channel_shuffle(a, b, out=dst, threads=threads)  # noqa: E731
        if torch is None:
            return ours, in_numpy, None
        x, y = (
            torch.from_numpy(both)[..., part].permute(0, 3, 1, 2) for part in (slice(channels), slice(channels, None))
        )
        return ours, in_numpy, lambda: torch.channel_shuffle(torch.cat([x, y], 1), 2)

    count = 2 * int(np.prod(shape))
    return Case("concat_channel_shuffle", size_text(shape), "interleave_pixels_stub", make, 8 * count, count)


def numpy_softmax(src, dst):
    np.subtract(src, src.max(-1, keepdims=True), out=dst)
    np.exp(dst, out=dst)
    dst /= dst.sum(-1, keepdims=True)


def numpy_log_softmax(src, dst):
    np.subtract(src, src.max(-1, keepdims=True), out=dst)
    dst -= np.log(np.exp(dst).sum(-1, keepdims=True))


def numpy_logsumexp(src):
    m = src.max(-1, keepdims=True)
    return np.log(np.exp(src - m).sum(-1)) + m[..., 0]


def all_cases(largest):
    """Return the cases whose arrays have `largest` bytes at most."""
    found = []
    for shape in ((M,), (1024, 1024), (64 * M,)):
        found.append(
            on_rows(
                "cumsum",
                "cumsum_float_stub",
                shape,
                k.cumsum,
                lambda x, out: np.cumsum(x, -1, out=out),
                lambda x, out: torch.cumsum(x, -1, out=out),
            )
        )
    for shape in ((512, 64), (1024, 1024), (64 * 1024, 1024)):
        found.append(
            on_rows(
                "softmax",
                "softmax_float_stub",
                shape,
                k.softmax,
                numpy_softmax,
                lambda x, out: torch.softmax(x, -1, out=out),
            )
        )
        found.append(
            on_rows(
                "log_softmax",
                "softmax_float_stub",
                shape,
                k.log_softmax,
                numpy_log_softmax,
                lambda x, out: torch.log_softmax(x, -1, out=out),
            )
        )
    for shape in ((1024, 1024),):
        found.append(
            to_numbers(
                "logsumexp",
                "logsumexp_float_stub",
                shape,
                k.logsumexp,
                numpy_logsumexp,
                lambda x: torch.logsumexp(x, -1),
            )
        )
    for shape in ((M,), (64 * M,)):
        found.append(to_numbers("sum", "sum_float_stub", shape, k.sum, np.sum, lambda x: torch.sum(x)))
        found.append(to_numbers("max", "extremum_float_stub", shape, k.max, np.max, lambda x: torch.max(x)))
    for count in (M, 64 * M):
        for name, source, target, names in (
            ("fp32_to_bf16", "float32", "uint16", ("float32", "bfloat16")),
            ("bf16_to_fp32", "uint16", "float32", ("bfloat16", "float32")),
            ("fp32_to_fp16", "float32", "float16", ("float32", "float16")),
            ("fp16_to_fp32", "float16", "float32", ("float16", "float32")),
        ):
            ours = getattr(k, f"cvt_{name}")
            found.append(convert(name, f"cvt_{name}_stub", count, ours, source, target, names))
    for groups in (2, 4, 8):
        for last in (False, True):
            found.append(shuffle((8, 64, 56, 56), groups, last))
    for last in (False, True):
        found.append(shuffle((64, 256, 56, 56), 4, last, given=True))
    found.append(fused((8, 58, 28, 28)))
    found.append(fused((64, 128, 56, 56)))
    return [case for case in found if case.traffic <= 2 * largest]
