"""Asking an installed module which levels it selected: it is imported in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from .private import without_paths

LONGEST = 120  # seconds that an import may take
SCRIPT = """
import importlib, json, sys, warnings
warnings.simplefilter("ignore")
isa = importlib.import_module(sys.argv[1]).isa
said = {stub: next((name for name, state in by_level.items() if state == "selected"), "")
        for stub, by_level in isa.kernels.items()}
print("\\n" + sys.argv[2] + json.dumps({"current": isa.current, "kernels": said}), flush=True)
"""
MARK = "isagen: "  # starts the line of the answer: the module may print others, also when the process ends


@dataclass(frozen=True)
class Running:
    """What a module says of itself: the level in use, and the level of each stub; or the `problem` why it does not."""

    problem: str = ""
    current: str = ""
    kernels: Mapping[str, str] | None = None


def ask(module: str) -> Running:
    """Import a module in a process of its own, and return what its attribute `isa` says."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, module, MARK],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=LONGEST,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Running(f"importing it failed: it took more than {LONGEST} seconds")
    except OSError as problem:
        return Running(f"importing it failed: {problem.strerror}")
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or [f"the process ended with status {done.returncode}"])[-1]
        return Running(f"importing it failed: {without_paths(last)}")
    said = next((line for line in done.stdout.splitlines() if line.startswith(MARK)), "")
    if not said:
        return Running("importing it failed: the process ended before it answered")
    return Running(**json.loads(said.removeprefix(MARK)))
