"""Threads of the reference extension: their number, results that do not depend on it, and forked processes."""

import os
import subprocess
import sys

import isagen_kernels as k
import numpy as np
import pytest

from support.projects import script

# Counts the threads of the process before and after a call that is large enough for several.
COUNT = (
    "import os, numpy as np, isagen_kernels as k",
    "from isagen_kernels import _core",
    "def count(): return len(os.listdir('/proc/self/task'))",
    "x = np.ones(4_000_000, np.float32)",
    "before = count()",
    "assert k.sum(x, threads={threads}) == 4_000_000",
    "print(_core.default_threads(), count() - before)",
)


def run(lines, **environment):
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("OMP_")}
    inherited["OPENBLAS_NUM_THREADS"] = "1"
    done = subprocess.run(
        [sys.executable, "-c", script(lines)],
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="counts threads in /proc")
@pytest.mark.parametrize(
    ("environment", "threads", "default", "started"),
    [
        ({"OMP_NUM_THREADS": "3"}, None, 3, 2),
        ({"OMP_NUM_THREADS": "3"}, 2, 3, 1),
        ({"OMP_NUM_THREADS": "3"}, 1, 3, 0),
        ({"OMP_NUM_THREADS": "1"}, None, 1, 0),
        ({"OMP_NUM_THREADS": "1"}, 4, 1, 3),
        ({"OMP_NUM_THREADS": "4", "OMP_THREAD_LIMIT": "2"}, 4, 4, 1),
    ],
)
def test_number_of_threads(environment, threads, default, started):
    said = run([line.format(threads=threads) for line in COUNT], **environment)
    assert said.split() == [str(default), str(started)]


def test_small_arrays_take_one_thread():
    lines = [line.format(threads=4).replace("4_000_000", "100_000") for line in COUNT]
    assert run(lines, OMP_NUM_THREADS="4").split() == ["4", "0"]


def test_a_forked_process_does_not_wait_for_threads_that_it_lacks():
    """fork() copies no threads: the child's pool is a new one."""
    said = run(
        [
            "import os, numpy as np, isagen_kernels as k",
            "x = np.ones(4_000_000, np.float32)",
            "print(float(k.sum(x, threads=2)), flush=True)",
            "child = os.fork()",
            "if child == 0:",
            "    print(float(k.sum(x, threads=2)), k.max(x, threads=2))",
            "    print(len(os.listdir('/proc/self/task')), flush=True)",
            "    os._exit(0)",
            "assert os.waitpid(child, 0)[1] == 0",
            "print(float(k.sum(x, threads=2)))",
        ]
    )
    assert said.split() == ["4000000.0"] * 2 + ["1.0", "2", "4000000.0"]


def test_from_several_threads_of_python_at_once():
    from concurrent.futures import ThreadPoolExecutor

    x = np.random.default_rng(7).standard_normal(1_000_003, np.float32)
    want = k.cumsum(x, threads=1)
    total = k.sum(x, threads=1)
    with ThreadPoolExecutor(4) as pool:
        for got in pool.map(lambda n: (k.sum(x, threads=n), k.cumsum(x, threads=n)), [1, 2, 3, 2, 1, 3, 2, 2]):
            assert got[0] == total
            assert np.allclose(got[1], want, rtol=1e-4, atol=0.1)
