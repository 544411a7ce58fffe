"""Hostile cases: data, names and sections that hold addresses of a level's code, or give it away."""

from support.hostile import PARTIAL, case, rotated

ONE_NAMED = """
// kernel:
#if ONLY
C_LINKED int named(int x);
C_LINKED int named(int x) BODY
#endif
"""

CASES = rotated(
    [
        case("isagen's own name of what is registered", "refused by the linker | past | address | refused", """
// ordinary:
C_LINKED const stub_fn isa_kernel_AVX2__stub_0;
// use:
x += (int)isa_kernel_AVX2__stub_0(x);
"""),
        case("isagen's own name, hidden", "refused by the linker | past | address | refused", """
// ordinary:
C_LINKED __attribute__((visibility("hidden"))) const stub_fn isa_kernel_AVX2__stub_0;
// use:
x += (int)(*(const stub_fn volatile *)&isa_kernel_AVX2__stub_0)(x);
"""),
        case("variable with a name like isagen's own", "refused | refused by the linker | past | address", """
// kernel:
static int work(int x) BODY
#if ONLY
C_LINKED const fn isa_kernel_AVX2__evil;
const fn isa_kernel_AVX2__evil = work;
#endif
// ordinary:
C_LINKED const fn isa_kernel_AVX2__evil;
// use:
x += isa_kernel_AVX2__evil(x);
""", language="c"),
        case("function with a name like isagen's own", "refused | refused by the linker | past", """
// kernel:
#if ONLY
C_LINKED int isa_without_AVX2__evil(int x);
C_LINKED int isa_without_AVX2__evil(int x) BODY
#endif
// ordinary:
C_LINKED int isa_without_AVX2__evil(int x);
// use:
x += isa_without_AVX2__evil(x);
""", language="c"),
        case("function with a name like isagen's own of another level", "refused | refused by the linker | past", """
// kernel:
#if ONLY
C_LINKED int isa_kernel_AVX2__evil(int x);
C_LINKED int isa_kernel_AVX2__evil(int x) BODY
#endif
// ordinary:
C_LINKED int isa_kernel_AVX2__evil(int x);
// use:
x += isa_kernel_AVX2__evil(x);
""", language="c"),
        case("dlsym of isagen's own name", "sound", """
// use:
if (fn *at = reinterpret_cast<fn *>(lookup("isa_kernel_AVX2__stub_0")))
  x += (*at)(x);
""", kind="library"),
        case("set of the linker, in a section like a compiler's own", "refused | address", """
// kernel:
static int impl(int x) BODY
__attribute__((section("__llvm_mine"), used)) static fn member = impl;
// ordinary:
C_LINKED fn __start___llvm_mine[];
C_LINKED fn __stop___llvm_mine[];
// use:
for (fn *at = __start___llvm_mine; at != __stop___llvm_mine; at++)
  x += (*at)(x);
"""),
        case("set in a section like a sanitizer's", "refused | address", """
// kernel:
static int impl(int x) BODY
__attribute__((section("asan_globals_not"), used)) static fn member = impl;
// ordinary:
C_LINKED fn __start_asan_globals_not[];
C_LINKED fn __stop_asan_globals_not[];
// use:
for (fn *at = __start_asan_globals_not; at != __stop_asan_globals_not; at++)
  x += (*at)(x);
""", language="c"),
        case("set of pointers to tables", "refused | address", """
// kernel:
static int impl(int x) BODY
static const fn table[] = {impl, 0};
__attribute__((section("set_t"), used)) static const fn *member = table;
// ordinary:
C_LINKED const fn *__start_set_t[];
C_LINKED const fn *__stop_set_t[];
// use:
for (const fn **at = __start_set_t; at != __stop_set_t; at++)
  x += (*at)[0](x);
""", language="c"),
        case("set of pointers to objects with a vtable", "refused | address", """
// kernel:
namespace { struct mine : worker { int work(int x) override BODY }; mine object; }
__attribute__((section("set_w"), used)) static worker *member = &object;
// ordinary:
extern "C" worker *__start_set_w[];
extern "C" worker *__stop_set_w[];
// use:
for (worker **at = __start_set_w; at != __stop_set_w; at++)
  x += (*at)->work(x);
"""),
        case("set of objects with a vtable", "refused | address", """
// kernel:
namespace { struct mine : worker { int work(int x) override BODY };
__attribute__((section("set_o"), used)) mine object; }
// ordinary:
extern "C" char __start_set_o[];
extern "C" char __stop_set_o[];
// use:
for (char *at = __start_set_o; at != __stop_set_o; at += sizeof(worker))
  x += reinterpret_cast<worker *>(at)->work(x);
"""),
        case("set of distances", "refused | address", """
// kernel:
__attribute__((used)) static int impl(int x) BODY
__asm__(".pushsection set_d,\\"a\\"\\n.balign 4\\n.long impl - .\\n.popsection\\n");
// ordinary:
C_LINKED const int __start_set_d[];
C_LINKED const int __stop_set_d[];
// use:
for (const int *at = __start_set_d; at != __stop_set_d; at++)
  x += reinterpret_cast<fn>((unsigned long)at + (long)*at)(x);
""", language="c"),
        case("set of what is filled at load", "address | refused", """
// kernel:
static int impl(int x) BODY
__attribute__((section("set_f"), used)) static fn member = 0;
__attribute__((constructor)) static void fill(void) { member = impl; }
// ordinary:
C_LINKED fn __start_set_f[];
C_LINKED fn __stop_set_f[];
// use:
for (fn *at = __start_set_f; at != __stop_set_f; at++)
  if (*at)
    x += (*at)(x);
""", language="c"),
        case("set of what is filled in a kernel", "address | refused", """
// kernel:
static int impl(int x) BODY
__attribute__((section("set_k"), used)) static fn member = 0;
// call:
member = impl;
// ordinary:
C_LINKED fn __start_set_k[];
C_LINKED fn __stop_set_k[];
// use:
for (fn *at = __start_set_k; at != __stop_set_k; at++)
  if (*at)
    x += (*at)(x);
""", language="c"),
        case("set of code", "refused | address | refused by the linker | sound", """
// kernel:
__attribute__((section("code_set"), used)) static int impl(int x) BODY
// ordinary:
C_LINKED char __start_code_set[] __attribute__((weak));
// use:
fn volatile at = reinterpret_cast<fn>(__start_code_set);
if (at)
  x += at(x);
""", language="c"),
        case("name of the section of a level's code", "sound | address", """
// ordinary:
extern "C" char start[] __asm__("__start_.isa_text.AVX2") __attribute__((weak));
// use:
fn volatile at = reinterpret_cast<fn>(start);
if (at)
  x += at(x);
"""),
        case("label in the middle of a function", "refused by the linker | past | refused | sound", """
// kernel:
#if ONLY
__attribute__((used)) static int impl(int x) BODY
__asm__(".globl middle\\n.set middle, impl + 0\\n");
#endif
// ordinary:
C_LINKED int middle(int x) __attribute__((weak));
// use:
if (middle)
  x += middle(x);
""", language="c"),
        case("version of a symbol", "sound | refused by the linker | past | refused", """
// kernel:
#if ONLY
C_LINKED __attribute__((used, visibility("default"))) int impl_v(int x);
C_LINKED int impl_v(int x) BODY
__asm__(".symver impl_v, versioned@@ONE_1");
#endif
// use:
if (lookup("versioned"))
  x += lookup("versioned")(x);
""", language="c", kind="library", link_args=("--version-script=$FOLDER/one.map",)),
        case("weakref to a name of a level", "sound", """
// kernel:
#if ONLY
C_LINKED int target(int x);
C_LINKED int target(int x) BODY
#endif
// ordinary:
static int reference(int x) __attribute__((weakref("target")));
// use:
if (reference)
  x += reference(x);
""", language="c"),
        case("protected symbol of a library", "sound", """
// kernel:
#if ONLY
C_LINKED __attribute__((visibility("protected"), used)) int shown(int x);
C_LINKED int shown(int x) BODY
#endif
// use:
if (lookup("shown"))
  x += lookup("shown")(x);
""", kind="library", language="c"),
        case("exported table of a library, by dlsym", "sound", """
// kernel:
static int impl(int x) BODY
#if ONLY
C_LINKED __attribute__((visibility("default"))) const fn shown_table[1];
const fn shown_table[1] = {impl};
#endif
// use:
if (fn *at = reinterpret_cast<fn *>(lookup("shown_table")))
  x += at[0](x);
""", kind="library", language="c"),
        case("exported pointer to another kernel's table", "sound | refused by the linker | refused", """
// header:
C_LINKED const fn table_of_two[1];
// kernel:
#if ONLY
C_LINKED __attribute__((visibility("default"))) const fn *shown_at;
const fn *shown_at = table_of_two;
#endif
// second:
static int impl(int x) BODY
const fn table_of_two[1] = {impl};
// use:
if (const fn **at = reinterpret_cast<const fn **>(lookup("shown_at")))
  x += at[0][0](x);
""", kind="library", language="c"),
        case("option --export-dynamic", "sound", ONE_NAMED + """
// use:
if (lookup("named"))
  x += lookup("named")(x);
""", link_args=("--export-dynamic",), language="c"),
        case("option --defsym", "refused by the linker | past | refused", ONE_NAMED + """
// ordinary:
C_LINKED int other_name(int x);
// use:
x += other_name(x);
""", link_args=("--defsym=other_name=named",), language="c"),
        case("option --defsym of isagen's own name", "refused by the linker | past | refused | address", """
// ordinary:
C_LINKED const fn other_name;
// use:
x += other_name(x);
""", link_args=("--defsym=other_name=isa_kernel_AVX2__stub_0",), language="c", linker="bfd"),
        case("option --defsym of isagen's own name, with lld", "refused by the linker | past | refused | address", """
// ordinary:
C_LINKED const fn other_name;
// use:
x += other_name(x);
""", link_args=("--defsym=other_name=isa_kernel_AVX2__stub_0",), language="c", linker="lld"),
        case("option --wrap", "refused by the linker | sound", """
// header:
C_LINKED int helper(int x);
// kernel:
#if ONLY
C_LINKED int __wrap_helper(int x);
C_LINKED int __wrap_helper(int x) BODY
#endif
// ordinary:
int helper(int x) { return x + 1; }
// use:
x += helper(x);
""", link_args=("--wrap=helper",), language="c"),
        case("function of a library that a kernel replaces", "sound", """
// kernel:
void *malloc(unsigned long size);
static char pool[64];
__attribute__((used)) void *malloc(unsigned long size) { int x = (int)size; seen(LEVEL_NUMBER); return pool + (x & 7); }
// ordinary:
C_LINKED void *malloc(unsigned long size);
C_LINKED void free(void *);
// use:
{ void *volatile p = malloc(8); free(p); }
""", language="c"),
        case("operator new that a kernel replaces", "sound", """
// kernel:
static char pool[64];
void *operator new(unsigned long size) { seen(LEVEL_NUMBER); return pool + (size & 7); }
void operator delete(void *) noexcept {}
void operator delete(void *, unsigned long) noexcept {}
// use:
{ int *volatile p = new int(x); delete p; }
"""),
        case("main in a kernel", "refused by the linker | sound", """
// kernel:
#if ONLY
int main(void) { int x = 1; BODY }
#endif
""", language="c", kind="executable"),
        case("vtable with a key function of the kernel", "refused by the linker | sound | refused", """
// header:
struct keyed { virtual int key(int x); virtual ~keyed() {} };
NOINLINE inline int call(keyed &k, int x) { return k.key(x); }
// kernel:
int keyed::key(int x) BODY
// call:
{ keyed k; x += call(k, x); }
"""),
        case("object whose key function is the kernel's, in ordinary code", "refused by the linker | past", """
// header:
struct keyed { virtual int key(int x); };
// kernel:
#if ONLY
int keyed::key(int x) BODY
#endif
// use:
{ keyed k; keyed *volatile at = &k; x += at->key(x); }
"""),
        case("virtual inheritance, thunks and construction tables", "sound", """
// header:
struct top { int t = 1; virtual int run(int x) BODY virtual ~top() {} };
struct left : virtual top { int run(int x) override BODY };
struct right : virtual top { int r = 2; };
struct bottom : left, right { int run(int x) override BODY };
NOINLINE inline int call(top &t, int x) { return t.run(x); }
// call:
{ bottom b; x += call(b, x); }
// use:
{ bottom b; x += call(b, x); }
"""),
        case("table of labels in an inline function", "refused | sound", """
// header:
NOINLINE inline int interpret(int x)
{
  static void *const steps[] = {&&one, &&two};
  goto *steps[x & 1];
one:
  seen(LEVEL_NUMBER);
  return x + 1;
two:
  seen(LEVEL_NUMBER);
  return x + 2;
}
// call:
x += interpret(x) + interpret(x + 1);
// use:
x += interpret(x) + interpret(x + 1);
""", compiler="g++"),
        case("writable table of labels in an inline function", "refused", """
// header:
NOINLINE inline int interpret(int x)
{
  static void *steps[] = {&&one, &&two};
  if (x == 12345)
    steps[0] = steps[1];
  goto *steps[x & 1];
one:
  seen(LEVEL_NUMBER);
  return x + 1;
two:
  seen(LEVEL_NUMBER);
  return x + 2;
}
// call:
x += interpret(x) + interpret(x + 1);
// use:
x += interpret(x) + interpret(x + 1);
""", compiler="g++"),
        case("function statics of a section by name", "refused", """
// header:
template <class T> NOINLINE int impl(int x) BODY
template <class T> struct ops { static fn table[1]; };
template <class T> __attribute__((section(".data.mine"))) fn ops<T>::table[1] = {&impl<T>};
// call:
x += ops<int>::table[0](x);
// use:
x += ops<int>::table[0](x);
"""),
        case("weak hook in a section of constants", "refused | sound | refused by the linker", """
// kernel:
static int impl(int x) BODY
C_LINKED __attribute__((weak, section(".data.rel.ro.mine"))) fn weak_hook;
__attribute__((weak, section(".data.rel.ro.mine"))) fn weak_hook = impl;
// call:
x += weak_hook(x);
// ordinary:
C_LINKED __attribute__((weak)) fn weak_hook;
// use:
if (&weak_hook)
  x += weak_hook(x);
""", language="c"),
        case("member pointers in an array", "refused", """
// header:
struct members { int a = 1; NOINLINE int go(int x) BODY virtual int v(int x) BODY };
inline int (members::*chosen[])(int) = {&members::v, &members::go};
// call:
{ members m; x += (m.*chosen[1])(x); }
// use:
{ members m; x += (m.*chosen[1])(x); }
"""),
        case("virtual member pointer", "sound", """
// header:
struct members { int a = 1; virtual int v(int x) BODY };
inline int (members::*chosen)(int) = &members::v;
// call:
{ members m; x += (m.*chosen)(x); }
// use:
{ members m; x += (m.*chosen)(x); }
"""),
        case("pointers in a union, a pair, a packed structure", "refused", """
// header:
#include <utility>
template <class T> NOINLINE int impl(int x) BODY
union either { fn f; long n; };
inline either chosen = {&impl<int>};
struct __attribute__((packed)) packed { char c; fn f; };
inline packed packed_hook = {1, &impl<long>};
inline std::pair<int, fn> pair_hook{1, &impl<char>};
// call:
x += chosen.f(x) + packed_hook.f(x) + pair_hook.second(x);
// use:
x += chosen.f(x) + packed_hook.f(x) + pair_hook.second(x);
"""),
        case("packed pointer alone", "refused", """
// header:
template <class T> NOINLINE int impl(int x) BODY
struct __attribute__((packed)) packed { char c; fn f; };
inline packed packed_hook = {1, &impl<long>};
// call:
x += packed_hook.f(x);
// use:
x += packed_hook.f(x);
"""),
        case("pointer plus an offset", "refused", """
// header:
template <class T> NOINLINE int impl(int x) BODY
inline char *moved = reinterpret_cast<char *>(&impl<int>) + 4096;
// call:
x += reinterpret_cast<fn>(moved - 4096)(x);
// use:
x += reinterpret_cast<fn>(moved - 4096)(x);
"""),
        case("constexpr array of pointers in a header", "sound", """
// header:
template <class T> NOINLINE int impl(int x) BODY
inline constexpr fn table[] = {&impl<int>, &impl<long>};
// call:
x += table[x & 1](x);
// use:
{ const fn *volatile at = table; x += at[x & 1](x); }
"""),
        case("reference to a constant table", "sound | refused", """
// header:
template <class T> NOINLINE int impl(int x) BODY
inline constexpr fn table[] = {&impl<int>, &impl<long>};
inline const fn (&view)[2] = table;
// call:
x += view[x & 1](x);
// use:
x += view[x & 1](x);
"""),
        case("reference that is a structure's member", "refused | sound", """
// header:
template <class T> NOINLINE int impl(int x) BODY
inline constexpr fn table[] = {&impl<int>, &impl<long>};
struct holder { const fn *const &at; int n; };
inline const fn *const start = table;
inline holder all = {start, 1};
// call:
x += all.at[x & 1](x) + all.n;
// use:
x += all.at[x & 1](x) + all.n;
"""),
        case("lambda that becomes a pointer", "refused", """
// header:
inline fn hook = [](int x) BODY;
// call:
x += hook(x);
// use:
x += hook(x);
"""),
        case("common symbol that a kernel sets", "address", """
// kernel:
fn common_hook;
static int impl(int x) BODY
// call:
common_hook = impl;
// ordinary:
C_LINKED fn common_hook;
// use:
if (common_hook)
  x += common_hook(x);
""", language="c", kernel_args=("-fcommon",)),
        case("group of sections by assembly", "refused by the linker | sound | refused", """
// kernel:
__attribute__((used)) static int impl(int x) BODY
__asm__(".pushsection .data.grouped,\\"awG\\",@progbits,mygroup,comdat\\n.globl grouped\\n.hidden grouped\\n"
        ".type grouped,@object\\n.size grouped,8\\n.balign 8\\ngrouped: .quad impl\\n.popsection\\n");
extern fn grouped __attribute__((visibility("hidden")));
// call:
x += grouped(x);
""", language="c"),
        case("group of sections with a function, by assembly", "refused by the linker | sound | refused", """
// kernel:
__asm__(".pushsection .text.grouped,\\"axG\\",@progbits,mygroup,comdat\\n.globl grouped\\n.hidden grouped\\n"
        ".type grouped,@function\\ngrouped: xor %eax,%eax\\nret\\n.size grouped,.-grouped\\n.popsection\\n");
int grouped(int x) __attribute__((visibility("hidden")));
// call:
x += grouped(x);
""", language="c"),
        case("old group of sections", "refused by the linker | sound | refused | address", """
// kernel:
__attribute__((used)) static int impl(int x) BODY
__asm__(".pushsection .gnu.linkonce.d.once,\\"aw\\",@progbits\\n.weak once\\n.type once,@object\\n.size once,8\\n"
        ".balign 8\\nonce: .quad impl\\n.popsection\\n");
extern fn once __attribute__((visibility("hidden")));
// call:
x += once(x);
""", language="c"),
        case("table of pointers to entry points, no relocation against a symbol", "refused | sound | address", """
// kernel:
#if ONLY
__attribute__((used)) static int impl(int x) BODY
__asm__(".pushsection .rodata.far,\\"a\\"\\n.globl far_distance\\n.hidden far_distance\\n.balign 8\\n"
        "far_distance: .quad impl - far_distance\\n.popsection\\n");
#endif
// ordinary:
C_LINKED const long far_distance __attribute__((weak, visibility("hidden")));
// use:
if (&far_distance)
  x += reinterpret_cast<fn>((unsigned long)&far_distance + far_distance)(x);
""", language="c"),
        case("personality of the level's own", "sound | refused", """
// kernel:
C_LINKED int mine_personality(int, int, unsigned long, void *, void *);
C_LINKED __attribute__((used)) int mine_personality(int a, int b, unsigned long c, void *d, void *e) { return 8; }
__asm__(".pushsection .text\\n.type covered,@function\\ncovered: .cfi_startproc\\n"
        ".cfi_personality 0x9b, DW.ref.mine_personality\\nxor %eax,%eax\\nret\\n.cfi_endproc\\n.size covered,.-covered\\n"
        ".popsection\\n.hidden DW.ref.mine_personality\\n.weak DW.ref.mine_personality\\n"
        ".pushsection .data.rel.local.DW.ref.mine_personality,\\"awG\\",@progbits,DW.ref.mine_personality,comdat\\n"
        ".balign 8\\n.type DW.ref.mine_personality,@object\\n.size DW.ref.mine_personality,8\\n"
        "DW.ref.mine_personality: .quad mine_personality\\n.popsection\\n");
int covered(int) __attribute__((visibility("hidden")));
""", language="c"),
        case("two kernels with equal names of their own", "sound", """
// kernel:
static int same(int x) BODY
static fn const table[] = {same, same};
// second:
static int same(int x) BODY
static fn const table[] = {same, same};
// call:
x += table[x & 1](x);
""", language="c", levels=PARTIAL),
        case("kernel that includes another", "sound | refused by the linker | refused", """
// header:
C_LINKED int from_two(int x);
// second:
int from_two(int x) BODY
// kernel:
// call:
x += from_two(x);
""", language="c"),
        case("one stub, registered by two kernels", "refused | refused by the linker", """
// kernel:
static long work(long v) { int x = (int)v; BODY }
ISA_REGISTER_DISPATCH(stub_0, &work)
// second:
static long work(long v) { int x = (int)v; BODY }
ISA_REGISTER_DISPATCH(stub_0, &work)
"""),
        case("one function, registered for two stubs", "sound", """
// kernel:
C_LINKED long work(long v);
long work(long v) { int x = (int)v; BODY }
ISA_REGISTER_DISPATCH(stub_0, &work)
// second:
C_LINKED long work(long v);
ISA_REGISTER_DISPATCH(stub_1, &work)
""", language="c"),
        case("registered alias", "sound", """
// kernel:
C_LINKED __attribute__((used)) long work(long v);
long work(long v) { int x = (int)v; BODY }
C_LINKED __attribute__((alias("work"))) long other(long v);
ISA_REGISTER_DISPATCH(stub_0, &other)
""", language="c"),
        case("registered function of ordinary code", "refused", """
// header:
C_LINKED long outside(long v);
// kernel:
ISA_REGISTER_DISPATCH(stub_0, &outside)
// ordinary:
long outside(long v) { return v; }
""", language="c"),
        case("registered resolver", "refused | sound | load | address | unproven | refused by the linker", """
// kernel:
static long work(long v) { int x = (int)v; BODY }
typedef long (*long_fn)(long);
__attribute__((used)) static long_fn resolve(void) { return work; }
C_LINKED __attribute__((ifunc("resolve"))) long resolved(long v);
ISA_REGISTER_DISPATCH(stub_0, &resolved)
""", language="c"),
        case("registered value of an initialiser", "refused", """
// kernel:
static long first(long v) { int x = (int)v; BODY }
static long second(long v) { int x = (int)v + 1; BODY }
ISA_REGISTER_DISPATCH(stub_0, ordinary_value() ? &first : &second)
"""),
        case("registered pointer beyond a function", "refused | sound", """
// kernel:
static long first(long v) { int x = (int)v; BODY }
ISA_REGISTER_DISPATCH(stub_0, (stub_fn)((char *)&first + 0))
""", language="c"),
        case("NULL that is registered", "refused", """
// kernel:
ISA_REGISTER_DISPATCH(stub_0, 0)
""", language="c"),
        case("function that is weak in ordinary code", "sound", """
// header:
C_LINKED int overridden(int x);
// kernel:
int overridden(int x) BODY
// call:
x += overridden(x);
// ordinary:
__attribute__((weak)) int overridden(int x) { return x; }
// use:
x += overridden(x);
""", language="c"),
        case("C99's inline in a header", "sound | refused", """
// header:
#ifdef __cplusplus
C_LINKED int plain(int x);
#else
inline int plain(int x) { return x + 3; }
#endif
// ordinary:
int plain(int x) { return x + 3; }
// call:
x += plain(x);
// use:
x += plain(x);
""", language="c", opt="-O0"),
        case("GNU C89's inline that the kernels define", "sound", """
// header:
#ifdef __cplusplus
static inline int plain(int x) { return x; }
#else
__attribute__((gnu_inline)) inline int plain(int x) BODY
#endif
// call:
x += plain(x);
// use:
x += plain(x);
""", language="c", opt="-O0"),
    ]
)
