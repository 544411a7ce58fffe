"""The reference extension: every level that this CPU supports runs, is reported, and agrees with NumPy."""

import os
import subprocess
import sys

import isagen_kernels
import numpy as np
import pytest

from support.levels import supported_levels
from support.projects import need
from support.what_ran import X86

pytestmark = pytest.mark.smoke

CHECK = """
import sys
import isagen_kernels as k
assert k._get_current_isa_level() == sys.argv[1], k._get_current_isa_level()
print(*k.get_cpp_typesize_and_vecsize("float32"))
"""
VECTOR_BYTES = {"DEFAULT": 16, "AVX2": 32, "AVX2_VNNI": 32}
LEVELS = supported_levels()


@pytest.mark.parametrize("level", LEVELS)
def test_every_supported_level_can_be_asked_for(cell, level):
    cell(X86, level, "this machine's CPU")
    done = subprocess.run(
        [sys.executable, "-c", CHECK, level],
        env={**os.environ, "ISAGEN_KERNELS_ISA": level.lower()},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["4", str(VECTOR_BYTES.get(level, 64) // 4)]


def test_the_best_supported_level_is_the_default():
    level = isagen_kernels._get_current_isa_level()
    assert level == LEVELS[-1]
    assert isagen_kernels._get_highest_cpu_support_isa_level() == level
    assert isagen_kernels._get_highest_binary_support_isa_level() == "AMX"


@pytest.mark.parametrize(
    ("dtype", "size"),
    [("float64", 8), ("float32", 4), ("complex128", 16), ("complex64", 8), ("bfloat16", 2), ("float16", 2)],
)
def test_typesize_and_vecsize(dtype, size):
    width = VECTOR_BYTES.get(LEVELS[-1], 64)
    assert isagen_kernels.get_cpp_typesize_and_vecsize(dtype) == (size, width // size)
    assert isagen_kernels.get_cpp_typesize_and_vecsize(f"torch.{dtype}") == (size, width // size)
    if dtype != "bfloat16":
        assert isagen_kernels.get_cpp_typesize_and_vecsize(np.dtype(dtype)) == (size, width // size)
        assert isagen_kernels.get_cpp_typesize_and_vecsize(getattr(np, dtype)) == (size, width // size)


@pytest.mark.parametrize("dtype", ["int32", np.dtype("uint8"), "torch.int64", "bool", None, np.int32, int])
def test_typesize_of_other_dtypes_is_an_error(dtype):
    with pytest.raises(RuntimeError, match="only floating and complex"):
        isagen_kernels.get_cpp_typesize_and_vecsize(dtype)


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        (np.zeros(4), TypeError, r"src must hold float32, but holds float64; src.astype\(np.float32\) rounds it"),
        (b"1234", TypeError, r"src must hold float32, but holds uint8; np.frombuffer\(src, np.float32\)"),
        (np.zeros(8, np.float32)[::2], ValueError, r"src must be C-contiguous; np.ascontiguousarray\(src\)"),
        (np.zeros((4, 4), np.float32).T, ValueError, "src must be C-contiguous"),
        ([1.0], TypeError, "src must be an array or another object with a buffer, not list"),
    ],
)
def test_bad_sources(source, error, message):
    with pytest.raises(error, match=message):
        isagen_kernels.cvt_fp32_to_bf16(source)


@pytest.mark.parametrize(
    ("out", "error", "message"),
    [
        (np.zeros(3, np.uint16), ValueError, r"out must have the shape \(4,\), that of src, but has \(3,\)"),
        (np.zeros(4, np.float32), TypeError, "out must hold bfloat16 or 16-bit integers .* holds float32"),
        (np.zeros(8, np.uint16)[::2], ValueError, "out must be C-contiguous"),
        (memoryview(bytes(8)).cast("H"), BufferError, "out: .*(not writable|read-?only)"),
        ([1, 2, 3, 4], TypeError, "out must be an array or another object with a buffer, not list"),
    ],
)
def test_bad_outputs(out, error, message):
    with pytest.raises(error, match=message):
        isagen_kernels.cvt_fp32_to_bf16(np.zeros(4, np.float32), out)


def test_buffers_of_the_standard_library():
    import array
    import ctypes

    assert isagen_kernels.sum(array.array("f", [1, 2, 3])) == 6
    assert isagen_kernels.sum((ctypes.c_float * 3)(1, 2, 3)) == 6
    assert isagen_kernels.sum(memoryview(array.array("f", [1, 2, 3]))) == 6


def emulated(cpu, code, **environment):
    need("qemu-x86_64")
    command = ["qemu-x86_64", "-cpu", cpu, sys.executable, "-c", code]
    return subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("cpu", "level"), [("Nehalem", "DEFAULT"), ("Haswell-v4", "AVX2")])
def test_emulated_cpus(cell, cpu, level):
    cell(X86, level, f"qemu {cpu}", "selected")
    code = (
        "import array, isagen_kernels as k\n"
        "print(k._get_current_isa_level(), k._get_highest_cpu_support_isa_level())\n"
        "print(k.sum(array.array('f', range(100))), list(k.cvt_fp32_to_bf16(array.array('f', [1, -2]))))\n"
    )
    done = emulated(cpu, code)
    assert done.stdout.splitlines() == [f"{level} {level}", "4950.0 [16256, 49152]"], done.stderr


def test_an_override_cannot_select_what_the_cpu_lacks():
    done = emulated(
        "Haswell-v4", "import isagen_kernels as k; print(k._get_current_isa_level())", ISAGEN_KERNELS_ISA="amx"
    )
    assert done.stdout.strip() == "AVX2"
    assert "ISAGEN_KERNELS_ISA=AMX needs features that CPU or OS lack" in done.stderr
    assert "avx512_f" in done.stderr


def test_why_of_the_first_words_of_several_stubs_answers_for_each():
    isa = isagen_kernels.isa
    with isa.use("DEFAULT"):
        said = isa.why("softmax").split("; ")
    assert said == [f"softmax_{kind}_stub calls the copy of DEFAULT" for kind in ("double", "float")]
    neither = "is neither a level nor a stub; levels: .*AMX"
    for name in ("soft", "mean"):
        with pytest.raises(ValueError, match=rf"^'{name}' {neither}; isa\.kernels lists the stubs\Z"):
            isa.why(name)
    with pytest.raises(ValueError, match=rf"^'double' {neither}; stubs with this in their names: \w*_double_"):
        isa.why("double")
