"""Compares `isagen audit` of files without a record with findings that are derived from objdump and readelf.

usage: python tests/bench/audit_check.py [--baseline LEVEL] WHEEL_OR_FILE...

For each file: the functions that other files may bind to (.dynsym) and those that run at load (.init_array,
.fini_array, DT_INIT, DT_FINI, ifunc resolvers, and their direct callees) are found from the output of binutils. The
rules below determine the features of their instructions (Intel SDM vol. 2 and AMD APM vol. 3 and 4, by mnemonic,
operands and prefix byte). Both sets must equal the audit's. The script prints differences; then its exit status is 1.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from bisect import bisect_right
from collections import Counter
from pathlib import Path

WORDS = {
    "sse3": "addsubpd addsubps haddpd haddps hsubpd hsubps lddqu movddup movshdup movsldup fisttp fisttpll",
    "ssse3": "pabsb pabsw pabsd palignr phaddw phaddd phaddsw phsubw phsubd phsubsw pmaddubsw pmulhrsw pshufb psignb "
    "psignw psignd",
    "sse4_1": "blendpd blendps blendvpd blendvps dppd dpps extractps insertps movntdqa mpsadbw packusdw pblendvb "
    "pblendw pcmpeqq pextrb pextrd pextrq phminposuw pinsrb pinsrd pinsrq pmaxsb pmaxsd pmaxud pmaxuw pminsb pminsd "
    "pminud pminuw pmovsxbw pmovsxbd pmovsxbq pmovsxwd pmovsxwq pmovsxdq pmovzxbw pmovzxbd pmovzxbq pmovzxwd pmovzxwq "
    "pmovzxdq pmuldq pmulld ptest roundpd roundps roundsd roundss",
    "sse4_2": "pcmpestri pcmpestrm pcmpistri pcmpistrm pcmpgtq crc32",
    "popcnt": "popcnt",
    "sse4a": "extrq insertq movntsd movntss",
    "aes": "aesenc aesenclast aesdec aesdeclast aesimc aeskeygenassist",
    "pclmul": "pclmulqdq pclmullqlqdq pclmulhqlqdq pclmullqhqdq pclmulhqhqdq",
    "sha": "sha1rnds4 sha1nexte sha1msg1 sha1msg2 sha256rnds2 sha256msg1 sha256msg2",
    "bmi1": "andn bextr blsi blsmsk blsr",
    "bmi2": "bzhi mulx pdep pext rorx sarx shlx shrx",
    "lzcnt": "lzcnt",
    "movbe": "movbe",
    "adx": "adcx adox",
    "rdrnd": "rdrand",
    "rdseed": "rdseed",
    "rtm": "xbegin xend xabort xtest",
    "fsgsbase": "rdfsbase rdgsbase wrfsbase wrgsbase",
    "xsave": "xsave xsave64 xrstor xrstor64",
    "xsavec": "xsavec xsavec64",
    "xsaveopt": "xsaveopt xsaveopt64",
    "rdtscp": "rdtscp",
    "clflushopt": "clflushopt",
    "clwb": "clwb",
    "cx16": "cmpxchg16b",
    "rdpid": "rdpid",
    "gfni": "gf2p8affineqb gf2p8affineinvqb gf2p8mulb",
    "clzero": "clzero",
    "3dnow": "femms",
}
FEATURE = {word: feature for feature, words in WORDS.items() for word in words.split()}
SCALAR = re.compile(
    r"^v(add|sub|mul|div|sqrt|max|min|mov|cmp|ucomi|comi|fn?m(add|sub)\d{3}|rcp14|rsqrt14|rndscale|scalef|getexp|getmant|"
    r"fixupimm|range|reduce|fpclass|cvtt?\w+2)(s[sdh]|[su]si)$|^vcvtu?si2s[sdh]$|^vmov[dqw]$|^vp(extr|insr)[bwdq]$|"
    r"^v(insert|extract)ps$"
)
INTEGER = re.compile(
    r"^vp(?!ermil|erm2f|ermp|test|clmul|xorps)|^v(mpsadbw|movntdqa|inserti128|extracti128|broadcasti|perm2i|permp[sd]|"
    r"permd|permq|gather|pgather|pbroadcast|pmask)"
)
# What EVEX-encoded instructions need besides AVX-512 F and VL.
EVEX = (
    ("avx512_bf16", r"bf16|^vdpbf16"),
    ("avx512_fp16", r"^(?!vcvt(ph2ps|ps2ph)$)(.*(ph|sh)x?$|.*(ph|sh)2|vmovw)"),
    ("avx512_vnni", r"^vpdp(bus|wss)"),
    ("avx512_ifma", r"^vpmadd52"),
    ("avx512_vbmi2", r"^vp(compress|expand)[bw]$|^vpsh[lr]d"),
    ("avx512_vbmi", r"^vperm[it2]*b$|^vpmultishift"),
    ("avx512_bitalg", r"^vpopcnt[bw]$|^vpshufbitqmb"),
    ("avx512_vpopcntdq", r"^vpopcnt[dq]$"),
    ("avx512_cd", r"^vpconflict|^vplzcnt|^vpbroadcastm"),
    (
        "avx512_bw",
        r"^vmovdqu(8|16)$|^vdbpsadbw|^vp(abs|add|adds|addus|avg|blendm|max[su]|min[su]|sub|subs|subus|test[n]?m)[bw]$|"
        r"^vpack|^vpalignr|^vp?cmp(eq|gt|lt|le|neq|nlt|nle|ge|ne)?u?[bw]$|^vpmadd(ubs|wd)|^vpmov([bw]2m|m2[bw]|wb|swb|uswb|"
        r"[sz]xbw)|^vpmul(h|hrs|hu|l)w$|^vps(adbw|hufb|hufhw|huflw|ll[vw]*w$|ra[v]?w$|rl[v]?w$)|^vpsl?r?ldq$|^vpunpck[hl](bw|wd)|"
        r"^vperm(w|i2w|t2w)$|^vpext?r[bw]|^vpinsr[bw]",
    ),
    (
        "avx512_dq",
        r"^v(and|andn|or|xor)p[sd]$|(?<!vshuf[fi])64x2|32x8|32x2|^vcvt.*(qq)|^vfpclass|^vpmull?q$|^vpmov[dq]2m|^vpmovm2[dq]|^vrange|"
        r"^vreduce|^vpext?r[dq]|^vpinsr[dq]",
    ),
    ("gfni", r"gf2p8"),
    ("vaes", r"^vaes"),
    ("vpclmulqdq", r"^vpclmul"),
)
HARMLESS = {"xgetbv", "tzcnt", "endbr64", "endbr32", "prefetchw", "rdsspq", "rdsspd", "incsspq", "incsspd", "prefetch"}
LINE = re.compile(r"^\s*([0-9a-f]+):\t((?:[0-9a-f]{2} )+)\s*(?:\t(.*))?$")
PREFIXES = re.compile(
    r"^((?:rep[nz]?|repnz|repz|lock|bnd|notrack|data16|cs|ds|es|fs|gs|ss|addr32|xacquire|xrelease|\{\w+\}|rex[.\w]*)\s+)+"
)


def needs(mnemonic: str, operands: str, raw: bytes) -> set[str]:
    """What an instruction needs that not every x86-64 CPU has, by its spelling and its first bytes."""
    if mnemonic in HARMLESS:
        return set()
    if mnemonic == "pextrw" and "PTR" in operands:
        return {"sse4_1"}
    if mnemonic in FEATURE and raw[:1] not in (b"\xc4", b"\xc5", b"\x62"):
        return {FEATURE[mnemonic]}
    lead = raw.lstrip(b"\x66\x67\x2e\x3e\x26\x64\x65\x36")[:1]
    if lead == b"\x62":
        found = {"avx512_f"}
        found |= {name for name, pattern in EVEX if re.search(pattern, mnemonic)}
        vector = re.search(r"\b[xy]mm\d", operands) and "zmm" not in operands
        if vector and not SCALAR.search(mnemonic):
            found.add("avx512_vl")
        return found
    if lead in (b"\xc4", b"\xc5"):
        if mnemonic in FEATURE and FEATURE[mnemonic] in ("bmi1", "bmi2"):
            return {FEATURE[mnemonic]}
        if mnemonic.startswith("k"):
            return {"avx512_f", "?"}
        if re.match(r"vfn?m(add|sub)", mnemonic):
            return {"fma"} if re.search(r"132|213|231", mnemonic) else {"fma4"}
        if re.match(r"vcvtph2ps|vcvtps2ph", mnemonic):
            return {"f16c"}
        if mnemonic.startswith(("vaes", "vpclmul")):
            return {"aes" if "aes" in mnemonic else "pclmul", "avx", "?"}
        if mnemonic.startswith("v"):
            wide = "ymm" in operands
            two = (wide and INTEGER.search(mnemonic)) or re.match(
                r"v(pbroadcast|p?gather|pmaskmov|ps[lr]lv|psrav|pblendd|inserti128|extracti128|broadcasti128)", mnemonic
            )
            if re.match(r"vbroadcasts[sd]", mnemonic) and "PTR" not in operands:
                two = True
            if re.match(r"vpermil|vperm2f128|vptest", mnemonic):
                two = False
            return {"avx2" if two else "avx"}
        return {"?"}
    if lead == b"\x8f" and mnemonic != "pop":
        return {"xop"}
    return set()


class Binary:
    """A file as readelf and objdump tell it."""

    def __init__(self, path: Path):
        self.path = path
        self.sections = []
        for line in self.readelf("-SW").splitlines():
            m = re.match(
                r"\s*\[\s*\d+\]\s+(\S+)\s+(\S+)\s+([0-9a-f]{16})\s+([0-9a-f]+)\s+([0-9a-f]+)\s+\S+\s+(\w*)", line
            )
            if m:
                self.sections.append((m[1], m[2], int(m[3], 16), int(m[4], 16), int(m[5], 16), m[6]))
        self.dynamic = self.symbols("--dyn-syms")
        self.static = [s for s in self.symbols("--syms") if s not in self.dynamic]
        self.relocations = {}
        for line in self.readelf("-rW").splitlines():
            m = re.match(r"([0-9a-f]{16})\s+[0-9a-f]{16}\s+(R_X86_64_\w+)\s*(.*)", line)
            if m:
                self.relocations[int(m[1], 16)] = (m[2], m[3])

    def readelf(self, *arguments: str) -> str:
        done = subprocess.run(["readelf", *arguments, str(self.path)], capture_output=True, text=True, errors="replace")
        return done.stdout

    def symbols(self, option: str):
        """(address, size, type, binding, visibility, name) of the defined ones."""
        found = []
        for line in self.readelf(option, "-W").splitlines():
            w = line.split()
            if len(w) >= 8 and w[0].endswith(":") and w[0][:-1].isdigit() and w[6] not in ("UND", "ABS", "COM"):
                size = int(w[2], 0)
                found.append((int(w[1], 16), size, w[3], w[4], w[5], w[7].partition("@")[0]))
        return found

    def code(self):
        """Yield (address, bytes, mnemonic, operands) of all code."""
        process = subprocess.Popen(
            ["objdump", "-d", "-w", "-M", "intel", str(self.path)], stdout=subprocess.PIPE, text=True, errors="replace"
        )
        for line in process.stdout:
            m = LINE.match(line)
            if not m:
                continue
            text = PREFIXES.sub("", m[3] or "")
            word, _, rest = text.partition(" ")
            yield int(m[1], 16), bytes.fromhex(m[2].replace(" ", "")), word, rest.strip()
        process.wait()


def expected(binary: Binary, allowed: set[str]):
    """(functions that can be bound to: name -> needs, functions at load: start -> (needs, reached from))."""
    executable = [(a, a + s) for _, _, a, _, s, flags in binary.sections if "X" in flags]
    kinds = ("FUNC", "IFUNC", "NOTYPE")
    starts: dict[int, int] = {}
    for address, size, kind, binding, _, _ in [*binary.dynamic, *binary.static]:
        if kind in kinds and (kind != "NOTYPE" or binding != "LOCAL"):
            starts[address] = max(size, starts.get(address, 0))
    if not binary.static:
        for line in binary.readelf("--debug-dump=frames").splitlines():
            m = re.search(r"FDE cie=\S+ pc=([0-9a-f]+)\.\.([0-9a-f]+)", line)
            if m:
                starts.setdefault(int(m[1], 16), int(m[2], 16) - int(m[1], 16))
    starts = {a: s for a, s in starts.items() if any(low <= a < high for low, high in executable)}
    for low, _ in executable:
        starts.setdefault(low, 0)
    order = sorted(starts)
    need: dict[int, set[str]] = {}
    first: dict[int, tuple[int, str]] = {}
    calls: dict[int, list[int]] = {}
    texts: dict[int, str] = {}
    byname = {name: address for address, _, kind, _, _, name in binary.dynamic if kind in kinds}
    slots = {}
    for offset, (kind, rest) in binary.relocations.items():
        if kind == "R_X86_64_RELATIVE":
            slots[offset] = int(rest.split()[0], 16)
        elif kind in ("R_X86_64_GLOB_DAT", "R_X86_64_JUMP_SLOT", "R_X86_64_JUMP_SLO", "R_X86_64_64"):
            slots[offset] = byname.get(rest.split()[1].partition("@")[0], 0)
    for address, raw, word, rest in binary.code():
        place = bisect_right(order, address) - 1
        owner = order[place] if place >= 0 else 0
        inside = place >= 0 and (not starts[owner] or address < owner + starts[owner])
        found = needs(word, rest, raw) - allowed
        if inside and found:
            need.setdefault(owner, set()).update(found)
            texts[address] = word
            first.setdefault(owner, (address, word))
        if inside and (word.startswith("j") or word == "call"):
            target = None
            if (m := re.match(r"(?:0x)?([0-9a-f]+)\s*(?:<([^+>]+)(?:\+0x[0-9a-f]+)?>)?$", rest)) is not None:
                target = int(m[1], 16)
                if m[2] and m[2].endswith("@plt"):
                    target = byname.get(m[2].removesuffix("@plt").partition("@")[0])
            elif (m := re.search(r"\[rip\+0x[0-9a-f]+\]\s*# ([0-9a-f]+)", rest)) is not None:
                target = slots.get(int(m[1], 16))
            if target:
                calls.setdefault(owner, []).append(target)
    bindable = {}
    for address, _, kind, binding, visibility, name in binary.dynamic:
        seen_outside = binding != "LOCAL" and visibility in ("DEFAULT", "PROTECTED")
        if kind in ("FUNC", "NOTYPE") and seen_outside and need.get(address):
            bindable[name] = (address, need[address])
    roots = []
    for name, kind, address, offset, size, _ in binary.sections:
        if kind in ("INIT_ARRAY", "FINI_ARRAY", "PREINIT_ARRAY") or name in (".ctors", ".dtors"):
            data = binary.path.read_bytes()[offset : offset + size]
            for place in range(0, size, 8):
                roots.append(slots.get(address + place) or int.from_bytes(data[place : place + 8], "little"))
    for line in binary.readelf("-dW").splitlines():
        m = re.search(r"\((INIT|FINI)\)\s+0x([0-9a-f]+)", line)
        if m:
            roots.append(int(m[2], 16))
    roots += [
        int(rest, 16) for kind, rest in binary.relocations.values() if kind.startswith("R_X86_64_IRELATIV") and rest
    ]
    roots += [s[0] for s in (*binary.dynamic, *binary.static) if s[2] == "IFUNC"]
    roots += [s[0] for s in binary.dynamic if s[0] and s[-1].startswith("PyInit_")]  # what Python calls
    load = {}
    seen: dict[int, list[int]] = {}
    for root in roots:
        waiting = [(root, [root])]
        while waiting:
            address, path = waiting.pop()
            place = bisect_right(order, address) - 1
            if place < 0 or address in (0, 2**64 - 1):
                continue
            owner = order[place]
            if owner in seen or (starts[owner] and address >= owner + starts[owner]):
                continue
            seen[owner] = path
            if need.get(owner):
                load[owner] = (need[owner], path)
            waiting += [(target, [*path, target]) for target in calls.get(owner, ())]
    return bindable, load, texts, starts


def compare(path: Path, shown: str, target: dict, allowed: set[str]) -> Counter:
    """Print the differences between the audit of a file and binutils; return the number of findings compared."""
    binary = Binary(path)
    bindable, load, texts, starts = expected(binary, allowed)
    order = sorted(starts)
    count: Counter = Counter()

    def differ(what: str) -> None:
        count["differences"] += 1
        if count["differences"] <= 20:
            print(f"  {shown}: {what}")

    ours_load = set()
    ours_bind = {}
    for finding in target["findings"]:
        count[finding["kind"]] += 1
        if finding["kind"] == "unproven":  # addresses that code takes are not looked for here
            continue
        word = finding["instruction"].split()[0]
        if texts.get(finding["address"]) != word:
            differ(
                f"{finding['symbol']}: objdump has {texts.get(finding['address'])}, not {word}, "
                f"at {finding['address']:#x}"
            )
        owner = order[bisect_right(order, finding["address"]) - 1]
        if finding["kind"] == "load":
            ours_load.add(owner)
            theirs = load.get(owner, (set(), []))[0]
        else:
            ours_bind[finding["symbol"]] = finding
            theirs = bindable.get(finding["symbol"], (0, set()))[1]
        mine = set(finding["features"])
        if "?" in theirs:
            continue
        # The manuals list AVX beside FMA and F16C, but not AVX512F beside all that implies it.
        extra = mine - theirs - ({"avx"} if theirs & {"fma", "f16c", "avx2", "aes", "pclmul"} else set())
        lacking = theirs - mine - ({"avx512_f"} if any(f.startswith("avx512") for f in mine) else set())
        if extra or lacking:
            differ(f"{finding['symbol']}: audit says also {sorted(extra)}, binutils also {sorted(lacking)}")
    at_load = set(load)
    for owner in at_load - ours_load:
        differ(f"{owner:#x} runs at load ({' -> '.join(map(hex, load[owner][1]))}), needs {load[owner][0]}: not found")
    for owner in ours_load - at_load:
        differ(f"{owner:#x}: found as running at load, but binutils show no path")
    for name, (address, wanted) in bindable.items():
        same = {n for n, (a, _) in bindable.items() if a == address}
        if not same & set(ours_bind) and address not in ours_load:
            differ(f"{name} can be bound to and needs {wanted}: not found")
    for name in set(ours_bind) - set(bindable):
        differ(f"{name}: found as bindable, binutils do not agree")
    return count


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--baseline", default="X86_64")
    parser.add_argument("files", nargs="+", type=Path)
    options = parser.parse_args()
    from isagen.processors.table import load_table

    allowed = set(load_table("x86-64", Path.cwd(), "").required_features(options.baseline.upper()))
    bad = 0
    for file in options.files:
        command = [
            sys.executable,
            "-m",
            "isagen",
            "audit",
            "--format",
            "json",
            "--baseline",
            options.baseline,
            str(file),
        ]
        report = json.loads(subprocess.run(command, capture_output=True, text=True).stdout)
        total: Counter = Counter()
        with tempfile.TemporaryDirectory() as folder:
            for target in report["targets"]:
                path, shown = file, file.name
                if zipfile.is_zipfile(file):
                    shown = target["target"].split(".whl/", 1)[-1]
                    with zipfile.ZipFile(file) as archive:
                        path = Path(archive.extract(shown, folder))
                total += compare(path, shown, target, allowed)
                total["files"] += 1
        print(f"{file.name} {options.baseline}: {dict(total)}")
        bad += total["differences"]
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
