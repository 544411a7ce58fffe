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
    writes such objects predefines one of the `macros`. `readers` are the classes that read the format's files: one for
    objects and one for linked files, or one for both. `emptied` returns an object that defines nothing: the sealed
    object of a copy whose level calls a lower level's copy instead. `with_note` returns the content of an object to
    which a note of an owner and a text is added. The objects of whole modules get notes. The `with_note` of a format
    whose whole modules have no levels returns the content unchanged.

    `seal` returns the sealed content of an object, in which the names of its `weak_code_and_constants` are private to
    its level. The arguments are: the object; its level; a number that no other project has; other names that become
    private, each with the level to which it becomes private; and the sections to whose start or end other objects of
    the level refer.

    Without the options `gcc_args`, GCC's code for the levels is wrong; if GCC refuses them, no levels are built.
    `links_by_script` is whether isagen's script can take the place of the linker, to audit each file that it links.
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
