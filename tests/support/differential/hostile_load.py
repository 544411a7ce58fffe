"""Ingredients whose initialisers hand out a level's code in roundabout ways."""

from .ingredients import ASSUMED, HOSTILE, Ingredient, ingredient

IMPL = "static NOINLINE int impl_$n(int x) { $body }\n"
OTHER = "static NOINLINE int other_$n(int x) { $body2 }\n"

TEXTS = {
    "object that its base registers": """
// header:
struct base_$n {
  base_$n();
  virtual int go(int x) { return x; }
};
// kernel:
namespace {
struct derived_$n : base_$n {
  int go(int x) override { $body }
};
derived_$n object_$n;
}
// ordinary:
static base_$n *registered_$n;
base_$n::base_$n() { registered_$n = this; }
// use:
x += registered_$n->go(x);
""",
    "node filled when loaded": """
// header:
struct node_$n { struct node_$n *next; fn run; };
ISA_BEGIN_C
extern struct node_$n *first_$n;
ISA_END_C
// kernel:
IMPLstatic struct node_$n own_$n;
__attribute__((constructor)) static void link_$n(void)
{
  own_$n.run = impl_$n;
  own_$n.next = first_$n;
  first_$n = &own_$n;
}
// ordinary:
node_$n *first_$n;
// use:
for (node_$n *at = first_$n; at; at = at->next)
  x += at->run(x);
""",
    "atomic store when loaded": """
// kernel:
IMPLstatic fn own_$n = impl_$n;
__attribute__((constructor)) static void store_$n(void)
{
  __atomic_store_n(&ordinary_hook, own_$n, __ATOMIC_SEQ_CST);
}
""",
    "argument on the stack when loaded": """
// header:
ISA_BEGIN_C
void take_$n(int a, int b, int c, int d, int e, int f, fn last);
ISA_END_C
// kernel:
IMPL__attribute__((constructor)) static void hand_$n(void) { take_$n(1, 2, 3, 4, 5, 6, impl_$n); }
// ordinary:
static fn taken_$n;
void take_$n(int, int, int, int, int, int, fn last) { taken_$n = last; }
// use:
x += taken_$n(x);
""",
    "choice when loaded": """
// kernel:
IMPLOTHERstatic fn ways_$n[2] = {impl_$n, other_$n};
__attribute__((constructor)) static void choose_$n(void)
{
  fn one = ways_$n[0], two = ways_$n[1];
  ordinary_hook = ordinary_value() > 3 ? one : two;
}
""",
    "reference to ordinary data": """
// kernel:
IMPLstatic fn *const place_$n = &ordinary_hook;
static fn *volatile where_$n = &ordinary_hook;
__attribute__((constructor)) static void store_$n(void) { **&where_$n = impl_$n; (void)place_$n; }
""",
    "thread-local hook of ordinary code": """
// header:
ISA_BEGIN_C
extern __thread fn thread_hook_$n;
ISA_END_C
// kernel:
IMPLstatic fn own_$n = impl_$n;
__attribute__((constructor)) static void store_$n(void) { thread_hook_$n = own_$n; }
// ordinary:
__thread fn thread_hook_$n;
// use:
x += thread_hook_$n(x);
""",
    "array on the stack copied when loaded": """
// header:
ISA_BEGIN_C
extern fn copied_$n[4];
ISA_END_C
// kernel:
IMPLOTHER__attribute__((constructor)) static void copy_$n(void)
{
  fn local[4] = {impl_$n, other_$n, impl_$n, other_$n};
  __builtin_memcpy(copied_$n, local, sizeof local);
}
// ordinary:
fn copied_$n[4];
// use:
x += copied_$n[x & 3](x);
""",
    "bytes copied when loaded": """
// header:
ISA_BEGIN_C
extern fn copied_$n;
ISA_END_C
// kernel:
IMPLstatic fn own_$n = impl_$n;
__attribute__((constructor)) static void copy_$n(void)
{
  int i;
  for (i = 0; i < (int)sizeof(fn); i++)
    ((volatile char *)&copied_$n)[i] = ((volatile char *)&own_$n)[i];
}
// ordinary:
fn copied_$n;
// use:
x += copied_$n(x);
""",
    "initialiser that calls a stub": """
// kernel:
static long early_$n;
__attribute__((constructor)) static void early_call_$n(void) { early_$n = stub_0(5); }
// call:
x += (int)early_$n;
""",
    "address handed to memory that ordinary code gives": """
// header:
ISA_BEGIN_C
fn *slot_$n(void);
ISA_END_C
// kernel:
IMPLstatic fn own_$n = impl_$n;
__attribute__((constructor)) static void fill_$n(void) { *slot_$n() = own_$n; }
// ordinary:
static fn slots_$n[2];
fn *slot_$n(void) { return &slots_$n[1]; }
// use:
x += slots_$n[1](x);
""",
    "exchange when loaded": """
// kernel:
IMPLstatic fn own_$n = impl_$n;
__attribute__((constructor)) static void swap_$n(void)
{
  fn before = ordinary_hook;
  ordinary_hook = own_$n;
  own_$n = before ? before : ordinary_hook;
}
""",
    "pointer returned to ordinary code when loaded": """
// header:
typedef fn (*giver_$n)(void);
ISA_BEGIN_C
void ask_$n(giver_$n giver);
ISA_END_C
// kernel:
IMPLstatic NOINLINE fn give_$n(void) { return impl_$n; }
__attribute__((constructor)) static void offer_$n(void) { ask_$n(give_$n); }
// ordinary:
static fn given_$n;
void ask_$n(giver_$n giver) { given_$n = giver(); }
// use:
x += given_$n(x);
""",
}

CPP = {"object that its base registers"}
# The audit assumes that code computes no addresses from bytes that it copies (docs/audit.md).
KEPT = {"bytes copied when loaded"}

HOSTILE_LOAD: list[Ingredient] = [
    ingredient(
        name,
        ASSUMED if name in KEPT else HOSTILE,
        text.replace("IMPL", IMPL).replace("OTHER", OTHER),
        "cpp" if name in CPP else "c cpp",
        single=True,
    )
    for name, text in TEXTS.items()
]
