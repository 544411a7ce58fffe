"""The address rule on compiled objects: what a level registers, what is private to it, and what all levels share."""

import pytest

from isagen.build.addresses import LevelAddresses
from isagen.build.compiled import Compiled
from isagen.model.errors import BuildError
from support.compiling import compile_object

LEVEL = "AVX2"
HEAD = """
typedef int (*fn)(int);
#define REGISTER(f) extern "C" const fn isa_kernel_AVX2__work_stub; const fn isa_kernel_AVX2__work_stub = f;
"""
COMPILERS = ["g++", "clang++-16"]
# As objects are compiled for shared libraries, for programs at any address, and for those at a fixed one.
OPTIONS = [("-fPIC", "-O2"), ("-fPIE", "-O0"), ("-fno-pic", "-O1")]


@pytest.fixture(params=COMPILERS)
def load(request, tmp_path):
    """Return a function that compiles C++ texts for one level and reads the objects."""

    def compiled(*texts: str, options=OPTIONS[0]) -> list[Compiled]:
        paths = [tmp_path / f"{number}.cpp" for number in range(len(texts))]
        return [
            compile_object(path, HEAD + text, LEVEL, request.param, *options)
            for path, text in zip(paths, texts, strict=True)
        ]

    return compiled


def check(objects: list[Compiled]) -> LevelAddresses:
    code = LevelAddresses(LEVEL, objects)
    for number, file in enumerate(objects):
        code.check(f"{number}.cpp", file)
    return code


@pytest.mark.parametrize(
    "target", ["aarch64-linux-gnu", "armv7-linux-gnueabihf", "mips-linux-gnu", "mips64el-linux-gnu"]
)
@pytest.mark.parametrize("compiler", ["clang++-16"])
def test_a_registered_function_of_another_processor(tmp_path, compiler, target):
    """MIPS's compilers give code labels without a name, and 64-bit little-endian MIPS has relocations of its own."""
    text = HEAD + "static int impl(int x) { return x; } REGISTER(impl)"
    check([compile_object(tmp_path / "x.cpp", text, LEVEL, compiler, f"--target={target}", "-fPIC", "-O2", "-g")])
    with pytest.raises(BuildError, match="registers no function at AVX2"):
        check(
            [
                compile_object(
                    tmp_path / "y.cpp", HEAD + "REGISTER(nullptr)", LEVEL, compiler, f"--target={target}", "-fPIC"
                )
            ]
        )


SHARED = {
    "table of a template": """
template <class T> int impl(int x) { return x + sizeof(T); }
template <class T> struct ops { static fn table[2]; };
template <class T> fn ops<T>::table[2] = {nullptr, &impl<T>};
fn use() { return ops<int>::table[1]; }
""",
    "inline hook": "inline int impl(int x) { return x; } inline fn hook = &impl; fn use() { return hook; }",
    "static function's hook": "static int impl(int x) { return x; } inline fn hook = &impl; fn use() { return hook; }",
    "inline object": """
struct base { virtual int f() const { return 0; } int n = 1; };
struct derived : base { int f() const override { return 1; } };
inline derived object; int use(base *b) { b = &object; return b->f() + object.n++; } base *give() { return &object; }
""",
    "function static": "inline int impl(int x) { return x; } inline fn &slot() { static fn f = &impl; return f; } "
    "fn use() { return slot(); }",
    "pointer to a constant with code": """
struct ops { fn f; int n; };
static int impl(int x) { return x; }
static const ops one = {&impl, 1};
inline const ops *current = &one; const ops *use() { return current; }
""",
    "pointer to a constant of another object": "extern const fn table[]; inline const fn *current = table; "
    "const fn *use() { return current; }",
    "member pointer": """
struct s { int f(int x) { return x; } };
inline int (s::*member)(int) = &s::f; int use(s a) { return (a.*member)(1); }
""",
    "thread's own": "inline int impl(int x) { return x; } inline thread_local fn hook = &impl; fn use() "
    "{ return hook; }",
    "weak by attribute": "static int impl(int x) { return x; } __attribute__((weak)) fn hook = &impl; "
    "fn use() { return hook; }",
}
# What assembly need not tell: kinds and sizes of symbols.
UNTYPED = """
int target(int x) { return x; }
__asm__(".data\\n.weak hook\\nhook: .quad target\\n.text"); extern fn hook; fn use() { return hook; }
"""
SHARED["assembly"] = UNTYPED.replace("target(int", 'target(int x) __asm__("target"); int target(int')
TABLE = "static int impl(int x) { return x; } extern const fn table[]; const fn table[] = {&impl};"


@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
@pytest.mark.parametrize("name", SHARED)
def test_shared_data_with_the_address_of_code(load, name, options):
    objects = load(SHARED[name], TABLE, options=options)
    with pytest.raises(BuildError, match=r"shared by all levels, but points to .*, a function of AVX2") as caught:
        check(objects)
    assert "0.cpp" in caught.value.message
    assert "anonymous namespace" in caught.value.remedy


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("inline fn hook = &below; fn use() { return hook; }", ": code of another level could call it"),
        ('__attribute__((section("set_x"), used)) static fn member = &below;', ", into this section"),
    ],
)
def test_a_function_of_a_level_below_is_said_to_be_of_that_level(load, text, end):
    """The names of functions of levels below are known with their levels."""
    (compiled,) = load(f'extern "C" int below(int x);\n{text}')
    addresses = LevelAddresses("AVX512", [compiled], {"below": LEVEL})
    with pytest.raises(BuildError, match=f"below, a function of {LEVEL}{end}"):
        addresses.check("0.cpp", compiled)


