"""Matrices for tests: of any number of kernels, with all verdicts, sizes, families and identical copies that occur."""

import hashlib
from random import Random

from isagen.matrix.loops import Loop, LoopInstruction
from isagen.model.matrix import Code, LevelRow, Matrix, MatrixCell, MatrixCompiler, MatrixKernel

BASELINE = ("cmov", "cx8", "fpu", "fxsr", "mmx", "sse", "sse2")
AVX2 = ("avx", "avx2", "fma", "f16c")
AVX512 = ("avx512_f", "avx512_bw", "avx512_vl", "avx512_dq")
AMX = ("avx512_vbmi", "amx_tile", "amx_int8", "amx_bf16")
# name: features of its own, width in bits, level that it requires, flags of its own
LEVELS = {
    "DEFAULT": (BASELINE, 128, "", ()),
    "AVX2": (AVX2, 256, "DEFAULT", ("-mavx2", "-mfma", "-mf16c")),
    "AVX2_VNNI": (("avx_vnni",), 256, "AVX2", ("-mavxvnni",)),
    "AVX512": (AVX512, 512, "AVX2", ("-mprefer-vector-width=512", *(f"-m{one.replace('_', '')}" for one in AVX512))),
    "AVX512_VNNI": (("avx512_vnni",), 512, "AVX512", ("-mavx512vnni",)),
    "AVX512_BF16": (("avx512_bf16",), 512, "AVX512_VNNI", ("-mavx512bf16",)),
    "AMX": (AMX, 512, "AVX512_BF16", ("-mavx512vbmi", "-mamx-tile", "-mamx-int8", "-mamx-bf16")),
    "AVX512_FP16": (("avx512_fp16",), 512, "AMX", ("-mavx512fp16",)),
}
UNAVAILABLE = {"AVX512_FP16": "gcc 11.4.0 is older than 12.1, which the level needs"}
FOLDERS = ("reduce", "rows", "convert", "linear", "channels", "quant")
NAMES = ("softmax", "cumsum", "dot", "matmul_u8s8", "channel_shuffle", "log_softmax", "fp32_to_bf16", "rmsnorm", "gelu")
# How a copy's code grows from level to level.
GROWTH = dict(zip(LEVELS, (1, 1.55, 1.62, 1.9, 2.05, 2.2, 2.5, 2.5), strict=True))


def below(level: str) -> tuple[str, ...]:
    """The levels that a level requires, directly or not."""
    lower = LEVELS[level][2]
    return (*below(lower), lower) if lower else ()


def features_of(level: str) -> tuple[str, ...]:
    return tuple(name for one in (*below(level), level) for name in LEVELS[one][0])


def flags_of(level: str) -> tuple[str, ...]:
    return tuple(flag for one in (*below(level), level) for flag in LEVELS[one][3])


def level_of(name: str, rank: int) -> LevelRow:
    reason = UNAVAILABLE.get(name, "")
    flags = flags_of(name)
    return LevelRow(
        name=name,
        rank=rank * 10,
        verdict="unavailable" if reason else "built",
        reason=reason,
        requires=below(name),
        features=features_of(name),
        flags={} if reason else {"c": flags, "cpp": flags},
        macros=(f"CPU_CAPABILITY={name}", f"CPU_CAPABILITY_{name}"),
        dropped={"cpp": (("-mno-avx256-split-unaligned-load", "unknown argument"),)} if name == "AVX2" else {},
        compiled=not reason,
    )


def matrix_of(kernels: int = 5, project: str = "hello", seed: int = 1, **changes) -> Matrix:
    """A matrix of `kernels` kernels at eight levels, the same for the same arguments."""
    random = Random(seed)
    values = {
        "project": project,
        "isagen": "0.1.0",
        "table": "x86",
        "features": "x86",
        "override": f"{project.upper()}_ISA",
        "cpu_family": "x86_64",
        "system": "linux",
        "optimization": "-O3",
        "lto": False,
        "compilers": {
            "c": MatrixCompiler("gcc", "11.4.0", "gcc 11.4.0"),
            "cpp": MatrixCompiler("gcc", "11.4.0", "gcc 11.4.0"),
        },
        "baseline": BASELINE,
        "beyond_architecture": (),
        "baseline_origin": "",
        "sealed": True,
        "seal_reason": "",
        "audited": True,
        "audit_reason": "",
        "levels": tuple(level_of(name, rank) for rank, name in enumerate(LEVELS)),
        "kernels": tuple(kernel_of(name, random) for name in names(kernels)),
    }
    return Matrix(**{**values, **changes})


