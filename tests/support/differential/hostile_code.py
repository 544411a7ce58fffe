"""Ingredients that let a level's code be entered past its stubs: by name, by its address, when loaded, at exit."""

from .ingredients import ASSUMED, HOSTILE, Ingredient, ingredient

TEXTS = {
    "registrar": """
// header:
struct registrar_$n { registrar_$n(fn f) { add(f); } };
// kernel:
static NOINLINE int work_$n(int x) { $body }
static registrar_$n registered_$n(&work_$n);
""",
    "constructor that registers": """
// kernel:
static NOINLINE int work_$n(int x) { $body }
__attribute__((constructor)) static void enter_$n(void) { add(work_$n); }
""",
    "initialiser that stores into a hook": """
// kernel:
static NOINLINE int work_$n(int x) { $body }
static int stored_$n = (ordinary_hook = &work_$n, 3);
// call:
x += stored_$n;
""",
    "registrar with a virtual object": """
// kernel:
namespace {
struct worker_$n : worker {
  int work(int x) override { $body }
};
worker_$n worker_of_$n;
int added_$n = add_worker(&worker_of_$n);
}
// call:
x += added_$n;
""",
    "function defined at some levels": """
// kernel:
LINKED_FUNCTION int partly_$n(int x);
#if $only
LINKED_FUNCTION int partly_$n(int x) { $body }
#endif
static int through_$n(int x) { return partly_$n(x) + 1; }
// call:
x += through_$n(x);
""",
    "function of one level, called by name": """
// kernel:
#if $only
LINKED_FUNCTION int named_$n(int x);
LINKED_FUNCTION int named_$n(int x) { $body }
#endif
// ordinary:
LINKED_FUNCTION int named_$n(int x);
// use:
x += named_$n(x);
""",
    "function of one level in a table of ordinary code": """
// kernel:
#if $only
LINKED_FUNCTION int named_$n(int x);
LINKED_FUNCTION int named_$n(int x) { $body }
#endif
// ordinary:
LINKED_FUNCTION int named_$n(int x);
static const fn ordinary_table_$n[] = {named_$n};
// use:
{
  const fn *volatile at = ordinary_table_$n;
  x += at[0](x);
}
""",
    "function of one level, handed over by ordinary code": """
// kernel:
#if $only
LINKED_FUNCTION int named_$n(int x);
LINKED_FUNCTION int named_$n(int x) { $body }
#endif
// ordinary:
LINKED_FUNCTION int named_$n(int x);
// use:
x += apply(named_$n, x);
""",
    "comparison of one level, for qsort in ordinary code": """
// kernel:
#if $only
LINKED_FUNCTION int compared_$n(const void *a, const void *b);
LINKED_FUNCTION int compared_$n(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
#endif
// ordinary:
LINKED_FUNCTION int compared_$n(const void *a, const void *b);
// use:
{
  int some[5] = {3, x & 7, 1, 5, 2};
  qsort(some, 5, sizeof(int), compared_$n);
  x += some[2];
}
""",
    "weak function of one level": """
// kernel:
#if $only
LINKED_FUNCTION __attribute__((weak)) int weakly_$n(int x);
LINKED_FUNCTION int weakly_$n(int x) { $body }
#endif
// ordinary:
LINKED_FUNCTION __attribute__((weak)) int weakly_$n(int x);
// use:
if (weakly_$n)
  x += weakly_$n(x);
""",
    "alias of one level": """
// kernel:
#if $only
LINKED_FUNCTION __attribute__((used)) int aliased_of_$n(int x);
LINKED_FUNCTION int aliased_of_$n(int x) { $body }
LINKED_FUNCTION __attribute__((alias("aliased_of_$n"))) int alias_$n(int x);
#endif
// ordinary:
LINKED_FUNCTION int alias_$n(int x);
// use:
x += alias_$n(x);
""",
    "label in a level's assembly": """
// kernel:
#if $only
#ifdef __aarch64__
#define LABEL_$n "label_$n: add w0, w0, 1\\n.inst 0x6e809400 /* udot */\\nret\\n"
#elif defined __riscv
#define LABEL_$n "label_$n: addiw a0, a0, 1\\n.4byte 0x00057057 /* vsetvli */\\nret\\n"
#elif defined __s390x__
#define LABEL_$n "label_$n: ahi %r2, 1\\n.byte 0xe7, 0, 0, 0, 0, 0x56 # vlr\\nlgfr %r2, %r2\\nbr %r14\\n"
#else
#define LABEL_$n "label_$n: lea 1(%rdi), %eax\\nvpaddd %ymm0, %ymm0, %ymm1\\nret\\n"
#endif
__asm__(".pushsection .text\\n.globl label_$n\\n.type label_$n, @function\\n" LABEL_$n
        ".size label_$n, . - label_$n\\n.popsection\\n");
#endif
// ordinary:
LINKED_FUNCTION int label_$n(int x);
// use:
x += label_$n(x);
""",
    "entry of .init_array": """
// kernel:
static NOINLINE int work_$n(int x) { $body }
static void entry_$n(void) { shared_ints[1] += work_$n(1); }
__attribute__((section(".init_array"), used)) static void (*entry_at_$n)(void) = entry_$n;
""",
    "initialiser that calls through a table": """
// kernel:
static NOINLINE int first_$n(int x) { $body }
static NOINLINE int second_$n(int x) { $body2 }
static const fn steps_$n[] = {first_$n, second_$n};
static int made_$n = steps_$n[ordinary_value() & 1](3);
// call:
x += made_$n;
""",
    "initialiser with qsort": """
// kernel:
static int compare_$n(const void *a, const void *b)
{
  shared_data[1] = shared_data[1] * 2 + shared_data[2];
  return *(const int *)a - *(const int *)b;
}
static int sorted_$n = (qsort(shared_ints, 4, sizeof(int), compare_$n), 2);
// call:
x += sorted_$n;
""",
    "initialiser with a virtual call": """
// kernel:
namespace {
struct maker_$n { virtual int make(int x) { $body } };
NOINLINE int make_with_$n(maker_$n &m) { return m.make(ordinary_value()); }
maker_$n maker_of_$n;
int made_$n = make_with_$n(maker_of_$n);
}
// call:
x += made_$n;
""",
    "initialiser beyond the baseline": """
// kernel:
static NOINLINE int work_$n(int x) { $body }
static int made_$n = work_$n(ordinary_value());
// call:
x += made_$n;
""",
    "initialiser of an inline variable": """
// header:
template <class T> NOINLINE int impl_$n(int x) { $tbody }
inline int made_$n = impl_$n<$T>(ordinary_value());
// call, use:
x += made_$n;
""",
    "initialiser of a template's variable": """
// header:
template <class T> NOINLINE int impl_$n(int x) { $tbody }
template <class T> struct made_$n { static int value; };
template <class T> int made_$n<T>::value = impl_$n<T>(ordinary_value());
// call:
x += made_$n<$T>::value;
""",
    "initialiser of a thread_local": """
// header:
template <class T> NOINLINE int impl_$n(int x) { $tbody }
inline thread_local int made_$n = impl_$n<$T>(ordinary_value());
// call, use:
x += made_$n;
""",
    "destructor function": """
// kernel:
static NOINLINE int work_$n(int x) { $body }
__attribute__((destructor)) static void leave_$n(void) { shared_ints[0] += work_$n(2); }
""",
    "static object with a destructor": """
// kernel:
namespace {
struct leaving_$n { int value; ~leaving_$n(); };
NOINLINE int work_$n(int x) { $body }
leaving_$n::~leaving_$n() { shared_ints[0] += work_$n(value); }
leaving_$n object_$n;
}
// call:
x += object_$n.value;
""",
    "inline object with a destructor": """
// header:
struct leaving_$n {
  int value = 1;
  NOINLINE ~leaving_$n() { shared_ints[0] += inside(value); }
  static int inside(int x) { $body }
};
inline leaving_$n object_$n;
// call, use:
x += object_$n.value;
""",
    "atexit when loaded": """
// kernel:
static void leave_$n(void) { shared_data[3] = shared_data[3] * 3 + shared_data[4]; shared_data[5] *= 2; }
static int registered_$n = atexit(leave_$n);
// call:
x += registered_$n;
""",
    "code in a section of its own": """
// kernel:
__attribute__((section("own_code_$n"), noinline)) static int work_$n(int x) { $body }
// call:
x += work_$n(x);
// ordinary:
LINKED_OUT char __start_own_code_$n[];
// use:
x += __start_own_code_$n[0];
""",
    "resolver in a kernel": """
// kernel:
#if $only
static int chosen_$n(int x) { $body }
LINKED_FUNCTION __attribute__((used)) fn resolve_$n(void);
LINKED_FUNCTION fn resolve_$n(void) { return chosen_$n; }
LINKED_FUNCTION __attribute__((ifunc("resolve_$n"))) int resolved_$n(int x);
#endif
// ordinary:
LINKED_FUNCTION int resolved_$n(int x);
// use:
x += resolved_$n(x);
""",
    "exported function of a library": """
// kernel:
#if $only
LINKED_FUNCTION __attribute__((visibility("default"), used)) int export_$n(int x);
LINKED_FUNCTION int export_$n(int x) { $body }
#endif
// use:
if (outside_lookup("export_$n"))
  x += reinterpret_cast<fn>(outside_lookup("export_$n"))(x);
""",
    "kept address": """
// header:
template <class T> NOINLINE int impl_$n(int x) { $tbody }
// kernel:
static NOINLINE int kept_$n(int x) { $body }
// call:
ordinary_hook = kept_$n;
x += impl_$n<$T>(x);
""",
}

IN_C = {
    "constructor that registers",
    "function defined at some levels",
    "function of one level, called by name",
    "function of one level in a table of ordinary code",
    "function of one level, handed over by ordinary code",
    "comparison of one level, for qsort in ordinary code",
    "weak function of one level",
    "alias of one level",
    "label in a level's assembly",
    "entry of .init_array",
    "destructor function",
    "code in a section of its own",
    "resolver in a kernel",
    "exported function of a library",
}
KINDS = {"exported function of a library": ("library",)}

HOSTILE_CODE: list[Ingredient] = [
    ingredient(
        name,
        ASSUMED if name == "kept address" else HOSTILE,
        text,
        "c cpp" if name in IN_C else "cpp",
        single=True,
        **({"kinds": KINDS[name]} if name in KINDS else {}),
    )
    for name, text in TEXTS.items()
]
