"""The ingredients of random projects: pieces of C and C++ for a project's header, kernels and ordinary code."""

import re
from dataclasses import dataclass
from string import Template

# What the outcome of a project with the ingredient may be: always sound; anything but broken; or anything, because the
# audit's documented assumptions exclude it.
SOUND, HOSTILE, ASSUMED = "sound", "hostile", "assumed"

# header    of the project, which all sources include
# kernel    file scope of the kernel sources that have the ingredient
# call      statements in the kernel function; they change `int x`
# ordinary  file scope of the ordinary source
# use       statements in the ordinary source, which run outside of stubs; they change `int x`
SECTIONS = ("header", "kernel", "call", "ordinary", "use")
HEADING = re.compile(r"^// ([a-z, ]+):$", re.MULTILINE)


@dataclass(frozen=True)
class Ingredient:
    """One ingredient: sections of text with $n for its number in the project, and random pieces (`generator`).

    `languages` are those of kernels that may have it, `single` says that only one kernel source may have it, and
    `kinds` are the kinds of targets that it is for.
    """

    name: str
    expected: str
    sections: dict[str, str]
    languages: tuple[str, ...] = ("cpp",)
    single: bool = False
    kinds: tuple[str, ...] = ("executable", "fixed", "library")

    def text(self, section: str, pieces: dict[str, str]) -> str:
        """Return a section with the random pieces in their places."""
        return Template(self.sections.get(section, "")).substitute(pieces)


def ingredient(name: str, expected: str, text: str, languages: str = "cpp", **more: object) -> Ingredient:
    """Return the ingredient that `text` describes: sections, each below a comment that names it, or several."""
    parts = HEADING.split(text)
    sections: dict[str, str] = {}
    for names, body in zip(parts[1::2], parts[2::2], strict=True):
        for section in names.split(", "):
            if section not in SECTIONS:
                raise ValueError(f"{name}: {section} is no section")
            sections[section] = body.strip("\n")
    return Ingredient(name, expected, sections, tuple(languages.split()), **more)  # type: ignore[arg-type]
