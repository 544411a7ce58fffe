"""Copies of the checkout that see another CPU: which features depend on others, and errors for missing text."""

import re
import subprocess
import sys

import pytest

from support import as_if
from support.checkout import ROOT, copy_checkout

FEATURES = as_if.known_features(ROOT)
MACHINE = 0xB00F21


def without(*words):
    return as_if.features_without(FEATURES, words)


def test_features_that_build_on_one_that_is_taken_away_go_with_it():
    assert without("avx_vnni") == {"avx_vnni"}
    assert without("amx_tile") == {name for name in FEATURES if name.startswith("amx_")}
    assert without("avx512_f") == {name for name in FEATURES if name.startswith(("avx512_", "avx10"))}
    assert {"avx_vnni", "avx512_f", "avx512_bf16"} < without("avx2")
    assert not {"avx", "fma", "f16c"} & without("avx2")
    assert {"avx2", "fma", "f16c", "vaes", "avx512_fp16"} < without("avx")


@pytest.mark.parametrize("name", as_if.FAMILIES)
def test_families_keep_the_baseline(name):
    gone = without(*as_if.FAMILIES[name])
    assert gone
    assert not gone & {"sse2", "sse4_2", "popcnt", "xsave", "osxsave"}


def test_a_name_that_is_no_feature():
    with pytest.raises(as_if.NotFoundError, match="avx9 is no feature"):
        without("avx2", "avx9")


def test_masks_are_the_bits_of_the_features_file():
    assert as_if.masks_of(FEATURES, ["avx512_f", "avx2", "avx", "avx_vnni"]) == {
        (1, 0): [0, 0, 1 << 28, 0],
        (7, 0): [0, 1 << 16 | 1 << 5, 0, 0],
        (7, 1): [1 << 4, 0, 0, 0],
    }


class Machine:
    """What the Python source is about."""

    text = (
        "class ThisMachine:\n"
        "    def cpuid(self, leaf: int, subleaf: int) -> tuple[int, int, int, int]:\n"
        '        """Return (eax, ebx, ecx, edx)."""\n'
        "        return (self.machine, 0, 0, 7) if leaf == 1 else (15, 15, 15, 15)\n"
    )


@pytest.mark.parametrize(("machine", "found"), [(MACHINE, 13), (0x106A1, 15)], ids=["this", "another"])
def test_the_python_twin_masks_this_machine_only(machine, found):
    names = {}
    exec(as_if.masked_python(Machine.text, {(7, 0): [0, 2, 0, 0]}, MACHINE), names)
    asked = names["ThisMachine"]()
    asked.machine = machine
    assert asked.cpuid(7, 0) == (15, found, 15, 15)
    assert asked.cpuid(7, 1) == (15, 15, 15, 15)
    assert asked.cpuid(1, 0) == (machine, 0, 0, 7)


def test_text_that_is_not_there_is_an_error():
    with pytest.raises(as_if.NotFoundError, match="0 times instead of once"):
        as_if.masked_python(Machine.text.replace("leaf: int", "leaf"), {}, MACHINE)
    with pytest.raises(as_if.NotFoundError, match="2 times instead of once"):
        as_if.masked_python(Machine.text * 2, {}, MACHINE)
    with pytest.raises(as_if.NotFoundError, match="0 times instead of once"):
        as_if.masked_c("static int isa_cpuid(void) { return 0; }", {}, MACHINE)


def test_a_file_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(as_if.NotFoundError, match=r"0 files instead of one \*\.toml"):
        as_if.known_features(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "which features does the CPU lack"),
        (["--cpu", "no-such-cpu"], "invalid choice: 'no-such-cpu'"),
        (["--without", "avx2", "."], "exists already"),
    ],
)
def test_bad_arguments(arguments, message, tmp_path):
    command = [sys.executable, ROOT / "tests/support/as_if.py", *arguments, *([] if "." in arguments else ["new"])]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert message in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_copy_has_the_sources_and_no_leftovers(tmp_path):
    copy_checkout(tmp_path / "copy", without=("docs",))
    assert (tmp_path / "copy/tests/builds/test_build.py").is_file()
    assert not [name for name in (".git", "docs", "build") if (tmp_path / "copy" / name).exists()]
    assert not [path for path in (tmp_path / "copy").rglob("*") if re.search(r"__pycache__|_cache$", str(path))]
