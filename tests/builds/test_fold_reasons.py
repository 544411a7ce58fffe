"""Which objects of real compilers fold into those of a lower level: one case for each thing that a program could see.

Each case is compiled twice, as LOW and, with AT_HIGH defined, as the level that requires it.
"""

import subprocess
from dataclasses import dataclass, field

import pytest

from isagen.build.addresses import LevelAddresses
from isagen.build.fold import Folding
from isagen.model.registrations import Registered, Registrations
from support.compiling import read_object
from support.pairs import paired
from support.projects import need

HEAD = """
#define NAME2(level, stub) isa_kernel_##level##__##stub
#define NAME(level, stub) NAME2(level, stub)
#ifdef __cplusplus
#define C extern "C"
#else
#define C
#endif
#define REGISTER(stub, f) \\
  C const void *const NAME(LEVEL, stub); \\
  const void *const NAME(LEVEL, stub) = (const void *)&f;
"""
INLINE = "template <class T> __attribute__((noinline)) inline T twice(T x) { return x * 2; }\n"
CALLS = INLINE + "static int run(int x) { return twice(x) + 1; }\n"
# Not the same at both levels.
DIFFERS = "\n#ifdef AT_HIGH\nint differs(int x) { return x * 77; }\n#endif\n"
TAG = "template <class T> inline constexpr char tag{};\nstatic const void *run() { return &tag<int>; }\n"
THROWS = "extern void f(); inline int guarded() noexcept { f(); return 1; }\nint run() { return guarded(); }\n"
NOEXCEPT = """
#ifdef AT_HIGH
#define FIRST noexcept
#define SECOND
#else
#define FIRST
#define SECOND noexcept
#endif
extern void f();
static void other() SECOND { f(); f(); }
static int run() FIRST { f(); f(); return 0; }
REGISTER(other, other)
"""


@dataclass(frozen=True)
class Case:
    """Kernel sources by name, those of them that fold, and the arguments of single sources."""

    sources: dict[str, str]
    fold: set[str] = field(default_factory=set)
    args: dict[str, list[str]] = field(default_factory=dict)
    suffix: str = ".cpp"


def one(text: str, *args: str, suffix: str = ".c", fold: bool = False) -> Case:
    return Case({"a": text}, {"a"} if fold else set(), {"a": list(args)}, suffix)


