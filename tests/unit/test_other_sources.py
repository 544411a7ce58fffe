"""Recordings and the data of features against what others publish: archspec, /proc/cpuinfo, and GCC's own list."""

import json
import platform
import re
import subprocess
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

from isagen.probe.compiler import find_compiler
from isagen.processors.detection import detect
from isagen.processors.instructions import normal_name
from isagen.processors.table import load_table
from support.checkout import ROOT
from support.projects import need
from support.recorded import FEATURES, recorded

RECORDED = {one.name: one for one in recorded()}
CPUINFO = tomllib.loads((ROOT / "tests/support/cpuinfo.toml").read_text(encoding="utf-8"))
NAMES = {normal_name(name): name for name in FEATURES.features} | CPUINFO["names"]
# archspec's names of CPUs with a recording. It lists fewer features than the CPUs have, and so is asked one way.
ARCHSPEC = {
    "nehalem": "nehalem",
    "haswell": "haswell",
    "skylake_avx512": "skylake-x",
    "cascadelake": "cascade-lake",
    "icelake": "ice-lake",
    "alderlake": "alder-lake",
    "sapphirerapids": "sapphire-rapids",
    "zen2": "zen-2",
    "zen4": "zen-4",
    "zen5": "zen-5",
    "zen6": "zen-6",
}
NOT_OURS = {"flush_l1d", "tsc_adjust"}  # for the kernel of an OS
# Errors of Clang's cpuid.h, which GCC's does not have: the bit of UMIP for PKU, and the register EAX for PTWRITE.
WRONG_IN_CLANG = {"pku", "ptwrite"}


@pytest.mark.parametrize("name", ARCHSPEC)
def test_recordings_have_what_archspec_says(name):
    pytest.importorskip("archspec")
    path = files("archspec") / "json/cpu/microarchitectures.json"
    listed = json.loads(path.read_text(encoding="utf-8"))["microarchitectures"][name]["features"]
    named = {NAMES.get(word) or NAMES.get(normal_name(word), word) for word in listed} - NOT_OURS
    assert detect(FEATURES, RECORDED[ARCHSPEC[name]]).missing(sorted(named)) == ()


@pytest.mark.parametrize("name", CPUINFO["machines"])
def test_recordings_have_what_linux_says(name):
    words = CPUINFO["machines"][name]["flags"].split()
    named = {found for word in words if (found := NAMES.get(word) or NAMES.get(normal_name(word)))}
    assert len(named) > 50
    assert detect(FEATURES, RECORDED[name]).missing(sorted(named)) == ()


@pytest.mark.parametrize("command", ["gcc-11", "gcc-12", "gcc"])
@pytest.mark.parametrize("table", ["x86", "numpy", "sse", "x86-64"])
def test_gccs_list_of_options_and_its_macros_agree(table, command):
    """`-Q --help=target` says which instruction sets flags turn on; isagen reads that from macros."""
    need(command)
    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("needs a compiler for x86-64")
    one = find_compiler("c", [command])
    for level in load_table(table, Path()).levels:
        macros, outcome = one.macros(level.flags["gnu"])
        if outcome.ok:
            text = subprocess.run(
                [command, *level.flags["gnu"], "-Q", "--help=target"], capture_output=True, text=True, check=True
            ).stdout
            state = {
                NAMES[normal_name(option)]: shown == "enabled"
                for option, shown in re.findall(r"^ +-m(\S+)\s+\[(enabled|disabled)\]", text, re.MULTILINE)
                if normal_name(option) in NAMES
            }
            assert len(state) > 60
            on = {name for name, feature in FEATURES.features.items() if name in state and feature.is_on(macros)}
            assert {name for name, enabled in state.items() if enabled} == on


@pytest.mark.parametrize("command", ["clang-14", "clang-22"])
def test_clangs_cpuid_header_has_the_same_bits(command):
    """Recordings do not show a wrong bit: their registers are computed from the bits in features.toml."""
    need(command)
    asked = subprocess.run([command, "-print-resource-dir"], capture_output=True, text=True, check=True)
    ours = tomllib.loads((ROOT / "isagen/processors/x86/features.toml").read_text(encoding="utf-8"))["features"]
    place, compared = (0, 0, ""), 0
    for line in (Path(asked.stdout.strip()) / "include/cpuid.h").read_text(encoding="utf-8").splitlines():
        if heading := re.search(r"Features in %(e.x) for leaf (\w+)(?: sub-leaf (\d))?", line):
            place = int(heading[2], 0), int(heading[3] or 0), heading[1]
        elif bit := re.match(r"#define bit_(\w+) +(0x[0-9a-f]{8})", line, re.IGNORECASE):
            name = NAMES.get(normal_name(bit[1]), "")
            if "cpuid" in ours.get(name, {}) and name not in WRONG_IN_CLANG:
                compared += 1
                assert ours[name]["cpuid"] == [*place, int(bit[2], 0).bit_length() - 1], name
    assert compared > 60
