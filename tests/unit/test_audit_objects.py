"""Which object and kernel a function comes from, in builds of many kernels."""

import time
from dataclasses import replace

from isagen.audit.build_objects import BuildObjects
from isagen.model.names import sealed_name
from isagen.model.plan import Unit
from support.model import kernel_row, plan_of

KERNELS, LEVELS = 1000, ("DEFAULT", "AVX2", "AVX512", "AMX")


def test_kernels_of_thousands_of_objects_are_told_in_time(tmp_path):
    kernels = []
    for level in LEVELS:
        (tmp_path / f"libisa_{level}.a.p").mkdir()
    for number in range(KERNELS):
        row = kernel_row(f"k{number}.cpp", {level: f"k{number}.cpp.{level}.cpp" for level in LEVELS})
        kernels.append(row)
        for cell in row.cells:
            (tmp_path / f"libisa_{cell.level}.a.p" / f"{cell.copy}.o").touch()
            (tmp_path / sealed_name(cell.copy, cell.level)).touch()
    units = tuple(Unit(f"isa_{level}", level, (), {}) for level in LEVELS)
    objects = BuildObjects(replace(plan_of(LEVELS, kernels), units=units), tmp_path, (), tmp_path)
    start = time.process_time()
    for kernel in kernels:
        for cell in kernel.cells:
            assert objects.kernel(tmp_path / f"libisa_{cell.level}.a.p" / f"{cell.copy}.o") == kernel.source
            assert objects.kernel(tmp_path / sealed_name(cell.copy, cell.level)) == kernel.source
    assert objects.kernel(tmp_path / "other.o") == ""
    assert time.process_time() - start < 10  # seconds; with a search for each object it took minutes
