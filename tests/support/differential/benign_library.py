"""More benign ingredients: shared data, and the standard library, which takes a second to compile."""

from .ingredients import SOUND, Ingredient, ingredient

TEXTS = {
    "inline pointers to ordinary code and data": """
// header:
int meant_$n(int x);
inline fn hook_$n = &meant_$n;
inline int *numbers_$n = shared_ints;
inline const char *name_$n = "a name";
// ordinary:
int meant_$n(int x) { return x + 3; }
// call, use:
x += hook_$n(x) + numbers_$n[x & 7] + name_$n[x & 3];
""",
    "callback of ordinary code": """
// ordinary:
static int back_$n(int x) { return x - 3; }
static fn hook_$n = back_$n;
fn &hook_of_$n() { return hook_$n; }
// header:
fn &hook_of_$n();
// call, use:
x += hook_of_$n()(x);
""",
}

HEAVY_TEXTS = {
    "std::sort and std::vector": """
// header:
#include <algorithm>
#include <vector>
template <class T> NOINLINE int sorts_$n(int x)
{
  std::vector<T> some{T(3), T(x & 7), T(2), T(9)};
  some.push_back(T(1));
  std::sort(some.begin(), some.end(), [](T a, T b) { return b < a; });
  return x + (int)some[1];
}
// call, use:
x += sorts_$n<$T>(x);
""",
    "std::function": """
// header:
#include <functional>
NOINLINE inline int runs_$n(const std::function<int(int)> &f, int x) { return f(x) + f(x + 1); }
// call, use:
x += runs_$n([&](int y) { return y + x; }, x);
""",
    "std::string and std::map": """
// header:
#include <map>
#include <string>
NOINLINE inline int finds_$n(int x)
{
  static const std::map<std::string, int> known{{"a longer text than fits into a string", 1}, {"two", 2}};
  const auto found = known.find(x & 1 ? "two" : "a longer text than fits into a string");
  return found == known.end() ? 0 : found->second;
}
// call, use:
x += finds_$n(x);
""",
    "iostream": """
// header:
#include <iostream>
template <class T> NOINLINE int says_$n(int x)
{
  if (x == 123456789)
    std::cout << T(x) << "\\n";
  return x + 1;
}
// call, use:
x += says_$n<$T>(x);
""",
    "polymorphic objects in a unique_ptr": """
// header:
#include <memory>
template <class T> struct base_$n {
  virtual ~base_$n() = default;
  virtual T go(int x) = 0;
};
template <class T> struct derived_$n final : base_$n<T> {
  T go(int x) override { $tbody }
};
template <class T> NOINLINE std::unique_ptr<base_$n<T>> make_$n() { return std::make_unique<derived_$n<T>>(); }
// call, use:
x += (int)make_$n<$T>()->go(x);
""",
}

SHARING: list[Ingredient] = [ingredient(name, SOUND, text) for name, text in TEXTS.items()]
HEAVY: list[Ingredient] = [ingredient(name, SOUND, text) for name, text in HEAVY_TEXTS.items()]
