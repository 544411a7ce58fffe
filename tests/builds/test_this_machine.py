"""The real CPU and OS: isagen's Python agrees with its C code and with Linux, in each calling convention."""

import ctypes
import json
import mmap
import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from isagen.model.errors import CpuError
from isagen.processors.detection import detect
from isagen.processors.features import read_features
from isagen.processors.registry import this_cpu_family
from isagen.processors.x86 import machine_code
from isagen.processors.x86.machine import SavedState, ThisMachine
from support.checkout import ROOT
from support.masked import MASKED
from support.projects import need

pytestmark = pytest.mark.skipif(this_cpu_family() != "x86_64", reason="this CPU has no CPUID")

LEAVES = [(0, 0), (1, 0), (7, 0), (7, 1), (0x80000000, 0), (0x80000001, 0)]
APIC_ID = 0xFF << 24  # CPUID.1:EBX; which CPU runs this
ASK = """
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "machine.c"
int main(void)
{
  static const uint32_t leaves[][2] = {LEAVES};
  uint32_t r[4];
  size_t i;
  printf("[");
  for (i = 0; i < sizeof leaves / sizeof *leaves; i++) {
    isa_this_cpu.cpuid(leaves[i][0], leaves[i][1], r);
    printf("[%u, %u, %u, %u], ", r[0], r[1], r[2], r[3]);
  }
  isa_this_cpu.cpuid(1, 0, r);
  printf("%llu, ", r[2] >> 27 & 1 ? (unsigned long long)isa_this_cpu.xgetbv(0) : 0);
  printf("%d, %d, %d]", isa_this_cpu.grant(18), isa_this_cpu.grant(1), isa_this_cpu.is_enabled("no.such.sysctl"));
  return 0;
}
"""
# What /proc/cpuinfo calls some features.
LINUX = {
    "sse4_1": "sse4_1", "sse4_2": "sse4_2", "ssse3": "ssse3", "popcnt": "popcnt", "movbe": "movbe", "f16c": "f16c",
    "fma": "fma", "avx": "avx", "avx2": "avx2", "bmi1": "bmi1", "bmi2": "bmi2", "avx512f": "avx512_f",
    "avx512bw": "avx512_bw", "avx512dq": "avx512_dq", "avx512vl": "avx512_vl", "avx512cd": "avx512_cd",
    "avx512_vnni": "avx512_vnni", "avx512_bf16": "avx512_bf16", "avx512_fp16": "avx512_fp16", "avx_vnni": "avx_vnni",
    "amx_tile": "amx_tile", "amx_int8": "amx_int8", "amx_bf16": "amx_bf16",
}  # fmt: skip


def without_apic_id(leaf, row):
    eax, ebx, ecx, edx = row
    return [eax, ebx & ~APIC_ID if leaf == 1 else ebx, ecx, edx]


def test_it_agrees_with_the_c_code_of_every_dispatch_source(tmp_path):
    need("cc")
    leaves = ", ".join(f"{{{leaf}u, {subleaf}u}}" for leaf, subleaf in LEAVES)
    (tmp_path / "ask.c").write_text(ASK.replace("LEAVES", leaves))
    subprocess.run(["cc", "-I", ROOT / "isagen/processors/x86", tmp_path / "ask.c", "-o", tmp_path / "ask"], check=True)
    done = subprocess.run([tmp_path / "ask"], capture_output=True, text=True, check=True)
    *rows, xcr0, tiles, sse, sysctl = json.loads(done.stdout)

    machine = ThisMachine()
    for (leaf, subleaf), row in zip(LEAVES, rows, strict=True):
        assert without_apic_id(leaf, machine.cpuid(leaf, subleaf)) == without_apic_id(leaf, row), hex(leaf)
    assert machine.registers == {"xcr0": xcr0}
    assert [machine.permission(18), machine.permission(1)] == [bool(tiles), bool(sse)]
    assert machine.sysctl("no.such.sysctl") == int(sysctl)


def test_the_kernel_lists_no_feature_that_is_not_found():
    lines = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    flags = next((line.split(":")[1].split() for line in lines.splitlines() if line.startswith("flags")), None)
    if flags is None:
        pytest.skip("/proc/cpuinfo lists no flags")
    listed = {feature for flag, feature in LINUX.items() if flag in flags} - MASKED
    assert {"sse4_2", "popcnt"} <= listed
    assert listed <= detect(read_features("x86"), ThisMachine()).present


# ---- the machine code of each calling convention, called by a compiler's code for it

