"""Intrinsics of arm64's levels. Of DOTPROD and I8MM there are fewer than a hundred, with all lanes."""

from collections.abc import Iterator

from .program import Family, Row

NEON = Family("fixed", ("arm_neon.h",))
SVE = Family("sve", ("arm_sve.h",))
Q = (("", 1), ("q", 2))  # vectors of 64 and of 128 bits


def dotprod() -> Iterator[Row]:
    """SDOT, UDOT."""
    for q, k in Q:
        for s in "su":
            types = f"{s}32x{2 * k} {s}8x{8 * k} {s}8x"
            result = f"{s}32x{2 * k}"
            yield Row(result, f"{types}{8 * k}", f"vdot{q}_{s}32(a, b, c)", "a[i] + DOT4(b, i, c, i)")
            for lane in (0, 1):
                text = f"vdot{q}_lane_{s}32(a, b, c, {lane})"
                yield Row(result, f"{types}8", text, f"a[i] + DOT4(b, i, c, {lane})")
            for lane in range(4):
                text = f"vdot{q}_laneq_{s}32(a, b, c, {lane})"
                yield Row(result, f"{types}16", text, f"a[i] + DOT4(b, i, c, {lane})")


def fp16() -> Iterator[Row]:
    """Arithmetic of half precision."""
    unary = [
        *(("abs", "fabs(a[i])"), ("neg", "-a[i]"), ("rnd", "trunc(a[i])"), ("rnda", "round(a[i])")),
        *(("rndi", "rint(a[i])"), ("rndx", "rint(a[i])"), ("rndn", "rint(a[i])"), ("rndm", "floor(a[i])")),
        ("rndp", "ceil(a[i])"),
    ]
    binary = [
        *(("add", "(float)a[i] + b[i]"), ("sub", "(float)a[i] - b[i]"), ("mul", "(float)a[i] * b[i]")),
        *(("div", "(float)a[i] / b[i]"), ("mulx", "(float)a[i] * b[i]"), ("abd", "fabs((float)a[i] - b[i])")),
        *((name, f"{name[:3].upper()}(a[i], b[i])") for name in ("max", "min", "maxnm", "minnm")),
    ]
    compared = [("eq", "=="), ("gt", ">"), ("ge", ">="), ("lt", "<"), ("le", "<=")]
    for q, k in Q:
        f, s, u = (f"{kind}16x{4 * k}" for kind in "fsu")
        for name, text in unary:
            yield Row(f, f, f"v{name}{q}_f16(a)", text)
        yield Row(f, f, f"vsqrt{q}_f16(vabs{q}_f16(a))", "sqrt(fabs(a[i]))")
        for name, text in binary:
            yield Row(f, f"{f} {f}", f"v{name}{q}_f16(a, b)", text)
        for name, sign in (("fma", "+"), ("fms", "-")):
            yield Row(f, f"{f} {f} {f}", f"v{name}{q}_f16(a, b, c)", f"a[i] {sign} (double)b[i] * c[i]")
            for lane in range(4):
                text = f"v{name}{q}_lane_f16(a, b, c, {lane})"
                yield Row(f, f"{f} {f} f16x4", text, f"a[i] {sign} (double)b[i] * c[{lane}]")
        for name, operator in compared:
            yield Row(u, f"{f} {f}", f"vc{name}{q}_f16(a, b)", f"a[i] {operator} b[i] ? -1 : 0")
            yield Row(u, f, f"vc{name}z{q}_f16(a)", f"a[i] {operator} 0 ? -1 : 0")
            if name != "eq":
                yield Row(u, f"{f} {f}", f"vca{name}{q}_f16(a, b)", f"fabs(a[i]) {operator} fabs(b[i]) ? -1 : 0")
        for name, text in (("", "trunc"), ("a", "round"), ("m", "floor"), ("n", "rint"), ("p", "ceil")):
            yield Row(s, f, f"vcvt{name}{q}_s16_f16(a)", f"{text}(a[i])")
            yield Row(u, f, f"vcvt{name}{q}_u16_f16(vabs{q}_f16(a))", f"{text}(fabs(a[i]))")
        for kind, of in (("s", s), ("u", u)):
            yield Row(f, of, f"vcvt{q}_f16_{kind}16(a)", "(float)a[i]")
            yield Row(f, of, f"vcvt{q}_n_f16_{kind}16(a, 3)", "(float)a[i] / 8")
        for name, text in (("add", "(float){0} + {1}"), ("max", "MAX({0}, {1})"), ("min", "MIN({0}, {1})")):
            of = f"(i < n / 2 ? {text.format('a[2*i]', 'a[2*i+1]')} : {text.format('b[2*i-n]', 'b[2*i-n+1]')})"
            yield Row(f, f"{f} {f}", f"vp{name}{q}_f16(a, b)", of)


