"""Hostile cases: what a level's code does when it is loaded, at exit, and in threads."""

from support.hostile import case, rotated

CASES = rotated(
    [
        case("constructor with a priority", "load", """
// kernel:
static NOINLINE int work(int x) BODY
__attribute__((constructor(150))) static void early(void) { shared_ints[1] += work(2); }
"""),
        case("constructor in C", "load", """
// kernel:
static NOINLINE int work(int x) BODY
__attribute__((constructor)) static void early(void) { shared_ints[1] += work(2); }
""", language="c"),
        case("entry of .preinit_array", "load", """
// kernel:
static NOINLINE int work(int x) BODY
static void entry(void) { shared_ints[1] += work(1); }
__attribute__((section(".preinit_array"), used)) static void (*entry_at)(void) = entry;
""", kind="fixed", language="c"),
        case("entry of .init_array with a priority, by assembly", "load", """
// kernel:
static int work(int x) BODY
__attribute__((used)) static void entry(void) { shared_ints[1] += work(1); }
__asm__(".pushsection .init_array.00200,\\"aw\\",@init_array\\n.balign 8\\n.quad entry\\n.popsection\\n");
""", language="c"),
        case("entry of .ctors", "load", """
// kernel:
static int work(int x) BODY
__attribute__((used)) static void entry(void) { shared_ints[1] += work(1); }
__asm__(".pushsection .ctors,\\"aw\\",@progbits\\n.balign 8\\n.quad entry\\n.popsection\\n");
""", language="c"),
        case("code in .fini", "load", """
// kernel:
C_LINKED __attribute__((used, visibility("hidden"))) void leave(void);
static int work(int x) BODY
C_LINKED void leave(void) { shared_ints[1] += work(1); }
__asm__(".pushsection .fini,\\"ax\\",@progbits\\ncall leave\\n.popsection\\n");
""", language="c"),
        case("linker's option -init", "sound | refused by the linker", """
// kernel:
C_LINKED void entry(void);
static int work(int x) BODY
#if ONLY
C_LINKED void entry(void) { shared_ints[1] += work(1); }
#endif
""", language="c", link_args=("-init=entry",), kind="library"),
        case("catch block when loaded, in a cold part", "load", """
// header:
int throws(int x);
// ordinary:
int throws(int x) { if (x) throw x; return 1; }
// kernel:
static NOINLINE int entry(int x)
{
  try { return throws(x); }
  catch (int v) { seen(LEVEL_NUMBER); volatile float f = (float)v; f = f * 3.0f; return (int)f; }
}
static int made = entry(ordinary_value());
// call:
x += made;
""", opt="-O2", compiler="g++"),
        case("catch block when loaded, with clang", "load", """
// header:
int throws(int x);
// ordinary:
int throws(int x) { if (x) throw x; return 1; }
// kernel:
static NOINLINE int entry(int x)
{
  try { return throws(x); }
  catch (int v) { seen(LEVEL_NUMBER); volatile float f = (float)v; f = f * 3.0f; return (int)f; }
}
static int made = entry(ordinary_value());
// call:
x += made;
""", opt="-O2", compiler="clang++-16"),
        case("clean-up when loaded, in a cold part", "load", """
// header:
int throws(int x);
// ordinary:
int throws(int x) { if (x) throw x; return 1; }
// kernel:
namespace {
NOINLINE int work(int x) BODY
struct leaving { int v; ~leaving() { shared_ints[2] = work(v); } };
NOINLINE int inner(int x) { leaving l{x}; return throws(x); }
NOINLINE int entry(int x) { try { return inner(x); } catch (...) { return 2; } }
int made = entry(ordinary_value());
}
// call:
x += made;
""", opt="-O2"),
        case("retpoline when loaded", "load | unproven | load + unproven | address | unproven + address", """
// kernel:
static NOINLINE int first(int x) BODY
static NOINLINE int second(int x) BODY
static const fn steps[] = {first, second};
static NOINLINE int step(const fn *at, int x) { return at[x & 1](x) + 1; }
__attribute__((constructor)) static void early(void) { shared_ints[1] += step(steps, ordinary_value()); }
""", language="c", compiler="g++", kernel_args=("-mindirect-branch=thunk",)),
        case("retpoline of clang when loaded", "load | unproven | load + unproven | address | unproven + address", """
// kernel:
static NOINLINE int first(int x) BODY
static NOINLINE int second(int x) BODY
static const fn steps[] = {first, second};
static NOINLINE int step(const fn *at, int x) { return at[x & 1](x) + 1; }
__attribute__((constructor)) static void early(void) { shared_ints[1] += step(steps, ordinary_value()); }
""", language="c", compiler="clang++-16", kernel_args=("-mretpoline",)),
        case("thunk in line when loaded", "load | unproven | load + unproven | address | unproven + address", """
// kernel:
static NOINLINE int first(int x) BODY
static NOINLINE int second(int x) BODY
static const fn steps[] = {first, second};
static NOINLINE int step(const fn *at, int x) { return at[x & 1](x) + 1; }
__attribute__((constructor)) static void early(void) { shared_ints[1] += step(steps, ordinary_value()); }
""", language="c", compiler="g++", kernel_args=("-mindirect-branch=thunk-inline",)),
        case("address pushed and returned to, when loaded", "address | load | unproven", """
// kernel:
__attribute__((used)) static int work(int x) BODY
__attribute__((constructor)) static void early(void)
{
  __asm__ volatile("lea 1f(%%rip), %%rax\\n push %%rax\\n lea work(%%rip), %%rax\\n push %%rax\\n ret\\n1:\\n"
                   : : "D"(3) : "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory");
}
""", language="c", opt="-O1", kernel_args=("-mno-red-zone",)),
        case("std::set_terminate when loaded", "address", """
// header:
namespace std { typedef void (*terminate_handler)(); terminate_handler set_terminate(terminate_handler) noexcept; }
// kernel:
static int work(int x) BODY
static void handle() { shared_ints[1] = work(3); }
static std::terminate_handler was = std::set_terminate(handle);
// call:
x += was != nullptr;
"""),
        case("pthread_atfork when loaded", "address", """
// kernel:
int pthread_atfork(void (*)(void), void (*)(void), void (*)(void));
static int work(int x) BODY
static void before(void) { shared_ints[1] = work(3); }
__attribute__((constructor)) static void enter(void) { pthread_atfork(before, 0, 0); }
// ordinary:
C_LINKED int fork();
C_LINKED void _exit(int);
C_LINKED int wait(int *);
// use:
if (fork() == 0)
  _exit(0);
wait(nullptr);
""", language="c"),
        case("pthread_key_create when loaded", "address", """
// kernel:
int pthread_key_create(unsigned *, void (*)(void *));
static int work(int x) BODY
static void gone(void *v) { shared_ints[1] = work(3) + (v != 0); }
unsigned key;
__attribute__((constructor)) static void enter(void) { pthread_key_create(&key, gone); }
""", language="c", levels=("DEFAULT", "AVX2")),
        case("signal when loaded", "address", """
// kernel:
void (*signal(int, void (*)(int)))(int);
static int work(int x) BODY
static void handle(int n) { shared_ints[1] = work(n); }
__attribute__((constructor)) static void enter(void) { signal(10, handle); }
// ordinary:
C_LINKED int raise(int);
// use:
raise(10);
""", language="c"),
        case("sigaction with a structure on the stack, when loaded", "address", """
// kernel:
#include <signal.h>
static int work(int x) BODY
static void handle(int n) { shared_ints[1] = work(n); }
__attribute__((constructor)) static void enter(void)
{
  struct sigaction action = {.sa_handler = handle};
  sigaction(10, &action, 0);
}
// ordinary:
C_LINKED int raise(int);
// use:
raise(10);
""", language="c"),
        case("at_quick_exit when loaded", "load", """
// kernel:
int at_quick_exit(void (*)(void));
static int work(int x) BODY
static void leave(void) { shared_ints[1] = work(3); }
__attribute__((constructor)) static void enter(void) { at_quick_exit(leave); }
""", language="c"),
        case("thread that is started when loaded", "load | address", """
// kernel:
#include <pthread.h>
static int work(int x) BODY
static void *run(void *v) { shared_ints[1] = work(3); return v; }
__attribute__((constructor)) static void enter(void)
{
  pthread_t thread;
  pthread_create(&thread, 0, run, 0);
  pthread_join(thread, 0);
}
""", language="c"),
        case("ordinary function with the name of one that runs its argument", "address", """
// kernel:
void call_once(int *flag, fn f);
static int flag;
static int work(int x) { seen(LEVEL_NUMBER); return x + 1; }
__attribute__((constructor)) static void enter(void) { call_once(&flag, work); }
// ordinary:
C_LINKED __attribute__((noinline)) void call_once(int *flag, fn f) { if (!*flag) { *flag = 1; add(f); } }
""", language="c"),
        case("structure of callbacks on the stack, when loaded", "address", """
// header:
struct callbacks { long version; fn run; const char *name; };
C_LINKED void add_callbacks(const struct callbacks *c);
// kernel:
static int work(int x) BODY
__attribute__((constructor)) static void enter(void)
{
  struct callbacks mine = {1, work, "work"};
  add_callbacks(&mine);
}
// ordinary:
void add_callbacks(const callbacks *c) { add(c->run); }
""", language="c"),
        case("list of initialisers, when loaded", "address", """
// header:
#include <initializer_list>
struct callbacks { long version; fn run; };
void add_callbacks(std::initializer_list<callbacks> all);
// kernel:
static int work(int x) BODY
static int made = (add_callbacks({{1, work}, {2, work}}), 1);
// call:
x += made;
// ordinary:
void add_callbacks(std::initializer_list<callbacks> all) { for (const callbacks &c : all) add(c.run); }
""", compiler="clang++-16", opt="-O2"),
        case("list of initialisers, when loaded, with GCC", "address", """
// header:
#include <initializer_list>
struct callbacks { long version; fn run; };
void add_callbacks(std::initializer_list<callbacks> all);
// kernel:
static int work(int x) BODY
static int made = (add_callbacks({{1, work}, {2, work}}), 1);
// call:
x += made;
// ordinary:
void add_callbacks(std::initializer_list<callbacks> all) { for (const callbacks &c : all) add(c.run); }
""", compiler="g++", opt="-O2"),
        case("table without a symbol, when loaded", "address", """
// header:
struct callbacks { long version; fn run; };
C_LINKED void add_callbacks(const struct callbacks *c);
// kernel:
__attribute__((used)) static int work(int x) BODY
__asm__(".pushsection .data.rel.ro,\\"aw\\"\\n.balign 8\\n.Ltable: .quad 1, work\\n.popsection\\n");
__attribute__((constructor)) static void enter(void)
{
  const struct callbacks *at;
  __asm__("lea .Ltable(%%rip), %0" : "=r"(at));
  add_callbacks(at);
}
// ordinary:
void add_callbacks(const callbacks *c) { add(c->run); }
""", language="c"),
        case("table whose symbol has no size, when loaded", "address", """
// header:
struct callbacks { long version; fn run; };
C_LINKED void add_callbacks(const struct callbacks *c);
// kernel:
__attribute__((used)) static int work(int x) BODY
__asm__(".pushsection .data.rel.ro,\\"aw\\"\\n.balign 8\\ntable_: .quad 1, work\\n.popsection\\n");
extern const struct callbacks table_ __attribute__((visibility("hidden")));
__attribute__((constructor)) static void enter(void) { add_callbacks(&table_); }
// ordinary:
void add_callbacks(const callbacks *c) { add(c->run); }
""", language="c"),
        case("table past a structure's end, when loaded", "address", """
// kernel:
static int work(int x) BODY
static const struct { long zero[4]; fn table[2]; } mine = {{0}, {work, 0}};
__attribute__((constructor)) static void enter(void) { add_table(mine.table); }
""", language="c"),
        case("function that is loaded from a table of the level, when loaded", "address", """
// kernel:
static int work(int x) BODY
static fn own = work;
static fn *volatile where = &own;
__attribute__((constructor)) static void enter(void) { add(*where); }
""", language="c"),
        case("object that is made by new, when loaded", "address", """
// kernel:
namespace {
struct mine : worker { int work(int x) override BODY };
int made = add_worker(new mine);
}
// call:
x += made;
"""),
        case("std::function when loaded", "address", """
// header:
#include <functional>
inline std::function<int(int)> hook;
// kernel:
static int work(int x) BODY
static int made = (hook = work, 1);
// call:
x += made;
// use:
x += hook(x);
"""),
        case("inline std::function", "address | refused | address + load", """
// header:
#include <functional>
template <class T> NOINLINE int impl(int x) BODY
inline std::function<int(int)> hook = impl<int>;
// call:
x += hook(x);
// use:
x += hook(x);
"""),
        case("inline std::any and std::variant", "address | refused", """
// header:
#include <any>
#include <variant>
template <class T> NOINLINE int impl(int x) BODY
inline std::any any_hook = &impl<int>;
inline std::variant<int, fn> either = &impl<long>;
// call:
x += std::any_cast<fn>(any_hook)(x) + std::get<1>(either)(x);
// use:
x += std::any_cast<fn>(any_hook)(x) + std::get<1>(either)(x);
"""),
        case("inline std::shared_ptr", "address | refused | load + address", """
// header:
#include <memory>
static inline int work_of(int x) BODY
struct shared_thing { int v = 1; NOINLINE ~shared_thing() { int x = v; shared_ints[1] = work_of(x); } };
inline std::shared_ptr<shared_thing> shared = std::make_shared<shared_thing>();
// call:
x += shared->v;
// use:
shared.reset();
shared = std::make_shared<shared_thing>();
"""),
        case("inline std::unique_ptr with a deleter", "address | refused | load + address", """
// header:
#include <memory>
static inline int work_of(int x) BODY
template <class T> NOINLINE void gone(T *p) { int x = *p; shared_ints[1] = work_of(x); }
inline int some_int = 4;
inline std::unique_ptr<int, void (*)(int *)> owner(&some_int, gone<int>);
// call:
x += *owner;
// use:
owner.reset();
"""),
        case("thread_local object of ordinary code and levels", "sound | address | refused", """
// header:
struct tls_thing { int v; NOINLINE tls_thing() : v(ordinary_value()) {} NOINLINE ~tls_thing() { shared_ints[3] += v; } };
inline thread_local tls_thing tls;
// call:
x += tls.v;
// use:
x += tls.v;
"""),
        case("dynamic initialiser of a constant object", "address | refused | load + address", """
// header:
struct base { virtual int run(int x) const BODY };
struct made : base { int v; made() : v(ordinary_value()) {} int run(int x) const override BODY };
inline const made object;
NOINLINE inline int call(const base &b, int x) { return b.run(x); }
// call:
x += call(object, x);
// use:
x += call(object, x);
""", opt="-O2"),
        case("large structure copied when loaded", "address", """
// header:
struct many { fn all[40]; };
C_LINKED struct many ordinary_many;
// kernel:
static int work(int x) BODY
static struct many mine = {{work, work, work, 0, work}};
__attribute__((constructor)) static void enter(void) { ordinary_many = mine; }
// ordinary:
many ordinary_many;
// use:
if (ordinary_many.all[4])
  x += ordinary_many.all[4](x);
""", language="c", opt="-O2"),
        case("half of an address, when loaded", "address", """
// kernel:
static int work(int x) BODY
__attribute__((constructor)) static void enter(void) { shared_ints[8] = (int)(long)&work; }
// use:
if (shared_ints[8] != 0)
  x += reinterpret_cast<fn>((unsigned long)(unsigned)shared_ints[8])(x);
""", language="c", kind="fixed", kernel_args=("-fno-pic",)),
        case("number of an address without -fPIC, when loaded", "address", """
// kernel:
static int work(int x) BODY
__attribute__((constructor)) static void enter(void) { ordinary_hook = work; }
""", language="c", kind="fixed", kernel_args=("-fno-pic",)),
        case("large code model, when loaded", "address | unproven | unproven + address", """
// kernel:
static int work(int x) BODY
__attribute__((constructor)) static void enter(void) { ordinary_hook = work; }
""", language="c", kind="executable", kernel_args=("-mcmodel=large",)),
        case("large code model without -fPIC, when loaded", "address | unproven | unproven + address", """
// kernel:
static int work(int x) BODY
__attribute__((constructor)) static void enter(void) { ordinary_hook = work; }
""", language="c", kind="fixed", kernel_args=("-mcmodel=large", "-fno-pic")),
    ]
)
