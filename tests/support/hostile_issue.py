"""Hostile cases that were found before: each is built with every compiler and linker at hand."""

from support.hostile import PARTIAL, case, rotated

CASES = rotated([
    case(
        "registrar that is constructed when loaded",
        "address",
        """
// kernel:
static NOINLINE int work(int x) BODY
struct registrar { registrar(const char *, fn f) { add(f); } };
static registrar registered("work", &work);
""",
    ),
    case(
        "constructor function that registers, in C",
        "address",
        """
// kernel:
static NOINLINE int work(int x) BODY
__attribute__((constructor)) static void enter(void) { add(work); }
""",
        language="c",
    ),
    case(
        "function defined at one level, registered at all",
        "refused",
        """
// kernel:
long defined_once(long v);
#ifdef __AVX2__
long defined_once(long v) { int x = (int)v; BODY }
#endif
ISA_REGISTER_DISPATCH(stub_0, &defined_once)
""",
        says="but no kernel source defines it",
    ),
    case(
        "writable table of a template",
        "refused",
        """
// header:
template <class T> NOINLINE int impl(int x) BODY
template <class T> struct ops { static fn table[1]; };
template <class T> fn ops<T>::table[1] = {&impl<T>};
// call, use:
x += ops<int>::table[0](x);
""".replace("// call, use:", "// use:\nx += ops<int>::table[0](x);\n// call:"),
        says="shared by all levels",
    ),
    case(
        "inline hook",
        "refused",
        """
// header:
template <class T> NOINLINE int impl(int x) BODY
inline fn hook = &impl<int>;
// call:
x += hook(x);
// use:
x += hook(x);
""",
        says="shared by all levels",
    ),
    case(
        "inline object with a vtable",
        "refused",
        """
// header:
struct base { virtual int run(int x) BODY };
struct derived : base { int state = 1; int run(int x) override BODY };
inline derived object;
NOINLINE inline int call(base &b, int x) { return b.run(x); }
// call:
x += call(object, x);
// use:
x += call(object, x);
""",
        says="shared by all levels",
    ),
    case(
        "pointer to code in a function static, at levels of a partial order",
        "refused",
        """
// header:
template <class T> NOINLINE int impl(int x) BODY
inline fn &held() { static fn f = &impl<int>; return f; }
// call:
x += held()(x);
""",
        says="shared by all levels",
        levels=PARTIAL,
    ),
    case(
        "function of a level that ordinary code hands to qsort",
        "refused by the linker",
        """
// kernel:
#if ONLY
C_LINKED int compared(const void *a, const void *b);
C_LINKED int compared(const void *a, const void *b) { int x = *(const int *)a - *(const int *)b; BODY }
#endif
// ordinary:
C_LINKED int compared(const void *a, const void *b);
C_LINKED void qsort(void *, unsigned long, unsigned long, int (*)(const void *, const void *));
// use:
qsort(shared_ints, 4, sizeof(int), compared);
""",
        says="compared",
    ),
    case(
        "function of a level in a table of ordinary code",
        "refused by the linker",
        """
// kernel:
#if ONLY
C_LINKED int named(int x);
C_LINKED int named(int x) BODY
#endif
// ordinary:
C_LINKED int named(int x);
const fn table[] = {named};
// use:
const fn *volatile at = table;
x += at[0](x);
""",
        says="named",
    ),
    case(
        "function that a library would export",
        "sound",
        """
// kernel:
#if ONLY
C_LINKED __attribute__((visibility("default"), used)) int exported(int x);
C_LINKED int exported(int x) BODY
#endif
// use:
if (lookup("exported"))
  x += lookup("exported")(x);
""",
        kind="library",
    ),
    case(
        "initialiser that calls through a table",
        "load | unproven | load + unproven | load + unproven + address | load + address | unproven + address | address",
        """
// kernel:
static NOINLINE int first(int x) BODY
static NOINLINE int second(int x) BODY
static const fn steps[] = {first, second};
static int made = steps[ordinary_value() & 1](3);
// call:
x += made;
""",
    ),
    case(
        "initialiser that hands its code to qsort",
        "address | load + address | unproven + address | load + unproven + address",
        """
// kernel:
C_LINKED void qsort(void *, unsigned long, unsigned long, int (*)(const void *, const void *));
static int compared(const void *a, const void *b) { int x = *(const int *)a - *(const int *)b; BODY }
__attribute__((constructor)) static void sort(void) { qsort(shared_ints, 4, sizeof(int), compared); }
""",
        language="c",
    ),
    case(
        "vtable with a key function of ordinary code",
        "sound",
        """
// header:
struct keyed { virtual int key(int x); virtual int other(int x) { return x + LEVEL_NUMBER; } };
NOINLINE inline int call(keyed &k, int x) { return k.other(x) + k.key(x); }
// ordinary:
int keyed::key(int x) { return x + 1; }
// call:
{ keyed k; x += call(k, x); }
// use:
{ keyed k; x += call(k, x); }
""",
    ),
    case(
        "extern template",
        "sound",
        """
// header:
template <class T> struct ops { static int run(int x); };
template <class T> int ops<T>::run(int x) BODY
extern template struct ops<int>;
// ordinary:
template struct ops<int>;
// call:
x += ops<int>::run(x);
// use:
x += ops<int>::run(x);
""",
        opt="-O0",
    ),
])
