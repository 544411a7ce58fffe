"""Defines the description of a binary format. Each format's folder contains one, `FORMAT`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from ..model.files import AnyPath
from .object_file import ObjectFile
from .reader import Binary

AnyObject = ObjectFile[Any]


@dataclass(frozen=True)
class Format:
    """A binary format: the `name` of its folder, and its name in messages, `shown`.

    `systems` are the values of host_machine.system() for the systems whose objects have this format. A compiler that
    writes such objects predefines one of the `macros`. `readers` are the classes that read its files, such as objects
    and linked files. `emptied` returns an object that defines nothing, to replace the sealed object of a file.
    `with_note` returns an object's content with one more note of an owner and a text, which whole modules need.

    `seal` returns the sealed content of an object, in which the names of its `weak_code_and_constants` are private to
    its level. The arguments are the object, its level, a number that no other project has, other names that become
    private, each with the level to which it becomes private, and the sections to whose start or end other objects of
    the level refer.

    Without the options `gcc_args`, GCC's code is wrong; if GCC refuses one of them, no levels are built.
    `links_by_script` is whether a script can take the linker's place, and audit each link.
    """

    name: str
    shown: str
    systems: tuple[str, ...]
    object_suffixes: tuple[str, ...]
    archive_suffixes: tuple[str, ...]
    macros: tuple[str, ...]
    readers: tuple[type[Binary], ...]
    load_object: Callable[[AnyPath], AnyObject]
    seal: Callable[[Any, str, str, Mapping[str, str], Collection[str]], bytes]
    emptied: Callable[[Any], bytes]
    gcc_args: tuple[str, ...] = ()
    links_by_script: bool = False
    with_note: Callable[[bytes, str, bytes], bytes] = lambda content, owner, text: content
