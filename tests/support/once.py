"""What is made once for all processes of a test run."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def locked(tmp_path_factory: pytest.TempPathFactory, name: str) -> Iterator[Path]:
    """Yield a folder of the whole run's, which the first process finds absent and fills; others wait meanwhile."""
    shared = tmp_path_factory.getbasetemp()
    if shared.name.startswith("popen-"):  # of pytest-xdist: one folder per process
        shared = shared.parent
    with open(shared / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield shared / name
