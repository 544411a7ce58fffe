"""A small project whose kernels share functions and constants, and fold: for edits that change what sealing does."""

from support.projects import make_project

MESON = """project('again', 'cpp', meson_version: '>=1.0.1', default_options: ['buildtype=release', 'cpp_std=c++17'])
isa_kernels = files('one.cpp', 'two.cpp', 'three.cpp', 'four.cpp')
subdir('isagen')
shared_module('again', 'main.cpp', dependencies: isa_kernels_dep)
"""
HEADER = """#pragma once
int extra(int);
#include <stddef.h>
#include "isa_dispatch.h"
typedef int (*again_fn)(const int *data, size_t n);
ISA_DECLARE_DISPATCH(again_fn, one)
ISA_DECLARE_DISPATCH(again_fn, two)
ISA_DECLARE_DISPATCH(again_fn, three)
ISA_DECLARE_DISPATCH(again_fn, four)
"""
SHARED = """#pragma once
#include "again.h"
#ifdef __AVX512F__
#define LANES 3, 4
#define AT_LEVEL 3
#elif defined __AVX2__
#define LANES 3
#define AT_LEVEL 2
#else
#define LANES
#define AT_LEVEL 1
#endif
__attribute__((noinline)) inline int shared(int x) { return x * 3 + 1; }
inline const int *constants() { static const int held[] = {1, 2, 3}; return held; }
"""
LOOP = """static int run(const int *data, size_t n)
{
  int sum = 0;
  for (size_t i = 0; i < n; i++)
    sum += data[i] * FACTOR;
  return sum;
}
"""
EXTRA = "int extra(int);\nint extra(int x) { return x; }\n"
# A kernel that is the same at all levels: it folds.
SCALAR = """static int run(const int *data, size_t n) { return n ? data[0] + FACTOR : FACTOR; }
"""
KERNELS = {
    "one": EXTRA + '#include "shared.h"\n#define FACTOR (2 + shared((int)n))\n' + SCALAR,
    "two": '#include "shared.h"\n#define FACTOR (3 + shared((int)n) + constants()[n % 2])\n' + SCALAR,
    "three": '#include "again.h"\n#define FACTOR 4\n' + LOOP,
    "four": '#include "shared.h"\n#define FACTOR 5\n' + SCALAR,
}
LEVELS = ("DEFAULT", "AVX2", "AVX512")
# An inline variable that holds the address of a level's code.
BAD = "static int (*held_code)(int) = &shared; static int held[] = {held_code(1), 2};"
# A variable in a section of its own, and a look for it from another source.
SECTION = '__attribute__((section("again_set"), used)) static int in_a_set = 3;\n'
BOUNDS = "extern int __start_again_set;\nint *found_set() { return &__start_again_set; }\n"
MAIN = '#include "again.h"\n' + "".join(f"ISA_DEFINE_DISPATCH({name})\n" for name in KERNELS)


def make(folder):
    project = make_project(folder)
    texts = {"meson.build": MESON, "again.h": HEADER, "shared.h": SHARED, "main.cpp": MAIN}
    texts |= {f"{name}.cpp": f"{text}ISA_REGISTER_DISPATCH({name}, &run)\n" for name, text in KERNELS.items()}
    for name, text in texts.items():
        (project.folder / name).write_text(text)
    project.isagen("init")
    return project
