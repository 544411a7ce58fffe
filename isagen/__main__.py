"""`python -m isagen`, and `python isagen/__main__.py` in a source tree: how the kernels' build calls it."""

import gc
import os
import sys

if sys.argv[1:2] == ["configure"]:
    gc.disable()  # configuring leaves few cycles, and looking for them takes a tenth of its time

if not __package__:
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from isagen.cli import main

if __name__ == "__main__":
    sys.exit(main())
