"""The measurements of bench/kernels.py: interleaved rounds, medians, a copy of as many bytes, instruction peaks."""

import random
import shutil
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median, quantiles

import isagen_kernels as k
import numpy as np

from isagen.processors.table import load_table

try:
    import torch
except ImportError:
    torch = None

ROOT = Path(__file__).parents[2]
LEAST = 0.004  # the shortest time of one figure, in seconds
PAUSE = 0.005  # seconds before each, in which threads of the previous variant stop spinning
WARM = 5  # times that a variant in several threads runs first: the system takes milliseconds to put each on a CPU


def levels_of(stub):
    """The levels at which a stub has code of its own and which the CPU supports, lowest first."""
    cells = k.isa.kernels[stub]
    return [level for level, (built, supported, _) in k.isa.levels.items() if built and supported and cells[level]]


def copier(traffic):
    """Return copy(threads), which reads and writes as many bytes in all, by memcpy, in threads of its own."""
    count = max(traffic // 2, 64)
    src, dst = np.ones(count, np.uint8), np.ones(count, np.uint8)
    pool = ThreadPoolExecutor(2)

    def copy(threads):
        if threads == 1:
            np.copyto(dst, src)
        else:
            pieces = [slice(count * i // threads, count * (i + 1) // threads) for i in range(threads)]
            list(pool.map(lambda piece: np.copyto(dst[piece], src[piece]), pieces))

    return copy


class Variant:
    """One thing that is timed: `call`, at a level (None: not ours), with a number of threads."""

    def __init__(self, kind, level, threads, call):
        self.kind, self.level, self.threads, self.call = kind, level, threads, call
        self.times = []
        self.calls = 1
        self.time()
        once = min(self.time(), self.time())
        self.calls = max(1, round(LEAST / max(once, 1e-9)))

    def time(self):
        """Return the seconds per call of `calls` calls."""
        if torch is not None:
            torch.set_num_threads(self.threads if self.kind == "torch" else 1)
        time.sleep(PAUSE)
        if self.level is None:
            return self._time()
        with k.isa.use(self.level):
            return self._time()

    def _time(self):
        for _ in range(self.calls * (WARM if self.threads > 1 else 1)):
            self.call()
        start = time.perf_counter()
        for _ in range(self.calls):
            self.call()
        return (time.perf_counter() - start) / self.calls

    def ratio(self, other):
        """Median of each round's ratio of the other's time to this one's: above 1, this one is faster."""
        return median(b / a for a, b in zip(self.times, other.times, strict=True)) if other else None


def measure(case, rounds, threads, levels, peaks):
    """Measure a case; return a row of figures for every level and number of threads, as dictionaries."""
    ours, in_numpy, in_torch = case.make()
    own = [level for level in levels_of(case.stub) if not levels or level in levels]
    copy = copier(case.traffic)
    variants = [Variant("ours", level, count, lambda count=count: ours(count)) for count in threads for level in own]
    numpy_variant = Variant("numpy", None, 1, in_numpy) if in_numpy else None
    torches = {count: Variant("torch", None, count, in_torch) for count in threads} if in_torch else {}
    # Several threads of Python cost tens of microseconds: a copy in them is measured only where it takes much longer.
    copies = {
        count: Variant("copy", None, count, lambda count=count: copy(count))
        for count in threads
        if not case.flops and (count == 1 or case.traffic >= 64 << 20)
    }
    everything = [*variants, *([numpy_variant] if numpy_variant else []), *torches.values(), *copies.values()]
    order = random.Random(1)
    for _ in range(rounds):
        for variant in order.sample(everything, len(everything)):
            variant.times.append(variant.time())
    rows = []
    for variant in variants:
        seconds = median(variant.times)
        low, _, high = quantiles(variant.times)
        peak = peaks.get(case.stub, {}).get(variant.level)
        single = next((v for v in variants if v.level == variant.level and v.threads == 1), None)
        rows.append(
            {
                "kernel": case.kernel,
                "size": case.size,
                "level": variant.level,
                "threads": variant.threads,
                "seconds": seconds,
                "middle_half": [low, high],
                "gb_per_s": case.traffic / seconds / 1e9,
                "gflop_per_s": case.flops / seconds / 1e9 if case.flops else None,
                "items": case.items,
                "to_torch": variant.ratio(torches.get(variant.threads)),
                "to_numpy": variant.ratio(numpy_variant),
                "to_copy": None if case.flops else variant.ratio(copies.get(variant.threads)),
                "to_peak": case.flops / seconds / 1e9 / peak / variant.threads if peak else None,
                "to_one_thread": variant.ratio(single) if variant.threads > 1 else None,
                "copy_to_one_thread": copies[variant.threads].ratio(copies.get(1))
                if variant.threads in copies
                else None,
                "to_levels": {
                    other.level: variant.ratio(other)
                    for other in variants
                    if other.threads == variant.threads and other.level != variant.level
                },
            }
        )
    return rows


# Programs that measure a dot product are compiled without isagen: stubs are not there.
NO_STUBS = "#define ISA_DECLARE_DISPATCH(type, name)\n#define ISA_REGISTER_DISPATCH(name, function)\n"


def peaks(products):
    """Return the speed of the products' own instructions, on registers, by stub and level, in GFLOP/s.

    `products` are their kernels. {} without a compiler. Levels that this CPU lacks, and those without a vector
    instruction of their own, have none.
    """
    compiler = next((name for name in ("c++", "g++", "clang++") if shutil.which(name)), None)
    if compiler is None:
        return {}
    table = load_table("x86", ROOT)
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "isa_dispatch.h").write_text(NO_STUBS)
        for product in products:
            stub = f"{product}_stub"
            found[stub] = {}
            for level in levels_of(stub):
                program = Path(folder) / f"{product}.{level}"
                flags = ["-O2", "-std=c++17", *table.level(level).flags.get("gnu", ())]
                flags += [f"-D{macro}" for macro in table.defines(level)]
                source = [f'-DSOURCE="{product}.cpp"', Path(__file__).parent / "kernel_peak.cpp"]
                done = subprocess.run(
                    [compiler, *flags, "-I", folder, "-I", ROOT / "kernels", *source, "-o", program],
                    capture_output=True,
                    check=False,
                )
                if done.returncode == 0:
                    runs = [subprocess.run([program], capture_output=True, text=True, check=True) for _ in range(3)]
                    found[stub][level] = max(float(run.stdout) for run in runs)
    return found
