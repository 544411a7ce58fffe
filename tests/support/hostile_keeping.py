"""Hostile cases: a level's code that keeps its addresses in variables of others while it runs, and hands them out."""

from support.hostile import case, rotated

HOOK = """
// ordinary:
C_LINKED fn kept_hook;
fn kept_hook;
// use:
if (kept_hook)
  x += kept_hook(x);
// header:
C_LINKED fn kept_hook;
"""


def stored(statements: str, before: str = "", hook: str = HOOK) -> str:
    """Return a case's text, whose kernel runs `statements`."""
    return f"{hook}// kernel:\nstatic int impl(int x) BODY\nstatic int impl2(int x) BODY\n{before}// call:\n{statements}"


CASES = rotated(
    [
        case("stored by name, in a program", "address", stored("kept_hook = impl;\n"), language="c", kind="executable"),
        case("stored by name, in a library", "address", stored("kept_hook = impl;\n"), language="c", kind="library"),
        case("stored by name, in a library, with lld", "address", stored("kept_hook = impl;\n"), language="c",
             kind="library", linker="lld", compiler="g++"),
        case("stored by name, without optimisation", "address", stored("kept_hook = impl;\n"), language="c", opt="-O0"),
        case("stored by name, without -fPIC", "address", stored("kept_hook = impl;\n"), language="c", kind="fixed",
             kernel_args=("-fno-pic",)),
        case("stored by name, large code model", "address", stored("kept_hook = impl;\n"), language="c",
             kind="executable", kernel_args=("-mcmodel=large",), compiler="g++"),
        case("stored by name, large code model of clang", "address", stored("kept_hook = impl;\n"), language="c",
             kind="executable", kernel_args=("-mcmodel=large",), compiler="clang++-16"),
        case("stored by name, large code model without -fPIC", "address", stored("kept_hook = impl;\n"), language="c",
             kind="fixed", kernel_args=("-mcmodel=large", "-fno-pic")),
        case("stored by name, -fno-plt", "address", stored("kept_hook = impl;\n"), language="c", kind="library",
             kernel_args=("-fno-plt",)),
        case("one of two, by a condition", "address", stored("kept_hook = x & 1 ? impl : impl2;\n"), language="c"),
        case("tagged", "address", stored("kept_hook = (fn)((unsigned long)impl | (1ul << 62));\n",
             hook=HOOK.replace("kept_hook(x)", "((fn)((unsigned long)kept_hook & ~(1ul << 62)))(x)")), language="c"),
        case("plus an offset", "address", stored("kept_hook = (fn)((char *)impl + 0x40000000);\n",
             hook=HOOK.replace("kept_hook(x)", "((fn)((char *)kept_hook - 0x40000000))(x)")), language="c"),
        case("by an atomic exchange", "address", stored("__atomic_exchange_n(&kept_hook, impl, __ATOMIC_SEQ_CST);\n"),
             language="c"),
        case("by an atomic store", "address", stored("__atomic_store_n(&kept_hook, impl, __ATOMIC_SEQ_CST);\n"),
             language="c"),
        case("by comparing and exchanging", "address",
             stored("fn none = 0;\n__atomic_compare_exchange_n(&kept_hook, &none, impl, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);\n"),
             language="c"),
        case("by memcpy", "address", stored("fn mine = impl;\n__builtin_memcpy(&kept_hook, &mine, sizeof mine);\n"),
             language="c", opt="-O2"),
        case("into an array, at an unknown place", "address", stored("hooks[x & 3] = impl;\n", hook="""
// header:
C_LINKED fn hooks[4];
// ordinary:
fn hooks[4];
// use:
for (int i = 0; i < 4; i++)
  if (hooks[i])
    x += hooks[i](x);
"""), language="c"),
        case("into a structure", "address", stored("state.run = impl;\n", hook="""
// header:
struct state { long version; fn run; };
C_LINKED struct state state;
// ordinary:
struct state state;
// use:
if (state.run)
  x += state.run(x);
"""), language="c"),
        case("a structure of functions, copied", "address", stored("ops = own;\n", "static const struct ops own = {1, impl, impl2, impl};\n", hook="""
// header:
struct ops { long version; fn run, more, most; };
C_LINKED struct ops ops;
// ordinary:
struct ops ops;
// use:
if (ops.run)
  x += ops.run(x);
"""), language="c"),
        case("a large structure of functions, copied", "address", stored("many = own;\n", "static const struct many own = {{impl, impl2, 0, impl}};\n", hook="""
// header:
struct many { fn run[60]; };
C_LINKED struct many many;
// ordinary:
struct many many;
// use:
if (many.run[0])
  x += many.run[0](x);
"""), language="c", compiler="g++", opt="-O2"),
        case("a large structure of functions, copied by clang", "address", stored("many = own;\n", "static const struct many own = {{impl, impl2, 0, impl}};\n", hook="""
// header:
struct many { fn run[60]; };
C_LINKED struct many many;
// ordinary:
struct many many;
// use:
if (many.run[0])
  x += many.run[0](x);
"""), language="c", compiler="clang++-16", opt="-O2"),
        case("a table, copied in a loop", "address", stored("for (int i = 0; i < 2; i++) hooks[i] = own[i];\n", "static const fn own[2] = {impl, impl2};\n", hook="""
// header:
C_LINKED fn hooks[2];
// ordinary:
fn hooks[2];
// use:
if (hooks[1])
  x += hooks[1](x);
"""), language="c", opt="-O1"),
        case("a pointer to a table", "address", stored("at = own;\n", "static const fn own[2] = {impl, impl2};\n", hook="""
// header:
C_LINKED const fn *at;
// ordinary:
const fn *at;
// use:
if (at)
  x += at[1](x);
"""), language="c"),
        case("a pointer to an object with a vtable", "address", stored("at = &object;\n", """
namespace { struct mine : worker { int work(int x) override BODY }; mine object; }
""", hook="""
// header:
extern worker *at;
// ordinary:
worker *at;
// use:
if (at)
  x += at->work(x);
""")),
        case("a pointer to a function, thread_local", "address", stored("tls_hook = impl;\n", hook="""
// header:
C_LINKED __thread fn tls_hook;
// ordinary:
__thread fn tls_hook;
// use:
if (tls_hook)
  x += tls_hook(x);
"""), language="c", kind="executable"),
        case("a pointer to a function, thread_local in a library", "address", stored("tls_hook = impl;\n", hook="""
// header:
C_LINKED __thread fn tls_hook;
// ordinary:
__thread fn tls_hook;
// use:
if (tls_hook)
  x += tls_hook(x);
"""), language="c", kind="library"),
        case("half of an address", "address", stored("half = (unsigned)(unsigned long)impl;\n", hook="""
// header:
C_LINKED unsigned half;
// ordinary:
unsigned half;
// use:
if (half)
  x += ((fn)(unsigned long)half)(x);
"""), language="c", kind="fixed", kernel_args=("-fno-pic",)),
        case("through a reference", "address | sound", stored("put(kept_hook, impl);\n",
             "static NOINLINE void put(fn &to, fn f) { to = f; }\n"), opt="-O1"),
        case("through a method of a registry in a header", "address", stored("all().set(impl);\n", hook="""
// header:
struct registry { fn one; NOINLINE void set(fn f) { one = f; } };
inline registry &all() { static registry only; return only; }
// use:
if (all().one)
  x += all().one(x);
"""), opt="-O1"),
        case("in an inline std::function", "address", stored("hook = impl;\n", hook="""
// header:
#include <functional>
inline std::function<int(int)> hook;
// use:
if (hook)
  x += hook(x);
"""), opt="-O2", kernels_first=True),
        case("in a function's static std::function", "address", """
// header:
#include <functional>
NOINLINE inline int impl(int x) BODY
inline std::function<int(int)> &hook() { static std::function<int(int)> f = impl; return f; }
// call:
x += hook()(x);
// use:
static int calls;
if (calls++)
  x += hook()(x);
""", opt="-O2"),
        case("in a function's static object with a vtable", "address", """
// header:
struct thing { int state; thing() : state(ordinary_value()) {} virtual int go(int x) BODY };
NOINLINE inline int call(thing &t, int x) { return t.go(x); }
inline thing &only() { static thing only; return only; }
// call:
x += call(only(), x);
// use:
static int calls;
if (calls++)
  x += call(only(), x);
""", opt="-O2"),
        case("return address that ordinary code keeps", "sound", """
// header:
C_LINKED int keeps(int x);
// ordinary:
static void *kept;
__attribute__((noinline)) int keeps(int x) { kept = __builtin_return_address(0); return x; }
// call:
x += keeps(x);
""", language="c"),
        case("value of a stub that ordinary code keeps", "address | assumed", """
// ordinary:
static stub_fn kept;
// use:
if (kept)
  x += (int)kept(x);
if (isa_stub_level(0) != 0)
  kept = stub_0;
"""),
        case("exception with a virtual function, caught by ordinary code", "assumed", """
// header:
struct problem { virtual int what(int x) const BODY };
// call:
if (v == 12345)
  throw problem();
// use:
try { x += (int)stub_0(12345); } catch (const problem &p) { x += p.what(x); }
"""),
        case("object that a kernel returns", "assumed", """
// header:
struct made { virtual int go(int x) BODY };
// ordinary:
made *last_made;
// kernel:
extern made *last_made;
// call:
last_made = new made;
// use:
if (last_made)
  x += last_made->go(x);
"""),
        case("std::shared_ptr that a kernel makes", "assumed", """
// header:
#include <memory>
struct thing { int v = 2; NOINLINE ~thing() { run(v); } static int run(int x) BODY };
extern std::shared_ptr<thing> given;
// ordinary:
std::shared_ptr<thing> given;
// call:
given = std::make_shared<thing>();
// use:
given.reset();
""", opt="-O1"),
        case("handler of a signal, set by a kernel", "assumed", """
// header:
C_LINKED void (*signal(int, void (*)(int)) NEVER_THROWS)(int);
C_LINKED int raise(int) NEVER_THROWS;
// kernel:
static int work(int x) BODY
static void handle(int n) { shared_ints[1] = work(n); }
// call:
signal(10, handle);
shared_ints[9] = 1;
// use:
if (shared_ints[9] == 1)
  raise(10);
""", language="c"),
        case("atexit in a kernel", "sound", """
// kernel:
static int work(int x) BODY
static void leave(void) { shared_ints[1] += work(1); }
// call:
static int once;
if (!once++)
  atexit(leave);
""", language="c"),
        case("nested function with a trampoline", "sound", """
// header:
C_LINKED void qsort(void *, unsigned long, unsigned long, int (*)(const void *, const void *));
// call:
int compared(const void *a, const void *b) { x += *(const int *)a; return *(const int *)a - *(const int *)b; }
qsort(shared_ints, 4, sizeof(int), compared);
""", language="c", compiler="g++", link_args=("-z", "execstack")),
        case("computed jumps in a kernel", "sound", """
// call:
static void *const steps[] = {&&one, &&two};
goto *steps[x & 1];
one: x += 1;
two: x += 2;
""", language="c"),
        case("setjmp and longjmp in a kernel", "sound", """
// header:
#include <setjmp.h>
// call:
jmp_buf place;
if (setjmp(place) == 0)
  longjmp(place, 1);
""", language="c"),
        case("std::call_once in a kernel", "sound", """
// header:
#include <mutex>
// call:
static std::once_flag once;
std::call_once(once, [&] { shared_ints[2] = level_work_(x); });
// kernel:
static int level_work_(int x) BODY
""", link_args=("-lpthread",)),
        case("thread in a kernel", "sound", """
// header:
#include <thread>
// kernel:
static int level_work_(int x) BODY
// call:
std::thread run([&] { shared_ints[2] = level_work_(x); });
run.join();
"""),
        case("coroutine in a kernel", "sound | assumed", """
// header:
#if __cplusplus >= 202002L
#include <coroutine>
struct task {
  struct promise_type {
    int value = 0;
    task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_value(int v) { value = v; }
    void unhandled_exception() {}
  };
  std::coroutine_handle<promise_type> handle;
};
#endif
// kernel:
static int level_work_(int x) BODY
static task make(int x) { co_await std::suspend_always{}; co_return level_work_(x); }
// call:
task t = make(x);
t.handle.resume();
t.handle.resume();
x += t.handle.promise().value;
t.handle.destroy();
""", kernel_args=("-std=c++20",), opt="-O2"),
    ]
)
