"""The description of a binary format. Each format's folder contains its own as `FORMAT`."""

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
    """A binary format. `name` is the name of its folder, and `shown` its name in messages.

    `systems` are the values of host_machine.system() for the systems whose objects have this format. A compiler that
    writes such objects predefines one of the `macros`. `readers` are the classes that read the format's files: one for
    objects and one for linked files, or one for both.

    `seal` returns the sealed content of an object, in which the names of its `weak_code_and_constants` are private to
    its level. The arguments are: the object; its level; the project's number, as text; other names that become private,
    each with the level to which it becomes private; and the `bounded_sections` of the level's objects.

    `emptied` returns the content of an object that defines nothing. It replaces the sealed object of a copy that folds:
    stubs call a lower level's copy instead. `with_note` adds a note to the content of an object of a whole module
    (`isa_module`); the other arguments are the note's owner and its text. The default adds nothing: whole modules have
    levels only in ELF.

    GCC needs the options `gcc_args`: without them, its code for wide vectors is wrong. If GCC refuses the options, no
    levels are built. `links_by_script` is whether a script of isagen can be called in the linker's place, so that each
    linked file is audited.
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
