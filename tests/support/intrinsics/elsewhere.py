"""Intrinsics of the levels of riscv64, Power and s390x."""

import re
from collections.abc import Iterator

from .program import Family, Row

RVV = Family("rvv", ("riscv_vector.h",))
# Zba and Zbb compute with numbers: vectors of one element. There is no header: compilers have C for the instructions.
NUMBERS = Family("fixed", (), [f"-D{u}int{bits}x1_t={u}int{bits}_t" for u in ("", "u") for bits in (32, 64)])
ALTIVEC = Family("fixed", ("altivec.h",))
ZVECTOR = Family("fixed", ("vecintrin.h",), ("-mzvector",))
BITS = (8, 16, 32, 64)
INTEGERS = [f"{sign}{bits}" for sign in "su" for bits in BITS]
COMPARED = [("eq", "=="), ("gt", ">"), ("ge", ">="), ("lt", "<"), ("le", "<=")]


def v() -> Iterator[Row]:
    """Arithmetic, logic, shifts and saturation of integers; arithmetic of floats."""
    for kind in INTEGERS:
        u, bits = kind[0] == "u", int(kind[1:])
        end, word = "u" * u, "unsigned __int128" if u else "__int128"
        name = kind.replace("s", "i") + "m1"
        low = "0" if u else f"-((__int128)1 << {bits - 1})"
        high = f"((__int128)1 << {bits - (not u)}) - 1"
        both = [
            *(("add", "a[i] + b[i]"), ("sub", "a[i] - b[i]"), ("mul", "a[i] * b[i]"), ("and", "a[i] & b[i]")),
            *(("or", "a[i] | b[i]"), ("xor", "a[i] ^ b[i]")),
            *((f"min{end}", "MIN(a[i], b[i])"), (f"max{end}", "MAX(a[i], b[i])")),
            (f"mulh{end}", f"((({word})a[i]) * b[i]) >> {bits}"),
            (f"sadd{end}", f"CLAMP((__int128)a[i] + b[i], {low}, {high})"),
            (f"ssub{end}", f"CLAMP((__int128)a[i] - b[i], {low}, {high})"),
        ]
        for op, text in both:
            yield Row(kind, f"{kind} {kind}", f"__riscv_v{op}_vv_{name}(a, b, vl)", text)
        shift = "srl" if u else "sra"
        yield Row(kind, f"{kind} u{bits}", f"__riscv_vsll_vv_{name}(a, b, vl)", f"a[i] << (b[i] % {bits})")
        yield Row(kind, f"{kind} u{bits}", f"__riscv_v{shift}_vv_{name}(a, b, vl)", f"a[i] >> (b[i] % {bits})")
        yield Row(kind, f"{kind} {kind} {kind}", f"__riscv_vmacc_vv_{name}(a, b, c, vl)", "a[i] + b[i] * c[i]")
    for kind in ("f32", "f64"):
        for op, text in (
            *(("add", "a[i] + b[i]"), ("sub", "a[i] - b[i]"), ("mul", "a[i] * b[i]"), ("div", "a[i] / b[i]")),
            *(("min", "MIN(a[i], b[i])"), ("max", "MAX(a[i], b[i])"), ("sgnj", "copysign(a[i], b[i])")),
        ):
            yield Row(kind, f"{kind} {kind}", f"__riscv_vf{op}_vv_{kind}m1(a, b, vl)", text)
        yield Row(kind, f"{kind} {kind} {kind}", f"__riscv_vfmacc_vv_{kind}m1(a, b, c, vl)", "a[i] + b[i] * c[i]")