BY_LEVEL = "#ifdef AT_HIGH\n#define NUMBER 2\n#else\n#define NUMBER 1\n#endif\n"
PUTS = "int puts(const char *);\n"
RUN = "static int run(int x) { return x + 1; }\n"
CASES = {
    "code": one(RUN, fold=True),
    "code in sections": one(RUN, "-ffunction-sections", "-fdata-sections", fold=True),
    "debug information": one(RUN, "-g", fold=True),
    "constants": one("static const int t[] = {1, 5, 2};\nstatic int run(int x) { return t[x]; }", fold=True),
    "relocated constants": one(
        'static const char *const t[] = {"a"};\nstatic int run(int x) { return *t[x]; }', fold=True
    ),
    "call of another library": one(PUTS + 'static int run(int x) { return puts("a"); }', fold=True),
    "other code": one(BY_LEVEL + "static int run(int x) { return x + NUMBER; }"),
    "other callee": one(
        "int sin2(int), cos2(int);\n#ifdef AT_HIGH\n#define F sin2\n#else\n#define F cos2\n#endif\n"
        "static int run(int x) { return F(x); }"
    ),
    "table of other functions": one(
        BY_LEVEL + "int add(int x) { return x + 1; }\nint sub(int x) { return x - 1; }\n"
        "static int (*const t[])(int) = {NUMBER == 1 ? add : sub, NUMBER == 1 ? sub : add};\n"
        "static int run(int x) { return t[x](x); }"
    ),
    "table of other constants": one(
        BY_LEVEL + "static const int c[] = {5, 7, 9};\n"
        "static const int *const t[] = {c + NUMBER, c};\nstatic int run(int x) { return *t[x]; }"
    ),
    "variable": one("static int calls;\nstatic int run(int x) { return calls += x; }"),
    "variable of each thread": one("static __thread int calls;\nstatic int run(int x) { return calls += x; }"),
    "constructor": one(PUTS + '__attribute__((constructor)) static void start(void) { puts(""); }\n' + RUN),
    "destructor": one(PUTS + '__attribute__((destructor)) static void stop(void) { puts(""); }\n' + RUN),
    "element of a set": one('__attribute__((section("a_set"), used)) static const int element = 1;\n' + RUN),
    "element for a linker script": one(
        '__attribute__((section(".registry.a"), used)) static const int element = 1;\n' + RUN
    ),
    "constant among notes": one(
        BY_LEVEL + '__attribute__((section(".notes.width"))) static const int width[] = {NUMBER, NUMBER};\n'
        "static int run(int x) { return width[x]; }"
    ),
    "symbol that is only named": one('#ifdef AT_HIGH\n__asm__(".globl plugin");\n#endif\n' + RUN),
    "note that is not loaded": one(
        '__asm__(".pushsection .note.probes,\\"\\",%note\\n.long 1\\n.popsection");\n' + RUN
    ),
    "absolute symbol": one('__asm__(".globl limit\\n.set limit, 7");\n' + RUN),
    "common symbol": one("int calls;\nstatic int run(int x) { return calls += x; }", "-fcommon"),
    "function that others know": one("int known(int x) { return x; }\n" + RUN, fold=True),  # private to its level
    "shared variable": one(
        "template <class T> int &calls() { static int calls; return calls; }\n"
        "static int run(int x) { return calls<int>() += x; }",
        suffix=".cpp",
    ),
    "variable in an anonymous namespace": one(
        "namespace { int calls; }\nstatic int run(int x) { return calls += x; }", suffix=".cpp"
    ),
    "vtable": one(
        "struct base { virtual int f() { return 1; } };\n"
        "static int run() { static const base b; return ((base &)b).f(); }",
        suffix=".cpp",
        fold=True,
    ),
    "variable among constants": one(
        '__attribute__((section(".rodata.calls"))) static int calls = 1;\nstatic int run(void) { return ++calls; }'
    ),
    "resolver": one(
        RUN + "static int (*pick(void))(int) { return run; }\n"
        'static int chosen(int) __attribute__((ifunc("pick")));\nREGISTER(chosen, chosen)'
    ),
    "shared variable that holds the address of a constant": one(
        "template <class T> inline constexpr int table[2] = {1, 2};\n"
        "template <class T> inline const int *current = table<T>;\n"
        "static int run() { return current<int> == table<int>; }",
        suffix=".cpp",
    ),
    "function whose address assembly takes, and one kernel that differs": Case(
        {
            "a": INLINE + 'static void *run() { void *p; __asm__("lea _Z5twiceIiET_S0_@PLT(%%rip), %0" : "=r"(p)); '
            "return (char *)p + twice(0); }\n",
            "b": CALLS + DIFFERS,
        }
    ),
    "unwinding of functions by their names": Case(
        {
            name: f'__asm__(".section .text.f,\\"axG\\",@progbits,f,comdat\\n.weak f\\nf: ret\\n.previous\\n'
            f'.section .eh_frame,\\"a\\",@unwind\\n1:.long 3f-2f\\n'
            f"2:.long 0\\n.byte 1,0x7a,0x52,0,1,0x78,16,1,0x1b,0\\n"
            f".balign 4\\n3:.long 5f-4f\\n4:.long 4b-2b+4\\n.long f-.\\n.long 1\\n.byte 0,{number}\\n.balign 4\\n5:\\n"
            '.previous");\nvoid f(void);\nstatic void run(void) { f(); }\n'
            for name, number in (("a", 0), ("b", 10))
        },
        {"a", "b"},
        suffix=".c",
    ),
    "tables for unwinding that are damaged": one(
        '__asm__(".section .eh_frame.x,\\"a\\",@progbits\\n.long 4,1\\n.previous");\n' + RUN, fold=True
    ),
    "which functions may throw": one(NOEXCEPT, suffix=".cpp"),
    "equal functions": Case({"a": CALLS, "b": CALLS}, {"a", "b"}),
    "equal functions, and one kernel that differs": Case({"a": CALLS, "b": CALLS + DIFFERS}),
    "unequal functions": Case({"a": CALLS, "b": CALLS.replace("* 2", "* 3")}, {"a", "b"}),
    "constants with one address": Case({"a": TAG, "b": TAG}, {"a", "b"}),
    "constants with one address, and one kernel that differs": Case({"a": TAG, "b": TAG + DIFFERS}),
    "functions with one address, and one kernel that differs": Case(
        {"a": INLINE + "static void *run() { return (void *)&twice<int>; }\n", "b": CALLS + DIFFERS}
    ),
    "functions that differ in what they may throw": Case(
        {"a": THROWS, "b": THROWS}, {"a", "b"}, {"a": ["-fno-exceptions"]}
    ),
    "call of another kernel source": Case(
        {
            "a": "int helper(int x) { return x + 1; }\nstatic int run(int x) { return x; }",
            "b": "int helper(int);\nstatic int run(int x) { return helper(x); }",
        },
        {"a", "b"},
    ),
    "call of another kernel source that differs": Case(
        {
            "a": BY_LEVEL + "int helper(int x) { return x + NUMBER; }\nstatic int run(int x) { return x; }",
            "b": "int helper(int);\nstatic int run(int x) { return helper(x); }",
        }
    ),
    "its template is instantiated elsewhere": Case(
        {
            "a": INLINE + "template int twice(int);\n" + RUN,
            "b": INLINE + "extern template int twice(int);\nstatic int run(int x) { return twice(x); }",
        },
        {"a", "b"},
    ),
}


