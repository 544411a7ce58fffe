"""`python -m isagen`, and `python isagen/__main__.py` in a source tree: how the kernels' build calls it."""

import os
import sys

if not __package__:
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from isagen.cli import main

if __name__ == "__main__":
    sys.exit(main())
