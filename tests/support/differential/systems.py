"""Windows and macOS: how random projects are built for them, and how the tracer runs what was built."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from support.macho_loader import words as loader_of_macho
from support.platforms import MACOS, WINDOWS, Platform, surroundings
from support.projects import need

from .images import NM, SLIDE


@dataclass(frozen=True)
class System:
    """A system other than Linux: the arguments of links of each kind, and those that are `replaced` (`Choices`).

    `last` is the source of an object that ends a link's code.
    """

    platform: Platform
    links: Mapping[str, Sequence[str]]
    suffixes: Mapping[str, str] = field(default_factory=lambda: {"program": "", "library": ".dylib"})
    replaced: Mapping[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict)
    last: str = ""

    def require(self) -> None:
        """Skip the test where something is missing."""
        self.platform.require()
        need(NM[self.platform.system])

    def environment(self) -> dict[str, str]:
        """What compilers and programs need."""
        return surroundings() if self.platform.system == "windows" else {"MACHO_SLIDE": f"{SLIDE:x}"}

    def words(self, program: Path) -> list[str]:
        """Return the words that run a program, or a library of macOS."""
        if self.platform.system == "windows":
            return [str(shutil.which("wine")), str(program)]
        calls = ["int:project_main()"] if program.suffix else []
        return [*loader_of_macho(self.platform.cpu_family), str(program), *calls]


# The address of an image is the one in its file, GCC's libraries are not where wine looks for DLLs, and kernels may be
# compiled with -fstack-protector-all.
MINGW = ("-static", "-Wl,--disable-dynamicbase", "-fstack-protector")
# Of the last functions, if they unwind in the same way, zig's linker sums the sizes without the padding between: what
# the last bytes throw is caught by nobody. This one unwinds in a way of its own.
LAST = """\
__attribute__((used)) void unwound_in_another_way(void (*call)(volatile char *))
{
  volatile char room[1000];
  call(room);
}
"""
SYSTEMS = {
    "windows": System(
        WINDOWS["mingw"],
        {"executable": MINGW, "library": ("-shared", *MINGW)},
        {"program": ".exe", "library": ".dll"},
        {
            ("--gc-sections",): ("-Wl,--gc-sections",),
            ("-z", "now"): (),
            ("-O1",): ("-Wl,-O1",),
            ("--emit-relocs",): (),
            ("-fno-asynchronous-unwind-tables",): (),  # GCC unwinds by setjmp then, which its libraries lack
        },
    ),
    "macos": System(
        MACOS["x86_64"],
        {"executable": (), "library": ("-shared",)},
        replaced={
            ("--gc-sections",): ("-Wl,-dead_strip",),
            ("-z", "now"): (),
            ("-O1",): (),
            ("--emit-relocs",): (),
        },
        last=LAST,
    ),
}