def fp16fml() -> Iterator[Row]:
    """FMLAL, FMLSL: products of halves, added in float."""
    for q, k in Q:
        for half in ("low", "high"):
            at = "i" if half == "low" else f"i + {2 * k}"
            for name, sign in (("mlal", "+"), ("mlsl", "-")):
                types, result = f"f32x{2 * k} f16x{4 * k} f16x", f"f32x{2 * k}"
                text = f"a[i] {sign} (float)b[{at}] * c"
                yield Row(result, f"{types}{4 * k}", f"vf{name}{q}_{half}_f16(a, b, c)", f"{text}[{at}]")
                for lane, of in [(lane, "lane") for lane in range(4)] + [(lane, "laneq") for lane in range(8)]:
                    call = f"vf{name}{q}_{of}_{half}_f16(a, b, c, {lane})"
                    yield Row(result, f"{types}{4 if of == 'lane' else 8}", call, f"{text}[{lane}]")


def i8mm() -> Iterator[Row]:
    """SMMLA, UMMLA, USMMLA, USDOT, SUDOT."""
    for name, result, x, y in (("mmla", "s", "s", "s"), ("mmla", "u", "u", "u"), ("usmmla", "s", "u", "s")):
        types = f"{result}32x4 {x}8x16 {y}8x16"
        yield Row(f"{result}32x4", types, f"v{name}q_{result}32(a, b, c)", "a[i] + MMLA(b, c, i)")
    for q, k in Q:
        result = f"s32x{2 * k}"
        yield Row(result, f"{result} u8x{8 * k} s8x{8 * k}", f"vusdot{q}_s32(a, b, c)", "a[i] + DOT4(b, i, c, i)")
        for name, x, y in (("usdot", "u", "s"), ("sudot", "s", "u")):
            for lane, of, size in [(lane, "lane", 8) for lane in (0, 1)] + [(lane, "laneq", 16) for lane in range(4)]:
                call = f"v{name}{q}_{of}_s32(a, b, c, {lane})"
                yield Row(result, f"{result} {x}8x{8 * k} {y}8x{size}", call, f"a[i] + DOT4(b, i, c, {lane})")


def bf16() -> Iterator[Row]:
    """BFDOT, BFMMLA, BFMLALB, BFMLALT, conversions."""
    pair = "a[i] + bf(b[2*i]) * bf(c[2*{0}]) + bf(b[2*i+1]) * bf(c[2*{0}+1])"
    for q, k in Q:
        result, types = f"f32x{2 * k}", f"f32x{2 * k} bf16x{4 * k} bf16x"
        yield Row(result, f"{types}{4 * k}", f"vbfdot{q}_f32(a, b, c)", pair.format("i"))
        for lane, of, size in [(lane, "lane", 4) for lane in (0, 1)] + [(lane, "laneq", 8) for lane in range(4)]:
            yield Row(result, f"{types}{size}", f"vbfdot{q}_{of}_f32(a, b, c, {lane})", pair.format(lane))
    for half, at in (("b", "2*i"), ("t", "2*i+1")):
        types, text = "f32x4 bf16x8 bf16x", f"a[i] + bf(b[{at}]) * bf(c[{{0}}])"
        yield Row("f32x4", f"{types}8", f"vbfmlal{half}q_f32(a, b, c)", text.format(at))
        for lane, of, size in [(lane, "lane", 4) for lane in range(4)] + [(lane, "laneq", 8) for lane in range(8)]:
            yield Row("f32x4", f"{types}{size}", f"vbfmlal{half}q_{of}_f32(a, b, c, {lane})", text.format(lane))
    products = " + ".join(f"bf(b[4*(i/2)+{k}]) * bf(c[4*(i%2)+{k}])" for k in range(4))
    yield Row("f32x4", "f32x4 bf16x8 bf16x8", "vbfmmlaq_f32(a, b, c)", f"a[i] + {products}")
    yield Row("f32x4", "bf16x4", "vcvt_f32_bf16(a)", "bf(a[i])")
    yield Row("f32x4", "bf16x8", "vcvtq_low_f32_bf16(a)", "bf(a[i])")
    yield Row("f32x4", "bf16x8", "vcvtq_high_f32_bf16(a)", "bf(a[i+4])")
    yield Row("bf16x4", "f32x4", "vcvt_bf16_f32(a)", "to_bf(a[i])")
    yield Row("bf16x8", "f32x4", "vcvtq_low_bf16_f32(a)", "i < 4 ? to_bf(a[i]) : 0")
    yield Row("bf16x8", "bf16x8 f32x4", "vcvtq_high_bf16_f32(a, b)", "i < 4 ? a[i] : to_bf(b[i-4])")
    for q, k in Q:
        same = f"bf16x{4 * k}"
        for lane in range(4):
            yield Row(same, "bf16x4", f"vdup{q}_lane_bf16(a, {lane})", f"a[{lane}]")
        for lane in range(8):
            yield Row(same, "bf16x8", f"vdup{q}_laneq_bf16(a, {lane})", f"a[{lane}]")
        for lane in range(4 * k):
            text = f"i == {lane} ? b[0] : a[i]"
            yield Row(same, f"{same} bf16x4", f"vset{q}_lane_bf16(vget_lane_bf16(b, 0), a, {lane})", text)
    yield Row("bf16x8", "bf16x4 bf16x4", "vcombine_bf16(a, b)", "i < 4 ? a[i] : b[i-4]")
    yield Row("bf16x4", "bf16x8", "vget_low_bf16(a)", "a[i]")
    yield Row("bf16x4", "bf16x8", "vget_high_bf16(a)", "a[i+4]")


