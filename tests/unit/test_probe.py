"""Probing, with a compiler of the tests' own: verdicts and reasons."""

import re
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from isagen.model.errors import CompilerError
from isagen.model.plan import Verdict
from isagen.probe.cache import Cache
from isagen.probe.compiler import Compiler
from isagen.probe.level import probe_text
from isagen.processors.table import load_table
from support.probing import ask, calls, fake, table

# ---- verdicts, by a compiler of our own


def test_available(tmp_path):
    verdict = ask(table(tmp_path, 'features = ["avx2"]'), fake(tmp_path))
    assert verdict == Verdict(True, "probed with GCC 12.2.0", ("-mavx2",), (), ("avx2",))


@pytest.mark.parametrize(
    ("version", "minimum", "reason"),
    [
        ("11.1.0", "11.2", "GCC 11.1.0 is older than 11.2"),
        ("9.4.0", "10", "GCC 9.4.0 is older than 10"),
        ("11.2.0", "11.2", ""),
        ("12.0.0", "11.2", ""),
        ("11.10.0", "11.2", ""),
    ],
)
def test_too_old(tmp_path, version, minimum, reason):
    verdict = ask(table(tmp_path, f'minimum.gcc = "{minimum}"'), fake(tmp_path, version=version))
    assert verdict.available == (not reason)
    if reason:
        assert verdict.reason == reason
        assert calls(tmp_path, "-mavx2") == 0


def test_minimum_of_another_compiler_does_not_count(tmp_path):
    assert ask(table(tmp_path, 'minimum.gcc = "99"'), fake(tmp_path, family="clang")).available


@pytest.mark.parametrize(
    ("lines", "probe", "reason"),
    [
        (['flags.gnu = ["-mavx2", "-mx-bad"]'], "", "unrecognized command-line option '-mx-bad'"),
        ([], "bad_instruction();", "the assembler rejects it: no such instruction: `vnovel'"),
        ([], "bad_silent();", "the compiler failed without a message"),
        ([], "bad_warning();", "error: unused variable 'x'"),
        (['flags.gnu = ["-mavx2", "-mnovel"]'], "", "__NOVEL__, which no feature names"),
        (['features = ["avx2"]', 'flags.gnu = ["-mnovel2"]'], "", "do not turn on avx2 (__AVX2__ is not defined under"),
    ],
    ids=["unknown flag", "assembler", "no message", "warning", "macro without feature", "feature without macro"],
)
def test_unavailable(tmp_path, lines, probe, reason):
    verdict = ask(table(tmp_path, *lines, probe=probe), fake(tmp_path))
    assert not verdict.available
    assert reason in verdict.reason
    assert "\n" not in verdict.reason
    assert verdict.features == ()
    assert ask(table(tmp_path, *lines, probe=probe), fake(tmp_path), level="BASE").available


def test_not_linking_names_what_is_missing_and_no_temporary_file(tmp_path):
    verdict = ask(table(tmp_path, probe="bad_symbol();"), fake(tmp_path))
    assert verdict.reason.startswith("it does not link: ")
    assert "novel_run" in verdict.reason
    assert "/tmp/" not in verdict.reason


def test_reason_names_no_temporary_file(tmp_path, monkeypatch):
    (tmp_path / "with blank").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "with blank"))
    verdict = ask(table(tmp_path, probe="bad_warning();"), fake(tmp_path))
    assert verdict.reason.startswith("error: unused variable")


def test_feature_that_the_table_adds(tmp_path):
    lines = ['features = ["novel"]', 'flags.gnu = ["-mavx2", "-mnovel"]']
    tail = '[extra_features]\nnovel = { cpuid = [7, 1, "eax", 30], macros = ["__NOVEL__"] }'
    verdict = ask(table(tmp_path, *lines, tail=tail), fake(tmp_path))
    assert verdict.available
    assert verdict.features == ("avx2", "novel")  # avx2 as the macro says, though the level does not


def test_macros_of_the_baseline_are_no_levels(tmp_path):
    assert ask(table(tmp_path), fake(tmp_path, "-mnovel")).available


def test_optional_flag_is_dropped(tmp_path):
    tab = table(tmp_path, 'optional_flags.gnu = ["-mone", "-mtwo-bad", "-mthree"]')
    verdict = ask(tab, fake(tmp_path))
    assert verdict.available
    assert verdict.flags == ("-mavx2", "-mone", "-mthree")
    assert [flag for flag, _ in verdict.dropped] == ["-mtwo-bad"]
    assert "unrecognized command-line option '-mtwo-bad'" in verdict.dropped[0][1]


def test_optional_flag_is_not_blamed_for_another(tmp_path):
    tab = table(tmp_path, 'flags.gnu = ["-mx-bad"]', 'optional_flags.gnu = ["-mone"]')
    verdict = ask(tab, fake(tmp_path))
    assert not verdict.available
    assert verdict.dropped == ()


def test_dialect_without_flags(tmp_path):
    verdict = ask(table(tmp_path, 'flags.msvc = ["/arch:AVX2"]'), fake(tmp_path))
    assert not verdict.available
    assert verdict.reason == "the table has no gnu flags for FAST"
    assert calls(tmp_path, "probe.c") == 1  # of BASE


def test_a_probe_links_without_the_flags_of_the_level(tmp_path):
    """As a build does; and zig has its C++ library made for each set of flags, which takes minutes."""
    ask(table(tmp_path, 'features = ["avx2"]'), fake(tmp_path, "-O2", "-DPROJECT"))
    lines = [line.split() for line in (tmp_path / "fakecc.log").read_text().splitlines() if "probe.exe" in line]
    assert len(lines) == 1
    for words in lines:
        assert words[:3] == ["-O2", "-DPROJECT", "-Wno-error"]
        assert words[3].endswith("probe.o")
        assert "-mavx2" not in words


