"""Ingredients that let an address of a level's code leave it through data."""

from .ingredients import HOSTILE, Ingredient, ingredient

TEXTS = {
    "writable table of a template": """
// header:
template <class T> NOINLINE int impl_$n(int x) { $tbody }
template <class T> struct ops_$n { static fn table[2]; };
template <class T> fn ops_$n<T>::table[2] = {&impl_$n<T>, &impl_$n<char>};
// call, $uses:
x += ops_$n<$T>::table[x & 1](x);
""",
    "inline hook": """
// header:
template <class T> NOINLINE int impl_$n(int x) { $tbody }
inline fn hook_$n = &impl_$n<$T>;
// call, $uses:
x += hook_$n(x);
""",
    "inline object with a vtable": """
// header:
struct base_$n { virtual int run(int x) { $body } };
struct derived_$n : base_$n { int state = 1; int run(int x) override { state++; $body2 } };
inline derived_$n object_$n;
NOINLINE inline int call_$n(base_$n &b, int x) { return b.run(x); }
// call, $uses:
x += call_$n(object_$n, x);
""",
    "pointer to code in a function static": """
// header:
template <class T> NOINLINE int impl_$n(int x) { $tbody }
inline fn &held_$n() { static fn held = &impl_$n<$T>; return held; }
// call, $uses:
x += held_$n()(x);
""",
    "writable pointer to a constant table": """
// header:
template <class T> NOINLINE int impl_$n(int x) { $tbody }
template <class T> struct ops_$n { static const fn table[2]; };
template <class T> const fn ops_$n<T>::table[2] = {&impl_$n<T>, &impl_$n<char>};
inline const fn *current_$n = ops_$n<$T>::table;
// call, $uses:
x += current_$n[x & 1](x);
""",
    "writable pointer to a constant object": """
// header:
template <class T> struct object_$n { virtual int run(int x) const { $tbody } };
template <class T> inline const object_$n<T> value_$n{};
inline const object_$n<$T> *at_$n = &value_$n<$T>;
// call, $uses:
x += at_$n->run(x);
""",
    "thread_local hook": """
// header:
template <class T> NOINLINE int impl_$n(int x) { $tbody }
inline thread_local fn hook_$n = &impl_$n<$T>;
// call, $uses:
x += hook_$n(x);
""",
    "thread_local hook of a template's function": """
// header:
template <class T> NOINLINE int impl_$n(int x) { $tbody }
template <class T> fn &held_$n() { static thread_local fn held = &impl_$n<T>; return held; }
// call, $uses:
x += held_$n<$T>()(x);
""",
    "hook in a mutable member": """
// header:
template <class T> NOINLINE int impl_$n(int x) { $tbody }
struct holder_$n { mutable fn hook; };
inline const holder_$n holder_of_$n = {&impl_$n<$T>};
// call, $uses:
x += holder_of_$n.hook(x);
""",
    "member pointer in a variable": """
// header:
struct members_$n { int a = 1; NOINLINE int go(int x) { $body } };
inline int (members_$n::*chosen_$n)(int) = &members_$n::go;
// call, $uses:
{
  members_$n m;
  x += (m.*chosen_$n)(x);
}
""",
    "lambda in a variable": """
// header:
inline fn hook_$n = [](int x) { $body };
// call, $uses:
x += hook_$n(x);
""",
    "hook set by an initialiser": """
// header:
template <class T> NOINLINE int impl_$n(int x) { $tbody }
NOINLINE inline fn pick_$n() { return ordinary_value() ? &impl_$n<$T> : &impl_$n<char>; }
inline fn hook_$n = pick_$n();
// call, $uses:
x += hook_$n(x);
""",
    "object with a vtable made by an initialiser": """
// header:
struct base_$n { virtual int run(int x) { $body } };
struct derived_$n : base_$n {
  int state;
  derived_$n() : state(ordinary_value()) {}
  int run(int x) override { state++; $body2 }
};
inline derived_$n object_$n;
NOINLINE inline int call_$n(base_$n &b, int x) { return b.run(x); }
// call, $uses:
x += call_$n(object_$n, x);
""",
    "address as a number": """
// header:
template <class T> NOINLINE int impl_$n(int x) { $tbody }
inline unsigned long number_$n = reinterpret_cast<unsigned long>(&impl_$n<$T>);
// call, $uses:
x += reinterpret_cast<fn>(number_$n)(x);
""",
    "structure of callbacks": """
// header:
template <class T> NOINLINE int impl_$n(int x) { $tbody }
struct callbacks_$n { int version; const char *name; fn run; };
inline callbacks_$n callbacks_of_$n = {1, "name", &impl_$n<$T>};
// call, $uses:
x += callbacks_of_$n.run(x) + callbacks_of_$n.version;
""",
    "list of nodes": """
// header:
template <class T> NOINLINE int impl_$n(int x) { $tbody }
struct node_$n { const node_$n *next; fn run; };
template <class T> inline const node_$n last_$n = {nullptr, &impl_$n<T>};
inline node_$n first_$n = {&last_$n<$T>, nullptr};
// call, $uses:
x += first_$n.next->run(x);
""",
    "weak hook": """
// kernel:
static NOINLINE int impl_$n(int x) { $body }
LINKED __attribute__((weak)) fn weak_hook_$n = impl_$n;
// call:
x += weak_hook_$n(x);
// ordinary:
#if $flag
LINKED_OUT __attribute__((weak)) fn weak_hook_$n;
#endif
// use:
#if $flag
if (&weak_hook_$n)
  x += weak_hook_$n(x);
#endif
""",
    "exported hook of one level": """
// kernel:
#if $only
static NOINLINE int impl_$n(int x) { $body }
LINKED_OUT fn strong_hook_$n;
LINKED fn strong_hook_$n = impl_$n;
#endif
// ordinary:
LINKED_OUT fn strong_hook_$n;
// use:
x += strong_hook_$n(x);
""",
    "exported constant table of one level": """
// kernel:
#if $only
static NOINLINE int impl_$n(int x) { $body }
LINKED_OUT const fn strong_table_$n[1];
LINKED const fn strong_table_$n[1] = {impl_$n};
#endif
// ordinary:
LINKED_OUT const fn strong_table_$n[1];
// use:
x += strong_table_$n[0](x);
""",
    "set of the linker": """
// kernel:
static NOINLINE int impl_$n(int x) { $body }
__attribute__((section("set_$n"), used)) static fn member_$n = impl_$n;
// ordinary:
LINKED_OUT fn __start_set_$n[];
LINKED_OUT fn __stop_set_$n[];
// use:
for (fn *at = __start_set_$n; at != __stop_set_$n; at++)
  x += (*at)(x);
""",
    "offset in assembly's data": """
// kernel:
#if $only
LINKED_FUNCTION __attribute__((used, visibility("hidden"))) int target_$n(int x);
LINKED_FUNCTION __attribute__((used, visibility("hidden"))) int target_$n(int x) { $body }
__asm__(".pushsection .rodata.offset_$n,\\"a\\"\\n.globl offset_$n\\n.hidden offset_$n\\n"
        "offset_$n: .long target_$n - offset_$n\\n.popsection\\n");
#endif
// ordinary:
LINKED_OUT const int offset_$n;
// use:
x += reinterpret_cast<fn>(reinterpret_cast<unsigned long>(&offset_$n) + (long)offset_$n)(x);
""",
    "table that a level's code and ordinary code share by reference": """
// header:
template <class T> NOINLINE int impl_$n(int x) { $tbody }
template <class T> struct ops_$n { static fn entry; static fn *where; };
template <class T> fn ops_$n<T>::entry = &impl_$n<T>;
template <class T> fn *ops_$n<T>::where = &ops_$n<T>::entry;
// call, $uses:
x += (*ops_$n<$T>::where)(x);
""",
    "pointer to a pointer to a private hook": """
// kernel:
static NOINLINE int impl_$n(int x) { $body }
static fn own_$n = impl_$n;
LINKED __attribute__((weak)) fn *weak_at_$n = &own_$n;
// call:
x += (*weak_at_$n)(x);
""",
}

IN_C = {"weak hook", "exported hook of one level", "exported constant table of one level", "set of the linker"}
IN_C |= {"offset in assembly's data", "pointer to a pointer to a private hook"}
SINGLE = IN_C


def _variants(name: str, text: str) -> list[Ingredient]:
    """Return the ingredient, used by ordinary code too or by kernels alone."""
    languages = "c cpp" if name in IN_C else "cpp"
    if "$uses" not in text:
        return [ingredient(name, HOSTILE, text, languages, single=name in SINGLE)]
    shared = ingredient(name, HOSTILE, text.replace("call, $uses", "call, use"), languages)
    return [shared, ingredient(name + ", kernels alone", HOSTILE, text.replace("call, $uses", "call"), languages)]


HOSTILE_DATA: list[Ingredient] = [one for name, text in TEXTS.items() for one in _variants(name, text)]
