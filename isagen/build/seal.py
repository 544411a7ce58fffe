"""Sealing the levels: the objects of each become private to it, and what they register and hold is noted.

The objects of a whole module stay as they are, but for the notes: each level is a library of its own.

How an object is sealed is its format's business: `binary.elf.sealing`. One process seals all levels: starting Python
takes longer than sealing a level of a common project.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ..binary.formats import emptied_object, load_object, seal_objects
from ..binary.protocol import ObjectFile
from ..model.files import write_if_changed
from ..model.frozen import replace
from ..model.matrix import LevelCode
from ..model.matrix_notes import pack
from ..model.names import copy_of_object, registrations_name, sealed_name
from ..model.plan import Build
from ..model.plan_file import outputs_folder, read_plan, registrations_text
from ..model.registrations import Registrations
from ..processors.features import features_of
from .addresses import LevelAddresses
from .announced import announced_by_kernel
from .carriers import LevelNotes, Sealed
from .done import Record, plan_files, state_of
from .fold import Folding
from .measure import Measure, level_code
from .modules import check_objects, with_notes
from .registrations import code_by_source, compiled_objects, objects_of_level, registered_by_kernel, sources_of


def seal(plan_path: Path, folder: Path, objects: Sequence[Path] | None, record: Record | None = None) -> None:
    """Seal the `objects` of all levels of a plan into `folder`, and write there what each level registers.

    Where no objects are given, they are those that Meson compiled in the build folder of the plan.

    Copies that fold leave an object without code in their place. Without sealing, only the registrations are written.
    Objects that isagen does not read stay as they are. The `record` tells the next run of the step what this one read
    and wrote.
    """
    planned = {str(path): state_of(path) for path in plan_files(plan_path) if path.is_file()}
    build = read_plan(plan_path)
    sealing = _Sealing(build, folder)
    files: list[Path] = []
    for level in build.plan.built_levels():
        if objects is None:
            compiled = compiled_objects(build.plan, level, outputs_folder(plan_path.parent))
        else:
            compiled = objects_of_level(build.plan, level, objects)
        registrations = folder / registrations_name(level, build.plan.kernel_set)
        if build.limit.opaque:
            registered = announced_by_kernel(build.plan, level, compiled)
        else:
            registered, sealed = sealing.of(level, [load_object(path) for path in compiled])
            for one in sealed:
                write_if_changed(one.path, one.content)
                files.append(one.path)
        write_if_changed(registrations, registrations_text(registered))
        files += [*compiled, registrations]
    for one in sealing.with_notes():
        write_if_changed(one.path, one.content)
        files.append(one.path)
    if record is not None:
        record.note(files, read=planned)


class _Sealing:
    """Seals the levels of a build, which are given lowest first."""

    def __init__(self, build: Build, folder: Path) -> None:
        self._build = build
        self._folder = folder
        self._folding = Folding(build.plan)
        self._codes: dict[str, LevelCode] = {}
        self._notes = LevelNotes()
        self._measure = Measure(features_of(build.record))

    def of(self, level: str, files: Sequence[ObjectFile]) -> tuple[Registrations, Sequence[Sealed]]:
        """Check the objects of one level; return what they register, and those that are sealed, if any is.

        The object that carries the level's note comes later.
        """
        plan, sealing = self._build.plan, self._build.sealing
        registered = registered_by_kernel(plan, level, files)
        sources = sources_of(plan, level, files)
        by_source = code_by_source(plan, level, files)
        addresses = LevelAddresses(level, files)
        if plan.module:
            check_objects(plan, registered, by_source)
        else:
            for source, file in zip(sources, files, strict=True):
                addresses.check(source, file)
        if not sealing.usable:
            return registered, ()
        private = addresses.private_names()
        if sealing.fold:
            objects: dict[str, list[ObjectFile]] = {}
            for source, file in zip(sources, files, strict=True):
                objects.setdefault(source, []).append(file)
            merged = {symbol.name for file in files for symbol in file.private_symbols}
            registered = replace(registered, folded=self._folding.folded(registered, objects, private | merged))
        self._codes[level] = level_code(self._build.record.project, registered, by_source, self._codes, self._measure)
        held = pack(self._codes[level])
        if plan.module:
            return registered, self._sealed(level, files, with_notes(self._build, level, files, held))
        kept = [file for source, file in zip(sources, files, strict=True) if source not in registered.folded]
        own = iter(seal_objects(kept, level, sealing.mark, private))
        contents = [
            emptied_object(file) if source in registered.folded else next(own)
            for source, file in zip(sources, files, strict=True)
        ]
        sealed = self._sealed(level, files, contents)
        carrier = self._notes.carry(registered, held, dict(zip(sources, sealed, strict=True)))
        return registered, [one for one in sealed if one is not carrier]

    def _sealed(self, level: str, files: Sequence[ObjectFile], contents: Iterable[bytes]) -> list[Sealed]:
        return [
            Sealed(self._folder / sealed_name(copy_of_object(file.path.name), level), content, file)
            for file, content in zip(files, contents, strict=True)
        ]

    def with_notes(self) -> Iterator[Sealed]:
        """Yield the objects that carry notes, when all levels are sealed."""
        return self._notes.carriers()
