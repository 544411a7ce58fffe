"""The two sources of a program that compares intrinsics with scalar code: only the first has a level's flags."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Row(NamedTuple):
    """An intrinsic and what it gives: the types of result and operands, such as `u8` or `u8x16`, and both expressions.

    The intrinsic is an expression of `a`, `b`, `c`; so is the scalar one, of arrays, for element `i`.
    """

    result: str
    operands: str
    intrinsic: str
    scalar: str


@dataclass(frozen=True)
class Family:
    """How vectors of a processor are loaded and stored: `kind` is fixed, sve or rvv."""

    kind: str
    headers: Sequence[str]
    flags: Sequence[str] = ()


SCALARS = {
    **{f"{sign}{bits}": f"{'u' * (sign == 'u')}int{bits}_t" for sign in "su" for bits in (8, 16, 32, 64)},
    "f16": "__fp16",
    "bf16": "uint16_t",
    "f32": "float",
    "f64": "double",
}
WORDS = {"s": "int", "u": "uint", "f": "float", "bf": "bfloat"}
# The words of Power's and s390x's vectors.
ALTIVEC = {"8": "char", "16": "short", "32": "int", "64": "long long"}
SCALAR = """
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define MIN(x, y) ((x) < (y) ? (x) : (y))
#define MAX(x, y) ((x) > (y) ? (x) : (y))
#define CLAMP(x, low, high) ((x) < (low) ? (low) : (x) > (high) ? (high) : (x))
#define ABD(x, y) ((x) > (y) ? (x) - (y) : (y) - (x))
#define DOT4(x, i, y, j) (x[4*(i)]*y[4*(j)] + x[4*(i)+1]*y[4*(j)+1] + x[4*(i)+2]*y[4*(j)+2] + x[4*(i)+3]*y[4*(j)+3])
#define MMLA(x, y, i) (DOT4(x, 2*((i)/4*2 + (i)/2%2), y, 2*((i)/4*2 + (i)%2)) + \\
                       DOT4(x, 2*((i)/4*2 + (i)/2%2) + 1, y, 2*((i)/4*2 + (i)%2) + 1))
