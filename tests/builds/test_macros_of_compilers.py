"""Every macro is known that the compilers at hand predefine for an option of x86, and for a CPU of x86 or arm64."""

import shutil

import pytest

from isagen.probe.compiler import find_compiler
from support.projects import need
from support.unknown_macros import unknown_macros

# GCC 17's -macev1 is not known: its bit of CPUID does not say which version there is.
NOT_KNOWN = {"__ACEV1__"}


# Those that Debian 12 lacks are no skipped tests.
NEWER = filter(shutil.which, ["gcc-13", "gcc-14", "gcc-15", "gcc-16", "gcc-17", "clang-23"])


CLANG = ["clang-14", "clang-16", "clang-19", "clang-22"]
ARM64 = ["aarch64-linux-gnu-gcc", *(f"{clang} --target=aarch64-linux-gnu" for clang in CLANG)]


@pytest.mark.parametrize("command", ["gcc-11", "gcc-12", *CLANG, *NEWER, *ARM64])
def test_macros_are_known(command):
    need(command.split()[0])
    found = unknown_macros(find_compiler("c", command.split()))
    assert {macro: flags for macro, flags in found if macro not in NOT_KNOWN} == {}
