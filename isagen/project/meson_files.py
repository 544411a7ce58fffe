"""Searches the meson.build files of a project, as text, for the statements that concern isagen."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path, PurePosixPath

NAME = "meson.build"
FRAGMENT = re.compile(r"--fragment-format=")
KERNELS = r"\bisa_(?:kernels|sets)\s*\+?=(?!=)"
ONE_SET = r"\bisa_kernels(?:_dep)?\s*\+?=(?!=)"
SETS = r"\bisa_sets\s*\+?=(?!=)"
MODULE = r"\bisa_module\s*=(?!=)|'module'\s*:"
EXTRAS = rf"{MODULE}|\bisa_(?:generated|c_pch|cpp_pch)\s*\+?=(?!=)|'(?:generated|c_pch|cpp_pch)'\s*:"
LINKS = r"\bisa_links\s*\+?=(?!=)"
PROJECT = re.compile(r"^\s*project\s*\(", re.MULTILINE)
# A string or a comment. Strings are matched too, because a '#' in a string starts no comment.
STRING_OR_COMMENT = re.compile(r"'''.*?'''|'(?:\\.|[^'\\\n])*'|(#[^\n]*)", re.DOTALL)


class Sources:
    """The meson.build files of the project in `folder`.

    Build folders, hidden folders, subprojects and other projects are left out. Searches also leave out the folders of
    fragments.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def _all(self) -> dict[str, str]:
        """The texts of all meson.build files, those of fragments too, without comments, by path."""
        texts: dict[str, str] = {}
        for root, folders, files in os.walk(self.folder):
            if "meson-private" in folders:  # a build folder
                folders.clear()
                continue
            folders[:] = sorted(name for name in folders if name != "subprojects" and not name.startswith("."))
            if NAME in files:
                path = Path(root, NAME)
                text = without_comments(path.read_text(encoding="utf-8", errors="replace"))
                if texts and PROJECT.search(text):
                    folders.clear()
                else:
                    texts[path.relative_to(self.folder).as_posix()] = text
        return texts

    @cached_property
    def fragments(self) -> list[str]:
        """The folders that contain a fragment of isagen, relative to the project."""
        return [posixpath.dirname(name) for name, text in self._all.items() if FRAGMENT.search(text)]

    @cached_property
    def texts(self) -> dict[str, str]:
        """The texts of meson.build files outside the folders of fragments, without comments, by path."""
        of_fragments = tuple(f"{folder}/" for folder in self.fragments)
        return {name: text for name, text in self._all.items() if not name.startswith(of_fragments)}

    def find(self, pattern: str) -> str:
        """Return FILE:LINE of the first match of `pattern`, "" if there is none. A folder precedes its subfolders."""
        return next((place for place, _ in self._matches(pattern)), "")

    def _matches(self, pattern: str) -> Iterator[tuple[str, re.Match[str]]]:
        for name, text in self.texts.items():
            for match in re.finditer(pattern, text):
                line = text.count("\n", 0, match.start()) + 1
                yield f"{name}:{line}", match

    def above(self, fragment: str) -> tuple[str, str]:
        """Return the nearest meson.build above the folder `fragment`, and the folder's path from that file's folder."""
        path = PurePosixPath(fragment)
        place = next((place for place in path.parents if (self.folder / place / NAME).is_file()), PurePosixPath())
        return str(place / NAME), str(path.relative_to(place))

    def kernel_names(self) -> list[str]:
        """Return the strings in the statements that set isa_kernels or isa_sets."""
        statements = (_statement(match.string[match.end() :]) for _, match in self._matches(KERNELS))
        return [name for statement in statements for name in re.findall(r"'([^']*)'", statement)]

    def has_cpp(self) -> bool:
        """Return whether the project has the language C++."""
        return bool(self.find(r"\b(project|add_languages)\s*\([^)]*'cpp'"))

    def place_of_subdir(self, folder: str) -> str:
        """Return FILE:LINE where subdir() enters `folder`, a path from the project's root; "" if nowhere."""
        for place, match in self._matches(r"\bsubdir\(\s*'([^']*)'"):
            if posixpath.normpath(posixpath.join(posixpath.dirname(place), match[1])) == folder:
                return place
        return ""


def _statement(text: str) -> str:
    """Return the statement at the start of Meson code: it goes up to the first end of a line outside of brackets."""
    depth = 0
    for match in re.finditer(r"'[^']*'|[(\[{]|[)\]}]|\n", text):
        depth += (match[0] in "([{") - (match[0] in ")]}")
        if match[0] == "\n" and not depth:
            return text[: match.start()]
    return text


def without_comments(text: str) -> str:
    """Return Meson code without its comments."""
    return STRING_OR_COMMENT.sub(lambda match: "" if match[1] is not None else match[0], text)
