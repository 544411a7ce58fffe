"""`python -m isagen`, and `python isagen/__main__.py` in a source tree: how isagen's own build calls it."""

import os
import sys

if not __package__:
    # An editable install of isagen would rebuild itself in the middle of its own build to answer "import isagen".
    sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__name__ != "MesonpyMetaFinder"]
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from isagen.cli import main

if __name__ == "__main__":
    sys.exit(main())
