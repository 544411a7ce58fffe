"""Kernel sources that are compiled themselves: of thousands of copies, those that would only include them."""

import posixpath

import pytest

from isagen.model.names import guard_name
from isagen.model.objects import CompiledObjects, object_name
from isagen.model.plan import MANY
from isagen.planning.config import KernelConfig
from isagen.planning.plan import Style
from support.plans import plan_of

COUNT = MANY // 4 + 1  # of kernels, at the four levels of the table


def plain(count):
    return [f"k/plain{number}.c" for number in range(count)]


def test_of_few_copies_all_are_written(table):
    plan = plan_of(table, *plain(COUNT - 1), direct_in="isagen")
    assert not any(kernel.object for kernel in plan.kernels)
    assert sum(map(len, plan.emitted().values())) == MANY


def test_of_many_copies_those_of_sources_that_meson_can_compile_are_not(table):
    own = {
        "k/own.c": KernelConfig(None, ("-O3",)),
        "k/registered.c": KernelConfig(register={"stub": "f"}, header="stubs.h"),
        "k/shim.S": KernelConfig(register={"stub": "f"}, header="stubs.h"),
    }
    clashing = ["k/a/b.c", "k/a_b.c"]
    special = ["k/own.cpp", "k/s.S", "k/f.f90", 'k/quo"te.c', "k/made.c", "../out.c"]
    kernels = [*own, *special, *clashing, *plain(COUNT)]
    style = Style(copy_flags={"c": ("-of-copies",)}, headers="isagen/isa_include")
    made = {"k/made.c": "k/made.c"}
    plan = plan_of(table, *kernels, own=own, generated=made, style=style, direct_in="isagen")
    direct = {kernel.source: kernel.object for kernel in plan.kernels if kernel.object}
    assert direct == {
        "k/own.c": ".._k_own.c.o",
        "k/own.cpp": ".._k_own.cpp.o",
        "k/s.S": ".._k_s.S.o",
        **{source: f".._{source.replace('/', '_')}.o" for source in plain(COUNT)},
    }
    written = {copy for copies in plan.emitted().values() for copy in copies}
    assert written == {cell.copy for kernel, cell in plan.copies() if not kernel.object}
    known = CompiledObjects(plan)
    for unit in plan.units:
        assert ("-of-copies" in unit.args["c"]) is any(copy in written for copy in unit.copies)
        has_direct = any(copy not in written for copy in unit.copies)
        assert (("-include", f"isagen/isa_include/{guard_name(unit.level)}") == unit.args["c"][:2]) is has_direct
        assert "-include" not in unit.args.get("fortran", ())
        if has_direct and unit.name == f"isa_{unit.level}":
            assert known.kernel_of(f"lib{unit.name}.a.p/.._k_plain0.c.o") == (unit.level, "k/plain0.c")
            left = f"libisa_{unit.level}.a.p/meson-generated_.._plain0.c.{unit.level}.c.o"  # of a smaller set
            assert known.kernel_of(left) == ("", "")
    assert known.kernel_of("libother.a.p/.._k_plain0.c.o") == ("", "")


def test_a_copy_is_found_by_an_object_whose_name_has_no_colon(table):
    """Of two copies, Meson calls the objects the same, in the folders of two libraries."""
    own = {"k/a:b.c": KernelConfig(None, ("-O3",))}
    plan = plan_of(table, "k/a:b.c", "k/a_b.c", own=own)
    sources = {cell.copy: (cell.level, kernel.source) for kernel, cell in plan.copies()}
    for unit in plan.units:
        (copy,) = unit.copies
        path = f"isagen/lib{unit.name}.a.p/meson-generated_.._a_b.c.{unit.level}.c.o"
        assert CompiledObjects(plan).copy_of(path) == copy
        assert CompiledObjects(plan).kernel_of(path) == sources[copy]


def test_where_sources_cannot_be_compiled_themselves_all_copies_are_written(table):
    plan = plan_of(table, *plain(COUNT), direct_in=None)
    assert sum(map(len, plan.emitted().values())) == 4 * COUNT


@pytest.mark.parametrize(
    ("source", "folder", "name"),
    [
        ("k.c", "isagen", ".._k.c.o"),
        ("isagen/k.c", "isagen", "k.c.o"),
        ("a/b/k.c", "a/isa/gen", ".._.._b_k.c.o"),
        ("a/b/c/d/e/k.c", "isagen", ".._a_b_c_d_e_k.c.o"),
        (f"{'x' * 41}/b/c/d/e/k.c", "isagen", ""),
        (f"{'x' * 37}/b/c/d/e/k.c", "isagen", f".._{'x' * 37}_b_c_d_e_k.c.o"),
        (f"a/{'x' * 80}/c/d/k.c", "isagen", f".._a_{'x' * 80}_c_d_k.c.o"),
        ("a:b.c", "isagen", ".._a_b.c.o"),
        ("../k.c", "isagen", ""),
        ("k.c", "/else/where", ""),
    ],
)
def test_names_of_objects(source, folder, name):
    assert object_name(source, folder) == name
    path = posixpath.relpath(f"/{source}", f"/{folder}")
    backend = pytest.importorskip("mesonbuild.backend.backends").Backend
    assert name in ("", f"{backend.canonicalize_filename(path)}.o")
