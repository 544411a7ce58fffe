"""Every macro that the compilers at hand predefine for a CPU or an option of x86 is known."""

import shutil

import pytest

from isagen.probe.compiler import find_compiler
from support.unknown_macros import unknown_macros

# GCC 17's -macev1 is not known: its bit of CPUID does not say which version there is.
NOT_KNOWN = {"__ACEV1__"}


# Those that Debian 12 lacks are no skipped tests.
NEWER = filter(shutil.which, ["gcc-13", "gcc-14", "gcc-15", "gcc-16", "gcc-17", "clang-23"])


@pytest.mark.parametrize("command", ["gcc-11", "gcc-12", "clang-14", "clang-16", "clang-19", "clang-22", *NEWER])
def test_macros_are_known(command):
    if shutil.which(command) is None:
        pytest.skip(f"{command} is not installed")
    assert {
        macro: flags for macro, flags in unknown_macros(find_compiler("c", [command])) if macro not in NOT_KNOWN
    } == {}