SET = """
static int impl(int x) { return x; }
__attribute__((section("set_x"), used)) static fn member = &impl;
"""


@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
@pytest.mark.parametrize("name", ["set_x", ".mytab", "__mcount_loc", "asan_globals"])
def test_a_section_that_code_finds_by_its_name(load, options, name):
    """Also one whose name is that of a toolchain's section, where the source itself puts an address there."""
    text = SET.replace("set_x", name)
    with pytest.raises(
        BuildError, match=r"impl.*, a function of AVX2, into this section, which other code finds by its name"
    ):
        check(load(text, options=options))


@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
def test_a_set_of_the_linker_with_the_address_of_code(load, options):
    with pytest.raises(
        BuildError, match=r"impl.*, a function of AVX2, into this section, which other code finds by its name"
    ):
        check(load(SET, options=options))
    check(load(SET.replace("fn member = &impl", "int member = 1; fn use() { return &impl; }"), options=options))


def test_a_distance_to_code_in_assembly(load):
    text = """
int target(int x) __asm__("target"); int target(int x) { return x; }
__asm__(".pushsection .rodata.o,\\"a\\"\\n.globl away\\naway: .long target - away\\n.popsection");
"""
    assert check(load(text)).private_names() == {"target", "away"}


SOUND = {
    "constants with code": """
template <class T> int impl(int x) { return x + sizeof(T); }
template <class T> struct ops { static const fn table[2]; };
template <class T> const fn ops<T>::table[2] = {nullptr, &impl<T>};
fn use(int i) { return ops<int>::table[i]; }
inline constexpr fn hook = &impl<char>; const fn *place() { return &hook; }
""",
    "data of a kernel's own": "static int impl(int x) { return x; } namespace { fn hook = &impl; } "
    "fn use() { return hook; } void set(fn f) { hook = f; }",
    "shared data without code": """
inline int counter = 1; inline const char *text = "text"; inline const char *texts[] = {"a", "b"};
struct n { n *next; };
inline n last = {nullptr}; inline n first = {&last}; int use() { static int calls = 1; return calls++ + counter; }
inline double *where() { static double d[4]; static double *p = d; return p; } double *w() { return where(); }
const char *say(int i) { return i ? text : texts[i]; } n *all() { return &first; }
""",
    "code of other libraries": 'extern "C" int abs(int); inline fn hook = &abs; fn use() { return hook; }',
    "types": "struct base { virtual ~base(); }; struct derived : base { int i; }; inline derived *find(base *b) "
    "{ return dynamic_cast<derived *>(b); } derived *use(base *b) { return find(b); }",
}


@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
@pytest.mark.parametrize("name", SOUND)
def test_other_data_is_no_fault(load, name, options):
    check(load(SOUND[name], options=options))


def test_what_has_a_name_of_the_level_s_own(load):
    code = check(
        load(
            """
int work(int x) { return x; }
inline int weak(int x) { return x; }
extern const fn table[]; const fn table[] = {&work};
fn hook = &work;
int numbers[] = {1, 2};
extern const int constants[]; const int constants[] = {1, 2};
fn use() { return &weak; }
REGISTER(&work)
"""
        )
    )
    assert code.private_names() == {"_Z4worki", "_Z4weaki", "table", "hook", "_Z3usev"}


REGISTERED = {
    "&work": "static int work(int x) { return x; }",
    "&weak<int>": "template <class T> int weak(int x) { return x; }",
    "&strong": "int strong(int x) { return x; }",
    "&elsewhere": "int elsewhere(int x);",
    "[](int x) { return x; }": "",
}


@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
@pytest.mark.parametrize("function", REGISTERED)
def test_code_of_the_level_is_registered(load, function, options):
    check(load(f"{REGISTERED[function]}\nREGISTER({function})", "int elsewhere(int x) { return x; }", options=options))


@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
@pytest.mark.parametrize("function", ["&elsewhere", "nullptr", "&abs"])
def test_other_things_are_not(load, function, options):
    objects = load(f'int elsewhere(int x); extern "C" int abs(int);\nREGISTER({function})', options=options)
    with pytest.raises(BuildError) as caught:
        check(objects)
    expected = {
        "&elsewhere": "0.cpp registers _Z9elsewherei at AVX2, but no kernel source defines it at that level",
        "&abs": "0.cpp registers abs at AVX2, but no kernel source defines it at that level",
        "nullptr": "0.cpp registers no function at AVX2",
    }
    assert (caught.value.where, caught.value.message) == ("work_stub", expected[function])


def test_a_32_bit_object_holds_addresses_in_place(load):
    """Its relocations have no addends."""
    with pytest.raises(BuildError, match="shared by all levels"):
        check(load(SHARED["pointer to a constant with code"], options=("-m32", "-fno-pic", "-O2", "-nostdinc")))
    check(load(SOUND["shared data without code"], options=("-m32", "-fno-pic", "-O2", "-nostdinc")))
