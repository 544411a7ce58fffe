"""Processors that qemu-user runs: cross compilers, Meson's description of them, the level that each CPU selects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from .platforms import ZIG
from .projects import Project, need


@dataclass(frozen=True)
class Target:
    """A target of cross builds: its names, the level that each CPU of qemu selects, the levels that are `newer` than
    its `compilers`, the levels whose features this qemu does not report, the `linkers` of Debian 12 for it, and the
    `baseline` that zig is told.
    """

    triplet: str
    family: str
    endian: str
    emulator: str
    selected: Mapping[str, str]
    compilers: Sequence[str] = ("gcc", "clang-16")
    newer: frozenset[str] = frozenset()
    unreported: frozenset[str] = frozenset()
    linkers: Sequence[str] = ("bfd", "gold", "lld", "mold")
    baseline: Sequence[str] = ()

    @property
    def table(self) -> str:
        """Its default table."""
        return "arm64" if self.family == "aarch64" else self.family

    def compiler(self, name: str, language: str = "cpp") -> list[str]:
        """Return the words of the compiler of a language: of `gcc`, of `zig`, or of a Clang such as `clang-16`."""
        if name == "zig":
            # Without -O2, zig compiles its sanitizers first.
            words = [*ZIG, "c++" if language == "cpp" else "cc", "-target", self.triplet, *self.baseline, "-O2"]
            # Without the option, zig compiles libc++ first.
            return [*words, "-nostdlib++"] if language == "cpp" else words
        if name == "gcc":
            return [f"{self.triplet}-{'g++' if language == 'cpp' else 'gcc'}"]
        return [name.replace("clang", "clang++") if language == "cpp" else name, f"--target={self.triplet}"]

    def require(self, compiler: str) -> None:
        """Skip the test where a program is missing; Clang uses the libraries of GCC."""
        if compiler == "zig":
            pytest.importorskip("ziglang")
            need(self.emulator)
            return
        need(self.compiler(compiler, "c")[0], self.compiler(compiler)[0], f"{self.triplet}-g++", self.emulator)

    def cross_file(self, folder: Path, compiler: str) -> Path:
        """Write Meson's description of it into a folder."""
        path = folder / "cross.ini"
        tools = f"ar = '{self.triplet}-ar'\nstrip = '{self.triplet}-strip'\n"
        if compiler == "zig":
            tools = f"ar = {[*ZIG, 'ar']}\n"
        path.write_text(
            f"[binaries]\nc = {self.compiler(compiler, 'c')}\ncpp = {self.compiler(compiler)}\n"
            f"{tools}"
            f"[host_machine]\nsystem = 'linux'\ncpu_family = '{self.family}'\ncpu = '{self.family}'\n"
            f"endian = '{self.endian}'\n"
        )
        return path

    def emulated(self, cpu: str) -> list[str]:
        """Return the words before a program that runs on a CPU of qemu."""
        return [self.emulator, "-cpu", cpu, "-L", f"/usr/{self.triplet}"]

    def run(self, project: Project, cpu: str, program: str, **environment: str) -> str:
        """Return what a project's program says on a CPU of qemu."""
        return project.run(*self.emulated(cpu), project.path(program), check=False, **environment).stdout


# arm64: `max` has vectors of 512 bits unless it is told otherwise.
# s390x: qemu 7.2 reports no more vector instructions than those of z14, and counts `vxeh` as these.
TARGETS = {
    target.family: target
    for target in (
        Target(
            "aarch64-linux-gnu",
            "aarch64",
            "little",
            "qemu-aarch64",
            {
                "cortex-a53": "DEFAULT",
                "cortex-a76": "FP16",
                "neoverse-n1": "FP16",
                "a64fx": "SVE",
                "max": "SVE2",
                "max,sve-max-vq=2": "SVE2",
                "max,sve-max-vq=1": "SVE2",
                "max,sve=off": "BF16",
            },
        ),
        Target(
            "powerpc64le-linux-gnu",
            "ppc64",
            "little",
            "qemu-ppc64le",
            {"power8": "DEFAULT", "power9": "POWER9", "power10": "POWER10"},
        ),
        Target(
            "riscv64-linux-gnu",
            "riscv64",
            "little",
            "qemu-riscv64",
            # and no extension by riscv_hwprobe
            {"rv64": "DEFAULT", **{f"rv64,v=true,vext_spec=v1.0,vlen={size}": "V" for size in (128, 256, 512)}},
            newer=frozenset({"ZVFH"}),
            unreported=frozenset({"ZBB"}),
            linkers=["bfd"],
        ),
        Target(
            "s390x-linux-gnu",
            "s390x",
            "big",
            "qemu-s390x",
            {"max,vx=off,vxeh=off": "DEFAULT", "max,vxeh=off": "VX", "max": "VXE"},
            unreported=frozenset({"VXE2"}),
            linkers=["bfd"],
        ),
        # qemu 7.2 has neither LSX nor LASX.
        Target(
            "loongarch64-linux-musl",
            "loongarch64",
            "little",
            "qemu-loongarch64",
            {"la464-loongarch-cpu": "DEFAULT"},
            compilers=["zig"],
            # zig's own has LSX, and GCC's has not.
            baseline=["-mcpu=generic_la64+d"],
        ),
    )
}
