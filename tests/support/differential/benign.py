"""Ingredients that every project may have: with them alone, a project is sound and nothing is found."""

from .ingredients import SOUND, Ingredient, ingredient

TEXTS = {
    "template": """
// header:
template <class T> NOINLINE int mix_$n(int x) { $tbody }
// call, use:
x += mix_$n<$T>(x);
""",
    "inline function": """
// header:
NOINLINE inline int inline_$n(int x) { $body }
// call, use:
x += inline_$n(x);
""",
    "constant table of functions of a template": """
// header:
template <class T> NOINLINE int entry_$n(int x) { $tbody }
template <class T> struct table_$n { static const fn entries[2]; };
template <class T> const fn table_$n<T>::entries[2] = {&entry_$n<T>, &entry_$n<short>};
// call, use:
x += table_$n<$T>::entries[x & 1](x);
""",
    "constant of an inline function": """
// header:
template <class T> NOINLINE int way_$n(int x) { $tbody }
NOINLINE inline int choose_$n(int x)
{
  static const fn ways[] = {&way_$n<int>, &way_$n<float>, &way_$n<$T>};
  return ways[(x & 255) % 3](x);
}
// call, use:
x += choose_$n(x);
""",
    "constexpr data": """
// header:
#if defined(__AVX512F__)
#define WIDTH_$n 16
#elif defined(__AVX2__)
#define WIDTH_$n 8
#else
#define WIDTH_$n 4
#endif
struct lanes_$n { int of[WIDTH_$n]; };
constexpr lanes_$n all_$n(int value)
{
  lanes_$n made = {};
  for (int &lane : made.of)
    lane = value;
  return made;
}
inline const lanes_$n lanes_value_$n = all_$n(3);
// call, use:
for (const volatile int &lane : lanes_value_$n.of)
  x += lane;
""",
    "inline counter": """
// header:
inline int counter_$n = 3;
NOINLINE inline int count_$n(int x) { static int calls = 0; $body }
// call, use:
x += ++counter_$n + count_$n(x);
""",
    "static table of a kernel": """
// kernel:
static NOINLINE int first_$n(int x) { $body }
static NOINLINE int second_$n(int x) { $body2 }
static const fn table_of_$n[] = {first_$n, second_$n, first_$n};
// call:
x += table_of_$n[(x & 255) % 3](x);
""",
    "writable table of a kernel": """
// kernel:
static NOINLINE int own_$n(int x) { $body }
static NOINLINE int other_$n(int x) { $body2 }
static fn hook_of_$n = own_$n;
// call:
x += hook_of_$n(x);
hook_of_$n = x & 1 ? own_$n : other_$n;
""",
    "virtual calls of a template": """
// header:
template <class T> struct shape_$n {
  virtual int area(int x) const { $tbody }
  virtual int size(int x) const { return area(x) + 1; }
};
template <class T> struct square_$n : shape_$n<T> {
  int area(int x) const override { $tbody2 }
};
template <class T> NOINLINE int measure_$n(const shape_$n<T> &s, int x) { return s.size(x) + s.area(x); }
// call, use:
x += measure_$n(shape_$n<$T>(), x) + measure_$n<$T>(square_$n<$T>(), x);
""",
    "object of a kernel with a vtable": """
// kernel:
namespace {
struct base_$n { virtual int run(int x) const { $body } };
struct derived_$n final : base_$n { int run(int x) const override { $body2 } };
constexpr derived_$n object_$n{};
NOINLINE int call_$n(const base_$n &b, int x) { return b.run(x); }
}
// call:
x += call_$n(object_$n, x);
""",
    "qsort with a static function": """
// kernel, ordinary:
static int compare_$n(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
// call, use:
{
  int some[5] = {3, x & 7, 1, 5, 2};
  qsort(some, 5, sizeof(int), compare_$n);
  x += some[2];
}
""",
    "qsort with a template": """
// header:
template <class T> int compare_$n(const void *a, const void *b)
{
  return (int)*static_cast<const T *>(a) - (int)*static_cast<const T *>(b);
}
// call, use:
{
  $T some[6] = {3, 9, 1, ($T)(x & 3), 5, 2};
  qsort(some, 6, sizeof($T), &compare_$n<$T>);
  x += (int)some[2];
}
""",
    "callback through ordinary code": """
// kernel:
static NOINLINE int handed_$n(int x) { $body }
// call:
x += apply(handed_$n, x);
""",
    "lambdas": """
// header:
template <class F> NOINLINE int with_$n(F f, int x) { return f(x) + f(x + 1); }
// call, use:
x += with_$n([&](int y) { return y + x + mix(y); }, x);
x += apply([](int y) { return y * 3 + mix(y); }, x);
""",
    "thread_local": """
// header:
inline thread_local int local_$n = 4;
template <class T> NOINLINE int turns_$n(int x)
{
  static thread_local T turns = T(1);
  turns += T(1);
  return x + (int)turns;
}
// call, use:
x += ++local_$n + turns_$n<$T>(x);
""",
    "switch": """
// header:
NOINLINE inline int switch_$n(int x)
{
  switch (x & 15) {
  case 0: return mix(x);
  case 1: return x + 7;
  case 2: shared_data[2] += 1; return x;
  case 3: return x * x;
  case 4: return x ^ 5;
  case 5: return mix(x) - 9;
  case 6: return x << 2;
  case 9: return shared_ints[x & 3];
  case 11: return -x;
  default: return x | 1;
  }
}
// call, use:
x += switch_$n(x);
""",
    "computed goto": """
// kernel:
static NOINLINE int goto_$n(int x)
{
  __extension__ static const void *const places[] = {&&one, &&two, &&three};
  goto *places[(x & 255) % 3];
one:
  x += 3;
two:
  shared_data[x & 15] += 1;
three:
  return x + 1;
}
// call:
x += goto_$n(x);
""",
    "harmless initialiser": """
// kernel:
static int seed_$n = ordinary_value();
// call:
if (seed_$n < 0) // at an early call, the order of initialisers decides whether it is 0
  x++;
""",
    "object with a destructor in a function": """
// header:
struct closing_$n {
  int value;
  closing_$n() : value(ordinary_value()) {}
  ~closing_$n() { shared_ints[3] += value; }
};
template <class T> NOINLINE int closes_$n(int x) { static closing_$n one; return x + ++one.value; }
// call:
x += closes_$n<$T>(x);
""",
    "member pointers": """
// header:
template <class T> struct members_$n {
  int a = 1;
  NOINLINE int one(int x) { $tbody }
  NOINLINE int two(int x) { return one(x) + a; }
};
// call, use:
{
  int (members_$n<$T>::*const of[])(int) = {&members_$n<$T>::one, &members_$n<$T>::two};
  members_$n<$T> m;
  x += (m.*of[x & 1])(x);
}
""",
    "exception": """
// header:
template <class T> struct thrown_$n { T value; };
template <class T> NOINLINE int throws_$n(int x)
{
  if (x & 1)
    throw thrown_$n<T>{T(3)};
  $tbody
}
// call, use:
try {
  x += throws_$n<$T>(x) + throws_$n<$T>(x + 1);
} catch (const thrown_$n<$T> &t) {
  x += (int)t.value;
}
""",
    "exceptions across a kernel and ordinary code": """
// header:
struct carried_$n { int value; };
struct counts_$n { int *at; ~counts_$n() { ++*at; } };
int passes_$n(fn f, int x);
int throws_one_$n(int x);
// ordinary:
int passes_$n(fn f, int x) { counts_$n counted{&shared_ints[5]}; return f(x) + 1; }
int throws_one_$n(int x) { if (x & 2) throw carried_$n{x & 7}; return x; }
// kernel:
static NOINLINE int raises_$n(int x) { if (x & 1) throw carried_$n{x & 15}; $body }
static NOINLINE int lets_$n(int x) { counts_$n counted{&shared_ints[6]}; return throws_one_$n(x) + 1; }
// call:
try {
  x += passes_$n(raises_$n, x);
} catch (const carried_$n &c) {
  x += c.value;
}
try {
  x += lets_$n(x) + lets_$n(x + 2);
} catch (const carried_$n &c) {
  x += c.value;
}
""",
    "key function of ordinary code": """
// header:
struct keyed_$n {
  virtual int key(int x) const;
  virtual int rest(int x) const { $body }
};
// ordinary:
int keyed_$n::key(int x) const { return x + 2; }
// call, use:
{
  keyed_$n one;
  const keyed_$n *volatile at = &one;
  x += at->key(x) + at->rest(x);
}
""",
    "dynamic_cast": """
// header:
template <class T> struct animal_$n { virtual ~animal_$n() {} virtual int legs(int x) { return x; } };
template <class T> struct dog_$n : virtual animal_$n<T> { int legs(int x) override { $tbody } };
template <class T> NOINLINE int legs_of_$n(animal_$n<T> &a, int x)
{
  auto *dog = dynamic_cast<dog_$n<T> *>(&a);
  return dog ? dog->legs(x) : a.legs(x);
}
// call, use:
{
  dog_$n<$T> dog;
  animal_$n<$T> animal;
  x += legs_of_$n<$T>(dog, x) + legs_of_$n<$T>(animal, x);
}
""",
    "constant object of an inline variable": """
// header:
struct plain_$n { virtual int go(int x) const { $body } };
inline const plain_$n constant_$n{};
// call, use:
{
  const plain_$n *volatile at = &constant_$n;
  x += at->go(x);
}
""",
    "preprocessor asks for the level": """
// kernel:
#if $guard
static NOINLINE int only_$n(int x) { $body }
#else
static NOINLINE int only_$n(int x) { return x + 1; }
#endif
// call:
x += only_$n(x);
""",
    "recursion": """
// header:
template <class T, int depth> struct deep_$n {
  static NOINLINE int go(int x) { return deep_$n<T, depth - 1>::go(x) + 1; }
};
template <class T> struct deep_$n<T, 0> { static NOINLINE int go(int x) { $tbody } };
// call, use:
x += deep_$n<$T, 3>::go(x);
""",
}

# For kernels in C, too: valid in both languages.
IN_C = {"static table of a kernel", "writable table of a kernel", "qsort with a static function", "computed goto"}
IN_C |= {"callback through ordinary code", "preprocessor asks for the level"}

BENIGN: list[Ingredient] = [
    ingredient(name, SOUND, text, "c cpp" if name in IN_C else "cpp") for name, text in TEXTS.items()
] + [
    ingredient(
        "static inline",
        SOUND,
        """
// header:
static inline int small_$n(int x) { $body }
static NOINLINE MAYBE_UNUSED int large_$n(int x) { $body2 }
// call, use:
x += small_$n(x) + large_$n(x);
""",
        "c cpp",
    )
]
