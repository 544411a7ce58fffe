"""Ingredients that hand ordinary code what leads to a level's code: objects, tables, nodes, copies, signals, exits."""

from .ingredients import ASSUMED, HOSTILE, Ingredient, ingredient

TEXTS = {
    "table handed over when loaded": """
// header:
ISA_BEGIN_C
void take_$n(const fn *table);
ISA_END_C
// kernel:
static NOINLINE int impl_$n(int x) { $body }
static const fn entries_$n[2] = {impl_$n, impl_$n};
__attribute__((constructor)) static void hand_$n(void) { take_$n(entries_$n); }
// ordinary:
static const fn *taken_$n;
void take_$n(const fn *table) { taken_$n = table; }
// use:
x += taken_$n[x & 1](x);
""",
    "structure handed over when loaded": """
// header:
struct plugin_$n { const char *name; fn run; };
ISA_BEGIN_C
void take_$n(struct plugin_$n *plugin);
ISA_END_C
// kernel:
static NOINLINE int impl_$n(int x) { $body }
static struct plugin_$n plugin_of_$n = {"plugin", impl_$n};
__attribute__((constructor)) static void hand_$n(void) { take_$n(&plugin_of_$n); }
// ordinary:
static plugin_$n *taken_$n;
void take_$n(plugin_$n *plugin) { taken_$n = plugin; }
// use:
x += taken_$n->run(x);
""",
    "node of a list, linked when loaded": """
// header:
struct node_$n { struct node_$n *next; fn run; };
ISA_BEGIN_C
extern struct node_$n *first_$n;
ISA_END_C
// kernel:
static NOINLINE int impl_$n(int x) { $body }
static struct node_$n own_$n = {0, impl_$n};
__attribute__((constructor)) static void link_$n(void)
{
  own_$n.next = first_$n;
  first_$n = &own_$n;
}
// ordinary:
node_$n *first_$n;
// use:
for (node_$n *at = first_$n; at; at = at->next)
  x += at->run(x);
""",
    "pointer copied when loaded": """
// kernel:
static NOINLINE int impl_$n(int x) { $body }
static fn own_$n = impl_$n;
static fn *volatile where_$n = &own_$n;
__attribute__((constructor)) static void copy_$n(void) { ordinary_hook = *where_$n; }
""",
    "table copied when loaded": """
// header:
ISA_BEGIN_C
extern fn copied_$n[3];
ISA_END_C
// kernel:
static NOINLINE int impl_$n(int x) { $body }
static NOINLINE int other_$n(int x) { $body2 }
static const fn entries_$n[3] = {impl_$n, other_$n, impl_$n};
__attribute__((constructor)) static void copy_$n(void)
{
  int i;
  for (i = 0; i < ordinary_value() - 2; i++)
    copied_$n[i] = entries_$n[i];
}
// ordinary:
fn copied_$n[3];
// use:
x += copied_$n[x & 1](x);
""",
    "structure copied when loaded": """
// header:
struct pair_$n { fn one, two; };
ISA_BEGIN_C
extern struct pair_$n copied_$n;
ISA_END_C
// kernel:
static NOINLINE int impl_$n(int x) { $body }
static NOINLINE int other_$n(int x) { $body2 }
static const struct pair_$n pair_of_$n = {impl_$n, other_$n};
__attribute__((constructor)) static void copy_$n(void) { copied_$n = pair_of_$n; }
// ordinary:
pair_$n copied_$n;
// use:
x += copied_$n.two(x);
""",
    "address from a call when loaded": """
// kernel:
static NOINLINE int impl_$n(int x) { $body }
static NOINLINE fn pick_$n(void) { return impl_$n; }
__attribute__((constructor)) static void store_$n(void) { ordinary_hook = pick_$n(); }
""",
    "address in parts when loaded": """
// header:
ISA_BEGIN_C
extern unsigned long number_$n;
ISA_END_C
// kernel:
static NOINLINE int impl_$n(int x) { $body }
__attribute__((constructor)) static void store_$n(void) { number_$n = (unsigned long)impl_$n ^ 0x5555; }
// ordinary:
unsigned long number_$n;
// use:
x += reinterpret_cast<fn>(number_$n ^ 0x5555)(x);
""",
    "registry of an inline function": """
// header:
struct registry_$n {
  worker *workers[8];
  int count;
  int put(worker *w) { workers[count++] = w; return count; }
};
inline registry_$n &all_$n() { static registry_$n all; return all; }
// kernel:
namespace {
struct worker_$n : worker {
  int work(int x) override { $body }
};
worker_$n worker_of_$n;
int put_$n = all_$n().put(&worker_of_$n);
}
// call:
x += put_$n;
// use:
for (int i = 0; i < all_$n().count; i++)
  x += all_$n().workers[i]->work(x);
""",
    "inline pointer set when loaded": """
// header:
inline const fn *current_$n;
// kernel:
static NOINLINE int impl_$n(int x) { $body }
static const fn entries_$n[1] = {impl_$n};
static int set_$n = (current_$n = entries_$n, 1);
// call, use:
x += current_$n[0](x);
""",
    "registrar that makes an object": """
// header:
template <class W> struct adder_$n { adder_$n() { add_worker(new W); } };
// kernel:
namespace {
struct worker_$n : worker {
  int work(int x) override { $body }
};
adder_$n<worker_$n> adder_of_$n;
}
""",
    "object of one level": """
// header:
struct thing_$n { virtual int go(int x) { $body } };
// kernel:
#if $only
thing_$n strong_$n;
#endif
// ordinary:
extern thing_$n strong_$n;
// use:
{
  thing_$n *volatile at = &strong_$n;
  x += at->go(x);
}
""",
    "pointer of one level to a table": """
// kernel:
#if $only
static NOINLINE int impl_$n(int x) { $body }
static const fn entries_$n[1] = {impl_$n};
LINKED_OUT const fn *strong_at_$n;
LINKED const fn *strong_at_$n = entries_$n;
#endif
// ordinary:
LINKED_OUT const fn *strong_at_$n;
// use:
x += strong_at_$n[0](x);
""",
    "explicit instantiation in a kernel": """
// header:
template <class T> struct ops_$n { static int run(int x); };
template <class T> int ops_$n<T>::run(int x) { $tbody }
// kernel:
#if $only
template struct ops_$n<$T>;
#endif
// ordinary:
extern template struct ops_$n<$T>;
// use:
{
  int (*volatile at)(int) = &ops_$n<$T>::run;
  x += at(x);
}
""",
    "name set by assembly": """
// kernel:
#if $only
LINKED_FUNCTION __attribute__((used)) int meant_$n(int x);
LINKED_FUNCTION int meant_$n(int x) { $body }
__asm__(".globl named_$n\\n.set named_$n, meant_$n\\n");
#endif
// ordinary:
LINKED_FUNCTION int named_$n(int x);
// use:
x += named_$n(x);
""",
    "pointer to a label in assembly's data": """
// kernel:
#if $only
LINKED_FUNCTION __attribute__((used, visibility("hidden"))) int meant_$n(int x);
LINKED_FUNCTION int meant_$n(int x) { $body }
__asm__(".pushsection .data.at_$n,\\"aw\\"\\n.balign 8\\n.globl at_$n\\n.hidden at_$n\\nat_$n: .quad meant_$n + 0\\n"
        ".popsection\\n");
#endif
// ordinary:
LINKED_OUT const fn at_$n;
// use:
x += at_$n(x);
""",
    "code in .init": """
// kernel:
#if $only
LINKED_FUNCTION __attribute__((used, visibility("hidden"))) void early_$n(void);
LINKED_FUNCTION void early_$n(void) { shared_data[1] = shared_data[1] * 3 + shared_data[2]; shared_data[5] *= 2; }
#ifdef __aarch64__
__asm__(".pushsection .init,\\"ax\\",@progbits\\nbl early_$n\\n.popsection\\n");
#elif defined __s390x__
__asm__(".pushsection .init,\\"ax\\",@progbits\\nbrasl %r14, early_$n\\n.popsection\\n");
#else
__asm__(".pushsection .init,\\"ax\\",@progbits\\ncall early_$n\\n.popsection\\n");
#endif
#endif
""",
    "entry of .fini_array": """
// kernel:
static NOINLINE int work_$n(int x) { $body }
static void leave_$n(void) { shared_ints[1] += work_$n(1); }
__attribute__((section(".fini_array"), used)) static void (*const leave_at_$n)(void) = leave_$n;
""",
    "handler of a signal": """
// header:
ISA_BEGIN_C
void (*signal(int, void (*)(int)) NEVER_THROWS)(int);
int raise(int) NEVER_THROWS;
ISA_END_C
// kernel:
static void handle_$n(int number)
{
  shared_ints[number & 3] += 1;
  shared_data[0] = shared_data[0] * 2 + shared_data[1];
}
__attribute__((constructor)) static void listen_$n(void) { signal(10, handle_$n); }
// use:
x += raise(10);
""",
    "on_exit when loaded": """
// header:
ISA_BEGIN_C
int on_exit(void (*)(int, void *), void *) NEVER_THROWS;
ISA_END_C
// kernel:
static void leave_$n(int status, void *data)
{
  (void)data;
  shared_data[3] = shared_data[3] * 3 + shared_data[status & 3];
  shared_data[5] *= 2;
}
__attribute__((constructor)) static void listen_$n(void) { on_exit(leave_$n, 0); }
""",
    "callback of the C library when loaded": """
// header:
ISA_BEGIN_C
int dl_iterate_phdr(int (*)(struct dl_phdr_info *, unsigned long, void *), void *);
ISA_END_C
// kernel:
static int visit_$n(struct dl_phdr_info *info, unsigned long size, void *data)
{
  (void)info, (void)data;
  shared_data[3] = shared_data[3] * 3 + shared_data[size & 3];
  return 0;
}
__attribute__((constructor)) static void visit_all_$n(void) { dl_iterate_phdr(visit_$n, 0); }
""",
    "constructor with a priority": """
// kernel:
static NOINLINE int work_$n(int x) { $body }
__attribute__((constructor(200))) static void early_$n(void) { shared_ints[3] += work_$n(2); }
""",
    "exception with a virtual function": """
// header:
struct problem_$n { virtual int what(int x) const { $body } };
// call:
if (v == 12345)
  throw problem_$n();
// use:
try {
  x += (int)stub_0(12345);
} catch (const problem_$n &p) {
  x += p.what(x);
}
""",
    "object made by a kernel": """
// header:
struct made_$n { virtual int go(int x) { $body } };
inline made_$n *&last_$n() { static made_$n *last; return last; }
// call:
last_$n() = new made_$n;
// use:
if (last_$n())
  x += last_$n()->go(x);
""",
    "object with a vtable in a function": """
// header:
struct thing_$n { int state; thing_$n() : state(ordinary_value()) {} virtual int go(int x) { state++; $body } };
NOINLINE inline int call_$n(thing_$n &t, int x) { return t.go(x); }
inline thing_$n &only_$n() { static thing_$n only; return only; }
// call:
x += call_$n(only_$n(), x);
""",
}

CPP = {"registry of an inline function", "inline pointer set when loaded", "registrar that makes an object"}
CPP |= {"object of one level", "explicit instantiation in a kernel"}
KEPT = {"exception with a virtual function", "object made by a kernel", "object with a vtable in a function"}

HOSTILE_HANDED: list[Ingredient] = [
    ingredient(
        name,
        ASSUMED if name in KEPT else HOSTILE,
        text,
        "cpp" if name in CPP | KEPT else "c cpp",
        single=name not in KEPT,
    )
    for name, text in TEXTS.items()
]