INTEGERS = [f"{sign}{bits}" for sign in "su" for bits in (8, 16, 32, 64)]
FLOATS = ["f16", "f32", "f64"]


def sve() -> Iterator[Row]:
    """Arithmetic, logic, predicates and permutations of every element type."""
    both = [
        *(("add", "a[i] + b[i]"), ("sub", "a[i] - b[i]"), ("subr", "b[i] - a[i]"), ("mul", "a[i] * b[i]")),
        *(("min", "MIN(a[i], b[i])"), ("max", "MAX(a[i], b[i])"), ("abd", "ABD(a[i], b[i])")),
    ]
    whole = [("and", "a[i] & b[i]"), ("orr", "a[i] | b[i]"), ("eor", "a[i] ^ b[i]"), ("bic", "a[i] & ~b[i]")]
    real = [("div", "(double)a[i] / b[i]"), ("minnm", "MIN(a[i], b[i])"), ("maxnm", "MAX(a[i], b[i])")]
    fused = [("mla", "a[i] + b[i] * c[i]"), ("mls", "a[i] - b[i] * c[i]"), ("mad", "a[i] * b[i] + c[i]")]
    permuted = [
        *(("zip1", "i % 2 ? b[i/2] : a[i/2]"), ("zip2", "i % 2 ? b[(n+i)/2] : a[(n+i)/2]")),
        *(
            ("uzp1", "i < n/2 ? a[2*i] : b[2*i-n]"),
            ("trn1", "i % 2 ? b[i-1] : a[i]"),
            ("trn2", "i % 2 ? b[i] : a[i+1]"),
        ),
    ]
    for kind in INTEGERS + FLOATS:
        wide = lambda text, kind=kind: text.replace("a[i]", "(double)a[i]") if kind in FLOATS else text  # noqa: E731
        for name, text in [*both, *(real if kind in FLOATS else whole)]:
            yield Row(kind, f"{kind} {kind}", f"sv{name}_{kind}_x(pg, a, b)", wide(text))
        for name, text in fused:
            text = text.replace("b[i]", "(double)b[i]") if kind in FLOATS else text
            yield Row(kind, f"{kind} {kind} {kind}", f"sv{name}_{kind}_x(pg, a, b, c)", text)
        for name, text in permuted:
            yield Row(kind, f"{kind} {kind}", f"sv{name}_{kind}(a, b)", text)
        yield Row(kind, kind, f"svrev_{kind}(a)", "a[n-1-i]")
        some = f"svcmpgt_{kind}(pg, a, b)"
        yield Row(
            kind, f"{kind} {kind}", f"svadd_{kind}_m({some}, a, b)", f"a[i] > b[i] ? {wide('a[i] + b[i]')} : a[i]"
        )
        yield Row(kind, f"{kind} {kind}", f"svsub_{kind}_z({some}, a, b)", f"a[i] > b[i] ? {wide('a[i] - b[i]')} : 0")
        yield Row(kind, f"{kind} {kind} {kind}", f"svsel_{kind}({some}, b, c)", "a[i] > b[i] ? b[i] : c[i]")


def sve_products() -> Iterator[Row]:
    """What SVE has where the CPU has I8MM and BF16, too."""
    for name, result, x, y in (("mmla", "s", "s", "s"), ("mmla", "u", "u", "u"), ("usmmla", "s", "u", "s")):
        types = f"{result}32 {x}8 {y}8"
        yield Row(f"{result}32", types, f"sv{name}_{result}32(a, b, c)", "a[i] + MMLA(b, c, i)")
    yield Row("s32", "s32 u8 s8", "svusdot_s32(a, b, c)", "a[i] + DOT4(b, i, c, i)")
    pair = "bf(b[2*i]) * bf(c[2*i]) + bf(b[2*i+1]) * bf(c[2*i+1])"
    yield Row("f32", "f32 bf16 bf16", "svbfdot_f32(a, b, c)", f"a[i] + {pair}")
    yield Row("f32", "f32 bf16 bf16", "svbfmlalb_f32(a, b, c)", "a[i] + bf(b[2*i]) * bf(c[2*i])")
    yield Row("f32", "f32 bf16 bf16", "svbfmlalt_f32(a, b, c)", "a[i] + bf(b[2*i+1]) * bf(c[2*i+1])")


