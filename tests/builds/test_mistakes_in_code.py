"""Mistakes that a compiler or a linker finds: one message that names the stub or the function, and the remedy."""

import re
import subprocess

import pytest

from support.projects import make_project, need

# ---- compiling


@pytest.fixture(scope="module")
def header(tmp_path_factory):
    """A folder with isa_dispatch.h, the headers of a kernel, and a project that is configured for one level."""
    project = make_project(tmp_path_factory.mktemp("header"))
    project.isagen("init", "--name", "hello")
    project.setup("-Disa_levels=AVX2")
    return project.path("isagen/isa_include")


STUB = (
    '#include "isa_dispatch.h"\ntypedef int (*dot_fn)(const float *a, int n);\nISA_DECLARE_DISPATCH(dot_fn, dot_stub)\n'
)
KERNEL = "static int dot(const float *a, int n) { return (int)a[n]; }\n"
OTHER = "static int dot(const double *a, int n) { return (int)a[n]; }\n"
C11, CPP17 = ("c", "-std=c11"), ("c++", "-std=c++17")
ERRORS = {
    "another type in C": (
        C11,
        f"{OTHER}ISA_REGISTER_DISPATCH(dot_stub, &dot)\n",
        ["-DCPU_CAPABILITY=AVX2"],
        "ISA_REGISTER_DISPATCH(dot_stub, &dot): the type of the function is not the one that ISA_DECLARE_DISPATCH "
        "gives the stub: change one of them",
    ),
    "another type in C99": (
        ("c", "-std=c99"),
        f"{OTHER}ISA_REGISTER_DISPATCH(dot_stub, dot)\n",
        ["-DCPU_CAPABILITY=AVX2"],
        "ISA_REGISTER_DISPATCH(dot_stub, dot): the type of the function is not the one",
    ),
    "another type in C++": (
        CPP17,
        f"{OTHER}ISA_REGISTER_DISPATCH(dot_stub, &dot)\n",
        ["-DCPU_CAPABILITY=AVX2"],
        "dot_stub_isa_type",
    ),
    "defined in a kernel source": (
        CPP17,
        f"{KERNEL}ISA_REGISTER_DISPATCH(dot_stub, &dot)\nISA_DEFINE_DISPATCH(dot_stub)\n",
        ["-DCPU_CAPABILITY=AVX2"],
        "ISA_DEFINE_DISPATCH(dot_stub) belongs in one ordinary source, not in a kernel source, which is compiled once "
        "per level: move it to a source of the target",
    ),
    "registered in an ordinary source": (
        C11,
        f"{KERNEL}int use(void);\nint use(void) {{ return dot(0, 0); }}\nISA_REGISTER_DISPATCH(dot_stub, &dot)\n",
        [],
        "ISA_REGISTER_DISPATCH(dot_stub) belongs in a source that isagen compiles per level: name this file in "
        "isa_kernels of meson.build, and in no target",
    ),
    "registered as absent in an ordinary source": (
        CPP17,
        "ISA_REGISTER_NO_DISPATCH(dot_stub)\n",
        [],
        "ISA_REGISTER_NO_DISPATCH(dot_stub) belongs in a source that isagen compiles per level: name this file in "
        "isa_kernels of meson.build, and in no target",
    ),
    "C++98": (
        ("c++", "-std=c++98"),
        f"{KERNEL}ISA_REGISTER_DISPATCH(dot_stub, &dot)\n",
        ["-DCPU_CAPABILITY=AVX2", "-Wno-variadic-macros"],
        "isa_dispatch.h needs C++11 or later: set cpp_std=c++17 in default_options of project() in meson.build",
    ),
    "a stub that is not declared": (
        CPP17,
        f"{KERNEL}ISA_REGISTER_DISPATCH(dot_stab, &dot)\n",
        ["-DCPU_CAPABILITY=AVX2", "-Wno-unused-function"],
        "dot_stab_isa_type",
    ),
}
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion"]