def folded(folder, compiler, case):
    """The kernel sources of a case that fold."""
    folding = Folding({"LOW": (), "HIGH": ("LOW",)})
    found = {}
    for level in ("LOW", "HIGH"):
        objects = {}
        for name, text in case.sources.items():
            source = folder / f"{name}{case.suffix}"
            source.write_text(HEAD + text + "\nREGISTER(" + name + ", run)\n")
            made = folder / f"{level}.{name}.o"
            defines = [f"-DLEVEL={level}", *(["-DAT_HIGH"] if level == "HIGH" else [])]
            standard = "-std=c++17" if case.suffix == ".cpp" else "-std=gnu11"
            words = [compiler, "-x", "c++" if case.suffix == ".cpp" else "c", standard, "-O2", "-fPIC", "-w", *defines]
            subprocess.run([*words, *case.args.get(name, ()), "-c", source, "-o", made], check=True)
            objects[name] = [read_object(made, level)]
        files = [file for one in objects.values() for file in one]
        private = LevelAddresses(level, files).private_names() | {
            one.name for file in files for one in file.symbols if one.weak_code_or_constant
        }
        registered = Registrations(level, {name: Registered((name,)) for name in objects}, {})
        found = folding.folded(registered, objects, private, {})
    return found


@pytest.mark.parametrize(("compiler", "name"), paired(["gcc", "clang-16"], CASES))
def test_a_case(tmp_path, compiler, name):
    need(compiler)
    assert folded(tmp_path, compiler, CASES[name]) == dict.fromkeys(CASES[name].fold, "LOW")


@pytest.mark.parametrize(("level", "expected"), [("BASE", {"a": "LOW"}), ("LOW", {})])
def test_a_copy_that_uses_a_function_of_a_level_below(tmp_path, level, expected):
    """Copies fold if the name means the function of the same level."""
    need("gcc")
    (tmp_path / "a.c").write_text("int helper(int);\nint run(int x);\nint run(int x) { return helper(x); }\n")
    subprocess.run(["gcc", "-fPIC", "-c", tmp_path / "a.c", "-o", tmp_path / "a.o"], check=True)
    folding, found = Folding({"LOW": (), "HIGH": ("LOW",)}), {}
    for at, lower in (("LOW", "BASE"), ("HIGH", level)):
        registered = Registrations(at, {"a": Registered(("a",))}, {})
        found = folding.folded(registered, {"a": [read_object(tmp_path / "a.o", at)]}, {"run"}, {"helper": lower})
    assert found == expected


@pytest.mark.parametrize("high", [False, True])
def test_a_registered_copy_of_assembly(tmp_path, high):
    """The shim refers to a function by name: what the name means counts."""
    need("gcc")
    folding, found = Folding({"LOW": (), "HIGH": ("LOW",)}), {}
    for level in ("LOW", "HIGH"):
        pick = "two" if high and level == "HIGH" else "one"
        text = f"one: mov $1, %eax\nret\ntwo: mov $2, %eax\nret\n.globl pick\n.set pick, {pick}\n"
        (tmp_path / "a.s").write_text(f".text\n{text}.type pick, @function\n.section .note.GNU-stack\n")
        (tmp_path / "shim.c").write_text(f"int pick(int);\nint (*const isa_kernel_{level}__a)(int) = &pick;\n")
        files = []
        for source in ("a.s", "shim.c"):
            made = tmp_path / f"{level}.{source}.o"
            subprocess.run(["gcc", "-fPIC", "-c", tmp_path / source, "-o", made], check=True)
            files.append(read_object(made, level))
        private = LevelAddresses(level, files).private_names()
        found = folding.folded(Registrations(level, {"a": Registered(("a",))}, {}), {"a": files}, private, {})
    assert found == ({} if high else {"a": "LOW"})