def sve2() -> Iterator[Row]:
    """Saturation, halves of sums, products and sums of wider elements, logic of three operands."""
    for kind in INTEGERS:
        bits = int(kind[1:])
        s, word = kind[0] == "s", ("__int128" if kind[0] == "s" else "unsigned __int128")
        low = f"-((__int128)1 << {bits - 1})" if s else "0"
        high = f"((__int128)1 << {bits - 1}) - 1" if s else f"((__int128)1 << {bits}) - 1"
        x, y = f"(({word})a[i])", f"(({word})b[i])"
        for name, text in (("qadd", f"{x} + {y}"), ("qsub", "(__int128)a[i] - (__int128)b[i]")):
            yield Row(
                kind, f"{kind} {kind}", f"sv{name}_{kind}_x(pg, a, b)", f"CLAMP((__int128)({text}), {low}, {high})"
            )
        for name, text in (("hadd", f"{x} + {y}"), ("rhadd", f"{x} + {y} + 1"), ("hsub", "(__int128)a[i] - b[i]")):
            yield Row(kind, f"{kind} {kind}", f"sv{name}_{kind}_x(pg, a, b)", f"((__int128)({text})) >> 1")
        three = f"{kind} {kind} {kind}"
        yield Row(kind, three, f"svaba_{kind}(a, b, c)", "a[i] + ABD(b[i], c[i])")
        yield Row(kind, three, f"sveor3_{kind}(a, b, c)", "a[i] ^ b[i] ^ c[i]")
        yield Row(kind, three, f"svbcax_{kind}(a, b, c)", "a[i] ^ (b[i] & ~c[i])")
        yield Row(kind, three, f"svbsl_{kind}(a, b, c)", "(a[i] & c[i]) | (b[i] & ~c[i])")
        yield Row(kind, three, f"svnbsl_{kind}(a, b, c)", "~((a[i] & c[i]) | (b[i] & ~c[i]))")
        yield Row(kind, f"{kind} {kind}", f"svsra_n_{kind}(a, b, 3)", "a[i] + (b[i] >> 3)")
        if s:
            yield Row(kind, kind, f"svqabs_{kind}_x(pg, a)", f"CLAMP(a[i] < 0 ? -(__int128)a[i] : a[i], {low}, {high})")
            yield Row(kind, kind, f"svqneg_{kind}_x(pg, a)", f"CLAMP(-(__int128)a[i], {low}, {high})")
            text = f"CLAMP((2 * (__int128)a[i] * b[i]) >> {bits}, {low}, {high})"
            yield Row(kind, f"{kind} {kind}", f"svqdmulh_{kind}(a, b)", text)
        if bits == 8:
            continue
        half = f"{kind[0]}{bits // 2}"
        wide = f"int{bits}_t" if s else f"uint{bits}_t"
        for end, at in (("b", "2*i"), ("t", "2*i+1")):
            x, y, z = (f"({wide}){name}[{at}]" for name in "abc")
            for name, text in (
                *(("addl", f"{x} + {y}"), ("subl", f"{x} - {y}"), ("abdl", f"ABD({x}, {y})")),
                ("mull", f"{x} * {y}"),
            ):
                yield Row(kind, f"{half} {half}", f"sv{name}{end}_{kind}(a, b)", text)
            for name, sign in (("addw", "+"), ("subw", "-")):
                yield Row(kind, f"{kind} {half}", f"sv{name}{end}_{kind}(a, b)", f"a[i] {sign} {y}")
            for name, sign in (("mlal", "+"), ("mlsl", "-")):
                yield Row(kind, f"{kind} {half} {half}", f"sv{name}{end}_{kind}(a, b, c)", f"a[i] {sign} {y} * {z}")


LEVELS = {
    "DOTPROD": (NEON, [*dotprod()]),
    "FP16": (NEON, [*fp16()]),
    "SVE": (SVE, [*sve()]),
    "FP16FML": (NEON, [*fp16fml()]),
    "I8MM": (NEON, [*i8mm()]),
    "BF16": (NEON, [*bf16()]),
    "SVE256": (SVE, [*sve(), *sve_products()]),
    "SVE2": (SVE, [*sve2(), *sve_products()]),
}
