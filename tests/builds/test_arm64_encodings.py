"""The table of arm64's encodings against llvm-mc, feature by feature, and against those of arm_neon.h and arm_sve.h."""

import random
import re
import subprocess
from collections import defaultdict
from pathlib import Path

from isagen.binary.elf.pointers import LoadedElf
from isagen.code.code import Code
from isagen.processors.arm64 import ELF
from isagen.processors.arm64.decoder import Arm64Decoder
from isagen.processors.features import read_features
from isagen.processors.instructions import have, normal_name
from isagen.processors.row_decoder import INVALID
from support.llvm_mc import LlvmMc
from support.projects import need

DECODER = Arm64Decoder(ELF)
LLVM = LlvmMc(
    "aarch64",
    always=("neon", "fp-armv8"),
    as_bytes=lambda word: word.to_bytes(4, "little"),
    more={"sme-f16f16": ("sme2p1",)},
    regular=lambda word: word >> 24 != 0xD5,  # system instructions are decoded by numbers
)


def test_every_row_needs_what_llvm_says():
    need("llvm-mc-16")
    compared, known = LLVM.check_rows(DECODER.encodings, ["all"])
    assert compared > 0.9 * known > 7000


def test_words_that_are_no_instructions():
    need("llvm-mc-16")
    chance = random.Random(2)
    unknown, valid = LLVM.valid(DECODER.encodings, [chance.getrandbits(32) for _ in range(20000)], ["all"])
    # LLVM ignores bits that should be ones: the third register of LDXR and the fourth of SMULH.
    assert all(word & 0x3F000000 == 0x08000000 or word & 0xFF000000 == 0x9B000000 for word in valid)
    assert unknown > 5000


# ---- the intrinsics of NEON

FUNCTION = re.compile(
    r"#pragma GCC (?P<pragma>push_options|pop_options|target \(\"(?P<target>[^\"]+)\"\))"
    r"|^__extension__ extern __inline (?P<type>[^\n]+)\n__attribute__[^\n]+\n(?P<name>\w+) ?\((?P<args>[^)]*)\)",
    re.MULTILINE,
)
# What the header's targets turn on; several intrinsics of a target need none of it.
TARGETS = {
    "": (),
    "+nothing+simd": (),
    "+nothing+crypto": ("aes", "sha2"),
    "+nothing+rdma": ("rdm",),
    "arch=armv8.2-a+fp16": ("fp16",),
    "arch=armv8.2-a+bf16": ("bf16",),
    "arch=armv8.2-a+dotprod": ("dotprod",),
    "arch=armv8.2-a+fp16fml": ("fp16fml",),
    "arch=armv8.2-a+i8mm": ("i8mm",),
    "arch=armv8.2-a+sha3": ("sha3",),
    "arch=armv8.2-a+sm4": ("sm4",),
    "arch=armv8.3-a": ("fcma",),
    "arch=armv8.3-a+fp16": ("fcma", "fp16"),
    "arch=armv8.5-a": ("frintts",),
}


def intrinsics() -> dict[str, tuple[str, str]]:
    """C that calls each intrinsic of GCC's arm_neon.h, and the target that the header compiles it for, by name."""
    preprocessed = subprocess.run(
        ["aarch64-linux-gnu-gcc", "-E", "-H", "-x", "c", "-"],
        input="#include <arm_neon.h>\n",
        capture_output=True,
        text=True,
        check=True,
    )
    header = re.search(r"^\. (.*arm_neon\.h)$", preprocessed.stderr, re.MULTILINE)
    assert header is not None
    with open(header[1], encoding="utf-8") as stream:
        text = stream.read()
    found, targets = {}, [""]
    for one in FUNCTION.finditer(text):
        if one["pragma"] == "push_options":
            targets.append(targets[-1])
        elif one["pragma"] == "pop_options":
            targets.pop()
        elif one["target"]:
            outer = targets[-1] if one["target"] == "+fp16" else ""
            targets[-1] = outer + one["target"]
        else:
            args = [arg.strip() for arg in one["args"].split(",") if arg.strip() != "void"]
            kept = [arg for arg in args if not re.fullmatch(r"(?:(?:__)?const\s+)?int\s+(?:const\s+)?\w+", arg)]
            number = "0" if "lane" in one["name"] or one["name"].startswith("vext") else "1"
            passed = [number if arg not in kept else re.findall(r"\w+", arg)[-1] for arg in args]
            call = f"{one['name']}({', '.join(passed)})"
            attribute = f'__attribute__((target("{targets[-1]}"))) ' if targets[-1] else ""
            body = f"{'' if one['type'].strip() == 'void' else 'return '}{call};"
            found[one["name"]] = (
                f"{attribute}{one['type']} wrapped_{one['name']}({', '.join(kept)}) {{ {body} }}",
                targets[-1],
            )
    return found


def test_every_intrinsic_of_neon_needs_what_its_header_asks_for(tmp_path):
    need("aarch64-linux-gnu-gcc")
    found = intrinsics()
    assert len(found) > 4000
    source = tmp_path / "all.c"
    source.write_text("#include <arm_neon.h>\n" + "\n".join(text for text, _ in found.values()))
    command = ["aarch64-linux-gnu-gcc", "-O1", "-w", "-march=armv8-a", "-c", source, "-o", tmp_path / "all.o"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]
    features = read_features("arm64")
    needed = DECODER.needs(features.instructions)
    used: dict[str, set[str]] = defaultdict(set)
    with LoadedElf(tmp_path / "all.o") as binary:
        code = Code(binary, DECODER)
        for number in range(len(code)):
            name = code.name(number).removeprefix("wrapped_")
            codes = code.codes(number)
            target = found[name][1]
            turned_on = set(map(normal_name, features.having(TARGETS[target])))
            needs_here = {feature for one in codes for feature in needed.get(one, ())}
            assert INVALID not in codes, name
            assert have(turned_on, needs_here), (name, target, needs_here)
            used[target] |= needs_here
    for target, names in TARGETS.items():
        assert {normal_name(name) for name in names} <= set(map(normal_name, used[target])), (target, used[target])


