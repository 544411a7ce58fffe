"""Finds features that CPU and OS lack. `python -m isagen.testing.lacking x86` prints them, also under an emulator."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping

from ..processors.detection import ask_permissions, detect
from ..processors.features import read_features
from ..processors.registry import this_machine


def lacking(features: str) -> Mapping[str, str]:
    """Return the features of a features file that cannot be used here, each with its name and the reason as a text.

    Raises `CpuError` if the features file is for another processor than this machine's.
    """
    known, machine = read_features(features), this_machine(features)
    cpu = ask_permissions(detect(known, machine), machine)
    return {name: cpu.missing([name])[0] for name in known.features if cpu.missing([name])}


if __name__ == "__main__":
    print(json.dumps(lacking(sys.argv[1])))