def compiled(header, compiler, language, text, *options):
    """Compile a text, and return the exit status and what the compiler said."""
    need(compiler)
    command = [compiler, "-x", *language, *WARNINGS, *options, f"-I{header}", "-c", "-", "-o", "/dev/null"]
    done = subprocess.run(command, input=STUB + text, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


@pytest.mark.parametrize("compiler", ["gcc", "gcc-11", "clang-14", "clang-16"])
@pytest.mark.parametrize(("language", "text", "options", "expected"), ERRORS.values(), ids=ERRORS)
def test_compiling(header, compiler, language, text, options, expected):
    status, said = compiled(header, compiler, language, text, *options)
    assert status != 0
    assert expected in said
    errors = [line for line in said.splitlines() if "error:" in line]
    assert len(errors) == 1 or expected == "dot_stab_isa_type", said  # GCC says twice that it knows no such type
    assert "warning:" not in said


@pytest.mark.parametrize("compiler", ["gcc", "gcc-11", "clang-14", "clang-16"])
def test_nothing_is_said_of_what_is_right(header, compiler):
    for language in (C11, CPP17, ("c", "-std=c99"), ("c", "-std=gnu17"), ("c++", "-std=c++11")):
        for register in ("ISA_REGISTER_DISPATCH(dot_stub, &dot)", "ISA_REGISTER_DISPATCH(dot_stub, dot)"):
            text = f"{KERNEL}{register}\n"
            assert compiled(header, compiler, language, text, "-DCPU_CAPABILITY=AVX2", "-Werror") == (0, ""), language
        assert compiled(header, compiler, language, "ISA_DEFINE_DISPATCH(dot_stub)\n", "-Werror") == (0, ""), language


def test_a_guard_is_one_error_that_names_the_file(header):
    """Where the flag does not come from isa.toml, which configuring checks."""
    if "__x86_64__" not in subprocess.run(["gcc", "-dM", "-E", "-"], input="", capture_output=True, text=True).stdout:
        pytest.skip("these are flags of x86-64")
    text = '#include "isa_guard_DEFAULT.h"\n'
    need("gcc")
    status, said = compiled(header, "gcc", C11, text, "-mavx512f")
    assert status != 0
    assert [line.partition("#error ")[2].strip('"') for line in said.splitlines() if "error:" in line] == [
        "avx512_f is on, but not checked for DEFAULT: take its flag out of args in isa.toml, "
        "add_project_arguments(), isa_c_args, isa_cpp_args and isa_dependencies in meson.build; CFLAGS and "
        "CXXFLAGS may have it"
    ]


# ---- linking

DEFINE = "ISA_DEFINE_DISPATCH(dot_stub)"
TWO = f'#include "../kernels/dot.h"\n{DEFINE}\n'
# What is wrong, the edits (a file's old text None: a new file), options, the symbol that every linker prints, and what
# isagen says after the linker.
LINKING = {
    "not defined": (
        [("src/core.cpp", f"{DEFINE}\n", "")],
        [],
        "isa_needs_one_ISA_DEFINE_DISPATCH_for_dot_stub",
        "isagen: error: dot_stub: kernels/dot.cpp registers a kernel for it, but no source of this target defines it\n"
        "  write ISA_DEFINE_DISPATCH(dot_stub) in one ordinary source of the target\n",
    ),
    "defined twice": (
        [("src/two.cpp", None, TWO), ("meson.build", "'src/core.cpp'", "'src/core.cpp', 'src/two.cpp'")],
        [],
        "isa_needs_one_ISA_DEFINE_DISPATCH_for_dot_stub",
        r"isagen: error: dot_stub: is defined more than once: in \S+src_core\.cpp\.o and in \S+src_two\.cpp\.o\n"
        r"  keep one ISA_DEFINE_DISPATCH\(dot_stub\), in one ordinary source\n",
    ),
    "not registered": (
        [("kernels/dot.cpp", "ISA_REGISTER_DISPATCH(dot_stub, &dot)", "")],
        [],
        "isa_needs_isa_kernels_dep_and_ISA_REGISTER_DISPATCH_for_dot_stub",
        r"isagen: error: dot_stub: \S+src_core\.cpp\.o defines it, but no kernel source registers a function for it\n"
        r"  write ISA_REGISTER_DISPATCH\(dot_stub, &function\) in a source of isa_kernels, or remove the definition\n",
    ),
    "a function of two kernel sources": (
        [
            ("kernels/dot.cpp", "namespace {", "int both() { return 1; }\nnamespace {"),
            ("kernels/level.cpp", "namespace {", "int both() { return 2; }\nnamespace {"),
        ],
        [],
        "both()",
        "isagen: error: both(): kernels/dot.cpp and kernels/level.cpp define it\n"
        "  make it static, or put it into an anonymous namespace\n",
    ),
    "a function that is not static, unsealed": (
        [("kernels/dot.cpp", "namespace {", "int both() { return 1; }\nnamespace {")],
        ["-Disa_seal=false", "-Disa_audit=warn"],
        "both()",
        "isagen: error: both(): kernels/dot.cpp defines this function at each level: DEFAULT, AVX2\n"
        "  make it private to the kernel source, so that each level has its own: static in C and C++, ",
    ),
}


@pytest.mark.smoke
@pytest.mark.parametrize(("edits", "options", "symbol", "expected"), LINKING.values(), ids=LINKING)
def test_linking(prepared, edits, options, symbol, expected):
    project = prepared(None, "-Disa_levels=AVX2", *options)
    for file, old, new in edits:
        if old is None:
            (project.folder / file).write_text(new)
        else:
            project.edit(file, old, new)
    said = project.ninja(check=False)
    assert symbol in said
    assert expected in said or re.search(expected, said)
    assert said.count("isagen: error:") == 1


@pytest.mark.parametrize("linker", ["bfd", "gold", "lld", "mold"])
def test_every_linker_prints_what_a_stub_needs(header, tmp_path, linker):
    """Without the explanation, which comes with the audit."""
    need(f"ld.{linker}")
    caller = "int main(void) { return dot_stub(0, 0); }\n"
    texts = {
        "caller": caller,
        "definition": DEFINE,
        "again": DEFINE,
        "dispatch": (
            "ISA_HIDDEN void isa_needs_one_ISA_DEFINE_DISPATCH_for_dot_stub(const struct isa_kernel *kernel);\n"
            "void (*const isa_needs_isa_kernels_dep_and_ISA_REGISTER_DISPATCH_for_dot_stub)(const char *name) = 0;\n"
            "void (*const table[])(const struct isa_kernel *) = {isa_needs_one_ISA_DEFINE_DISPATCH_for_dot_stub};\n"
        ),
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.c").write_text(f"{STUB}{text}")
        subprocess.run(["gcc", f"-I{header}", "-c", f"{name}.c"], cwd=tmp_path, check=True)

    def linked(*names):
        command = ["gcc", f"-fuse-ld={linker}", *(f"{name}.o" for name in names), "-o", "program"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode != 0
        return [line for line in done.stderr.splitlines() if re.search(r"\berror|undefined|multiple|duplicate", line)]

    for names in (["dispatch", "caller"], ["dispatch", "caller", "definition", "again"]):
        said = [line for line in linked(*names) if "isa_needs_one_ISA_DEFINE_DISPATCH_for_dot_stub" in line]
        assert said, names
    said = [line for line in linked("caller", "definition") if "isa_needs_isa_kernels_dep" in line]
    assert len(said) in (1, 2)
    assert all("isa_needs_isa_kernels_dep_and_ISA_REGISTER_DISPATCH_for_dot_stub" in line for line in said)
