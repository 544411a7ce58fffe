"""Names of files in a build folder, and of symbols and sections in its objects, that several steps use."""

from __future__ import annotations

import re
from functools import partial

# The name of the plan file of a set of kernels. Configuring writes the file beside the fragment's outputs.
PLAN = re.compile(r"isa_plan(?:\.(\w+))?\.json", re.ASCII)
# The folder of the copy of isagen that ninja runs; in it, the script that Python runs, and the folder of the texts that
# configuring rendered: the dispatch source, the source of the stubs and a module's front.
TOOL_FOLDER = "isa_tool"
TOOL_MAIN = "__main__.py"
TEXTS_FOLDER = "texts"
DISPATCH_SOURCE = re.compile(r"isa_dispatch(?:\.\w+)?\.c(?:pp)?\Z", re.ASCII)
# What the name of a set of kernels may be: it becomes part of file names and symbols.
SET_NAME = re.compile(r"[A-Za-z]\w*", re.ASCII)
# In the source of the stubs, sealing replaces the first mark with the table of stubs, the second with levels' notes.
STUBS_MARK = "/*@ISA_STUBS@*/"
LEVEL_NOTES_MARK = "/*@ISA_LEVEL_NOTES@*/"
# In the dispatch source, configuring replaces the first mark with the bytes of the matrix. The second mark occurs
# once for each binary format, with the format's name in it: configuring replaces it with the bytes of the notes.
MATRIX_MARK = "/*@ISA_MATRIX@*/"
NOTE_MARK = "/*@ISA_NOTE_{}@*/"

# The format of matrices: raise the number for a change that an older reader does not understand.
MATRIX_FORMAT = 4

# The end of a name that is private to a sealed level: the level and the project's number. Demanglers show it as a
# clone's suffix.
SEALED = re.compile(r"\.([a-z0-9_]+)\.\d+\Z")
# The prefixes of two symbols of each stub. A linker's error about such a symbol shows its name, which says the remedy.
# The table of stubs defines the first, a pointer to the function that an unset stub calls. ISA_DEFINE_DISPATCH defines
# the second, a function that sets the stub.
UNREGISTERED_SYMBOL = "isa_needs_isa_kernels_dep_and_ISA_REGISTER_DISPATCH_for_"
BIND_SYMBOL = "isa_needs_one_ISA_DEFINE_DISPATCH_for_"
# The prefixes of two symbols of each set: its table of stubs, and the function that its unset stubs call.
TABLE_SYMBOL = "isa_stubs_"
NO_LEVEL_SYMBOL = "isa_no_level_"
# The prefixes of two symbols of a kernel source: the first registers a function for a stub at a level; the second means
# that the stub has no function at this level.
KERNEL_SYMBOL = "isa_kernel_{level}__"
WITHOUT_SYMBOL = "isa_without_{level}__"

# Sections in which compilers write addresses of code for runtimes (of profiles, coverage, sanitizers, tracers). These
# runtimes do not call the code.
TOOLCHAIN_SECTIONS = frozenset(
    {
        *("__llvm_prf_cnts", "__llvm_prf_bits", "__llvm_prf_data", "__llvm_prf_names", "__llvm_prf_vnds"),
        *("__llvm_covfun", "__llvm_covmap", "__llvm_orderfile"),
        *("__sancov_guards", "__sancov_cntrs", "__sancov_bools", "__sancov_pcs", "__sancov_cfs"),
        *("__patchable_function_entries", "__mcount_loc", "asan_globals", "xray_instr_map", "xray_fn_idx"),
    }
)


def guard_name(level: str) -> str:
    """Return the name of the header that every copy for `level` includes first, except copies in Fortran."""
    return f"isa_guard_{level}.h"


def _of_set(name: str, kernels: str = "", suffix: str = "") -> str:
    return ".".join(filter(None, (name, kernels, suffix)))


# The names of a set's plan file, folder of generated headers, dispatch source or dispatch header, source of stubs, and
# source of a whole module's front. The parameter `kernels` is the set's name, "" if a project has only one set.
plan_name = partial(_of_set, "isa_plan", suffix="json")
headers_folder = partial(_of_set, "isa_include")
dispatch_name = partial(_of_set, "isa_dispatch")
stubs_name = partial(_of_set, "isa_stubs")
front_name = partial(_of_set, "isa_front")


def symbols_suffix(project: str, kernels: str) -> str:
    """Return the suffix that makes the symbols of a set's dispatch unique in a program.

    `project` is the project's name, with ".SET" for the set `kernels`. The suffix of the project `foo_bar` is foo__bar.
    The suffix of `foo-bar.stats`, the set `stats` of the project `foo-bar`, is foo_2d_bar_set_stats.
    """
    name = project.removesuffix(f".{kernels}") if kernels else project
    parts = ("__" if c == "_" else c if c.isascii() and c.isalnum() else f"_{ord(c):x}_" for c in name)
    return "".join(parts) + (f"_set_{kernels}" if kernels else "")


def registrations_name(level: str, kernels: str = "") -> str:
    """Return the name of the file that contains the registrations of a set's objects of `level`."""
    return _of_set(f"isa_{level}", kernels, "json")


def sealed_name(copy: str, level: str) -> str:
    """Return the file name of the sealed object of a `copy`: isa_AVX2.softmax.cpp.o of softmax.cpp.AVX2.cpp."""
    return f"isa_{level}.{copy.rpartition('.')[0].removesuffix(f'.{level}')}.o"


def private_name(name: str, level: str, mark: str) -> str:
    """Return the name that the symbol `name` gets if it is private to `level`; `mark` is the project's number.

    `_Z4sortPf` of AVX2 becomes `_Z4sortPf.avx2.NUMBER`, which demanglers show as `sort(float*) [clone .avx2.NUMBER]`.
    The number distinguishes the projects in one program.
    """
    return f"{name}.{level.lower()}.{mark}"


def name_in_source(name: str) -> str:
    """Return a symbol's name as the compiler wrote it, without the suffix of a private name."""
    return SEALED.sub("", name)


def level_of_name(name: str) -> str:
    """Return the level to which a private name belongs, in lower case; "" for other names."""
    found = SEALED.search(name)
    return found[1] if found else ""


def copy_of_object(name: str) -> str:
    """Return the name of the copy, or other generated source, from which Meson compiles the object file `name`."""
    return name.removesuffix(".obj").removesuffix(".o").removeprefix("meson-generated_").removeprefix(".._")
