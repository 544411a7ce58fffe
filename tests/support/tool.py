"""The copied tool of a build folder: running code with its modules."""

import subprocess
import sys
from pathlib import Path


def run_in(folder: Path, code: str) -> str:
    """Run code with the modules of the tool in `folder` alone; return what it printed."""
    words = [sys.executable, "-I", "-S", "-c", f"import sys\nsys.path.insert(0, sys.argv[1])\n{code}", folder]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
