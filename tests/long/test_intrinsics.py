"""Intrinsics of each level of other processors, compiled with its flags, run under qemu, compared with scalar code."""

import subprocess

import pytest

from isagen.processors.table import load_table
from support.checkout import ROOT
from support.cross import TARGETS
from support.intrinsics import arm64, elsewhere
from support.intrinsics.program import Row, scalar_source, vector_source
from support.what_ran import INTRINSICS

LEVELS = {"aarch64": arm64.LEVELS, **elsewhere.LEVELS}
ROWS = [(family, level) for family, levels in LEVELS.items() for level in levels]


# A level for vectors of one length, and one whose instructions qemu 7.2 runs and does not report.
ONLY = {"SVE256": ["max,sve-max-vq=2"], "ZBB": ["rv64"]}


def compiled(words, source, *flags):
    """Compile a source; return the object, or what the compiler said."""
    made = source.with_suffix(".o")
    command = [*words, "-std=gnu11", "-fwrapv", "-w", *flags, "-c", source, "-o", made]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    return made if done.returncode == 0 else done.stderr


def program_of(folder, family, level, compiler, kind, rows):
    """Compile the intrinsics for the level and the scalar code for the baseline; link both."""
    target = TARGETS[family]
    target.require(compiler)
    words = target.compiler(compiler, "c")
    flags = [*load_table(target.table, ROOT).level(level).flags["gnu"], *kind.flags]
    (folder / "header.c").write_text(vector_source([], kind))
    said = compiled(words, folder / "header.c", *flags)
    if isinstance(said, str):
        pytest.skip(f"{compiler} has no intrinsics for {level}: {said.splitlines()[0].partition('error: ')[2]}")
    (folder / "vector.c").write_text(vector_source(rows, kind))
    (folder / "scalar.c").write_text(scalar_source(rows, "__fp16" if family == "aarch64" else "float"))
    objects = [
        compiled(words, folder / "vector.c", "-O2", *flags),
        # Optimising it takes a hundred times as long as compiling it.
        compiled(words, folder / "scalar.c", "-O0", "-ffp-contract=off"),
    ]
    assert not [one[:3000] for one in objects if isinstance(one, str)]
    subprocess.run([*words, *objects, "-lm", "-o", folder / "program"], check=True)
    return folder / "program"


def cpus_with(family, level):
    """The CPUs of qemu that have a level."""
    table, selected = load_table(TARGETS[family].table, ROOT), TARGETS[family].selected
    return ONLY.get(level) or [
        cpu for cpu, best in selected.items() if level in {best, *(one.name for one in table.below(best))}
    ]


def said_by(program, family, cpu):
    done = subprocess.run([*TARGETS[family].emulated(cpu), program], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


@pytest.mark.parametrize("compiler", ["gcc", "clang-16"])
@pytest.mark.parametrize(("family", "level"), ROWS)
def test_intrinsics_give_what_scalar_code_gives(tmp_path, cell, family, level, compiler):
    kind, rows = LEVELS[family][level]
    cell(INTRINSICS, f"{family}: {level}", compiler, f"{len(rows)} agree")
    program = program_of(tmp_path, family, level, compiler, kind, rows)
    cpus = cpus_with(family, level)
    if not cpus:
        pytest.skip(f"compiled, but no CPU of qemu 7.2 has {level}")
    assert {said_by(program, family, cpu) for cpu in cpus} == {f"{len(rows)} intrinsics, 0 wrong\n"}


def test_a_wrong_result_is_seen(tmp_path):
    rows = [Row("u8x16", "u8x16 u8x16", f"vaddq_u8({one}, b)", "a[i] + b[i]") for one in ("a", "b")]
    program = program_of(tmp_path, "aarch64", "DOTPROD", "gcc", arm64.NEON, rows)
    assert said_by(program, "aarch64", "max").startswith("wrong: vaddq_u8(b, b)\n")
