"""The optimization of kernels. GCC's -O2 vectorises few loops, so kernels get the vectoriser of its -O3 there."""

from __future__ import annotations

import re
from collections.abc import Sequence

# What -O3 has of vectorising and -O2 lacks: GCC 11 vectorises nothing at -O2, later ones only where no check is needed
# at run time (GCC 12 release notes, "very-cheap").
VECTORISER = ("-ftree-vectorize", "-fvect-cost-model=dynamic")
CHOICE = re.compile(r"-f(no-)?(tree-((loop|slp)-)?vectorize|vect-cost-model)\b")
# Optimizations at which compilers vectorise no loop, or hardly any.
SCALAR = ("-O", "-O0", "-O1", "-Og", "-Os", "-Oz")


def optimization_of(option: str, args: Sequence[str]) -> str:
    """Return the last -O of a compiler's `args`, which override Meson's `option`; "" where neither has one."""
    words = [arg for arg in args if arg.startswith("-O")]
    return words[-1] if words else f"-O{option}" if option not in ("", "plain") else ""


def vectoriser(compiler: str, option: str, args: Sequence[str]) -> tuple[str, ...]:
    """Return the options that let a compiler, by Meson's id, vectorise kernels; none where `args` choose themselves."""
    few = compiler == "gcc" and optimization_of(option, args) == "-O2"
    return VECTORISER if few and not any(map(CHOICE.match, args)) else ()


def is_scalar(optimization: str) -> bool:
    """Return whether compilers vectorise hardly any loop."""
    return not optimization.startswith("-O") or optimization in SCALAR


# What people are told where no level gains.
UNUSED = "no kernel uses an instruction that {} lacks"


def reason_for_plain_code(optimization: str) -> str:
    """Return why kernels may use no instructions of their levels, with the remedy, for people."""
    remedy = "configure with -Dbuildtype=release, or put -O3 into CFLAGS and CXXFLAGS"
    if not optimization.startswith("-O"):
        return f"compilers vectorise nothing unless an argument says so: {remedy}"
    if optimization in SCALAR:
        return f"{optimization} vectorises hardly any loop: {remedy}"
    return f"at {optimization}, the compiler finds no use for the instructions of higher levels"
