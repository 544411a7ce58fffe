"""Benchmark: the reference kernels with the default number of threads beside one, while other processes use the CPUs.

python tests/bench/busy.py [--neighbours 0,1,2] [--rounds N] [--only TEXT ...] [--largest MB]

A neighbour is a process that computes all the time. Each round calls both variants of a case for a while, in turn;
figures are means over all calls, because a scheduler makes few calls very slow and many fast.
"""

import argparse
import subprocess
import sys
import time

from kernel_cases import all_cases
from kernel_matmul_cases import matmul_cases

SPELL = 0.2  # seconds for which a round calls a variant


def call_for_a_spell(call, threads, totals):
    """Call with a number of threads; add the time and the number of calls to `totals`."""
    start = now = time.perf_counter()
    calls = 0
    while now - start < SPELL:
        call(threads)
        calls += 1
        now = time.perf_counter()
    totals[0] += now - start
    totals[1] += calls


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--neighbours", default="0,1,2", help="numbers of busy processes (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="default: %(default)s")
    parser.add_argument("--only", nargs="*", default=[], metavar="TEXT", help="cases whose name contains one of these")
    parser.add_argument("--largest", type=int, default=16, metavar="MB", help="of an array (default: %(default)s)")
    arguments = parser.parse_args()
    cases = [*all_cases(arguments.largest << 20), *matmul_cases()]
    cases = [case for case in cases if not arguments.only or any(text in case.name for text in arguments.only)]
    print(f"{'neighbours':>10}  {'kernel':<32}{'size':<19}{'default ms':>11}{'one thread':>11}{'ratio':>7}")
    for count in (int(word) for word in arguments.neighbours.split(",")):
        busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
        try:
            for case in cases:
                ours = case.make()[0]
                default, one = [0.0, 0], [0.0, 0]
                ours(None)
                for _ in range(arguments.rounds):
                    call_for_a_spell(ours, None, default)
                    call_for_a_spell(ours, 1, one)
                times = [1000 * total / calls for total, calls in (default, one)]
                figures = f"{times[0]:>11.3f}{times[1]:>11.3f}{times[0] / times[1]:>7.2f}"
                print(f"{count:>10}  {case.kernel:<32}{case.size:<19}{figures}", flush=True)
        finally:
            for process in busy:
                process.kill()
                process.wait()


if __name__ == "__main__":
    main()
