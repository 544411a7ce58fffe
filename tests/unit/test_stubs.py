"""Registrations and the source of stubs that is made of them."""

import pytest

from isagen.binary.formats import load_object
from isagen.build.stubs import stub_table, stubs_of, stubs_source
from isagen.model.errors import BuildError
from isagen.model.names import STUBS_MARK
from isagen.model.objects import CompiledObjects
from support.model import kernel_row, plan_of, registered_at
from support.registrations import LEVELS

# ---- from objects


def test_an_object_s_name_tells_the_source():
    rows = [
        kernel_row("x/k.cpp", {"DEFAULT": "k.cpp.DEFAULT.cpp"}),
        kernel_row("a/k.cpp", {"AVX2": "a_k.cpp.AVX2.cpp"}),
    ]
    known = CompiledObjects(plan_of(["DEFAULT", "AVX2"], rows))
    assert known.kernel_of("lib.p/meson-generated_.._k.cpp.DEFAULT.cpp.obj") == ("DEFAULT", "x/k.cpp")
    assert known.kernel_of("lib.p/meson-generated_.._a_k.cpp.AVX2.cpp.o") == ("AVX2", "a/k.cpp")
    assert known.kernel_of("lib.p/meson-generated_.._b_k.cpp.DEFAULT.cpp.o") == ("", "")


def test_shared_data_of_different_values():
    levels = [
        registered_at(
            "DEFAULT", {"same": "4 (4 bytes)", "_ZN1a5lanesE": "16 (4 bytes)", "only": "1 (1 bytes)"}, a="dot"
        ),
        registered_at("AVX2", {"same": "4 (4 bytes)", "_ZN1a5lanesE": "32 (4 bytes)"}, a="dot"),
    ]
    said = r"^a::lanes: all levels share this .* is 16 \(4 bytes\) at DEFAULT and 32 \(4 bytes\) at AVX2: .*\n"
    with pytest.raises(BuildError, match=said):
        stubs_of(levels, "DEFAULT")


def test_not_an_object(tmp_path):
    (tmp_path / "meson-generated_.._a.cpp.DEFAULT.cpp.o").write_text("!<arch> or bitcode")
    with pytest.raises(BuildError, match=r"DEFAULT\.cpp\.o: is not an object file.*\n.*compiled to machine code"):
        load_object(tmp_path / "meson-generated_.._a.cpp.DEFAULT.cpp.o")


# ---- across levels


def test_stubs_are_sorted_and_join_levels_and_kernels():
    levels = [
        registered_at("DEFAULT", a="z a", b=""),
        registered_at("AVX2", a="z -a", b=""),
        registered_at("AVX512_BF16", b="z"),
    ]
    with pytest.raises(BuildError, match="b registers it at AVX512_BF16, but not at DEFAULT"):
        stubs_of(levels, "DEFAULT")
    levels = [registered_at("DEFAULT", a="z a"), registered_at("AVX2", a="z -a"), registered_at("AVX512_BF16", b="z")]
    assert list(stubs_of(levels, "DEFAULT").items()) == [
        ("a", ["DEFAULT"]),
        ("z", ["DEFAULT", "AVX2", "AVX512_BF16"]),
    ]


def test_kernels_that_register_nothing():
    with pytest.raises(BuildError, match="no kernel registers itself"):
        stubs_of([registered_at("DEFAULT", a="", b="")], "DEFAULT")


def test_a_stub_without_a_kernel_at_the_lowest_level():
    levels = [registered_at("DEFAULT", a="-dot"), registered_at("AVX2", a="dot"), registered_at("AVX512_BF16", a="dot")]
    with pytest.raises(BuildError, match=r"^dot: a registers it at AVX2, AVX512_BF16, but no kernel does at DEFAULT\n"):
        stubs_of(levels, "DEFAULT")


def test_a_stub_that_its_kernel_forgets_at_a_level():
    levels = [registered_at("DEFAULT", a="dot"), registered_at("AVX2", a="")]
    with pytest.raises(BuildError, match=r"^dot: a registers it at DEFAULT, but not at AVX2, .*\n.*NO_DISPATCH\(dot\)"):
        stubs_of(levels, "DEFAULT")


# ---- the source of stubs


def test_table_has_a_cell_for_every_level():
    text = stub_table({"dot": ["AVX512_BF16", "DEFAULT"]}, LEVELS, {})
    kernels = "{&isa_kernel_DEFAULT__dot, 0, &isa_kernel_AVX512_BF16__dot}"
    assert f'{{"dot", isa_needs_one_ISA_DEFINE_DISPATCH_for_dot, {kernels}}},' in text
    assert "isa_kernel_AVX2__dot" not in text


def test_the_source_is_made_of_registrations():
    found = [registered_at("DEFAULT", a="dot"), registered_at("AVX2", a="dot")]
    text = stubs_source(f"before\n{STUBS_MARK}\nafter\n", "project", LEVELS, found, "")
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "const unsigned isa_stub_total = 1;" in text
    assert STUBS_MARK not in text
