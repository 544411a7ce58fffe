"""Which object and kernel a function comes from, in builds of many kernels."""

import time

from isagen.audit.objects import Objects
from isagen.steps.seal import sealed_name

KERNELS, LEVELS = 1000, ("DEFAULT", "AVX2", "AVX512", "AMX")


def test_levels_and_kernels_of_thousands_of_objects_are_told_in_time(tmp_path):
    kernels, units = [], []
    for level in LEVELS:
        units.append({"name": f"isa_{level}", "level": level})
        (tmp_path / f"libisa_{level}.a.p").mkdir()
    for number in range(KERNELS):
        cells = [{"level": level, "copy": f"k{number}.cpp.{level}.cpp"} for level in LEVELS]
        kernels.append({"source": f"k{number}.cpp", "cells": cells})
        for cell in cells:
            (tmp_path / f"libisa_{cell['level']}.a.p" / f"{cell['copy']}.o").touch()
            (tmp_path / sealed_name(cell["copy"], cell["level"])).touch()
    objects = Objects({"kernels": kernels, "units": units}, tmp_path, (), tmp_path)
    start = time.process_time()
    for kernel in kernels:
        for cell in kernel["cells"]:
            assert objects.level(tmp_path / f"libisa_{cell['level']}.a.p" / f"{cell['copy']}.o") == cell["level"]
            assert objects.kernel(tmp_path / sealed_name(cell["copy"], cell["level"])) == kernel["source"]
    assert objects.level(tmp_path / "other.o") == ""
    assert time.process_time() - start < 10  # seconds; with a search for each object it took minutes
