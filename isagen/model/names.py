"""Names that several steps use: files of a build folder, and symbols and sections of its objects."""

from __future__ import annotations

import re

# Files and folders that configuring writes beside the fragment's outputs. Each set of kernels has a plan of its own.
PLAN_FILE = "isa_plan.json"
PLAN = re.compile(r"isa_plan(?:\.(\w+))?\.json", re.ASCII)
TOOL_FOLDER = "isa_tool"
# Inside it: what Python runs.
TOOL_MAIN = "__main__.py"
# Inside it: what audited links keep of the processor's features.
# Inside the tool's folder: the dispatch sources, as configuring rendered them.
TEXTS_FOLDER = "texts"
DISPATCH_SOURCE = re.compile(r"isa_dispatch(?:\.\w+)?\.c(?:pp)?\Z", re.ASCII)
# The name of a set of kernels: it becomes part of file names and symbols.
SET_NAME = re.compile(r"[A-Za-z]\w*", re.ASCII)
# The mark in a source of stubs that sealing replaces with their table.
STUBS_MARK = "/*@ISA_STUBS@*/"
# And the mark of the notes of a whole module's levels, for each binary format.
LEVEL_NOTES_MARK = "/*@ISA_LEVEL_NOTES@*/"
# The marks that configuring replaces with the bytes of the matrix, and of the notes of each binary format.
MATRIX_MARK = "/*@ISA_MATRIX@*/"
NOTE_MARK = "/*@ISA_NOTE_{}@*/"

# The format of matrices. Raise it for a change that an older reader does not understand.
MATRIX_FORMAT = 3

# The end of a name that is private to a sealed level: the level and the project's number, as a regular expression.
# Demanglers take `.` and letters, or digits, for a clone's suffix, and reject anything else.
SEALED = r"\.{level}\.\d+\Z"
# The prefixes of two symbols of each stub, which read as sentences in a linker's errors: the function that an unset
# stub calls, whose address is in the table of stubs, and the one that sets it, in its definition.
UNREGISTERED_SYMBOL = "isa_needs_a_kernel_with_ISA_REGISTER_DISPATCH_for_"
BIND_SYMBOL = "isa_needs_one_ISA_DEFINE_DISPATCH_for_"
# The prefixes of the symbols of a set's table of stubs, and of a function in its dispatch source.
TABLE_SYMBOL = "isa_stubs_"
NO_LEVEL_SYMBOL = "isa_no_level_"
# Symbols of a kernel source that registers a stub at a level, or registers that it has none.
KERNEL_SYMBOL = "isa_kernel_{level}__"
WITHOUT_SYMBOL = "isa_without_{level}__"

# Compilers' own sections with addresses of code, for runtimes that do not call it: profiles, coverage, sanitizers,
# tracers.
TOOLCHAIN_SETS = frozenset(
    {
        *("__llvm_prf_cnts", "__llvm_prf_bits", "__llvm_prf_data", "__llvm_prf_names", "__llvm_prf_vnds"),
        *("__llvm_covfun", "__llvm_covmap", "__llvm_orderfile"),
        *("__sancov_guards", "__sancov_cntrs", "__sancov_bools", "__sancov_pcs", "__sancov_cfs"),
        *("__patchable_function_entries", "__mcount_loc", "asan_globals", "xray_instr_map", "xray_fn_idx"),
    }
)


def guard_name(level: str) -> str:
    """Return the name of the header that every copy for `level` includes first."""
    return f"isa_guard_{level}.h"


def plan_name(kernels: str = "") -> str:
    """Return the name of the plan file of a set of `kernels`; "" is the set of a project that has only one."""
    return _of_set("isa_plan", kernels, "json")


def headers_folder(kernels: str = "") -> str:
    """Return the name of the folder of a set's generated headers."""
    return _of_set("isa_include", kernels)


def dispatch_name(kernels: str, language: str) -> str:
    """Return the file name of a set's dispatch source in a Meson language."""
    return _of_set("isa_dispatch", kernels, language)


def stubs_name(kernels: str, language: str) -> str:
    """Return the file name of the source that lists a set's stubs with their kernels, in a Meson language."""
    return _of_set("isa_stubs", kernels, language)


def symbols_suffix(project: str, kernels: str) -> str:
    """Return the suffix of the symbols of a set's dispatch, by its full name; it is unique in a program.

    `foo_bar` gives foo__bar, and the set `stats` of `foo-bar` foo_2d_bar_set_stats.
    """
    name = project.removesuffix(f".{kernels}") if kernels else project
    parts = ("__" if one == "_" else one if one.isascii() and one.isalnum() else f"_{ord(one):x}_" for one in name)
    return "".join(parts) + (f"_set_{kernels}" if kernels else "")


def front_name(kernels: str, language: str) -> str:
    """Return the file name of the source of a whole module's front, in a Meson language."""
    return _of_set("isa_front", kernels, language)


def registrations_name(level: str, kernels: str = "") -> str:
    """Return the name of the file with the registrations of a set's objects of `level`."""
    return _of_set(f"isa_{level}", kernels, "json")


def _of_set(name: str, kernels: str, suffix: str = "") -> str:
    return ".".join(filter(None, (name, kernels, suffix)))


def sealed_name(copy: str, level: str) -> str:
    """Return the file name of the sealed object of a `copy`: isa_AVX2.softmax.cpp.o of softmax.cpp.AVX2.cpp."""
    return f"isa_{level}.{copy.rpartition('.')[0].removesuffix(f'.{level}')}.o"


def is_sealed_name(name: str, level: str) -> bool:
    """Return whether a name is private to a sealed level: whether it ends as `SEALED` says."""
    start, _, number = name.rpartition(".")
    return number.isdecimal() and start.endswith(f".{level.lower()}")


def copy_of_object(name: str) -> str:
    """Return the file name of the copy that the object file `name` is compiled from; Meson adds prefix and suffix."""
    return name.removesuffix(".obj").removesuffix(".o").removeprefix("meson-generated_").removeprefix(".._")


def flat_name(path: str) -> str:
    """Return a path as Meson writes it in an object's name."""
    return path.replace("/", "_").replace(":", "_")