CALL = r"""
typedef unsigned u32;
typedef unsigned long long u64;
typedef void CONVENTION cpuid_fn(u32, u32, u32 *);
typedef u64 CONVENTION xgetbv_fn(u32);
extern cpuid_fn cpuid_code;
extern xgetbv_fn xgetbv_code;
__asm__(".text\ncpuid_code: .byte CPUID\nxgetbv_code: .byte XGETBV\n");

static u32 check(u32 leaf, u32 subleaf)
{
  u32 r[5] = {1, 1, 1, 1, 77}, e[4], wrong = 0;
  register u32 kept __asm__("ebx") = 78; /* a register that calls preserve, and the code uses */
  __asm__ volatile("" : "+r"(kept));
  cpuid_code(leaf, subleaf, r);
  __asm__ volatile("" : "+r"(kept));
  __asm__ volatile("cpuid" : "=a"(e[0]), "=b"(e[1]), "=c"(e[2]), "=d"(e[3]) : "0"(leaf), "2"(subleaf));
  if (leaf == 1)
    e[1] = e[1] << 8 >> 8, r[1] = r[1] << 8 >> 8;
  for (int i = 0; i < 4; i++)
    wrong |= r[i] ^ e[i];
  return wrong | (r[4] ^ 77) | (kept ^ 78);
}

__attribute__((used)) static int test(void)
{
  u32 a, b, c, d, low, high, wrong = 0;
  static const u32 leaves[][2] = {LEAVES};
  for (u32 i = 0; i < sizeof leaves / sizeof *leaves; i++)
    wrong |= check(leaves[i][0], leaves[i][1]);
  __asm__ volatile("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "0"(1), "2"(0));
  if (c >> 27 & 1) {
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    wrong |= xgetbv_code(0) != ((u64)high << 32 | low);
  }
  return wrong ? 1 : 42;
}

__asm__(".globl _start\n_start: and $-16, %rsp; call test; mov %eax, %edi; mov $60, %eax; syscall\n");
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the program calls Linux")
@pytest.mark.parametrize(
    ("name", "convention"),
    [("SYSTEM_V_64", ""), ("MICROSOFT_64", "__attribute__((ms_abi))")],
)
def test_the_machine_code_of_each_calling_convention(tmp_path, name, convention):
    need("gcc")
    text = CALL.replace("CONVENTION", convention)
    text = text.replace("LEAVES", ", ".join(f"{{{leaf}u, {subleaf}u}}" for leaf, subleaf in LEAVES))
    code = getattr(machine_code, name)
    for field in fields(code):
        octets = ", ".join(map(hex, getattr(code, field.name)))
        text = text.replace(f".byte {field.name.upper()}", f".byte {octets}")
    (tmp_path / "call.c").write_text(text)
    flags = [
        "-m64",
        "-O2",
        "-ffreestanding",
        "-fno-stack-protector",
        "-nostdlib",
        "-static",
        "-fno-pie",
        "-no-pie",
    ]
    subprocess.run(["gcc", *flags, tmp_path / "call.c", "-o", tmp_path / "call"], check=True)
    assert subprocess.run([tmp_path / "call"], check=False).returncode == 42


def test_the_code_of_this_process_is_the_one_that_runs():
    assert sys.platform == "win32" or machine_code.OWN is machine_code.SYSTEM_V_64


def test_a_process_of_32_bits_is_refused(monkeypatch):
    monkeypatch.setattr(ctypes, "sizeof", lambda kind: 4)
    with pytest.raises(CpuError, match=r"a 32-bit process cannot read the CPU's features\n  run isagen with a 64-bit"):
        ThisMachine()


# ---- where memory cannot be made executable, and on macOS


def test_where_linux_forbids_executable_memory_the_command_says_so():
    """PR_SET_MDWE (Linux 6.3) refuses what systemd's MemoryDenyWriteExecute and SELinux refuse."""
    code = (
        "import ctypes, sys\n"
        "if ctypes.CDLL(None).prctl(65, ctypes.c_ulong(1), *[ctypes.c_ulong(0)] * 3) != 0: sys.exit(77)\n"
        "from isagen.cli import main\n"
        "sys.exit(main(['cpu']))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if done.returncode == 77:
        pytest.skip("this kernel has no PR_SET_MDWE")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "the OS allows no executable memory, from which CPUID would be called: Permission denied" in done.stderr
    assert "MemoryDenyWriteExecute" in done.stderr


def test_memory_that_cannot_be_had(monkeypatch):
    def refuse(*arguments, **keywords):
        raise PermissionError(13, os.strerror(13))

    monkeypatch.setattr(mmap, "mmap", refuse)
    with pytest.raises(CpuError, match="allows no executable memory") as caught:
        ThisMachine()
    assert caught.value.remedy


def test_xgetbv_is_not_executed_where_the_os_has_not_enabled_it(monkeypatch):
    machine = ThisMachine()
    monkeypatch.setattr(machine, "cpuid", lambda leaf, subleaf: (1, 0, 0, 0))
    monkeypatch.setattr(machine, "xgetbv", None)
    assert machine.xcr0 == 0


@pytest.mark.parametrize(("value", "status", "found"), [(1, 0, 1), (0, 0, 0), (-1, 0, 0), (1, -1, 0)])
def test_a_sysctl_of_macos(monkeypatch, value, status, found):
    class Library:
        def sysctlbyname(self, name, result, size, new, new_size):
            assert (name, size._obj.value, new, new_size.value) == (b"hw.optional.avx512f", 4, None, 0)
            result._obj.value = value
            return status

    machine = ThisMachine()
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(ctypes, "CDLL", lambda name: Library())
    assert machine.sysctl("hw.optional.avx512f") == found
    assert machine.saves(SavedState(0, "hw.optional.avx512f"))
    assert machine.saves(SavedState(1 << 62, "hw.optional.avx512f")) is bool(found)
