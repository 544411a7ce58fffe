"""The levels at which tests/packages/tiles runs here: this CPU's, and those that its emulator supports."""

from pathlib import Path

from isagen.processors.table import load_table
from support.levels import lacks, supported_levels
from support.tiles_library import FEW

SUPPORTED = [level for level in supported_levels() if level in FEW]
# Levels whose own instructions the emulator knows.
HARDWARE = ["AMX", "AVX512_FP16"]


def emulator_can_run(level: str) -> bool:
    """Whether this CPU has all that a level needs, except the instructions that the emulator supports."""
    needed = load_table("x86", Path()).required_features(level)
    return not lacks(name for name in needed if not name.startswith("amx_") and name != "avx512_fp16")


# Lowest first.
LEVELS = [
    *SUPPORTED,
    *(f"{level} emulated" for level in HARDWARE if level not in SUPPORTED and emulator_can_run(level)),
]
