"""The table of arm64's encodings against llvm-mc, feature by feature, and against the features of arm_neon.h."""

import random
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Sequence

from isagen.binary.elf.pointers import LoadedElf
from isagen.code.code import Code
from isagen.processors.arm64.abi import ELF
from isagen.processors.arm64.decoder import Arm64Decoder
from isagen.processors.encodings import INVALID
from isagen.processors.features import read_features
from isagen.processors.instructions import OR, have, normal_name
from support.projects import need

DECODER = Arm64Decoder(ELF)
ALWAYS = ("neon", "fp-armv8")
# What LLVM 16 needs in addition.
MORE = {"sme-f16f16": ("sme2p1",)}
SYSTEM = 0xD5  # the highest byte of system instructions: without their feature, LLVM decodes them by numbers


def invalid(words: Sequence[int], features: Iterable[str], left_out: str = "") -> set[int]:
    """The words that are no instruction with these features, without one that is left out."""
    lines = "\n".join(" ".join(f"{byte:#04x}" for byte in word.to_bytes(4, "little")) for word in words)
    attributes = ",".join([*(f"+{feature}" for feature in features), *([f"-{left_out}"] if left_out else [])])
    command = ["llvm-mc-16", "--disassemble", "-triple=aarch64", f"-mattr={attributes}"]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=False)
    return {words[int(line) - 1] for line in re.findall(r"<stdin>:(\d+):\d+: warning: invalid", done.stderr)}


def known_features() -> set[str]:
    done = subprocess.run(["llvm-mc-16", "-triple=aarch64", "-mattr=help"], capture_output=True, text=True, check=True)
    return set(re.findall(r"^  (\S+) +- ", done.stdout + done.stderr, re.MULTILINE))


def sampled(count: int) -> list[int]:
    """Words of every row of the table, with random bits where the mask has none."""
    table, chance = DECODER.encodings, random.Random(1)
    rows = sorted({(mask, value) for listed in table.rows.values() for mask, value, _ in listed})
    return [chance.getrandbits(32) & ~mask | value for mask, value in rows for _ in range(count)]


def test_every_row_needs_what_llvm_says():
    need("llvm-mc-16")
    table, known = DECODER.encodings, known_features()
    words = sampled(2)
    newer = invalid(words, ["all"])
    by_needs: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for word in words:
        if word not in newer:
            by_needs[table.forms[table[word]].needs].append(word)
    compared = 0
    for named, group in by_needs.items():
        features = [feature.split(OR)[0].replace("_", "-") for feature in named]
        if not known.issuperset(features):
            continue
        more = [one for feature in features for one in MORE.get(feature, ())]
        regular = [word for word in group if word >> 24 != SYSTEM]
        assert not invalid(group, [*ALWAYS, *features, *more]), named
        for left_out in set(features) - set(ALWAYS):
            assert invalid(regular, [*ALWAYS, *features, *more], left_out) == set(regular), (named, left_out)
        compared += len(group)
    assert compared > 0.9 * (len(words) - len(newer)) > 7000


def test_words_that_are_no_instructions():
    need("llvm-mc-16")
    chance = random.Random(2)
    words = [chance.getrandbits(32) for _ in range(20000)]
    unknown = [word for word in words if DECODER.encodings[word] == INVALID]
    # LLVM ignores bits that should be ones: the third register of LDXR and the fourth of SMULH.
    valid = set(unknown) - invalid(unknown, ["all"])
    assert all(word & 0x3F000000 == 0x08000000 or word & 0xFF000000 == 0x9B000000 for word in valid)
    assert len(unknown) > 5000


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
