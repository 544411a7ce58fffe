"""Makes a copy of the checkout whose detection lacks some features of this CPU, to run the tests as on another CPU.

    python tests/support/as_if.py --cpu no-avx512 FOLDER
    python tests/support/as_if.py --without avx_vnni,avx512_bf16 FOLDER

In FOLDER, the README's second command installs the copy and runs its tests; single tests run with pytest.

Only isagen's own detection changes, in C and in Python: both clear the CPUID bits of the features, and of those that
build on them. The CPU still has them, so the tests check the selection, not whether an old CPU can run the code; tests
under qemu check that, and qemu's CPUs keep their features in the copy. Other detections (torch's, /proc/cpuinfo) see
the whole CPU. `support.masked` names the hidden features. Make the copy on the machine that runs it.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from support.checkout import copy_checkout

REGISTERS = ("eax", "ebx", "ecx", "edx")
# CPUs by missing features: names or patterns.
FAMILIES = {
    "no-avx-vnni": ("avx_vnni*", "avx_ifma", "avx_ne_convert"),  # Zen 4, Ice Lake
    "no-avx512": ("avx512_f", "amx_tile"),  # Alder Lake
    "no-avx2": ("avx", "bmi*", "lzcnt", "movbe"),  # Nehalem: x86-64-v2
}
# Features that others build on: those of a state, or of a pattern, go with them.
STATES = {"avx": ("avx", "avx512"), "avx2": ("avx512",), "fma": ("avx512",), "avx512_f": ("avx512",)}
STATES["amx_tile"] = ("amx",)
NAMES = {"avx2": ("avx_vnni*", "avx_ifma", "avx_ne_convert")}

C_FUNCTION = r"static void isa_cpuid(\(uint32_t leaf, uint32_t subleaf, uint32_t registers\[4\]\)\n\{\n.*?^\}\n)"
# Jinja reads the file: no two braces in a row.
C_MASK = """
/* The CPU of a copy that tests/support/as_if.py made: without some features, unless another machine is emulated. */
static void isa_cpuid(uint32_t leaf, uint32_t subleaf, uint32_t registers[4])
{
  static const uint32_t masks[][6] = {
%s
  };
  uint32_t machine[4];
  unsigned i, k;
  isa_whole_cpuid(leaf, subleaf, registers);
  isa_whole_cpuid(1, 0, machine);
  for (i = 0; i < sizeof masks / sizeof *masks; i++)
    if (machine[0] == %#xu && leaf == masks[i][0] && subleaf == masks[i][1])
      for (k = 0; k < 4; k++)
        registers[k] &= ~masks[i][2 + k];
}
"""
# The method that executes the instruction, and not the abstract one.
ABSTRACT = r" *\"\"\"[^\n]*\n *raise NotImplementedError"
PYTHON_METHOD = rf"^    def cpuid(\(self, leaf: int, subleaf: int\) -> tuple\[int, int, int, int\]:\n)(?!{ABSTRACT})"
PYTHON_MASK = """\
    def cpuid(self, leaf: int, subleaf: int) -> tuple[int, int, int, int]:
        \"\"\"Return (eax, ebx, ecx, edx) without some features, unless another machine is emulated.\"\"\"
        masks = %s
        eax, ebx, ecx, edx = self._whole_cpuid(leaf, subleaf)
        if self._whole_cpuid(1, 0)[0] == %#x and (leaf, subleaf) in masks:
            a, b, c, d = masks[leaf, subleaf]
            return eax & ~a, ebx & ~b, ecx & ~c, edx & ~d
        return eax, ebx, ecx, edx

    def _whole_cpuid\\1"""

Masks = Mapping[tuple[int, int], list[int]]


class NotFoundError(Exception):
    """The checkout holds no such text, or no such name."""


def features_without(features: Mapping[str, Any], words: Iterable[str]) -> frozenset[str]:
    """Return the features that `words` name, and all that build on them."""
    gone: set[str] = set()
    queue = [name for word in words for name in _matching(features, word)]
    while queue:
        name = queue.pop()
        if name not in gone:
            gone.add(name)
            queue += [x for x, data in features.items() if data.get("state") in STATES.get(name, ())]
            queue += [x for pattern in NAMES.get(name, ()) for x in _matching(features, pattern)]
    return frozenset(gone)


def _matching(features: Iterable[str], word: str) -> list[str]:
    found = [name for name in features if fnmatchcase(name, word)]
    if not found:
        raise NotFoundError(f"{word} is no feature")
    return found


def masks_of(features: Mapping[str, Any], names: Iterable[str]) -> Masks:
    """Return the bits of the features, by leaf and subleaf, in the order of REGISTERS."""
    masks: dict[tuple[int, int], list[int]] = {}
    for name in names:
        leaf, subleaf, register, bit = features[name]["cpuid"]
        high, low = bit if isinstance(bit, list) else (bit, bit)
        mask = (1 << high + 1) - (1 << low)
        masks.setdefault((leaf, subleaf), [0, 0, 0, 0])[REGISTERS.index(register)] |= mask
    return dict(sorted(masks.items()))


def masked_c(text: str, masks: Masks, machine: int) -> str:
    """Return the C source with a function `isa_cpuid` that clears bits on the machine whose CPUID.1:EAX is given."""
    rows = ",\n".join(f"    {{{', '.join(f'{x:#x}u' for x in (*place, *row))}}}" for place, row in masks.items())
    return _replaced(
        text, C_FUNCTION, lambda found: f"static void isa_whole_cpuid{found[1]}" + C_MASK % (rows, machine)
    )


def masked_python(text: str, masks: Masks, machine: int) -> str:
    """Return the Python source with a method `cpuid` that does the same."""
    table = "{" + ", ".join(f"({a:#x}, {b:#x}): {row}" for (a, b), row in masks.items()) + "}"
    return _replaced(text, PYTHON_METHOD, lambda found: found.expand(PYTHON_MASK % (table, machine)))


def _replaced(text: str, pattern: str, new: Any) -> str:
    changed, count = re.subn(pattern, new, text, flags=re.MULTILINE | re.DOTALL)
    if count != 1:
        raise NotFoundError(f"{count} times instead of once: {pattern}")
    return changed


def only(folder: Path, kind: str, text: str) -> Path:
    """Return the one file of a kind that has the text, of isagen and its templates."""
    files = [path for name in ("isagen", "templates") for path in (folder / name).rglob(kind)]
    found = [path for path in files if re.search(text, path.read_text(encoding="utf-8"), re.MULTILINE)]
    if len(found) != 1:
        raise NotFoundError(f"{len(found)} files instead of one {kind} with {text}")
    return found[0]


def this_machine() -> int:
    """Return CPUID.1:EAX, which distinguishes the machine from those that qemu emulates."""
    source = "#include <cpuid.h>\n#include <stdio.h>\nint main(void)\n{\n  unsigned a, b, c, d;\n"
    source += '  __cpuid(1, a, b, c, d);\n  printf("%u", a);\n  return 0;\n}\n'
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "machine"
        subprocess.run(["cc", "-x", "c", "-", "-o", program], input=source, text=True, check=True)
        return int(subprocess.run([program], capture_output=True, text=True, check=True).stdout)


def known_features(folder: Path) -> Mapping[str, Any]:
    """Return the features of x86, as the checkout in `folder` has them."""
    path = only(folder, "*.toml", r"^avx512_f = .*cpuid")
    return tomllib.loads(path.read_text(encoding="utf-8"))["features"]


def mask(folder: Path, words: Iterable[str]) -> frozenset[str]:
    """Take features away from the detection of the checkout in `folder`; return their names."""
    features = known_features(folder)
    gone = features_without(features, words)
    masks, machine = masks_of(features, gone), this_machine()
    for path, change in (
        (only(folder, "*.c", r"^static void isa_cpuid\("), masked_c),
        (only(folder, "*.py", r"^class ThisMachine\b"), masked_python),
    ):
        path.write_text(change(path.read_text(encoding="utf-8"), masks, machine), encoding="utf-8")
    path = folder / "tests/support/masked.py"
    names = "".join(f'    "{name}",\n' for name in sorted(gone))
    text = _replaced(path.read_text(encoding="utf-8"), r"= frozenset\(\)$", lambda _: f"= frozenset({{\n{names}}})")
    path.write_text(text, encoding="utf-8")
    return gone


def main() -> None:
    """Make a copy."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0], epilog=f"CPUs: {', '.join(FAMILIES)}")
    parser.add_argument("--without", default="", metavar="FEATURES", help="names or patterns, separated by commas")
    parser.add_argument("--cpu", choices=FAMILIES, metavar="NAME", help="a family of CPUs, by what it lacks")
    parser.add_argument("folder", type=Path, help="where the copy goes: it does not exist yet")
    arguments = parser.parse_args()
    words = [word for word in arguments.without.split(",") if word] + [*FAMILIES.get(arguments.cpu, ())]
    if not words:
        parser.error("which features does the CPU lack? --cpu NAME, --without FEATURES or both")
    if arguments.folder.exists():
        parser.error(f"{arguments.folder} exists already")
    try:
        copy_checkout(arguments.folder)
        gone = mask(arguments.folder, words)
    except NotFoundError as problem:
        sys.exit(f"{parser.prog}: {problem}")
    print(f"{arguments.folder}: a copy without {', '.join(sorted(gone))}")


if __name__ == "__main__":
    main()
