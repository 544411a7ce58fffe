"""The names of copies, and the languages of kernels by the ends of their names."""

import pytest

from isagen.build.emit import around_source
from isagen.model.languages import language_of
from isagen.planning.kernels import copy_names
from support.model import kernel_row


@pytest.mark.parametrize(
    ("kernels", "names"),
    [
        (["a.c"], ["a.c"]),
        (["x/y/a.c", "z/b.c"], ["a.c", "b.c"]),
        (["a.c", "a.cpp"], ["a.c", "a.cpp"]),
        (["x/a.c", "y/a.c", "b.c"], ["x_a.c", "y_a.c", "b.c"]),
        (["p/x/a.c", "q/x/a.c"], ["p_x_a.c", "q_x_a.c"]),
        (["a.c", "x/a.c"], ["0_a.c", "x_a.c"]),
    ],
)
def test_copy_names(kernels, names):
    assert list(copy_names(kernels).items()) == list(zip(kernels, names, strict=True))


@pytest.mark.parametrize(
    "kernels",
    [
        ["a.C", "a.c"],
        ["x/A.c", "X/a.c"],
        ["a_b.c", "a/b.c"],
        ["a_b.c", "a/b.c", "c/b.c"],
        ["x/a_b.c", "x/a/b.c", "x_a_b.c", "y/b.c"],
        ["a.c", "x/a.c", "0_a.c"],
        ["0_a.c", "a.c", "x/a.c", "1_a.c"],
        ["../x/a.c", "x/a.c", "../../x/a.c"],
        [f"{'d/' * n}a.c" for n in range(20)],
        ["groß/a.c", "gross/a.c", "GROSS/a.c"],
    ],
)
def test_copy_names_differ_on_every_file_system(kernels):
    names = copy_names(kernels)
    assert list(names) == kernels
    assert len({name.casefold() for name in names.values()}) == len(kernels)
    assert not any("/" in name for name in names.values())
    assert all(names[k].rpartition(".")[2] == k.rpartition(".")[2] for k in kernels)


@pytest.mark.parametrize(
    ("source", "language"),
    [
        ("a.c", "c"),
        ("A.C", "cpp"),
        ("a.cc", "cpp"),
        ("a.cpp", "cpp"),
        ("a.cxx", "cpp"),
        ("a.c++", "cpp"),
        ("a.h.c", "c"),
        ("a.S", "c"),
        ("a.f", "fortran"),
        ("a.f90", "fortran"),
        ("a.F90", "fortran"),
        ("a.fpp", "fortran"),
    ],
)
def test_language_of(source, language):
    assert language_of(source) == language


@pytest.mark.parametrize(
    ("source", "preprocessed"), [("a.f90", False), ("a.F90", True), ("a.f", False), ("a.fpp", True)]
)
def test_what_fortran_compilers_preprocess(source, preprocessed):
    head, _ = around_source(source, kernel_row(source, {}), "AVX2")
    assert head.endswith(f'\n{"#line" if preprocessed else "#"} 1 "{source}"\n')
