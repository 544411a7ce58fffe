"""What objects register, as the build steps note it, and a plan that it is of."""

from isagen.steps.stubs import MARK

LEVELS = ["DEFAULT", "AVX2", "AVX512_BF16"]


def plan_of(*copies: str) -> dict:
    """A plan whose kernels are called after their copies at DEFAULT."""
    return {
        "levels": [{"name": x} for x in LEVELS],
        "kernels": [
            {"source": f"{copy}.cpp", "cells": [{"level": "DEFAULT", "copy": f"{copy}.cpp.DEFAULT.cpp"}]}
            for copy in copies
        ],
        "dispatch": {"source": f"before\n{MARK}\nafter\n"},
    }


def at(level: str, **kernels: str) -> dict:
    """Registrations of a level: each kernel with its stubs; those that start with '-' are said to be left out."""
    return {
        "level": level,
        "kernels": {
            source: {
                "registers": [stub for stub in stubs.split() if not stub.startswith("-")],
                "without": [stub[1:] for stub in stubs.split() if stub.startswith("-")],
            }
            for source, stubs in kernels.items()
        },
        "shared": {},
    }
