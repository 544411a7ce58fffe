"""Probing the compiler of this machine."""

import platform
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from isagen.probe.cache import NO_CACHE
from isagen.probe.compiler import find_compiler
from isagen.probe.probe import probe_all
from isagen.processors.table import load_table
from support.levels import levels_from
from support.probing import ask, table
from support.projects import need
from support.terminal import on_terminal

pytestmark = pytest.mark.smoke

on_x86 = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64") or shutil.which("c++") is None, reason="needs a compiler for x86-64"
)


@on_x86
@pytest.mark.parametrize("language", ["c", "cpp"])
@pytest.mark.parametrize("name", ["x86", "ipex", "numpy", "sse"])
def test_builtin_table(name, language):
    compiler = find_compiler(language, ["c++" if language == "cpp" else "cc"])
    tab = load_table(name, Path())
    verdicts = probe_all(tab, [compiler], NO_CACHE)
    assert set(verdicts) == {(level, language) for level in tab.names()}
    for level in tab.levels:
        verdict = verdicts[level.name, language]
        minimum = level.minimum.get(compiler.id, "0")
        if [int(n) for n in compiler.version.split(".")] >= [int(n) for n in minimum.split(".")]:
            assert verdict.available, f"{level.name}: {verdict.reason}"
            assert set(tab.required_features(level.name)) <= set(verdict.features)
            assert set(level.flags["gnu"]) <= set(verdict.flags)
            assert tab.features.not_implied(verdict.features, tab.required_features(level.name)) == ()
        else:
            assert "is older than" in verdict.reason
    if compiler.id == "gcc":
        assert not any(verdict.dropped for verdict in verdicts.values())


@on_x86
def test_closure_has_what_the_compiler_turns_on_unasked():
    tab = load_table("x86", Path())
    verdict = probe_all(tab, [find_compiler("cpp", ["c++"])], NO_CACHE)["AVX2", "cpp"]
    named = set(tab.required_features("AVX2"))
    assert {"sse4_2", "popcnt", "sse2"} <= set(verdict.features) - named


@on_x86
@pytest.mark.parametrize(
    ("lines", "probe", "reason"),
    [
        (['flags.gnu = ["-mnosuch"]'], "return argc;", "-mnosuch"),
        ([], '__asm__("vnosuch %ymm0"); return argc;', "the assembler rejects it: no such instruction: `vnosuch"),
        ([], "return _mm512_reduce_add_epi32(_mm512_set1_epi32(argc));", "error: "),
        ([], "int x = argc; return y;", "error: "),
        (['features = ["avx512_f"]'], "return argc;", "do not turn on avx512_f (__AVX512F__ is not"),
    ],
)
def test_real_compiler_refuses(tmp_path, lines, probe, reason):
    tab = table(tmp_path, *lines, probe=probe)
    verdict = ask(tab, find_compiler("cpp", ["c++"]))
    assert not verdict.available
    assert reason in verdict.reason
    assert tempfile.gettempdir() not in verdict.reason


@on_x86
@pytest.mark.parametrize("compiler", ["clang++-14", "clang++-16", "clang++-19", "g++"])
def test_arguments_of_the_project_that_a_probe_does_not_use(tmp_path, compiler):
    """Meson adds -fsanitize=address to builds alone (b_sanitize). A flag of the level must be used."""
    need(compiler)
    sanitized = replace(find_compiler("cpp", [compiler]), args=("-fsanitize-address-use-after-scope",))
    verdict = ask(table(tmp_path, 'flags.gnu = ["-mavx2"]'), sanitized)
    assert verdict.available, verdict.reason
    if compiler != "g++":
        assert not sanitized.accepts(["-Wl,-z,now"]).ok


@on_x86
def test_real_linker_refuses_in_the_same_words_every_time(tmp_path):
    tab = table(tmp_path, probe='extern int novel_run __asm__("novel_run"); return novel_run;')
    reasons = {ask(tab, find_compiler("cpp", ["c++"])).reason for _ in range(2)}
    assert len(reasons) == 1
    (reason,) = reasons
    assert reason.startswith("it does not link: ")
    assert "novel_run" in reason


@on_x86
def test_macro_of_the_real_compiler_that_no_feature_names(tmp_path):
    verdict = ask(table(tmp_path, 'flags.gnu = ["-mavx2", "-D__NOVEL__"]'), find_compiler("cpp", ["c++"]))
    assert not verdict.available
    assert "turn on __NOVEL__, which no feature names" in verdict.reason


@on_x86
def test_a_compiler_that_gains_a_macro_loses_the_levels_with_it_alone(tmp_path):
    """The wrapper adds a macro to every compilation with -mavx512vnni, as a newer compiler may."""
    wrapper = tmp_path / "newer-cc"
    wrapper.write_text('#!/bin/sh\ncase "$*" in *-mavx512vnni*) exec cc -D__NOVEL__=1 "$@" ;; esac\nexec cc "$@"\n')
    wrapper.chmod(0o755)
    verdicts = probe_all(load_table("x86", Path()), [find_compiler("c", [str(wrapper)])], NO_CACHE)
    lost = {level: verdict.reason for (level, _), verdict in verdicts.items() if not verdict.available}
    assert list(lost) == levels_from("AVX512_VNNI")
    (reason,) = set(lost.values())
    assert reason.startswith("its flags turn on __NOVEL__, which no feature names")
    assert "in a table of your own that extends x86" in reason
    assert "[extra_features] if it stands for instructions" in reason
    assert reason.endswith("otherwise add it to ignored_macros")
    own = tmp_path / "own.toml"
    own.write_text('extends = "x86"\nignored_macros = ["__NOVEL__"]\n')
    verdicts = probe_all(load_table("own.toml", tmp_path), [find_compiler("c", [str(wrapper)])], NO_CACHE)
    assert all(verdict.available for verdict in verdicts.values())


@on_x86
def test_the_command_has_a_line_for_each_level_and_shows_no_progress():
    status, said, shown = on_terminal("probe", "--table", "aten")
    names = load_table("aten", Path()).names()
    assert (status, shown) == (0, "")
    assert [line.split()[0] for line in said.splitlines() if not line.startswith(" ")] == list(names)
