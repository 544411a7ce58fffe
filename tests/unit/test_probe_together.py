"""Levels that are asked about together: which they are, what is compiled for them, and what happens where it fails."""

import re
from pathlib import Path

import pytest

from isagen.model.plan import Verdict
from isagen.probe.cache import NO_CACHE
from isagen.probe.compiler import Compiler
from isagen.probe.probe import groups_of, probe_all
from isagen.processors.table import Table, load_table
from support.probing import calls, fake, table

# Above FAST, with a flag of its own.
BEST = """
[levels.BEST]
rank = 2
requires = ["FAST"]
vector_bits = 256
flags.gnu = ["-mbest"]
probe = "return 3;"
"""


def verdicts(tab: Table, compiler: Compiler) -> dict[str, Verdict]:
    return {level: verdict for (level, _), verdict in probe_all(tab, [compiler], NO_CACHE).items()}


def names(tab: Table) -> list[list[str]]:
    flags = {level.name: (*level.flags["gnu"], *level.optional_flags.get("gnu", ())) for level in tab.levels}
    available = {name: Verdict(True, "", of_level) for name, of_level in flags.items()}
    return [list(group) for group in groups_of(tab, available)]


def lines(folder: Path, part: str) -> list[str]:
    return [line for line in (folder / "fakecc.log").read_text().splitlines() if part in line]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        (
            "x86",
            [
                ["AMX", "AVX512_FP16", "AVX512_BF16", "AVX512_VNNI", "AVX512", "DEFAULT"],
                ["AVX2_VNNI", "AVX2"],  # AVX512's flags stand alone
            ],
        ),
        (
            "ipex",
            [["AVX512_FP16", "AMX", "AVX512_BF16", "AVX512_VNNI", "AVX512"], ["AVX2_VNNI", "AVX2", "DEFAULT"]],
        ),
        ("aten", [["AVX512", "DEFAULT"], ["AVX2"]]),
        ("x86-64", [["X86_64_V4"], ["X86_64_V3"], ["X86_64_V2"], ["X86_64"]]),  # each -march= replaces that below
    ],
)
def test_flags_of_levels_asked_together_are_among_those_of_the_highest(name, found):
    assert names(load_table(name, Path())) == found


def test_one_program_uses_the_intrinsics_of_all_under_the_flags_of_the_highest(tmp_path):
    compiler = fake(tmp_path)
    text = compiler.command[0] + ".text"
    script = Path(compiler.command[0])
    script.write_text(script.read_text().replace("*probe.c) program=$word", '*probe.c) cat "$word" >> "$0.text"'))
    verdicts(table(tmp_path, 'features = ["avx2"]', probe="return argc + 2;", tail=BEST), compiler)
    program = Path(text).read_text().partition("int main")
    for body in ("return 0;", "return argc + 2;", "return 3;"):
        assert body in program[0]
    used = re.search(r"return (.*);", program[2])
    assert used
    assert {word.partition("(")[0] for word in used[1].split(" + ")} == {
        f"isa_probe_{x}" for x in ("BASE", "FAST", "BEST")
    }


def test_each_level_is_asked_for_the_macros_of_exactly_its_flags(tmp_path):
    found = verdicts(table(tmp_path, 'features = ["avx2"]', tail=BEST), fake(tmp_path, "-O2"))
    assert all(verdict.available for verdict in found.values())
    (program,) = lines(tmp_path, "probe.c")
    assert program.startswith("-O2 -mavx2 -mbest -Werror -c ")
    asked = sorted(line.partition(" -dM")[0] for line in lines(tmp_path, "-dM"))
    assert asked == ["-O2", "-O2 -mavx2", "-O2 -mavx2 -mbest"]
    assert found["FAST"].flags == ("-mavx2",)
    assert found["BASE"].features == ()


def test_a_level_that_fails_leaves_the_others_as_they_are(tmp_path):
    tab = table(tmp_path, 'features = ["avx2"]', tail=BEST.replace("return 3;", "bad_instruction();"))
    found = verdicts(tab, fake(tmp_path))
    assert [name for name, verdict in found.items() if verdict.available] == ["BASE", "FAST"]
    assert found["BEST"].reason == "the assembler rejects it: no such instruction: `vnovel'"
    assert calls(tmp_path, "probe.c") == 4  # all together, and each by itself


def test_a_level_whose_own_flags_do_not_turn_it_on_is_unavailable(tmp_path):
    """Under the flags of the highest its intrinsics compile."""
    tab = table(tmp_path, 'features = ["avx2"]', 'flags.gnu = ["-mfast"]', tail=BEST.replace("-mbest", "-mavx2"))
    found = verdicts(tab, fake(tmp_path))
    assert [name for name, verdict in found.items() if verdict.available] == ["BASE", "BEST"]
    assert found["FAST"].reason == (
        "its flags do not turn on avx2 (__AVX2__ is not defined under -mfast), or GCC 12.2.0 has no macro for it"
    )
    assert found["BEST"].features == ("avx2",)


def test_refused_optional_flags_are_dropped_and_the_rest_is_asked_together(tmp_path):
    tab = table(tmp_path, 'optional_flags.gnu = ["-mone", "-mtwo-bad"]', tail=BEST)
    found = verdicts(tab, fake(tmp_path))
    assert all(verdict.available for verdict in found.values())
    for name in ("FAST", "BEST"):
        assert "-mone" in found[name].flags
        assert [flag for flag, _ in found[name].dropped] == ["-mtwo-bad"]
    assert calls(tmp_path, "probe.c") == 1


def test_what_is_accepted_with_a_warning_alone_is_dropped_too(tmp_path):
    """The macros do not show it; the program, whose warnings are errors, does."""
    compiler = fake(tmp_path)
    script = Path(compiler.command[0])
    refuse = 'if [ "$warned" ]; then echo "error: -mwarned is ignored" >&2; exit 1; fi'
    warn = f"    -mwarned) warned=yes ;;\n    -c) {refuse} ;;\n"
    script.write_text(script.read_text().replace("    --version)", f"{warn}    --version)"))
    found = verdicts(table(tmp_path, 'optional_flags.gnu = ["-mwarned"]', tail=BEST), compiler)
    assert all(verdict.available for verdict in found.values())
    assert [verdict.dropped for verdict in found.values()] == [(), *[(("-mwarned", "error: -mwarned is ignored"),)] * 2]
