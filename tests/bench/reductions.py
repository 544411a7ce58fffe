"""Benchmark: the reductions of tests/packages/reductions at every level, beside NumPy, on arrays with NaNs.

python tests/bench/reductions.py [--rounds N] [--sizes 1000,100000,10000000] [--nans 0.1] [--build FOLDER]

It builds the package once, in a folder of its own. Each round measures NumPy and every level once, in random order, in
one process; times are medians over the rounds, and ratios are medians of each round's ratio. So a temporary slowdown of
the machine affects all of them. NumPy's own are nanmean and nanvar; its skewness and kurtosis are written out here.
"""

import argparse
import os
import platform
import random
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from statistics import median

import numpy as np

ROOT = Path(__file__).parents[2]
LEAST = 0.003  # the shortest time of one figure, in seconds


def build(folder):
    """Build the package there and return its module."""
    if not (folder / "project").exists():
        shutil.copytree(ROOT / "tests/packages/reductions", folder / "project")
        environment = {**os.environ, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
        for command in (
            [sys.executable, "-m", "isagen", "init"],
            ["meson", "setup", "build", "-Dfront=enabled"],
            ["ninja", "-C", "build"],
        ):
            subprocess.run(command, cwd=folder / "project", env=environment, check=True, stdout=subprocess.DEVNULL)
    sys.path.insert(0, str(folder / "project/build"))
    import reductions

    return reductions


def central(a):
    """The number of values, and sums of the second, third and fourth powers of the distances from the mean."""
    there = ~np.isnan(a)
    n = float(np.count_nonzero(there))
    d = np.where(there, a, 0).astype(np.float64)
    d -= d.sum() / n
    d[~there] = 0
    return n, d


def numpy_skew(a):
    n, d = central(a)
    squares = d * d
    return n * (n - 1) ** 0.5 / (n - 2) * ((squares * d).sum() / squares.sum() ** 1.5)


def numpy_kurt(a):
    n, d = central(a)
    squares = d * d
    rest = (n - 2) * (n - 3)
    fourth = (squares * squares).sum()
    return n * (n + 1) * (n - 1) * fourth / (rest * squares.sum() ** 2) - 3 * (n - 1) ** 2 / rest


IN_NUMPY = {
    "mean": np.nanmean,
    "var": lambda a: np.nanvar(a, ddof=1),
    "skew": numpy_skew,
    "kurt": numpy_kurt,
}


class Variant:
    """One thing that is timed: at a level, or NumPy's."""

    def __init__(self, name, call, use):
        self.name, self.call, self.use = name, call, use
        self.times = []
        self.calls = 1
        self.time()
        self.calls = max(1, round(LEAST / self.time()))

    def time(self):
        """Return the seconds per call of `calls` calls."""
        with self.use():
            self.call()
            start = time.perf_counter()
            for _ in range(self.calls):
                self.call()
            return (time.perf_counter() - start) / self.calls


def ratio(variant, other):
    """Median of each round's ratio of the other's time to this one's: above 1, this one is faster."""
    return median(b / a for a, b in zip(variant.times, other.times, strict=True))


def nanoseconds(variant, size):
    """Return the median time for an element."""
    return median(variant.times) / size * 1e9


def measure(module, function, array, levels, rounds):
    """Return NumPy's variant and those of the levels, measured."""
    ours = getattr(module, function)
    variants = [Variant("NumPy", lambda: IN_NUMPY[function](array), nullcontext)]
    variants += [Variant(level, lambda: ours(array), lambda level=level: module.isa.use(level)) for level in levels]
    order = random.Random(1)
    for _ in range(rounds):
        for variant in order.sample(variants, len(variants)):
            variant.times.append(variant.time())
    return variants


def cpu_name():
    """Return the name of the CPU."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.processor()
    )


def main():
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--sizes", default="1000,100000,10000000")
    parser.add_argument("--nans", type=float, default=0.1, help="the share of NaNs (default: %(default)s)")
    parser.add_argument("--build", type=Path, help="build there, and keep it for the next run")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        module = build(arguments.build or Path(temporary))
        print(f"{cpu_name()}, Python {platform.python_version()}, NumPy {np.__version__}; {arguments.nans:.0%} NaNs")
        print("ns per element; in brackets, how many times as fast as NumPy and as the level DEFAULT\n")
        levels = [level for level, (built, supported, _) in module.isa.levels.items() if built and supported]
        print("| elements | type | function | NumPy |", " | ".join(levels), "|")
        print("|---" * (4 + len(levels)) + "|")
        for size in map(int, arguments.sizes.split(",")):
            values = np.random.default_rng(1).standard_normal(size)
            values[np.random.default_rng(2).random(size) < arguments.nans] = np.nan
            for dtype in ("float32", "float64"):
                for function in IN_NUMPY:
                    numpy, *ours = measure(module, function, values.astype(dtype), levels, arguments.rounds)
                    cells = [f"{nanoseconds(numpy, size):.2f}"]
                    for one in ours:
                        against = f"{ratio(one, numpy):.1f}, {ratio(one, ours[0]):.1f}"
                        cells.append(f"{nanoseconds(one, size):.3f} ({against})")
                    print(f"| {size:,} | {dtype} | {function} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
