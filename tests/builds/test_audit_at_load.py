"""The audit of what a level runs when it is loaded: nothing unknown, and no address of its code leaves it."""

import pytest

from support.level_code import LEVEL
from support.load_sources import (
    COMPILERS,
    HANDED_OUT,
    HANDED_OUT_OF_THE_FRAME,
    HEAD,
    OPTIMISED,
    SOUND,
    UNKNOWN,
    UNOPTIMISED,
    level_of,
)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name", HANDED_OUT)
def test_an_address_that_is_handed_out(tmp_path, compiler, name):
    kind, source, named = HANDED_OUT[name]
    for optimise in OPTIMISED:
        level = level_of(tmp_path, compiler, kind, source, optimise)
        constant = name == "a hook" and compiler != "g++" and optimise != "-O0"  # Clang makes it the initial value
        for found in () if constant else (level.found(), level.found_in_object()):
            addresses = [finding for finding in found if finding.kind == "address"]
            assert addresses, (optimise, found)
            assert any(named in finding.detail for finding in addresses), (optimise, addresses)
            assert {finding.level for finding in addresses} == {LEVEL}
            assert all(finding.path and finding.address for finding in addresses)
            assert all(finding.detail.startswith("runs when loaded; takes the address of ") for finding in addresses)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name", HANDED_OUT_OF_THE_FRAME)
def test_an_address_that_is_handed_out_of_the_stack_frame(tmp_path, compiler, name):
    kind, source = HANDED_OUT_OF_THE_FRAME[name]
    for flags in (["-O0"], ["-O0", "-fomit-frame-pointer"], ["-O1", "-fno-omit-frame-pointer"], ["-O2"]):
        level = level_of(tmp_path, compiler, kind, source, *flags)
        for found in (level.found(), level.found(stripped=True), level.found_in_object()):
            assert any(finding.kind == "address" for finding in found), (flags, found)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name", UNKNOWN)
def test_a_call_of_what_is_unknown(tmp_path, compiler, name):
    kind, source = UNKNOWN[name]
    for optimise in OPTIMISED:
        level = level_of(tmp_path, compiler, kind, source, optimise)
        for found in (level.found(), level.found(stripped=True), level.found_in_object()):
            (finding,) = found
            assert (finding.kind, finding.level) == ("unproven", LEVEL), optimise
            assert finding.detail == "runs when loaded; where it leads is unknown"
            assert finding.instruction.split()[0] in ("call", "jmp"), optimise
            assert finding.path
    if "got" in source:
        assert finding.variable.startswith(("got", "_ZL3got")) or finding.variable == "", finding


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name", SOUND)
def test_what_is_known_and_stays_in_the_level(tmp_path, compiler, name):
    kind, source = SOUND[name]
    for optimise in OPTIMISED:
        level = level_of(tmp_path, compiler, kind, source, optimise)
        assert (level.found(), level.found(stripped=True), level.found_in_object()) == ([], [], []), optimise


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name", UNOPTIMISED)
def test_unoptimised_code_keeps_its_values_in_the_stack_frame(tmp_path, compiler, name):
    level = level_of(tmp_path, compiler, ".cpp", UNOPTIMISED[name], "-O0", "-mno-avx2", "-mno-avx")
    assert (level.found(), level.found(stripped=True), level.found_in_object()) == ([], [], [])


OBJECT = """
extern int start();
struct shape {
  int value;
  shape(int v) : value(v) {}
  virtual int f() { return value; }
};
STORED shape one(start());
int use(shape *s) { return s->f(); }
int go() { return use(&one); }
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_an_object_of_the_kernel_s_own_keeps_its_virtual_functions(tmp_path, compiler):
    for optimise in OPTIMISED:
        level = level_of(tmp_path, compiler, ".cpp", OBJECT.replace("STORED", "static"), optimise)
        assert (level.found(), level.found(stripped=True), level.found_in_object()) == ([], [], [])
        # One object for all levels must not have the functions of one.
        level = level_of(tmp_path, compiler, ".cpp", OBJECT.replace("STORED", "inline"), optimise, "-std=c++17")
        for found in (level.found(), level.found_in_object()):
            assert {finding.kind for finding in found} == {"address"}


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("flags", [("-fno-plt",), ("-mindirect-branch=thunk",), ("-fcf-protection",)], ids=" ".join)
def test_calls_by_name_are_no_pointers(tmp_path, compiler, flags):
    if "thunk" in flags[0] and compiler != "g++":
        pytest.skip("GCC's spelling")
    kind, source = SOUND["iostream"]
    level = level_of(tmp_path, compiler, kind, source, "-O2", *flags)
    assert (level.found(), level.found("-Wl,-z,now"), level.found_in_object()) == ([], [], [])
    kind, source = UNKNOWN["a pointer"]
    level = level_of(tmp_path, compiler, kind, source, "-O2", *flags)
    assert [f.kind for f in (*level.found(), *level.found_in_object())] == ["unproven", "unproven"]


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name", ["a registrar", "a hook", "qsort"])
def test_programs_at_fixed_addresses(tmp_path, compiler, name):
    kind, source, named = HANDED_OUT[name]
    main = tmp_path / f"main{kind}"
    main.write_text(
        HEAD
        + {"a registrar": "fn kept;\nvoid add(const char *, fn f) { kept = f; }", "a hook": "fn hook;"}.get(name, "")
        + "\nint main(void) { return 0; }\n"
    )
    for optimise in ("-O0", "-O2"):
        shared = ("-no-pie", "-fno-pic", main)
        level = level_of(tmp_path, compiler, kind, source, optimise, "-fno-pic", shared=shared)
        assert any(f.kind == "address" and named in f.detail for f in level.found()), optimise


@pytest.mark.parametrize("how", ["", "-static"])
def test_what_the_toolchain_runs_in_a_program_is_known(tmp_path, how):
    main = tmp_path / "main.c"
    main.write_text("int main(void) { return 0; }\n")
    level = level_of(tmp_path, "g++", ".c", SOUND["direct calls"][1], "-O2", shared=(main, how) if how else (main,))
    assert level.found() == []
