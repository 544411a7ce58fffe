"""Every macro is known that the compilers at hand predefine for an option of x86, and for a CPU of x86 or arm64."""

import pytest

from isagen.probe.compiler import find_compiler
from support import newer
from support.projects import need
from support.unknown_macros import unknown_macros

# GCC 17's -macev1 is not known: no document says how a program asks Linux for the state of its scale register.
NOT_KNOWN = {"__ACEV1__"}


CLANG = ["clang-14", "clang-16", "clang-19", "clang-22"]
ARM64 = ["aarch64-linux-gnu-gcc", *(f"{clang} --target=aarch64-linux-gnu" for clang in CLANG)]


@pytest.mark.parametrize(
    "command", ["gcc-11", "gcc-12", "x86_64-w64-mingw32-gcc", *CLANG, *newer.GCC, *newer.CLANG, *ARM64]
)
def test_macros_are_known(command):
    need(command.split()[0])
    found = unknown_macros(find_compiler("c", command.split()))
    assert {macro: flags for macro, flags in found if macro not in NOT_KNOWN} == {}
