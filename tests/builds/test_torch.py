"""IPEX's and ATen's dispatch macros: their own examples against an installed PyTorch, at every level of this CPU."""

import json
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from support.projects import PACKAGES, Project, base_environment, need

pytestmark = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")

# Those at which the code differs; test_ipex.py has all levels of the table.
LEVELS = ["DEFAULT", "AVX2", "AVX512", "AVX512_BF16"]
WIDE = LEVELS[2:]
FLUSHES_DENORMALS = LEVELS[3:]
DTYPES = ["double", "float", "complex128", "complex64", "bfloat16", "half"]
SIZES_OF_256_BITS = [[8, 4], [4, 8], [16, 2], [8, 4], [2, 16], [2, 16]]

# What one level computes, as JSON. "denormals": values that are flushed to a zero of their sign; "wrong": all others
# whose bits are not PyTorch's own (a NaN may be any NaN).
REPORT = """
import json
import torch
import torch_kernels as k

ops = torch.ops.torch_kernels

def message(function, *arguments):
    try:
        return "no error: %r" % (function(*arguments),)
    except RuntimeError as problem:
        return str(problem).splitlines()[0]

torch.manual_seed(1)
million = 1_000_003
inf, tiny = float("inf"), torch.finfo(torch.float32).tiny
special = torch.tensor([0.0, -0.0, inf, -inf, float("nan"), tiny, -tiny, tiny / 2, 1e-45, -1e-45, 3.4028235e38])
mantissas = [0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF, 0x10000, 0x17FFF, 0x18000, 0x18001, 0x3FFFFF, 0x400000, 0x7FFFFF]
patterns = [s << 31 | e << 23 | m for s in (0, 1) for e in (0, 1, 126, 127, 128, 254, 255) for m in mantissas]
bits = torch.tensor(patterns).to(torch.uint32).view(torch.float32)
sources = [
    torch.randn(million) * 1000,
    torch.randint(-(2**31), 2**31, (million,), dtype=torch.int64).to(torch.int32).view(torch.float32),
    special,
    bits,
    *(torch.randn(n) for n in range(34)),
]
wrong = flushed = 0
for source in sources:
    ours, theirs = k.cvt_fp32_to_bf16(source), source.to(torch.bfloat16)
    assert ours.dtype == torch.bfloat16 and ours.shape == source.shape
    same = (ours.view(torch.int16) == theirs.view(torch.int16)) | (ours.isnan() & theirs.isnan())
    denormal = (source != 0) & (source.abs() < tiny)
    zero = (ours == 0) & (ours.signbit() == source.signbit())
    flushed += int((~same & denormal & zero).sum())
    wrong += int((~same & ~(denormal & zero)).sum())

print(json.dumps({
    "current": k.isa.current,
    "built": [level for level, (built, _, _) in k.isa.levels.items() if built],
    "supported": [level for level, (_, supported, _) in k.isa.levels.items() if supported],
    "capabilities": ops.capabilities(),
    "aten": ops.aten_capability(),
    "wrong": wrong,
    "flushed": flushed,
    "sizes": [k.get_cpp_typesize_and_vecsize(getattr(torch, name)) for name in DTYPES],
    "int": message(k.get_cpp_typesize_and_vecsize, torch.int32),
    "copies": [ops.copy_that_runs(stub, "cpu") for stub in ("narrow", "wide", "same")],
    "absent": message(ops.copy_that_runs, "absent", "cpu"),
    "cuda": message(ops.copy_that_runs, "wide", "cuda"),
    "stubs": {d: [ops.is_supported(s, d) for s in ("narrow", "wide", "same", "absent")] for d in ("cpu", "cuda")},
}))
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """The project, built and installed once: about half a minute."""
    need("g++")
    folder = tmp_path_factory.mktemp("torch")
    shutil.copytree(PACKAGES / "torch", folder / "project")
    project = Project(folder / "project", base_environment())
    project.isagen("init")
    site = folder / "project/site"
    options = [f"-Dpython.platlibdir={site}", f"-Dpython.purelibdir={site}", f"-Disa_levels={','.join(LEVELS[1:])}"]
    said = project.setup(*options, CXX="g++")
    assert "WARNING" not in said
    project.ninja()
    project.run("meson", "install", "-C", "build", "--quiet")
    return project


@pytest.fixture(scope="module")
def reports(project):
    """The results at every level that this CPU supports. PyTorch would run others without a check."""
    code = "print(*(x for x, (built, supported, _) in k.isa.levels.items() if built and supported))"
    done = python(project, f"import torch_kernels as k; {code}")
    if done.returncode != 0 and "needs features that CPU or OS lack" in done.stderr:
        pytest.skip("this CPU does not support AVX2, which even the lowest level of the table needs")
    assert done.returncode == 0, done.stderr
    supported = done.stdout.split()
    assert supported
    found = {}
    for level in supported:
        done = python(project, f"DTYPES = {DTYPES}\n{REPORT}", ATEN_CPU_CAPABILITY=level.lower())
        assert done.returncode == 0, done.stderr
        found[level] = json.loads(done.stdout)
        assert found[level]["current"] == level
    return found


def python(project, code, **environment):
    """Run code with the installed package."""
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=project.folder.parent,
        env={**project.environment, "PYTHONPATH": str(project.folder / "site"), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_all_levels_are_built_and_the_level_that_was_asked_for_runs(reports):
    for level, report in reports.items():
        assert report["built"] == LEVELS
        current, best_of_cpu, best_of_binary = report["capabilities"]
        assert current == level
        assert best_of_cpu == report["supported"][-1]
        assert best_of_binary == LEVELS[-1]
        assert report["aten"] == (2 if level in WIDE else 1)


def test_bf16_is_pytorch_s_but_for_denormals_where_the_instruction_flushes_them(reports):
    for level, report in reports.items():
        assert report["wrong"] == 0, level
        assert bool(report["flushed"]) == (level in FLUSHES_DENORMALS), level


def test_typesize_and_vecsize(reports):
    for level, report in reports.items():
        factor = 2 if level in WIDE else 1
        assert report["sizes"] == [[size, lanes * factor] for size, lanes in SIZES_OF_256_BITS], level
        assert report["int"] == "Currently only floating and complex ScalarType are supported."


def test_aten_kernels_take_part_at_avx512_only_where_they_say_so(reports):
    for level, report in reports.items():
        narrow, wide, same = report["copies"]
        assert narrow == ("AVX2" if level in WIDE else level)
        assert wide == level
        assert same == "ordinary"


def test_devices_and_stubs_without_a_kernel(reports):
    for report in reports.values():
        assert report["cuda"].startswith("DispatchStub: unsupported device type cuda: wide_stub ")
        assert report["absent"] == "DispatchStub: missing kernel for cpu: none is registered for absent_stub"
        assert report["stubs"] == {"cpu": [True, True, True, False], "cuda": [False] * 4}


def torch_include() -> str:
    return str(Path(find_spec("torch").origin).parent / "include")


def compile_caller(project, compiler, text, *arguments):
    (project.folder / "caller.cpp").write_text(text)
    command = [compiler, "-std=c++20", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
    command += ["-Ibuild/isagen/isa_compat", "-Ibuild/isagen/isa_include", f"-isystem{torch_include()}", "-fPIC"]
    return project.run(*command, *arguments, "-S", "caller.cpp", "-o", "-", check=False)


@pytest.mark.parametrize("compiler", ["g++", "clang++-16"])
@pytest.mark.parametrize(
    ("header", "declare"), [("dyndisp", "IPEX_DECLARE_DISPATCH"), ("ATen/native", "DECLARE_DISPATCH")]
)
def test_a_call_is_one_load_and_one_indirect_call(project, compiler, header, declare):
    need(compiler)
    text = (
        f"#include <{header}/DispatchStub.h>\nnamespace any {{\nusing fn = int (*)(int *, const float &, long);\n"
        f"{declare}(fn, the_stub);\nint f(int *, const float &, long);\n"
        "int f(int *p, const float &x, long n) { return the_stub(c10::kCPU, p, x, n); }\n}\n"
    )
    done = compile_caller(project, compiler, text, "-fcf-protection=none")
    assert done.returncode == 0, done.stdout
    body = done.stdout.split("_ZN3any1fEPiRKfl:")[1].split(".cfi_endproc")[0]
    code = [line.split("#")[0].split() for line in re.findall(r"^\t([a-z].*)$", body, re.M)]
    stub = "_ZN3any8the_stubE(%rip)"
    folded, parted = [["jmp", f"*{stub}"]], [["movq", f"{stub},", "%rax"], ["jmpq", "*%rax"]]
    assert code in (folded, parted)


@pytest.mark.parametrize(
    ("line", "defines", "message"),
    [
        ("REGISTER_DISPATCH(s, &k)", [], "belongs in a source that isagen compiles per level"),
        ("IPEX_REGISTER_DISPATCH(s, &k);", [], "belongs in a source that isagen compiles per level"),
        ("REGISTER_NO_CPU_DISPATCH(s);", ["-DCPU_CAPABILITY=AVX2"], "belongs in an ordinary source"),
        ("REGISTER_ALL_CPU_DISPATCH(s, &k)", ["-DCPU_CAPABILITY=AVX2"], "belongs in an ordinary source"),
        ("REGISTER_NO_CPU_DISPATCH(s, fn);", [], ""),
        ("REGISTER_ALL_CPU_DISPATCH(s, nullptr);", [], ""),
        ("IPEX_REGISTER_NO_CPU_DISPATCH(s, fn);", [], ""),
        (
            "REGISTER_ARCH_DISPATCH(s, DEFAULT, &k);\nREGISTER_AVX512_DISPATCH(s, &k)\nREGISTER_SVE_DISPATCH(s, &k)",
            [],
            "",
        ),
        ("REGISTER_NO_AVX512_DISPATCH(s, fn);", ["-DCPU_CAPABILITY=AVX512", "-DCPU_CAPABILITY_AVX512"], ""),
        ("IPEX_REGISTER_AVX2_DISPATCH(s, &k);", ["-DCPU_CAPABILITY=AVX2", "-DCPU_CAPABILITY_AVX2"], ""),
        ("REGISTER_DISPATCH(s, &k);", ["-DCPU_CAPABILITY=AVX512", "-DCPU_CAPABILITY_AVX512"], ""),
        ("ALSO_REGISTER_SVE256_DISPATCH(s, &k);", ["-DCPU_CAPABILITY=SVE256"], ""),
    ],
)
def test_registrations_and_where_they_belong(project, line, defines, message):
    text = (
        "#include <ATen/native/DispatchStub.h>\nnamespace any {\nusing fn = int (*)(int);\nDECLARE_DISPATCH(fn, s);\n"
    )
    text += f"namespace {{ [[maybe_unused]] int k(int x) {{ return x; }} }}\n{line}\n}}\n"
    done = compile_caller(project, "g++", text, *defines)
    if message:
        assert done.returncode != 0
        assert message in done.stdout
    else:
        assert done.returncode == 0, done.stdout


def test_a_compat_name_that_is_taken_out_no_longer_shadows_pytorch_s_header(project):
    """The last test of this project, because it configures again."""
    compat = project.path("isagen/isa_compat")
    assert (compat / "ATen/native/DispatchStub.h").is_file()
    assert (compat / "csrc/cpu/dyndisp/DispatchStub.h").is_file()
    project.edit("isagen/isa.toml", ', "aten"', "")
    project.setup("--reconfigure")
    assert not (compat / "ATen/native/DispatchStub.h").exists()
    assert "ALSO_REGISTER_AVX512_DISPATCH" not in (compat / "isa_torch.h").read_text()
    text = (
        "#include <ATen/native/DispatchStub.h>\n#include <dyndisp/DispatchStub.h>\n#include <type_traits>\n"
        "static_assert(std::is_class_v<at::native::DispatchStubImpl>);\n"
        "namespace any {\nusing fn = void (*)();\nIPEX_DECLARE_DISPATCH(fn, s);\n}\n"
    )
    done = compile_caller(project, "g++", text)
    assert done.returncode == 0, done.stdout
