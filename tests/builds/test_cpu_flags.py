"""Levels that are compiled for a CPU by its name: what compilers predefine then, and what of it is checked."""

import importlib.util
import platform
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest

from isagen.probe.compiler import Compiler, find_compiler
from isagen.probe.level import check_flags
from isagen.processors.detection import detect
from isagen.processors.features import read_features
from isagen.processors.table import load_table
from support import newer
from support.probing import ask, table
from support.recorded import recorded

FEATURES = read_features("x86")
RECORDED = {one.name: one for one in recorded()}
ZIG = (sys.executable, "-m", "ziglang", "c++")
COMPILERS = {"g++": ("g++",), "g++-11": ("g++-11",)}
COMPILERS |= {f"clang++-{version}": (f"clang++-{version}",) for version in (14, 16, 19, 22)}
COMPILERS |= {name: (name,) for name in map(newer.cxx, (*newer.GCC, *newer.CLANG))}
COMPILERS["zig"] = ZIG
# A CPU's name, and the recording of such a CPU; none has SGX, and virtual machines lack more.
RECORDINGS = {
    "nehalem": "nehalem",
    "haswell": "haswell",
    "skylake-avx512": "skylake-x",
    "cascadelake": "cascade-lake",
    "znver4": "zen-4",
    "znver5": "zen-5",
    "znver6": "zen-6",
    "sapphirerapids": "sapphire-rapids",
    "graniterapids": "granite-rapids",
    "diamondrapids": "diamond-rapids",
    "novalake": "nova-lake",
}

pytestmark = pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="needs compilers for x86-64")


@cache
def compiler(name: str) -> Compiler:
    if name == "zig" and importlib.util.find_spec("ziglang") is None:
        pytest.skip("needs the package ziglang")
    if shutil.which(COMPILERS[name][0]) is None:
        pytest.skip(f"needs {name}")
    return find_compiler("cpp", COMPILERS[name])


def cpus(one: Compiler) -> list[str]:
    """Return the CPUs that a compiler knows, as its message about an unknown one lists them."""
    if one.command == ZIG:  # it does not list them; Clang's names are in its own compiler too
        return cpus(compiler("clang++-16"))
    command = [*one.command, "-march=nosuch", "-E", "-xc", "/dev/null"]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stderr
    words = re.search(r"valid (?:arguments|target CPU values)[^:]*: ([^;\n]*)", said)
    assert words, said
    return [word for word in re.split(r"[\s,]+", words[1]) if word not in ("", "native")]


@pytest.mark.parametrize("name", COMPILERS)
def test_every_cpu_that_a_compiler_knows_has_a_name_that_is_no_feature(name):
    one = compiler(name)
    bare, _ = one.macros(("-march=x86-64",) if name != "zig" else ("-mcpu=x86_64",))
    with ThreadPoolExecutor() as pool:
        answers = dict(zip(cpus(one), pool.map(lambda cpu: one.macros((f"-march={cpu}",)), cpus(one)), strict=True))
    known = {cpu: macros for cpu, (macros, outcome) in answers.items() if outcome.ok}
    assert len(known) > 30
    assert {cpu: found for cpu, macros in known.items() if (found := FEATURES.unknown(macros, bare))} == {}
    named = [cpu for cpu, macros in known.items() if {f"__{cpu}", f"__{cpu}__"} <= set(macros)]
    assert len(named) > 10  # or the rule for names is not needed, and not tested


@pytest.mark.parametrize("level", load_table("x86", Path()).names())
def test_zig_builds_every_level(level):
    """Without flags it builds for the CPU of this machine, and with flags for k8 and what they turn on."""
    one, tab = compiler("zig"), load_table("x86", Path())
    bare, _ = one.macros(())
    macros, outcome = one.macros(check_flags(tab, tab.level(level), one).flags)
    assert outcome.ok
    assert FEATURES.unknown(macros, bare) == []
    assert set(tab.required_features(level)) <= set(FEATURES.turned_on(macros))


def knows(one: Compiler, cpu: str) -> bool:
    return one.macros((f"-march={cpu}",))[1].ok


@pytest.mark.parametrize("name", COMPILERS)
def test_a_level_for_a_cpu_is_supported_by_that_cpu(tmp_path, name):
    """Of the recorded CPUs, each that the compiler knows."""
    one = compiler(name)
    known = {cpu: recording for cpu, recording in RECORDINGS.items() if knows(one, cpu)}
    assert {"nehalem", "haswell"} <= set(known)
    for cpu, recording in known.items():
        own = table(tmp_path, f'flags.gnu = ["-march={cpu}"]')
        # Without a target, zig compiles for this system's C library, and so finds no headers on some.
        verdict = check_flags(own, own.level("FAST"), one) if name == "zig" else ask(own, one)
        assert verdict.available, f"{cpu}: {verdict.reason}"
        assert detect(FEATURES, RECORDED[recording]).missing(verdict.features) == (), cpu


def test_every_recorded_cpu_is_known_by_a_compiler_at_hand():
    there = [compiler(name) for name in COMPILERS if name != "zig" and shutil.which(COMPILERS[name][0])]
    unknown = [cpu for cpu in RECORDINGS if not any(knows(one, cpu) for one in there)]
    if unknown:
        pytest.skip(f"{', '.join(one.name for one in there)} do not know {' '.join(unknown)}")


@pytest.mark.parametrize("flags", ["-msgx", "-mpku", "-mxsavec", "-mwaitpkg"])
def test_a_feature_of_the_system_is_required_only_where_the_level_lists_it(tmp_path, flags):
    name = flags.removeprefix("-m")
    plain, listed = f'flags.gnu = ["-mavx2", "{flags}"]', f'features = ["{name}"]'
    one = compiler("g++")
    assert name not in ask(table(tmp_path, plain), one).features
    assert name in ask(table(tmp_path, plain, listed), one).features


def test_a_name_that_is_defined_once_is_not_taken_for_a_cpu(tmp_path):
    verdict = ask(table(tmp_path, 'flags.gnu = ["-mavx2", "-D__novel"]'), compiler("g++"))
    assert "turn on __novel, which no feature names" in verdict.reason
    assert ask(table(tmp_path, 'flags.gnu = ["-mavx2", "-D__novel", "-D__novel__"]'), compiler("g++")).available