def in_two_groups(found):
    """Return a table whose lowest level has a flag that the other has not, so that each is asked by itself."""
    base = replace(found.levels[0], flags={"gnu": ("-mbase",)})
    return replace(found, levels=(base, *found.levels[1:]))


def test_probe_is_the_build(tmp_path):
    ask(in_two_groups(table(tmp_path, 'features = ["avx2"]')), fake(tmp_path, "-O2", "-DPROJECT"))
    lines = [line.split() for line in (tmp_path / "fakecc.log").read_text().splitlines() if "probe.c" in line]
    assert len(lines) == 2  # BASE and FAST, and never without the flags
    for words in lines:
        assert words[:2] == ["-O2", "-DPROJECT"]
        assert "-Werror" in words
        assert "-c" in words
    assert sum("-mavx2" in words for words in lines) == 1


def test_arguments_of_the_project_that_do_not_work(tmp_path):
    with pytest.raises(CompilerError, match=r"cannot preprocess an empty file: .*'-f-bad'\n.*-O2 -f-bad"):
        ask(table(tmp_path), fake(tmp_path, "-O2", "-f-bad"))


@pytest.mark.parametrize(("language", "variable"), [("c", "CC"), ("cpp", "CXX"), ("fortran", "FC")])
def test_compiler_that_does_not_exist(tmp_path, language, variable):
    with pytest.raises(CompilerError, match=rf"cannot be run: .*\n.* another one in {variable}\Z"):
        ask(table(tmp_path), Compiler(language, (str(tmp_path / "none"),), "gcc", "1"))


@pytest.mark.parametrize("compiler", ["gcc", "clang-14"])
def test_a_full_disk_is_no_verdict(tmp_path, compiler):
    """A level must not become unavailable, and that be kept in the cache, because there is no room for its probe."""
    if shutil.which(compiler) is None or not Path("/dev/full").exists():
        pytest.skip(f"{compiler} or /dev/full is missing")
    script = tmp_path / "cc"
    script.write_text(
        f'#!/bin/sh\ncase " $* " in *" -dM "*|*" --version "*|*" -print-"*) exec {compiler} "$@";; esac\n'
        f"echo 'int a;' | {compiler} -S -x c - -o /dev/full\n"
    )
    script.chmod(0o755)
    cache = Cache(tmp_path / "cache")
    with pytest.raises(
        CompilerError, match=r"GCC 12 cannot write: No space left on device\n  free space there.*TMPDIR"
    ):
        ask(table(tmp_path), Compiler("c", (str(script),), "gcc", "12"), cache)
    assert not (tmp_path / "cache").exists()


def test_probe_text_has_prologue_and_body():
    tab = load_table("x86", Path())
    text = probe_text(tab, [tab.level("AVX2")])
    assert text.startswith(tab.prologue)
    assert tab.level("AVX2").probe.strip() in text
    assert re.search(r"\bint main\(int argc, char \*\*argv\)", text)


@pytest.mark.parametrize(
    ("probe", "reads_headers"),
    [
        ("return argc > 99;", False),
        ("return argv[0][argc] + 0x1F;", False),
        ("return sizeof(long);", True),
        ("return argc + OWN;", True),
        ("__m128 a; return argc;", True),
    ],
)
def test_a_probe_that_names_nothing_of_headers_includes_none(tmp_path, probe, reads_headers):
    tab = replace(table(tmp_path, probe=probe), prologue="#include <immintrin.h>")
    assert ("immintrin" in probe_text(tab, [tab.level("FAST")])) == reads_headers


# ---- Fortran


def fortran(folder: Path, *args: str, family: str = "gcc") -> Compiler:
    return replace(fake(folder, *args, family=family), language="fortran")


def test_fortran_compilers_are_asked_in_c(tmp_path):
    """Options of Fortran alone would be warnings, and so errors, of the C compiler."""
    verdict = ask(table(tmp_path), fortran(tmp_path, "-fcheck=all", "-J.", "-mfma", "-O2"))
    assert (verdict.available, verdict.reason) == (True, "probed with GCC 12.2.0")
    (line,) = [x for x in (tmp_path / "fakecc.log").read_text().splitlines() if "probe.c" in x and "-mavx2" in x]
    assert "-mfma -O2" in line
    assert "-fcheck" not in line
    assert "-J" not in line


def test_options_of_fortran_with_values_in_the_next_argument(tmp_path):
    compiler = fortran(tmp_path, "-J", "mods", "-B", "bin", "-mtune=native", "--sysroot", "root", "-I", "headers")
    assert compiler.quiet_args == ("-B", "bin", "-mtune=native", "--sysroot", "root")


@pytest.mark.parametrize(("args", "family"), [(("-bad",), "gcc"), ((), "flang")])
def test_fortran_compilers_that_cannot_be_asked_have_the_lowest_level(tmp_path, args, family):
    compiler = fortran(tmp_path, *args, family=family)
    lowest, fast = (ask(table(tmp_path), compiler, level=level) for level in ("BASE", "FAST"))
    assert (lowest.available, fast.available) == (True, False)
    assert "compiles Fortran alone, so isagen cannot see what the flags of FAST turn on" in fast.reason


def test_a_lowest_level_with_flags_needs_a_fortran_compiler_that_can_be_asked(tmp_path):
    text = table(tmp_path, 'flags.gnu = ["-mavx2"]')
    base = replace(text.levels[0], flags={"gnu": ("-mavx2",)})
    asked = replace(text, levels=(base, *text.levels[1:]))
    assert not ask(asked, fortran(tmp_path, family="flang"), level="BASE").available
