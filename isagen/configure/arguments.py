"""The arguments of `isagen configure`, read as the Meson fragment writes them: each is --NAME=VALUE.

argparse would take longer to load than all else of the arguments takes, and for each of some thousand kernels again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

# Options that describe a compiler. Each follows its --language, so their order matters.
COMPILER_WORDS = frozenset(("language", "id", "version", "syntax", "linker", "command", "arg", "link-arg"))
# Options that name a kernel: of this set in the project or generated, and of another set.
KERNEL_WORDS = frozenset(("kernel", "generated", "elsewhere"))
# The options that every fragment has.
PATHS = ("config", "source-root", "project-root", "build-root", "output", "depfile", "depfile-target")
REQUIRED = (*PATHS, "cpu-family", "system", "optimization")
# The others, with their defaults and, where only some values are known, these.
DEFAULTS = {
    "lto": "false",
    "levels": "",
    "require": "",
    "name": "project",
    "label": "",
    "set": "",
    "sets": "",
    "module": "",
    "link-objects": "false",
    "editor": "none",
    "fragment-format": "0",
    "probe-cache": "true",
    "seal": "true",
    "audit": "error",
}
CHOICES: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(("lto", "probe-cache", "seal", "link-objects"), ("true", "false")),
    "audit": ("error", "warn", "off", "unreached"),
}


@dataclass(frozen=True)
class Arguments:
    """The values of options by name, and those of options that describe kernels and compilers, in their order.

    `strange` are words that no option of this version takes.
    """

    values: Mapping[str, str]
    kernels: Sequence[tuple[str, str]]
    compilers: Sequence[tuple[str, str]]
    strange: Sequence[str]

    @property
    def complete(self) -> bool:
        """Whether all is there that a fragment says, with values that are known."""
        given = all(name in self.values for name in REQUIRED)
        return given and all(self.values[name] in known for name, known in CHOICES.items())

    @property
    def format(self) -> int:
        """The version of the fragment; 0 where it says none."""
        said = self.values["fragment-format"]
        return int(said) if said.isdecimal() else 0

    def path(self, name: str) -> Path:
        """Return the value of an option that is a path."""
        return Path(self.values[name])

    def on(self, name: str) -> bool:
        """Return whether the value of an option is ``true``."""
        return self.values[name] == "true"


def read_arguments(words: Iterable[str]) -> Arguments:
    """Read the `words` after the command's name."""
    values, strange = dict(DEFAULTS), []
    kernels: list[tuple[str, str]] = []
    compilers: list[tuple[str, str]] = []
    for word in words:
        option, equals, value = word.partition("=")
        name = option.removeprefix("--")
        if name in KERNEL_WORDS:
            kernels.append((name, value))
        elif name in COMPILER_WORDS and (compilers or name == "language"):
            compilers.append((name, value))
        elif equals and (name in DEFAULTS or name in REQUIRED):
            values[name] = value
        else:
            strange.append(word)
    return Arguments(values, kernels, compilers, strange)
