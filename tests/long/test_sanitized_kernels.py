"""The extension built with AddressSanitizer and UndefinedBehaviorSanitizer, and the kernels' tests run in it."""

import os
import subprocess
import sys

import pytest

from support.checkout import ROOT
from support.compiling import need_runtime
from support.levels import supported_levels
from support.projects import base_environment

TESTS = (
    "test_rows.py",
    "test_row_arguments.py",
    "test_numpy_conventions.py",
    "test_array_kinds.py",
    "test_channels.py",
    "test_convert.py",
    "test_matmul.py",
)
# Tests of other processes and programs, of values alone, and tests that take minutes; long rows are those of one level.
NOT = "emulated or other_cpus or of_arm64 or division or large_products or depend_on_threads or flushing or in_torch"
NOT += " or (long_row and (DEFAULT or AVX512))"


@pytest.fixture
def site(tmp_path):
    """A folder with the package isagen_kernels, built by Clang: GCC 12 takes minutes for it."""
    need_runtime("clang++-16", "-fsanitize=address,undefined")
    folder = tmp_path / "sanitized"
    # Clang compiles checks that are calls in a third of the time; without -O1, the tests run for minutes.
    calls = "-fno-sanitize-recover=all -mllvm -asan-instrumentation-with-call-threshold=0"
    options = ["-Doptimization=1", "-Ddebug=false", "-Db_sanitize=address,undefined", "-Db_lundef=false"]
    options += [f"-Dcpp_args={calls}", f"-Disa_levels={','.join(supported_levels())}"]
    options += [f"-Dpython.platlibdir={folder}/site", f"-Dpython.purelibdir={folder}/site"]
    for command in (
        ["meson", "setup", folder / "build", ROOT, *options],
        ["meson", "install", "-C", folder / "build", "--quiet"],
    ):
        done = subprocess.run(
            [str(word) for word in command],
            env={**base_environment(), "CXX": "clang++-16"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return folder / "site"


def sanitized(site, *arguments):
    runtime = subprocess.run(
        ["clang++-16", "-print-file-name=libclang_rt.asan-x86_64.so"], capture_output=True, text=True, check=True
    ).stdout.strip()
    environment = {
        **os.environ,
        "LD_PRELOAD": runtime,
        "ASAN_OPTIONS": "detect_leaks=0",  # CPython leaks at exit
        "PYTHONPATH": str(site),
        "PYTHONMALLOC": "malloc",
        "ISAGEN_TEST_EXAMPLES": os.environ.get("ISAGEN_TEST_EXAMPLES", "5"),
    }
    return subprocess.run(
        [sys.executable, *arguments], env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_kernels(site):
    # Checks that the sanitizer works: a kernel gets a size larger than its array.
    code = (
        "import numpy as np, ctypes, isagen_kernels as k\n"
        "assert 'sanitized' in k.__file__, k.__file__\n"
        "x = np.zeros(1000, np.float32)\n"
        "liar = (ctypes.c_float * 1100).from_address(x.ctypes.data)\n"
        "print(k.sum(liar))\n"
    )
    done = sanitized(site, "-c", code)
    assert done.returncode != 0
    assert "heap-buffer-overflow" in done.stderr

    tests = [f"tests/kernels/{test}" for test in TESTS]
    done = sanitized(site, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", f"not ({NOT})", *tests)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert "passed" in done.stdout
