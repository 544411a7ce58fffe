"""The rule for what a level runs at load or exit: no address of its code reaches code that may store it."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from isagen.audit.binaries import subject_of
from isagen.audit.findings import Finding
from isagen.audit.initialisers import Initialisers, LevelObject
from isagen.binary.formats import load_object, open_binary
from support.level_code import LEVEL, RECORD
from support.load_sources import (
    COMPILERS,
    CONSTRUCTOR,
    HANDED_OUT,
    HANDED_OUT_OF_THE_FRAME,
    OBJECTS,
    OPTIMISED,
    POINTERS,
    SOUND,
    WORK,
    level_of,
)
from support.pairs import paired

# What sealing refuses although the addresses stay: it does not follow values.
NOT_FOLLOWED = {
    "an object that an ordinary function gives a number": (
        ".cpp",
        "extern int start();\nstruct base { virtual int f() { return 1; } int n; };\n"
        "struct derived : base { derived(int v) { n = v; } int f() override { return n; } };\n"
        "static derived one(start());\nbase *go() { return &one; }",
    ),
    "an address beside an ordinary variable": (
        ".c",
        f"{WORK}extern volatile int n;\nint got;\n{CONSTRUCTOR} {{ fn f = n ? work : 0; got = f(n); }}",
    ),
}
LAST = "__attribute__((destructor)) static void last(void)"
BASELINE_ALONE = ("-mno-avx2", "-mno-avx")


@pytest.mark.parametrize(
    ("compiler", "name"), paired(COMPILERS, [*HANDED_OUT, *HANDED_OUT_OF_THE_FRAME, *NOT_FOLLOWED])
)
def test_an_address_that_is_handed_out(tmp_path, compiler, name):
    kind, source, *_ = HANDED_OUT.get(name) or HANDED_OUT_OF_THE_FRAME.get(name) or NOT_FOLLOWED[name]
    for optimise in OPTIMISED:
        constant = name == "a hook" and compiler != "g++" and optimise != "-O0"  # Clang makes it the initial value
        (finding,) = level_of(tmp_path, compiler, kind, source, optimise).handed_out() or (
            [] if not constant else [None]
        )
        if finding is not None:
            assert (finding.kind, finding.level) == ("address", LEVEL), optimise
            assert finding.detail.startswith("runs when loaded; takes the address of "), optimise
            assert finding.path


@pytest.mark.parametrize(("compiler", "name"), paired(COMPILERS, [*SOUND, *POINTERS]))
def test_what_hands_out_none(tmp_path, compiler, name):
    kind, source = SOUND.get(name) or POINTERS[name]
    for optimise in OPTIMISED:
        level = level_of(tmp_path, compiler, kind, source, optimise, *BASELINE_ALONE)
        assert (level.handed_out(), level.found(), level.found(stripped=True)) == ([], [], []), optimise


@pytest.mark.parametrize(("compiler", "name"), paired(COMPILERS, OBJECTS))
def test_static_objects_of_ordinary_kernels(tmp_path, compiler, name):
    for optimise in OPTIMISED:
        level = level_of(tmp_path, compiler, ".cpp", OBJECTS[name], optimise, *BASELINE_ALONE)
        assert (level.handed_out(), level.found()) == ([], []), optimise


FUNCTIONS = """
#include <functional>
float data[64];
static int work(int x) { for (int i = 0; i < 64; i++) data[i] *= 2; return x * 3; }
static std::function<int(int)> hook = work;
int use() { return hook(3); }
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_code_that_a_call_through_a_pointer_may_run(tmp_path, compiler):
    """The destructor at exit calls through a pointer: all code whose address is taken may run then."""
    level = level_of(tmp_path, compiler, ".cpp", FUNCTIONS, "-O3")
    assert {finding.kind for finding in level.handed_out()} == {"load"}
    assert any("where a pointer to it is called" in finding.detail for finding in level.handed_out())
    assert level_of(tmp_path, compiler, ".cpp", FUNCTIONS, "-O3", *BASELINE_ALONE).handed_out() == []