static inline float bf(uint16_t bits) { uint32_t all = (uint32_t)bits << 16; float x; memcpy(&x, &all, 4); return x; }
static inline uint16_t to_bf(float x)
{
  uint32_t bits;
  memcpy(&bits, &x, 4);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
extern size_t vector_bytes(void);
static unsigned char x[256], y[256], z[256], got[512], want[512];
static int wrong;
static unsigned next(void) { static uint32_t s = 1; return (s = s * 1664525u + 1013904223u) >> 8; }
/* Odd multiples of 1/8 below 16: every type of floats has them, sums of products are exact in float, none is 0. */
static double number(void) { return ((int)(next() % 128) * 2 - 127) / 8.0; }
static void fill(unsigned char *to, char kind, int size)
{
  for (int i = 0; i < 256; i += size) {
    const float f = (float)number();
    const double d = f;
    const __typeof__(HALF) h = (__typeof__(HALF))f;
    const uint16_t b = to_bf(f);
    if (kind == 'f')
      memcpy(to + i, size == 8 ? (const void *)&d : size == 4 ? (const void *)&f : (const void *)&h, size);
    else if (kind == 'b')
      memcpy(to + i, &b, 2);
    else
      for (int j = 0; j < size; j++)
        to[i + j] = next() % 3 ? next() : (const unsigned char[]){0, 1, 127, 128, 255}[next() % 5];
  }
}
static void compare(const char *name, size_t bytes)
{
  if (memcmp(got, want, bytes) != 0 && ++wrong <= 20)
    printf("wrong: %s\\n", name);
}
"""


def size_of(kind: str) -> int:
    """Return the bytes of an element."""
    return int(kind.partition("x")[0].strip("sufb")) // 8


def _vector(kind: str, family: Family) -> str:
    element, _, lanes = kind.partition("x")
    bits = element.strip("sufb")
    word = WORDS[element.removesuffix(bits)]
    if family.kind == "sve":
        return f"sv{word}{bits}_t"
    if family.kind == "rvv":
        return f"v{word}{bits}m1_t"
    if lanes:
        return f"{word}{bits}x{lanes}_t"
    if word == "float":
        return "__vector " + {"32": "float", "64": "double"}[bits]
    return f"__vector {'un' * (word == 'uint')}signed {ALTIVEC[bits]}"


def _load(name: str, place: str, kind: str, family: Family) -> str:
    vector = _vector(kind, family)
    bits = 8 * size_of(kind)
    if family.kind == "sve":
        return f"const {vector} {name} = svld1_{kind}(svptrue_b{bits}(), {place});"
    if family.kind == "rvv":
        short = kind.replace("s", "i")
        return f"const {vector} {name} = __riscv_vle{bits}_v_{short}m1({place}, __riscv_vsetvlmax_e{bits}m1());"
    return f"{vector} {name}; memcpy(&{name}, {place}, sizeof {name});"


def _store(row: Row, family: Family) -> str:
    bits = 8 * size_of(row.result)
    if family.kind == "sve":
        return f"const svbool_t pg = svptrue_b{bits}(); (void)pg; svst1_{row.result}(pg, to, {row.intrinsic});"
    if family.kind == "rvv":
        short = row.result.replace("s", "i")
        length = f"const size_t vl = __riscv_vsetvlmax_e{bits}m1();"
        return f"{length} __riscv_vse{bits}_v_{short}m1(to, {row.intrinsic}, vl);"
    return f"__typeof__({row.intrinsic}) r = {row.intrinsic}; memcpy(to, &r, sizeof r);"


def vector_source(rows: Sequence[Row], family: Family) -> str:
    """Return the source of the intrinsics."""
    bytes_of = {"fixed": "16", "sve": "svcntb()", "rvv": "__riscv_vsetvlmax_e8m1()"}[family.kind]
    lines = [f"#include <{header}>" for header in (*family.headers, "stdint.h", "stddef.h", "string.h")]
    lines.append(f"size_t vector_bytes(void) {{ return {bytes_of}; }}")
    for number, row in enumerate(rows):
        loads = " ".join(_load("abc"[k], "xyz"[k], kind, family) for k, kind in enumerate(row.operands.split()))
        arguments = "const void *x, const void *y, const void *z, void *to"
        lines.append(f"void vector_{number}({arguments}) {{ (void)y; (void)z; {loads} {_store(row, family)} }}")
    return "\n".join(lines) + "\n"


def scalar_source(rows: Sequence[Row], half: str) -> str:
    """Return the source of the scalar code and of the program; `half` is the type of halves, or float."""
    lines = [SCALAR.replace("HALF", f"({half})0")]
    for number, row in enumerate(rows):
        result, _, lanes = row.result.partition("x")
        kinds = [kind.partition("x")[0] for kind in row.operands.split()]
        casts = " ".join(
            f"const {SCALARS[kind]} *{'abc'[k]} = (const void *){'xyz'[k]};" for k, kind in enumerate(kinds)
        )
        count = lanes or f"vector_bytes() / {size_of(result)}"
        lines.append(f"void vector_{number}(const void *, const void *, const void *, void *);")
        lines.append(
            f"static void scalar_{number}(void) {{ {casts} {SCALARS[result]} *to = (void *)want;"
            f" const int n = (int)({count}); for (int i = 0; i < n; i++) to[i] = ({SCALARS[result]})({row.scalar}); }}"
        )
    lines.append("int main(void) { for (int round = 0; round < 8; round++) {")
    for number, row in enumerate(rows):
        fills = " ".join(
            f"fill({'xyz'[k]}, '{kind[0]}', {size_of(kind)});" for k, kind in enumerate(row.operands.split())
        )
        lanes = row.result.partition("x")[2]
        count = f"{lanes} * {size_of(row.result)}" if lanes else "vector_bytes()"
        shown = row.intrinsic.replace('"', "'")
        lines.append(f'{fills} vector_{number}(x, y, z, got); scalar_{number}(); compare("{shown}", {count});')
    lines.append(f'}} printf("{len(rows)} intrinsics, %d wrong\\n", wrong); return wrong != 0; }}')
    return "\n".join(lines) + "\n"
