"""The audit of what a level's code keeps: no address of it in a variable that code outside the level knows."""

import pytest

from support.load_sources import COMPILERS, OPTIMISED, level_of

# What stores an address of the level's code in a variable of an ordinary source: (source, the ordinary one).
SHARED = {
    "an object that sets itself": (
        "static int work(int x) { return x * 3; }\n"
        "struct held { int n; int (*f)(int); void set() { f = work; } };\n"
        "extern held one;\nint use(int n) { one.set(); return one.f(n); }",
        "struct held { int n; int (*f)(int); };\nheld one;",
    ),
    "a hook": (
        "extern int (*hook)(int);\nstatic int work(int x) { return x * 3; }\n"
        "int use(int n) { int (*f)(int) = work; hook = f; return hook(n); }",
        "int (*hook)(int);",
    ),
}


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name", SHARED)
def test_addresses_that_code_keeps_in_variables_of_others(tmp_path, compiler, name):
    source, other = SHARED[name]
    (tmp_path / "other.cpp").write_text(other)
    for optimise in OPTIMISED:
        level = level_of(tmp_path, compiler, ".cpp", source, optimise, shared=("-shared", tmp_path / "other.cpp"))
        assert "address" in {finding.kind for finding in level.found("-fPIC")}, optimise


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_function_object_of_all_levels(tmp_path, compiler):
    source = (
        "#include <functional>\nstatic int work(int x) { return x * 3; }\n"
        "inline std::function<int(int)> hook = work;\nint use(int n) { return hook(n); }"
    )
    for optimise in OPTIMISED:
        level = level_of(tmp_path, compiler, ".cpp", source, optimise, "-std=c++17")
        for found in (level.found(), level.found_in_object()):
            assert "address" in {finding.kind for finding in found}, optimise


# Numbers that a level stores in a variable of others, in a function that also has addresses of the level's code.
NUMBERS = {
    "a counter beside a function object": (
        "#include <functional>\nextern int counter;\n"
        "template <class T> __attribute__((noinline)) T runs(const std::function<T(T)> &f, T x) { return f(x); }\n"
        "int use(int x) { x += runs<int>([&](int y) { return y + x; }, x); x += ++counter; return x; }",
        "int counter;\nint main() {}",
    ),
    "integers beside pointers to members": (
        "struct worker { int n; int one(int x) { return x + n; } int two(int x) { return x * n; } };\n"
        "extern int integers[16];\n"
        "int use(int x) {\n"
        "  int (worker::*const of[])(int) = {&worker::one, &worker::two};\n"
        "  worker w = {x};\n  x += (w.*of[x & 1])(x);\n"
        "  for (int i = 0; i < 16; i++) integers[i] += x * i;\n  return x;\n}",
        "int integers[16];\nint main() {}",
    ),
}


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_are_no_addresses_in_programs_at_fixed_addresses(tmp_path, compiler, name):
    source, other = NUMBERS[name]
    (tmp_path / "main.cpp").write_text(other)
    for optimise in OPTIMISED:
        shared = ("-no-pie", "-fno-pic", tmp_path / "main.cpp")
        level = level_of(tmp_path, compiler, ".cpp", source, optimise, "-fno-pic", shared=shared)
        assert level.found() == [], optimise