RUN = """
#include <stdlib.h>
#include <pthread.h>
float data[64];
static void change(void) { for (int i = 0; i < 64; i++) data[i] *= 2; }
static int compare(const void *a, const void *b) { change(); return *(const int *)a - *(const int *)b; }
static void *thread(void *p) { change(); return p; }
static int numbers[9] = {3, 1, 2};
pthread_t one;
__attribute__((constructor)) static void first(void) { CALL; }
"""


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(
    "call",
    [
        "qsort(numbers, 9, sizeof(int), compare)",
        "bsearch(numbers, numbers, 9, sizeof(int), compare)",
        "pthread_create(&one, 0, thread, 0)",
        "atexit(change)",
    ],
)
def test_functions_that_run_what_they_are_given(tmp_path, compiler, call):
    for optimise in ("-O0", "-O3"):
        flags = [optimise, *(["-ftree-vectorize", "-DKEEP"] if optimise == "-O0" else [])]
        source = RUN.replace("CALL", call).replace("data[i] *= 2", 'data[i] *= 2; asm volatile("vzeroupper")')
        level = level_of(tmp_path, compiler, ".c", source, *flags)
        assert level.handed_out() == [], optimise
        assert "load" in {finding.kind for finding in level.found()}, optimise


def findings_of(folder: Path, compiler: str, texts: Sequence[str], *flags: str) -> list[Finding]:
    """The findings of a level with an object for each text in C."""
    objects = []
    for number, text in enumerate(texts):
        path = folder / str(number)
        path.mkdir(parents=True)
        objects.append(level_of(path, compiler, ".c", text, "-O1", *flags).object)
    files = [load_object(path) for path in objects]
    with ExitStack() as stack:
        binaries = [stack.enter_context(open_binary(path)) for path in objects]
        subjects = [subject_of(binary, RECORD) for binary in binaries]
        members = [LevelObject(str(n), lambda subject=subject: subject) for n, subject in enumerate(subjects)]
        defined = {symbol.name: n for n, file in enumerate(files) for symbol in file.symbols if symbol.defined}
        called = [number for number, text in enumerate(texts) if "__attribute__((constructor))" in text or LAST in text]
        return Initialisers(LEVEL, members, defined, frozenset()).findings(called)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_an_address_passes_from_one_object_to_another(tmp_path, compiler):
    """An initialiser that stores an address in a variable of its level, and one of another object that hands it on."""
    stores = f"{WORK}extern fn passed;\n{CONSTRUCTOR} {{ passed = work; }}"
    hands_on = f"typedef int (*fn)(int);\nfn passed;\nextern void add(fn);\n{CONSTRUCTOR} {{ add(passed); }}"
    (finding,) = findings_of(tmp_path / "both", compiler, [stores, hands_on])
    assert finding.kind == "address"
    alone = [stores, "typedef int (*fn)(int);\nfn passed;"]
    assert findings_of(tmp_path / "alone", compiler, alone) == []


@pytest.mark.parametrize("compiler", COMPILERS)
def test_code_of_another_object_runs_when_its_caller_does(tmp_path, compiler):
    """At exit, or where a pointer to the caller is called: no audit of the link finds what runs then."""
    last = f"extern void other(void);\n{LAST} {{ other(); }}"
    keeps = f"{WORK}extern fn hook;\nvoid other(void) {{ hook = work; }}"
    (finding,) = findings_of(tmp_path / "exit", compiler, [last, keeps])
    assert finding.detail.startswith("runs at exit; takes the address of work")
    pointer = (
        "extern void other(void);\nstatic void caller(void) { other(); other(); }\n"
        f"typedef void (*fn)(void);\n{CONSTRUCTOR} {{ volatile fn pointer = caller; pointer(); }}"
    )
    wide = 'void other(void) { asm volatile("vzeroupper"); }'
    (finding,) = findings_of(tmp_path / "pointer", compiler, [pointer, wide])
    assert (finding.kind, finding.symbol) == ("load", "other")
    assert finding.detail.startswith("runs where a pointer to it is called at load or exit")