def power9() -> Iterator[Row]:
    """What POWER9 adds, and older instructions as compiled for it."""
    for bits in (8, 16, 32):
        yield Row(f"u{bits}", f"u{bits} u{bits}", "vec_absd(a, b)", "ABD(a[i], b[i])")
    for kind in INTEGERS:
        bits = int(kind[1:])
        of = f"(uint{bits}_t)a[i]"
        yield Row(kind, kind, "vec_cnttz(a)", f"a[i] ? __builtin_ctzll({of}) : {bits}")
        yield Row(kind, kind, "vec_cntlz(a)", f"a[i] ? __builtin_clzll({of}) - {64 - bits} : {bits}")
        if bits < 64:
            yield Row(f"u{bits}", f"{kind} {kind}", "vec_cmpne(a, b)", "a[i] != b[i] ? -1 : 0")
        if bits > 8:
            yield Row(kind, kind, "vec_revb(a)", f"__builtin_bswap{bits}(a[i])")
        if bits > 16:
            yield Row(f"u{bits}", kind, "vec_parity_lsbb(a)", f"__builtin_parityll(a[i] & 0x{'01' * (bits // 8)}ull)")
        for op, text in (
            *(("add", "a[i] + b[i]"), ("sub", "a[i] - b[i]"), ("min", "MIN(a[i], b[i])"), ("max", "MAX(a[i], b[i])")),
            *(("and", "a[i] & b[i]"), ("or", "a[i] | b[i]"), ("xor", "a[i] ^ b[i]"), ("nor", "~(a[i] | b[i])")),
            *(("andc", "a[i] & ~b[i]"), ("eqv", "~(a[i] ^ b[i])"), ("nand", "~(a[i] & b[i])"), ("orc", "a[i] | ~b[i]")),
        ):
            yield Row(kind, f"{kind} {kind}", f"vec_{op}(a, b)", text)
    for kind in ("f32", "f64"):
        bits, digits, bias = (32, 23, 127) if kind == "f32" else (64, 52, 1023)
        yield Row(kind, f"{kind} {kind} {kind}", "vec_madd(a, b, c)", "(double)a[i] * b[i] + c[i]")
        yield Row(f"u{bits}", kind, "vec_extract_exp(a)", f"ilogb(a[i]) + {bias}")
        one = f"(uint{bits}_t)1 << {digits}"
        top = f"{{ uint{bits}_t w; memcpy(&w, &a[i], sizeof w); (w & (({one}) - 1)) | ({one}); }}"
        yield Row(f"u{bits}", kind, "vec_extract_sig(a)", f"({top})")


def power10() -> Iterator[Row]:
    """Division, remainders and high halves of products; masks."""
    for kind in ("s32", "u32", "s64", "u64"):
        bits, wide = int(kind[1:]), "unsigned __int128" if kind[0] == "u" else "__int128"
        odd = "vec_or(b, vec_splats((__typeof__(b[0]))1))"
        yield Row(kind, f"{kind} {kind}", "vec_mulh(a, b)", f"((({wide})a[i]) * b[i]) >> {bits}")
        for op, sign in (("div", "/"), ("mod", "%")):
            # By an odd number; the least number by -1 has no result.
            text = f"a[i] {sign} (b[i] | 1)"
            if kind[0] == "s":
                text = f"(b[i] | 1) == -1 ? {'-a[i]' if op == 'div' else '0'} : {text}"
                least = f"vec_splats((__typeof__(a[0]))INT{bits}_MIN)"
                number = f"vec_sel(a, vec_splats((__typeof__(a[0]))5), vec_cmpeq(a, {least}))"
                text = text.replace("a[i]", f"(a[i] == INT{bits}_MIN ? 5 : a[i])")
            else:
                number = "a"
            yield Row(kind, f"{kind} {kind}", f"vec_{op}({number}, {odd})", text)
    for bits in BITS:
        of = f"u{bits}"
        yield Row(of, of, "vec_expandm(a)", f"a[i] >> {bits - 1} ? -1 : 0")
    yield from power9()


