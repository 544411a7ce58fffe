"""The audit of what a level runs when it is loaded: nothing unknown, and no address of its code leaves it."""

import pytest

from support.foreign import AVX2, DOUBLE, audit, run
from support.foreign import HEAD as FOREIGN_HEAD
from support.level_code import C_OF, LEVEL, Level

COMPILERS = ["g++", "clang++-16"]
OPTIMISED = ["-O0", "-O1", "-O2", "-O3"]
HEAD = "typedef int (*fn)(int);\n"
WORK = HEAD + "__attribute__((noinline)) static int work(int x) { return x * 3; }\n"
CONSTRUCTOR = "__attribute__((constructor)) static void first(void)"
# What hands out an address of the level's code: (language, source, what the finding's detail names).
HANDED_OUT = {
    "a registrar": (
        ".cpp",
        WORK + "extern void add(const char *, fn);\n"
        "struct registrar { registrar(const char *name, fn f) { add(name, f); } };\n"
        'static registrar one("work", &work);',
        "work",
    ),
    "a function that a constructor adds": (".c", f"{WORK}extern void add(fn);\n{CONSTRUCTOR} {{ add(work); }}", "work"),
    "a hook": (".c", f"{WORK}extern fn hook;\n{CONSTRUCTOR} {{ hook = work; }}", "work"),
    "two hooks at once": (
        ".c",
        f"{WORK}static int more(int x) {{ return x * 5; }}\nextern struct {{ fn a, b; }} hooks;\n"
        f"{CONSTRUCTOR} {{ hooks.a = work; hooks.b = more; }}",
        "work",
    ),
    "a table": (
        ".c",
        f"{WORK}static const fn table[] = {{work, work}};\nextern void add(const void *);\n"
        f"{CONSTRUCTOR} {{ add(table); }}",
        "table",
    ),
    "an entry of a list": (
        ".c",
        f"{WORK}struct entry {{ struct entry *next; fn f; }};\nextern struct entry *head;\n"
        f"static struct entry own = {{0, work}};\n{CONSTRUCTOR} {{ own.next = head; head = &own; }}",
        "own",
    ),
    "an entry that is handed over": (
        ".c",
        f"{WORK}struct entry {{ int number; fn f; }};\nextern void add(struct entry *);\n"
        f"static struct entry own = {{1, work}};\n{CONSTRUCTOR} {{ add(&own); }}",
        "own",
    ),
    "qsort": (
        ".c",
        "#include <stdlib.h>\nstatic int data[9] = {3, 1, 2};\n"
        "static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }\n"
        f"{CONSTRUCTOR} {{ qsort(data, 9, sizeof(int), compare); }}",
        "compare",
    ),
    "what a function returns": (
        ".c",
        f"{WORK}__attribute__((noinline)) static fn get(void) {{ return work; }}\nextern void add(fn);\n"
        f"{CONSTRUCTOR} {{ add(get()); }}",
        "work",
    ),
    "an object with virtual functions": (
        ".cpp",
        "struct base { virtual int f() = 0; };\nextern void add(base *);\nextern int start();\n"
        "struct derived : base { int value; derived(int v) : value(v) { add(this); } int f() override; };\n"
        "int derived::f() { return value; }\nstatic derived one(start());",
        "",
    ),
}
# What stores an address of the level's code in its stack frame, and hands that out.
HANDED_OUT_OF_THE_FRAME = {
    "a struct on the stack": (
        ".c",
        f"{WORK}struct entry {{ int number; fn f; }};\nextern void add(struct entry *);\n"
        f"{CONSTRUCTOR} {{ struct entry own = {{1, work}}; add(&own); }}",
    ),
    "a table that is copied to the stack": (
        ".c",
        f"{WORK}extern void add(fn *);\n{CONSTRUCTOR} {{ fn table[] = {{work, work, work, work, work}}; add(table); }}",
    ),
    "an entry of a table on the stack": (
        ".c",
        f"{WORK}extern void add(fn);\nextern volatile int n;\n"
        f"{CONSTRUCTOR} {{ fn table[] = {{work, work, work}}; add(table[n]); }}",
    ),
    "an address in the frame that is kept in it": (
        ".c",
        f"{WORK}extern void add(fn *);\n{CONSTRUCTOR} {{ fn f = work; fn *p = &f; fn **q = &p; add(*q); }}",
    ),
    "an address in the frame that is stored": (
        ".c",
        f"{WORK}extern fn *volatile hook;\nextern void use(void);\n"
        f"{CONSTRUCTOR} {{ fn f; hook = &f; f = work; use(); }}",
    ),
    "an address in the frame that the level's own code hands on": (
        ".c",
        f"{WORK}extern void add(fn *);\n__attribute__((noinline)) static void on(int n, fn *p) {{ add(p); }}\n"
        f"{CONSTRUCTOR} {{ fn f = work; on(3, &f); }}",
    ),
    "a struct that is passed on the stack": (
        ".c",
        f"{WORK}struct entry {{ fn f; long more[7]; }};\nextern void add(struct entry);\n"
        f"{CONSTRUCTOR} {{ struct entry own = {{work}}; add(own); }}",
    ),
    "the seventh argument": (
        ".c",
        f"{WORK}extern void add(int, int, int, int, int, int, fn);\n"
        f"{CONSTRUCTOR} {{ fn f = work; add(1, 2, 3, 4, 5, 6, f); }}",
    ),
    "a copy in the frame": (
        ".c",
        f"{WORK}extern void add(fn);\n{CONSTRUCTOR} {{ fn f = work, g; g = f; add(g); }}",
    ),
    "a variable that an exception comes to": (
        ".cpp",
        f"{WORK}extern void add(fn);\nextern void risk();\n"
        f"{CONSTRUCTOR} {{ fn f = work; try {{ risk(); }} catch (...) {{ add(f); }} }}",
    ),
    "a variable that a switch comes to": (
        ".c",
        f"{WORK}extern void add(fn);\nextern volatile int n;\n{CONSTRUCTOR} {{ fn f = work;\n  switch (n) {{\n"
        "  case 0: add(0); break;\n  case 1: add(f); break;\n  case 2: n = 4; break;\n  case 3: n = 9; break;\n"
        "  case 4: n = 7; break;\n  case 5: n = 2; } }",
    ),
    "what a function returns, of another": (
        ".c",
        f"{WORK}extern void add(fn);\n__attribute__((noinline)) static fn get(void) {{ fn f = work; return f; }}\n"
        "__attribute__((noinline)) static fn more(void) { fn f = get(); return f; }\n"
        f"{CONSTRUCTOR} {{ fn f = more(); add(f); }}",
    ),
    "an object that a function fills and returns": (
        ".cpp",
        "struct base { virtual int f() = 0; };\nextern void add(base *);\nextern int start();\n"
        "struct derived : base { int value; derived(int v) : value(v) {} int f() override; };\n"
        "int derived::f() { return value; }\nstatic derived one(start());\n"
        "__attribute__((noinline)) static base *get(int n) { one = derived(n); return &one; }\n"
        f"{CONSTRUCTOR} {{ add(get(3)); }}",
    ),
}
UNKNOWN = {
    "a pointer": (".c", f"{HEAD}extern fn f;\nint got;\n{CONSTRUCTOR} {{ got = f(3); }}"),
    "a jump": (".c", f"typedef void (*fn)(void);\nextern fn f;\n{CONSTRUCTOR} {{ f(); }}"),
    "a table": (
        ".c",
        f"{HEAD}extern fn t[];\nextern int n;\nint got;\n"
        f"{CONSTRUCTOR} {{ for (int i = 0; i < n; i++) got += t[i](3); }}",
    ),
    "a virtual function": (
        ".cpp",
        "struct base { virtual int f() = 0; };\nextern base *one;\nint got = one->f();",
    ),
    "a function that it is called with": (
        ".c",
        f"{HEAD}extern fn f;\nint got;\n__attribute__((noinline)) static int run(fn f) {{ return f(2) + 1; }}\n"
        f"{CONSTRUCTOR} {{ got = run(f); }}",
    ),
    "a function in a variable that another function may set": (
        ".c",
        f"{HEAD}int got;\nextern void set(fn *);\n{CONSTRUCTOR} {{ fn f = 0; set(&f); got = f(3); }}",
    ),
    "a function in a variable that the level's own function sets": (
        ".c",
        f"{HEAD}int got;\nextern fn other;\n__attribute__((noinline)) static void set(fn *f) {{ *f = other; }}\n"
        f"{CONSTRUCTOR} {{ fn f = 0; set(&f); got = f(3); }}",
    ),
    "a function in a variable that the level's own function sets through another": (
        ".c",
        f"{HEAD}int got;\nextern fn other;\n__attribute__((noinline)) static void set(fn **p) {{ **p = other; }}\n"
        f"{CONSTRUCTOR} {{ fn f = 0; fn *p = &f; set(&p); got = f(3); }}",
    ),
    "a function in a variable that is set elsewhere": (
        ".c",
        f"{HEAD}int got;\nextern fn *where, other;\nextern void use(fn **);\n"
        f"{CONSTRUCTOR} {{ fn f = 0; fn *p = &f; use(&p); *where = other; got = f(3); }}",
    ),
}
SOUND = {
    "iostream": (".cpp", "#include <iostream>\nint say() { std::cout << 1; return 0; }"),
    "atexit": (
        ".c",
        f"#include <stdlib.h>\nint n;\nstatic void last(void) {{ n = 1; }}\n{CONSTRUCTOR} {{ atexit(last); }}",
    ),
    "destructors": (".cpp", "int n;\nstruct held { ~held() { n++; } };\nstatic held a, b, c;\nstatic held more[3];"),
    "a switch": (
        ".c",
        f"extern void a(void);\nextern void b(void);\nextern volatile int n;\n{CONSTRUCTOR}\n{{\n  switch (n) {{\n"
        "  case 0: a(); break;\n  case 1: b(); a(); break;\n  case 2: b(); break;\n  case 3: a(); a(); a(); break;\n"
        "  case 4: b(); b(); b(); break;\n  case 5: a(); b(); a(); break;\n  case 6: a(); a(); b(); b();\n  }\n}",
    ),
    "direct calls": (
        ".c",
        "int n;\n__attribute__((noinline)) static void go(int a) { n += a; }\n" + CONSTRUCTOR + " { go(1); go(2); }",
    ),
    "random numbers": (".cpp", "#include <random>\nstatic std::mt19937 made(42);\nint use() { return made(); }"),
    "a function that is called through a variable of known value": (
        ".c",
        f"{HEAD}int got;\n__attribute__((noinline)) static int work(int x) {{ return x * 3; }}\n"
        f"__attribute__((noinline)) static int run(fn f) {{ return f(got) + 1; }}\n"
        f"{CONSTRUCTOR} {{ got = run(work); }}",
    ),
    "a function that is called through variables of the frame": (
        ".c",
        f"{HEAD}int got;\n__attribute__((noinline)) static int work(int x) {{ return x * 3; }}\n"
        f"extern volatile int n;\n{CONSTRUCTOR} {{ fn f = work, g = f; got = f(n) + g(n); }}",
    ),
    "an object with virtual functions": (
        ".cpp",
        "extern int start();\nstruct base { virtual int g() { return 1; } };\n"
        "struct derived : base { int value; derived(int v) : value(v) {} virtual int f() { return value; } };\n"
        "static derived one(start());\nint use(derived *d) { return d->f(); }\nint go() { return use(&one); }",
    ),
}


