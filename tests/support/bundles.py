"""The bundle of a build folder: running code with its modules, and changing what it holds."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from isagen.build.start import BUNDLE, Bundle
from isagen.configure.bundle import make_bundle

# As `__main__.py` does, but for the step.
PRELUDE = """
import sys
before = set(sys.modules)
folder = sys.argv[1]
__file__ = folder + "/__main__.py"
with open(__file__) as stream:
    exec(stream.read().rpartition("\\nstart[")[0])
bundle = start["Bundle"](path)
sys.meta_path.insert(0, bundle)
sys.path.append(folder)
"""


def run_in(folder: Path, code: str) -> str:
    """Run code with the modules of the tool in `folder` alone; return what it printed."""
    words = [sys.executable, "-I", "-S", "-c", PRELUDE + code, folder]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def contents_of(folder: Path) -> dict[str, bytes]:
    """Return the files in the bundle of the tool in `folder`, by name."""
    bundle = Bundle(str(folder / BUNDLE))
    return {name: bundle.get_data(f"{bundle.bundle}/{name}") for name in bundle.files()}


def change(folder: Path, name: str, edit: Callable[[str], str]) -> None:
    """Change the file `name` in the bundle of the tool in `folder`, as another version of isagen would have it."""
    contents = contents_of(folder)
    changed = edit(contents[name].decode()).encode()
    assert changed != contents[name]
    contents[name] = changed
    (folder / BUNDLE).write_bytes(make_bundle(dict.fromkeys(contents, "/nowhere.py"), contents))