def vx(kinds: tuple[str, ...] = ("f64",)) -> Iterator[Row]:
    """Integers of every size, and floats of `kinds`."""
    for kind in INTEGERS:
        bits, u = int(kind[1:]), kind[0] == "u"
        of = f"(uint{bits}_t)a[i]"
        for op, text in (
            *(("max(a, b)", "MAX(a[i], b[i])"), ("min(a, b)", "MIN(a[i], b[i])")),
            *(("andc(a, b)", "a[i] & ~b[i]"), ("nor(a, b)", "~(a[i] | b[i])")),
            ("sel(a, b, vec_cmpgt(a, b))", "a[i] > b[i] ? b[i] : a[i]"),
            ("mergeh(a, b)", "i % 2 ? b[i/2] : a[i/2]"),
            ("mergel(a, b)", "i % 2 ? b[(n+i)/2] : a[(n+i)/2]"),
        ):
            yield Row(kind, f"{kind} {kind}", f"vec_{op}", text)
        if bits < 64:
            yield Row(kind, f"{kind} {kind}", "vec_avg(a, b)", "((int64_t)a[i] + b[i] + 1) >> 1")
            yield Row(kind, f"{kind} {kind} {kind}", "vec_mladd(a, b, c)", "a[i] * b[i] + c[i]")
            yield Row(kind, f"{kind} {kind}", "vec_mulh(a, b)", f"((int64_t)a[i] * b[i]) >> {bits}")
            wide = f"{kind[0]}{2 * bits}"
            cast = f"({'u' * u}int{2 * bits}_t)"
            yield Row(wide, f"{kind} {kind}", "vec_mule(a, b)", f"{cast}a[2*i] * b[2*i]")
            yield Row(wide, f"{kind} {kind}", "vec_mulo(a, b)", f"{cast}a[2*i+1] * b[2*i+1]")
            yield Row(wide, kind, "vec_unpackh(a)", f"{cast}a[i]")
        if not u:
            yield Row(kind, kind, "vec_abs(a)", "a[i] < 0 ? -a[i] : a[i]")
        for op, operator in COMPARED:
            yield Row(f"u{bits}", f"{kind} {kind}", f"vec_cmp{op}(a, b)", f"a[i] {operator} b[i] ? -1 : 0")
        yield Row(f"u{bits}", kind, "vec_cntlz(a)", f"a[i] ? __builtin_clzll({of}) - {64 - bits} : {bits}")
        yield Row(f"u{bits}", kind, "vec_cnttz(a)", f"a[i] ? __builtin_ctzll({of}) : {bits}")
    for kind in kinds:
        yield from zfloats(kind)


def zfloats(kind: str) -> Iterator[Row]:
    """Arithmetic and comparisons of a type of floats."""
    for text in ("a + b", "a - b", "a * b", "a / b"):
        yield Row(kind, f"{kind} {kind}", text, f"a[i] {text[2]} b[i]")
    for name, text in (
        *(("abs", "fabs(a[i])"), ("floor", "floor(a[i])"), ("ceil", "ceil(a[i])"), ("trunc", "trunc(a[i])")),
        *(("rint", "rint(a[i])"), ("nabs", "-fabs(a[i])"), ("roundc", "rint(a[i])")),
    ):
        yield Row(kind, kind, f"vec_{name}(a)", text)
    yield Row(kind, kind, "vec_sqrt(vec_abs(a))", f"sqrt{'f' * (kind == 'f32')}(fabs(a[i]))")
    yield Row(kind, f"{kind} {kind} {kind}", "vec_madd(a, b, c)", "(double)a[i] * b[i] + c[i]")
    yield Row(kind, f"{kind} {kind} {kind}", "vec_msub(a, b, c)", "(double)a[i] * b[i] - c[i]")
    for op, operator in COMPARED:
        yield Row(f"u{kind[1:]}", f"{kind} {kind}", f"vec_cmp{op}(a, b)", f"a[i] {operator} b[i] ? -1 : 0")


