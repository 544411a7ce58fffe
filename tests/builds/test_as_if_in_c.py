"""The masked detection in C: no warnings, and on this machine it clears exactly the requested bits."""

import json
import platform
import subprocess
import sys

import pytest

from support import as_if
from support.checkout import ROOT
from support.masked import MASKED
from support.projects import need

pytestmark = [
    pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="needs CPUID"),
    pytest.mark.skipif(bool(MASKED), reason="this checkout is such a copy itself"),
]

LEAVES = [(0, 0), (1, 0), (7, 0), (7, 1), (0x80000001, 0)]
ASK = """
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "machine.c"
int main(void)
{
  static const uint32_t leaves[][2] = {LEAVES};
  uint32_t r[4];
  unsigned i;
  printf("[");
  for (i = 0; i < sizeof leaves / sizeof *leaves; i++) {
    isa_this_cpu.cpuid(leaves[i][0], leaves[i][1], r);
    printf("%s[%u, %u, %u, %u]", i ? ", " : "", r[0], r[1] & (leaves[i][0] == 1 ? 0xffffffu : ~0u), r[2], r[3]);
  }
  printf("]");
  return 0;
}
"""


def asked(folder, text, language):
    leaves = ", ".join(f"{{{leaf}u, {subleaf}u}}" for leaf, subleaf in LEAVES)
    (folder / "machine.c").write_text(text)
    (folder / "ask.c").write_text(ASK.replace("LEAVES", leaves))
    standard = {"c": "gnu11", "c++": "gnu++17"}[language]
    words = ["cc", "-x", language, f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]
    subprocess.run([*words, "ask.c", "-o", "ask"], cwd=folder, check=True)
    done = subprocess.run(["./ask"], cwd=folder, capture_output=True, text=True, check=True)
    return dict(zip(LEAVES, json.loads(done.stdout), strict=True))


@pytest.mark.parametrize("language", ["c", "c++"])
@pytest.mark.parametrize("elsewhere", [False, True])
def test_bits_are_cleared_on_this_machine(tmp_path, language, elsewhere):
    need("cc")
    features = as_if.known_features(ROOT)
    masks = as_if.masks_of(features, as_if.features_without(features, as_if.FAMILIES["no-avx2"]))
    text = as_if.only(ROOT, "*.c", r"^static void isa_cpuid\(").read_text()
    whole = asked(tmp_path, text, language)
    masked = asked(tmp_path, as_if.masked_c(text, masks, as_if.this_machine() ^ elsewhere), language)
    nothing = [0, 0, 0, 0]
    for place, row in whole.items():
        cleared = nothing if elsewhere else masks.get(place, nothing)
        assert masked[place] == [value & ~bits for value, bits in zip(row, cleared, strict=True)]


def test_the_command_makes_a_copy(tmp_path):
    need("cc")
    command = [sys.executable, ROOT / "tests/support/as_if.py", "--without", "avx512_f", tmp_path / "copy"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "a copy without avx10, " in done.stdout
    masked = (tmp_path / "copy/tests/support/masked.py").read_text()
    names: dict[str, frozenset[str]] = {}
    exec(masked, names)
    assert names["MASKED"] == {name for name in as_if.known_features(ROOT) if name.startswith(("avx512_", "avx10"))}
    again = subprocess.run(
        [*command[:-1], tmp_path / "again"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert again.stdout.split(": ")[1] == done.stdout.split(": ")[1]