def names(count: int) -> list[str]:
    if count <= len(NAMES):
        return [f"kernels/{name}.cpp" for name in NAMES[:count]]
    return [
        f"src/{FOLDERS[number % 6]}/{NAMES[number // 6 % 9]}{f'_{number // 54}' if number >= 54 else ''}.cpp"
        for number in range(count)
    ]


def kernel_of(source: str, random: Random) -> MatrixKernel:
    """A kernel, some of whose levels are switched off, fail, wait to be compiled, or add nothing."""
    stem = source.rpartition("/")[2].removesuffix(".cpp")
    size, whole = random.randrange(400, 40_000), random.random()
    cells: dict[str, MatrixCell] = {}
    last = ""
    for name, (own, width, _, _) in LEVELS.items():
        if reason := UNAVAILABLE.get(name):
            cells[name] = MatrixCell("unavailable", reason)
        elif name in ("AMX", "AVX2_VNNI") and whole < 0.35:
            cells[name] = MatrixCell("disabled", f'isa.toml: kernels."{source}".levels leaves it out', flags_of(name))
        elif name == "AVX512_BF16" and 0.35 < whole < 0.4:
            cells[name] = MatrixCell("built", "", flags_of(name), f"{stem}.cpp.{name}.cpp")
        else:
            adds = len(own) > 3 or random.random() < 0.45
            code = cells[last].code if last and not adds else code_of(name, own, width, size, random)
            first = (cells[last].same_as or last) if last and not adds else ""
            copy = f"{stem}.cpp.{name}.cpp"
            cells[name] = MatrixCell("built", "", flags_of(name), copy, (f"{stem}_stub",), code, first)
            last = name
    return MatrixKernel(source, "cpp", ("-ffast-math",) if "softmax" in stem else (), cells)


def code_of(level: str, own: tuple[str, ...], width: int, size: int, random: Random) -> Code:
    code = int(size * GROWTH[level] * random.uniform(0.9, 1.1))
    count = code // 5
    families = {}
    if level != "DEFAULT":
        for one in (*below(level)[1:], level):
            for feature in LEVELS[one][0][:3]:
                families[feature] = int(count * random.uniform(0.02, 0.3 if feature in own else 0.12))
    digest = hashlib.sha256(repr((code, level)).encode()).hexdigest()
    return Code(
        code * 2 + 900, code, count, 256 if width == 512 and random.random() < 0.15 else width, families, digest
    )


LOOP = Loop(
    "(anonymous namespace)::dot(unsigned char const*, signed char const*, unsigned long)",
    tuple(
        LoopInstruction(offset, text, features)
        for offset, text, features in (
            (0x40, "vmovdqu64 zmm3, [rdi+rax]", ("avx512_f",)),
            (0x47, "vpdpbusd zmm0, zmm3, [rsi+rax]", ("avx512_vnni",)),
            (0x4E, "vmovdqu64 zmm4, [rdi+rax+0x40]", ("avx512_f",)),
            (0x56, "vpdpbusd zmm1, zmm4, [rsi+rax+0x40]", ("avx512_vnni",)),
            (0x5E, "sub rax, 0xFFFFFFFFFFFFFF80", ()),
            (0x62, "cmp rax, rcx", ()),
            (0x65, "jne short 0x40", ()),
        )
    ),
)


def loops_of(matrix: Matrix) -> dict[tuple[str, str], Loop]:
    """The same loop for all copies at AVX512_VNNI."""
    return {
        (kernel.source, name): LOOP
        for kernel, name, cell in matrix.cells()
        if name == "AVX512_VNNI" and cell.code is not None
    }