def vxe() -> Iterator[Row]:
    """What z14 adds, floats of 32 bits and logic; and older intrinsics as compiled for it."""
    yield from zfloats("f32")
    for kind in INTEGERS:
        for name, text in (("nand", "~(a[i] & b[i])"), ("orc", "a[i] | ~b[i]"), ("eqv", "~(a[i] ^ b[i])")):
            yield Row(kind, f"{kind} {kind}", f"vec_{name}(a, b)", text)
    for kind in ("f32", "f64"):
        yield Row(kind, f"{kind} {kind}", "vec_max(a, b)", "MAX(a[i], b[i])")
        yield Row(kind, f"{kind} {kind}", "vec_min(a, b)", "MIN(a[i], b[i])")
        yield Row(kind, f"{kind} {kind} {kind}", "vec_nmadd(a, b, c)", "-((double)a[i] * b[i] + c[i])")
        yield Row(kind, f"{kind} {kind} {kind}", "vec_nmsub(a, b, c)", "-((double)a[i] * b[i] - c[i])")
    yield from vx(())


def zbb() -> Iterator[Row]:
    """Logic with a complement, extrema, sums with a shift, counts, the order of bytes, rotations, extensions."""
    for kind in ("u64x1", "s64x1"):
        both = f"{kind} {kind}"
        for text in ("a & ~b", "a | ~b", "~(a ^ b)", "a < b ? a : b", "a > b ? a : b"):
            yield Row(kind, both, f"({text})", re.sub(r"\b([ab])\b", r"\1[i]", text))
        for shift in (1, 2, 3):
            times = 1 << shift
            yield Row(kind, both, f"(a << {shift}) + b", f"a[i] * {times} + b[i]")
            yield Row(kind, both, f"((uint64_t)(uint32_t)a << {shift}) + b", f"(uint32_t)a[i] * {times}ull + b[i]")
    for size, suffix, double in ((64, "ll", "unsigned __int128"), (32, "", "uint64_t")):
        kind, of = f"u{size}x1", f"uint{size}_t"
        called = f"({of})__builtin_{{}}{suffix}(a)"
        low, high = "a[i] >> k & 1", f"a[i] >> ({size} - 1 - k) & 1"
        yield Row(
            kind, kind, called.format("popcount"), f"({{ int n = 0; for (int k = 0; k < {size}; k++) n += {low}; n; }})"
        )
        for name, bit in (("ctz", low), ("clz", high)):
            text = f"({{ int k = 0; while (k < {size} && !({bit})) k++; k; }})"
            yield Row(kind, kind, f"(a ? {called.format(name)} : {size})", text)
        text = f"({{ {of} n = 0; for (int k = 0; k < {size}; k += 8) n = n << 8 | (a[i] >> k & 255); n; }})"
        yield Row(kind, kind, f"__builtin_bswap{size}(a)", text)
        twice = f"(({double})a[i] << {size} | a[i])"
        left, right = f"a << (b % {size}) | a >> (-b % {size})", f"a >> (b % {size}) | a << (-b % {size})"
        yield Row(kind, f"{kind} {kind}", f"({of})({left})", f"({of})({twice} >> ({size} - b[i] % {size}))")
        yield Row(kind, f"{kind} {kind}", f"({of})({right})", f"({of})({twice} >> b[i] % {size})")
        for by in range(1, size, 2):
            yield Row(kind, kind, f"({of})(a >> {by} | a << {size - by})", f"({of})({twice} >> {by})")
    for bits in (8, 16):
        high = f"(a[i] >> {bits - 1} & 1) * {1 << bits}"
        yield Row("s64x1", "s64x1", f"(int64_t)(int{bits}_t)a", f"(a[i] & {(1 << bits) - 1}) - {high}")
    yield Row("u64x1", "u64x1", "(uint64_t)(uint16_t)a", "a[i] % 65536")
    for by in range(1, 32):
        yield Row("u64x1", "u64x1", f"(uint64_t)(uint32_t)a << {by}", f"a[i] % 4294967296 * {1 << by}")


LEVELS = {
    "riscv64": {"ZBB": (NUMBERS, [*zbb()]), "V": (RVV, [*v()])},
    "ppc64": {"POWER9": (ALTIVEC, [*power9()]), "POWER10": (ALTIVEC, [*power10()])},
    "s390x": {"VX": (ZVECTOR, [*vx()]), "VXE": (ZVECTOR, [*vxe()]), "VXE2": (ZVECTOR, [*vxe()])},
}
