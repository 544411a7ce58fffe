"""Functions in the tables for unwinding the stack (.eh_frame), which `strip` does not remove."""

import subprocess

import pytest

from isagen.binary.contents import CODE_KINDS
from isagen.binary.formats import open_binary
from support.projects import need

SOURCE = (
    "int f(int x) { return x + 1; }\nint g(int *x) { int y[9]; for (int i = 0; i < 9; i++) y[i] = f(x[i]); return *y; }"
)
COMPILERS = ["gcc", "clang-16", "aarch64-linux-gnu-gcc", "riscv64-linux-gnu-gcc", "s390x-linux-gnu-gcc"]


@pytest.mark.parametrize("compiler", COMPILERS)
def test_functions_in_unwind_tables(tmp_path, compiler):
    need(compiler)
    (tmp_path / "f.c").write_text(SOURCE)
    words = [compiler, "-shared", "-fPIC", "-nostdlib", "-fasynchronous-unwind-tables", tmp_path / "f.c"]
    subprocess.run([*words, "-o", tmp_path / "f.so"], check=True)
    with open_binary(tmp_path / "f.so") as library:
        named = {symbol.address: symbol.size for symbol in library.symbols() if symbol.kind in CODE_KINDS}
        described = dict(library.unwind_table_functions())
    assert len(named) == 2
    assert named.items() <= described.items()