# ---- the intrinsics of SVE

# In the header of Clang 14, each declaration is in an #if that names the macros of what it needs; later ones have none.
SVE = re.compile(
    r"^#if(?P<condition>.*)|^#(?P<end>endif)|^__ai __attribute__\(\(__clang_arm_builtin_alias\(\w+\)\)\)\n"
    r"(?P<type>[\w ]+\*?) ?\b(?P<name>sv\w+)\((?P<args>[^)]*)\);$",
    re.MULTILINE,
)
SVE_MACROS = {
    "__ARM_FEATURE_SVE2": "sve2",
    **{f"__ARM_FEATURE_SVE2_{name.upper()}": f"sve_{name}" for name in ("aes", "bitperm", "sha3", "sm4")},
    "__ARM_FEATURE_SVE_MATMUL_INT8": "sve_i8mm",
    "__ARM_FEATURE_SVE_MATMUL_FP32": "sve_f32mm",
    "__ARM_FEATURE_SVE_MATMUL_FP64": "sve_f64mm",
    "__ARM_FEATURE_SVE_BF16": "sve_bf16",
    "__ARM_FEATURE_BF16_SCALAR_ARITHMETIC": "bf16",
}
CONSTANT = re.compile(r"u?int(?:32|64)_t|int|enum \w+")


def sve_call(name, type_, args, constant):
    """C that calls an intrinsic; `constant` is passed for numbers, if it is given."""
    types = [one.strip() for one in args.split(",") if one.strip() not in ("", "void")]
    fixed = [constant is not None and CONSTANT.fullmatch(one) is not None for one in types]
    named = [f"{one} a{place}" for place, one in enumerate(types) if not fixed[place]]
    passed = [f"({one}){constant}" if fixed[place] else f"a{place}" for place, one in enumerate(types)]
    result = "" if type_.strip() == "void" else "return "
    return f"{type_} wrapped_{name}({', '.join(named) or 'void'}) {{ {result}{name}({', '.join(passed)}); }}"


def test_every_intrinsic_of_sve_needs_what_its_header_asks_for(tmp_path):
    need("clang-14", "aarch64-linux-gnu-gcc")
    command = ["clang-14", "--target=aarch64-linux-gnu", "-w", "-O1", "-ferror-limit=0"]
    command.append("-march=armv8.6-a+sve2+sve2-aes+sve2-bitperm+sve2-sha3+sve2-sm4+f32mm+f64mm+bf16+i8mm")
    folder = subprocess.run(["clang-14", "-print-resource-dir"], capture_output=True, text=True, check=True).stdout
    found, conditions = {}, []
    for one in SVE.finditer(Path(folder.strip(), "include/arm_sve.h").read_text()):
        if one["condition"] is not None:
            conditions.append([] if "!" in one["condition"] else re.findall(r"__ARM_FEATURE_\w+", one["condition"]))
        elif one["end"]:
            conditions.pop()
        else:
            found[one["name"]] = (
                one["type"],
                one["args"],
                {SVE_MACROS[name] for names in conditions for name in names},
            )
    assert len(found) > 5800
    source, texts, left = tmp_path / "all.c", {}, list(found)
    for constant in (None, 1, 0, 90):  # some arguments must be constants, and some of these are angles
        tried = [sve_call(name, *found[name][:2], constant) for name in left]
        source.write_text("#include <arm_sve.h>\n" + "\n".join(tried))
        said = subprocess.run([*command, "-fsyntax-only", source], capture_output=True, text=True, check=False).stderr
        refused = {int(line) - 2 for line in re.findall(r"all\.c:(\d+):\d+: error", said)}
        texts |= {name: tried[place] for place, name in enumerate(left) if place not in refused}
        left = [name for place, name in enumerate(left) if place in refused]
    assert not left
    source.write_text("#include <arm_sve.h>\n" + "\n".join(texts.values()))
    subprocess.run([*command, "-c", source, "-o", tmp_path / "all.o"], check=True)
    features = read_features("arm64")
    needed, used = DECODER.needs(features.instructions), set()
    with LoadedElf(tmp_path / "all.o") as binary:
        code = Code(binary, DECODER)
        for number in range(len(code)):
            name, codes = code.name(number).removeprefix("wrapped_"), code.codes(number)
            needs_here = {feature for one in codes for feature in needed.get(one, ())}
            assert INVALID not in codes, name
            turned_on = set(map(normal_name, features.having({"sve", *found[name][2]})))
            assert have(turned_on, needs_here), (name, found[name], needs_here)
            used |= {one for feature in needs_here for one in feature.split(" or ")}
    # Rows have SVE and I8MM or BF16 for what the OS reports as one feature.
    expected = {*SVE_MACROS.values(), "i8mm"} - {"sve_i8mm", "sve_bf16"}
    assert set(map(normal_name, expected)) <= set(map(normal_name, used)), used
