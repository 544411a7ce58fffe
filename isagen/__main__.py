"""Runs the command line, for `python -m isagen` and, in the build of `kernels/`, for `python isagen/__main__.py`."""

import os
import sys

if not __package__:
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from isagen.cli import main

if __name__ == "__main__":
    sys.exit(main())
