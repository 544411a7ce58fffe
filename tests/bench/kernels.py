"""Benchmark: the reference kernels at every level and number of threads, beside torch, NumPy and a plain copy.

python tests/bench/kernels.py [--rounds N] [--only TEXT ...] [--threads 1,2] [--json FILE] [--picture FILE.svg]

Each round measures every variant of a case once, in random order, in one process; figures are medians over the rounds,
and ratios are medians of each round's ratio. So a temporary slowdown of the machine affects all variants.
"""

import argparse
import json
import os
import platform
import sys
from pathlib import Path

import numpy
from kernel_cases import all_cases
from kernel_matmul_cases import matmul_cases
from kernel_measure import measure, peaks
from kernel_picture import picture
from kernel_report import gains, machine_text, table, targets

try:
    import torch
except ImportError:
    torch = None


def cpu_name():
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else ():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15, help="at least 3 (default: %(default)s)")
    parser.add_argument("--only", nargs="*", default=[], metavar="TEXT", help="cases whose name contains one of these")
    parser.add_argument("--threads", default="", help="numbers of threads (default: 1, and 2 where there are two CPUs)")
    parser.add_argument("--levels", default="", help="levels (default: all that a kernel has and the CPU supports)")
    parser.add_argument("--largest", type=int, default=256, metavar="MB", help="of an array (default: %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw the ratios to torch there, as SVG")
    arguments = parser.parse_args()
    if arguments.rounds < 3:
        parser.error("--rounds: fewer than 3 have no median")
    return arguments


def main():
    arguments = parse()
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    threads = [int(word) for word in arguments.threads.split(",") if word] or ([1, 2] if cpus > 1 else [1])
    levels = [word.strip().upper() for word in arguments.levels.split(",") if word.strip()]
    cases = [*all_cases(arguments.largest << 20), *matmul_cases()]
    if arguments.only:
        cases = [case for case in cases if any(text in case.name for text in arguments.only)]
    if not cases:
        sys.exit(f"no case is called like {' or '.join(arguments.only)}")
    machine = {
        "cpu": cpu_name(),
        "cpus": cpus,
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "torch": torch.__version__ if torch else None,
        "rounds": arguments.rounds,
        "peaks_gflop_per_s": peaks(dict.fromkeys(case.kernel for case in cases if case.flops)),
    }
    print(machine_text(machine))
    results = []
    for case in cases:
        rows = measure(case, arguments.rounds, threads, levels, machine["peaks_gflop_per_s"])
        print(table(rows, heading=not results), flush=True)
        results += rows
    print(gains(results))
    print(targets(results))
    if arguments.json:
        arguments.json.write_text(json.dumps({"machine": machine, "results": results}, indent=1) + "\n")
    if arguments.picture:
        arguments.picture.write_text(picture(results, machine))


if __name__ == "__main__":
    main()
