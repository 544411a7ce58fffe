"""Further variables that narrow the level: the generated C code reads them as it reads the override."""

import os
import subprocess
from pathlib import Path

import pytest

from isagen.configure.dispatch import dispatch_texts
from isagen.model.matrix import Alias
from isagen.model.names import BIND_SYMBOL
from isagen.model.plan import Verdict
from isagen.planning.config import Config
from isagen.planning.plan import CopyOptions, make_plan
from isagen.processors.table import load_table
from support.model import build_of, write_dispatch

# Levels that every CPU supports, but for one: LOW, MID above it, SIDE and HIGH above MID.
LEVELS = {"LOW": "", "MID": "", "SIDE": "MID", "HIGH": "MID", "NEVER": "HIGH"}
ALIASES = (
    Alias("T_OLD"),
    Alias("T_WORDS", {"BEST": "HIGH", "NO-SIDE": "-SIDE", "NONE": "LOW", "TOP": "NEVER"}),
    Alias("T_NO_HIGH", {}, "-HIGH"),
    Alias("T_AT_MOST_MID", {}, "MID"),
    Alias("T_AT_MOST_NEVER", {}, "NEVER"),
)
PROGRAM = """
struct isa_kernel { int level; };
#include "isa_dispatch.c"
%s
int main(void) { puts(isa_level_name(isa_current_level())); return 0; }
"""


@pytest.fixture(scope="module", params=["c11", "c++17"])
def program(request, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("aliases")
    text = "features = 'x86'\n"
    for rank, (name, requires) in enumerate(LEVELS.items()):
        text += f"[levels.{name}]\nrank = {rank}\nvector_bits = 128\nflags.gnu = []\nprobe = 'return 0;'\n"
        text += f"requires = {requires.split()}\n"
    (folder / "own.toml").write_text(text)
    table = load_table("own.toml", folder)
    never = ("3dnow", "avx512_4fmaps")  # no CPU has both
    plan = make_plan(
        config=Config(Path("isa.toml"), override="T_NEW", aliases=ALIASES),
        table=table,
        kernels=["k.c"],
        option_levels="",
        verdicts={(name, "c"): Verdict(True, "", features=never if name == "NEVER" else ()) for name in LEVELS},
        source_root="..",
        copy_options=CopyOptions(),
    )
    texts = dispatch_texts(build_of(plan), table)
    kernels = "".join(f"const struct isa_kernel isa_kernel_{x}__one = {{{n}}};" for n, x in enumerate(LEVELS))
    kernels += f"void {BIND_SYMBOL}one(const struct isa_kernel *kernel) {{ (void)kernel; }}"
    write_dispatch(folder, texts, {"one": list(LEVELS)}, list(LEVELS))
    (folder / "main.c").write_text(PROGRAM % kernels)
    command = ["cc", "-xc"] if request.param == "c11" else ["c++", "-xc++"]
    command += [f"-std={request.param}", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "main.c", "-o", "program"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "program"


NEEDS = "=NEVER needs features that CPU or OS lack (avx512_4fmaps 3dnow); HIGH is used"


@pytest.mark.parametrize(
    ("environment", "level", "warning"),
    [
        ({}, "HIGH", ""),
        ({"T_NEW": "mid"}, "MID", ""),
        ({"T_OLD": " Side "}, "SIDE", ""),
        ({"T_NEW": "low", "T_OLD": "side"}, "LOW", ""),
        ({"T_NEW": " ", "T_OLD": "", "T_WORDS": "none"}, "LOW", ""),
        ({"T_WORDS": "Best"}, "HIGH", ""),
        ({"T_WORDS": "side"}, "SIDE", ""),
        ({"T_WORDS": "no-side"}, "HIGH", ""),
        ({"T_NO_HIGH": "1"}, "SIDE", ""),
        ({"T_NO_HIGH": "0"}, "SIDE", ""),
        ({"T_AT_MOST_MID": "yes"}, "MID", ""),
        ({"T_AT_MOST_NEVER": "yes"}, "HIGH", ""),
        ({"T_WORDS": "top"}, "HIGH", "T_WORDS" + NEEDS),
        ({"T_OLD": "never"}, "HIGH", "T_OLD" + NEEDS),
        ({"T_OLD": "best"}, "HIGH", "T_OLD=best is not a level, and is ignored; levels: LOW MID SIDE HIGH NEVER"),
        (
            {"T_WORDS": "worst"},
            "HIGH",
            "T_WORDS=worst is not a level, and is ignored; levels: LOW MID SIDE HIGH NEVER; "
            "other values: BEST NO-SIDE NONE TOP",
        ),
        ({"T_OLD": "-HIGH"}, "HIGH", "T_OLD=-HIGH is not a level"),
        ({"T_OLD": "best", "T_AT_MOST_MID": "1"}, "HIGH", "T_OLD=best is not a level"),
    ],
)
def test_what_the_variables_do(program, environment, level, warning):
    done = subprocess.run([program], env={**os.environ, **environment}, capture_output=True, text=True, check=True)
    assert done.stdout == f"{level}\n"
    assert (warning in done.stderr) if warning else done.stderr == ""
