"""Writes a kernel that adds a polynomial's value, from its coefficients: `offsets.py NUMBERS OUTPUT`."""

import sys
from pathlib import Path

numbers = [int(word) for word in Path(sys.argv[1]).read_text().split()]
sums = "\n".join(f"  sum = sum * x + {number};" for number in reversed(numbers))
Path(sys.argv[2]).write_text(
    f'#include "stubs.h"\n\nstatic int offset(int x)\n{{\n  int sum = 0;\n{sums}\n  return sum;\n}}\n\n'
    "ISA_REGISTER_DISPATCH(offset_stub, &offset)\n"
)