def level_of(tmp_path, compiler, kind, source, *flags, **more):
    """The level that a source in C or C++ makes."""
    return Level(tmp_path, source, compiler if kind == ".cpp" else C_OF[compiler], *flags, kind=kind, **more)


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


UNOPTIMISED = {
    "a string's number": '#include <string>\nstatic int n = std::stoi("33");\nint use() { return n; }',
    "a sorted table": "#include <algorithm>\nstatic int t[20];\n"
    "static int x = (std::sort(t, t + 20, [](int a, int b) { return a > b; }), t[2]);\nint use() { return x + t[1]; }",
    "a stream": "#include <sstream>\nstatic std::ostringstream s;\nint use() { s << 3; return s.str().size(); }",
    "a map": '#include <map>\n#include <string>\nstatic std::map<std::string, int> m = {{"a", 1}};\n'
    'int use() { return m["a"]; }',
    "an object of a class with two bases": "extern int start();\n"
    "struct a { virtual int f() { return 1; } int n = 2; };\n"
    "struct b { virtual int g() { return 2; } int n = 3; };\n"
    "struct c : a, b { c(int v) { n = v; } int n; int g() override { return n; } virtual ~c() {} };\n"
    "static c one(start());\nint use(b *p) { return p->g(); }\nint go() { return use(&one); }",
}


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name", UNOPTIMISED)
def test_unoptimised_code_keeps_its_values_in_the_stack_frame(tmp_path, compiler, name):
    level = level_of(tmp_path, compiler, ".cpp", UNOPTIMISED[name], "-O0", "-mno-avx2", "-mno-avx")
    assert (level.found(), level.found(stripped=True), level.found_in_object()) == ([], [], [])


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


