"""Folders that are made once for all processes of a test run."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def locked(tmp_path_factory: pytest.TempPathFactory, name: str) -> Iterator[Path]:
    """Yield a folder that all processes of a run share; the first one creates and fills it while others wait."""
    shared = tmp_path_factory.getbasetemp()
    if shared.name.startswith("popen-"):  # of pytest-xdist: one folder per process
        shared = shared.parent
    with open(shared / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield shared / name
