"""The optimization of kernels. At -O2, GCC vectorises few loops, so kernels get the vectoriser of -O3."""

from __future__ import annotations

import re
from collections.abc import Sequence

# The options of -O3 for vectorising: at -O2, GCC 11 vectorises nothing, and later versions only loops that need no
# check at run time (GCC 12 release notes, "very-cheap").
VECTORISER = ("-ftree-vectorize", "-fvect-cost-model=dynamic")
# Options by which a project itself chooses how GCC vectorises.
CHOICE = re.compile(r"-f(no-)?(tree-((loop|slp)-)?vectorize|vect-cost-model)\b")
# Optimizations at which compilers vectorise no loop, or hardly any; "" is no -O option.
SCALAR = ("", "-O", "-O0", "-O1", "-Og", "-Os", "-Oz")
# Optimizations at which no copy folds: debuggers are to see each level.
UNFOLDED_OPTIMIZATIONS = ("-O0", "-Og")


def optimization_of(option: str, args: Sequence[str]) -> str:
    """Return the last -O option in a compiler's `args`; if there is none, the -O option that `option` stands for.

    `option` is the value of Meson's option `optimization`: "" and "plain" stand for none, and give "".
    """
    words = [arg for arg in args if arg.startswith("-O")]
    return words[-1] if words else f"-O{option}" if option not in ("", "plain") else ""


def vectoriser(compiler: str, option: str, args: Sequence[str]) -> tuple[str, ...]:
    """Return the options that `compiler` (Meson's id) needs to vectorise kernels.

    Only GCC at -O2 needs any, and only if `args` contain no option about vectorising.
    """
    hardly_vectorises = compiler == "gcc" and optimization_of(option, args) == "-O2"
    return VECTORISER if hardly_vectorises and not any(map(CHOICE.match, args)) else ()


# The messages if higher levels gain nothing; {} is the name of the lowest level.
PLAIN_CODE = "no kernel uses an instruction that {} lacks"
NARROW_CODE = "no kernel uses wider vectors than at {}"


def reason_for_plain_code(optimization: str, baseline: str = "") -> str:
    """Return a sentence with the reason why kernels do not use the instructions of higher levels.

    `baseline` says what turns on features at every level, "" if nothing does.
    """
    if optimization in SCALAR:
        other = f" and without {optimization} in CFLAGS and CXXFLAGS" if optimization else ""
        remedy = f"configure with -Dbuildtype=release{other}, or put -O3 into CFLAGS and CXXFLAGS"
        return f"{optimization or 'a compiler without -O'} vectorises hardly any loop: {remedy}"
    beyond = f" beyond those of the baseline ({baseline})" if baseline else ""
    return f"at {optimization}, the compiler finds no use for the instructions of higher levels{beyond}"