# Files without a record.


@pytest.mark.parametrize("stripped", [False, True])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_calls_through_pointers_in_files_of_others(link, compiler, stripped):
    for name, (kind, source) in UNKNOWN.items():
        library = link(source, compiler=compiler, kind=kind)
        if stripped:
            run("strip", library)
        (finding,) = audit(library).findings
        assert (finding.kind, finding.level) == ("unproven", ""), name
        assert finding.detail == "runs when loaded; where it leads is unknown"
        assert finding.instruction.split()[0] in ("call", "jmp")


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name", [*SOUND, "a registrar", "qsort"])
def test_known_calls_in_files_of_others(link, compiler, name):
    kind, source = SOUND.get(name) or HANDED_OUT[name][:2]
    for flags in ([], ["-O0"], ["-fno-plt"], ["-Wl,-z,retpolineplt", "-fuse-ld=lld"]):
        # Without a record, values are not followed into calls, nor through the stack frame.
        if "is called through" not in name or flags != ["-O0"]:
            library = link(source, *flags, compiler=compiler, kind=kind)
            assert [f for f in audit(library).findings if f.kind != "bindable"] == [], flags


OLD_START = """
  .section .init, "ax"
  call constructors
  ret
  .text
  .type constructors, @function
constructors:
  push %rbx
  mov last(%rip), %rax
  cmp $-1, %rax
  je 2f
  lea last(%rip), %rbx
1:  sub $8, %rbx
  call *%rax
  mov (%rbx), %rax
  cmp $-1, %rax
  jne 1b
2:  pop %rbx
  ret
  .size constructors, .-constructors
  .type planted, @function
planted:
  vzeroupper
  ret
  .size planted, .-planted
  .section .ctors, "aw"
  .quad -1
last:
  .quad planted
  .section .note.GNU-stack, "", @progbits
"""


def test_the_start_code_of_older_compilers_calls_roots(link):
    library = link(OLD_START, "-nostartfiles", compiler="gcc", kind=".s", linker="lld")
    assert [(f.kind, f.symbol) for f in audit(library).findings] == [("load", "planted")]


def test_the_path_that_is_shown_is_the_shortest_from_any_root(link):
    steps = "".join(
        f"__attribute__((noinline)) static void step{i}(void) {{ data[{i}] = 1; step{i + 1}(); data[{i}] = 2; }}\n"
        for i in range(9, -1, -1)
    )
    source = (
        f"{FOREIGN_HEAD}{AVX2} static void step10(void) {{ {DOUBLE} }}\n{steps}"
        f"{CONSTRUCTOR} {{ data[20] = 1; step0(); data[20] = 3; }}\n"
        "__attribute__((constructor)) static void second(void) { data[21] = 1; step9(); data[21] = 3; }\n"
    )
    (finding,) = audit(link(source)).findings
    assert finding.path == ("second", "step9", "step10")
