"""Sealing the levels: the objects of each become private to it, and what they register and hold is written down.

The objects of a whole module stay as they are, but for the notes: each level is a library of its own.

How an object is sealed is its format's business: `binary.elf.sealing`. One process seals all levels: starting Python
takes longer than sealing a level of a common project. After an edit it reads the objects that changed, and writes those
whose sealed content changes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..binary.bounded import bounded_sections
from ..binary.protocol import Binding, ObjectFile
from ..model.files import AnyPath
from ..model.kept import State, state_of
from ..model.names import KERNEL_SYMBOL
from ..model.registrations import Registrations
from ..processors.features import Features
from .addresses import LevelAddresses
from .at_load import check_at_load
from .carriers import LEVEL_OWNER, RECORD_OWNER, LevelNotes, Sealed
from .done import Record
from .fold import Folding
from .known_objects import KnownObject, KnownObjects, Loaded, kept_path
from .level_code import compact, level_note
from .link_script import linker_script
from .measure import Measure
from .outputs import Outputs
from .registrations import announced, registrations_of, said
from .sealing_work import LevelWork, Work, plain, work_from, work_of
from .stubs import module_source, stubs_source


def seal(
    plan_path: AnyPath,
    folder: AnyPath,
    objects: Sequence[AnyPath] | None,
    record: Record | None = None,
    script: str = "",
) -> None:
    """Seal the `objects` of all levels of a plan into `folder`, and write there the stubs that they register.

    Where no objects are given, they are those that Meson compiled in the build folder of the plan.

    Copies that fold leave an object without code in their place. Without sealing, only what they register is written.
    Objects that isagen does not read stay as they are. The `record` tells what the last run read and wrote, and then
    what this one did. A linker `script` lists the sealed objects for Meson, where there are thousands.
    """
    changed = record.changed() if record is not None else None
    noted: Mapping[str, Any] = (record.noted or {}) if record is not None and changed is not None else {}
    states: dict[str, State] = dict(record.states) if record is not None and changed is not None else {}
    if noted and changed is not None and changed.isdisjoint(noted["work"]["planned"]):
        work = work_from(noted["work"])
    else:
        work, planned = _read_work(plan_path, folder, objects)
        states |= planned
    run = _Run(work, noted, changed, states)
    for level in work.levels:
        run.seal(level)
    declared = run.finish(script)
    if record is not None:
        run.note(record, declared)


def _read_work(plan_path: AnyPath, folder: AnyPath, objects: Sequence[AnyPath] | None) -> tuple[Work, dict[str, State]]:
    """Return the work of a plan, and the states of the plan's files from before they were read."""
    from pathlib import Path

    from .done import plan_files

    planned = {str(path): state_of(path) for path in plan_files(Path(plan_path)) if path.is_file()}
    given = [os.fspath(path) for path in objects] if objects is not None else None
    return work_of(Path(plan_path), os.fspath(folder), planned, given), planned


class _Run:
    """One run of the step; `noted` is what the last one noted, and `states` those of files before they are read."""

    def __init__(
        self, work: Work, noted: Mapping[str, Any], changed: set[str] | None, states: dict[str, State]
    ) -> None:
        self._work = work
        self._changed = changed
        self._states = states
        same = noted.get("work", {}).get("key") == work.key  # of one plan, and one isagen
        self._registered: Mapping[str, Any] = noted["registered"] if same else {}
        self._outputs = Outputs(work, noted.get("outputs", {}), changed)
        self._measure = Measure(self._features, dict(noted["codes"]) if same else {})
        self._folding = Folding({level.name: level.below for level in work.levels})
        self._notes = LevelNotes()
        self._codes: dict[str, dict[str, str]] = {}
        self._found: list[Registrations] = []
        self._module_notes: dict[str, bytes] = {}
        self._now_registered: dict[str, Any] = {}
        self._loaded = Loaded()

    def _features(self) -> Features:
        from ..processors.features import features_of

        return features_of(self._work.features)

    def seal(self, level: LevelWork) -> None:
        """Seal one level, and write what it registers; the object that carries its note comes later."""
        for path, _, _, _ in level.items:
            if path not in self._states:
                self._states[path] = _state_of(path)
        if self._work.opaque:
            registered = announced(level.name, [(path, source) for path, source, _, _ in level.items])
            self._write_registered(level, registered)
            return
        known = KnownObjects(kept_path(level.registrations), self._work.key, self._loaded)
        files = known.load([path for path, _, _, _ in level.items], self._states)
        registered, private = self._checked(level, files)
        if self._work.sealed:
            for one in self._sealed(level, registered, files, private):
                self._outputs.write(one)
        known.keep()
        self._write_registered(level, registered)

    def _checked(self, level: LevelWork, files: Sequence[KnownObject]) -> tuple[Registrations, frozenset[str]]:
        """Check the objects of one level; return what they register, and the names that no other level may use.

        Names that a linker would merge are not among them.
        """
        sources = [source for _, source, _, _ in level.items]
        addresses = LevelAddresses(level.name, files)
        registered = registrations_of(
            level.name, [said(source, file, level.name, addresses) for source, file in zip(sources, files, strict=True)]
        )
        if self._work.module:
            from .modules import check_objects

            check_objects(self._work.module, registered, _by_source(level, files))
            return registered, frozenset()
        for source, file in zip(sources, files, strict=True):
            addresses.check(source, file)
        private = addresses.private_names() if self._work.sealed else frozenset()
        merged = frozenset(symbol.name for file in files for symbol in file.private_symbols)
        if self._work.sealed:
            every = [symbol for file in files for symbol in file.symbols]
            own = {one.name for one in every if one.defined and one.binding == Binding.GLOBAL}
            registered = replace(
                registered,
                private=tuple(sorted(own & private)),
                initialised=tuple(sorted(addresses.initialised)),
                known=tuple(sorted({one.name for one in every} - private - merged)),
            )
            items = list(zip(sources, files, strict=True))
            check_at_load(self._work.record, self._work.audit, level.name, items, private)
        if self._work.sealed and self._work.fold:
            objects: dict[str, list[ObjectFile]] = {}
            for source, file in zip(sources, files, strict=True):
                objects.setdefault(source, []).append(file)
            registered = replace(registered, folded=self._folding.folded(registered, objects, private | merged))
        return registered, private

    def _sealed(
        self, level: LevelWork, registered: Registrations, files: Sequence[KnownObject], private: frozenset[str]
    ) -> Iterator[Sealed]:
        """Yield the sealed objects of a level, but for one that carries a note."""
        note = self._note(level, registered, files)
        if self._work.module:
            self._module_notes[level.name] = note
            notes = ((LEVEL_OWNER, note), (RECORD_OWNER, level.record.encode()))
            for number, (item, file) in enumerate(zip(level.items, files, strict=True)):
                yield Sealed(item[2], file, level.name, notes=() if number else notes, whole=True)
            return
        kept = [file for item, file in zip(level.items, files, strict=True) if item[1] not in registered.folded]
        names = private.union(symbol.name for file in kept for symbol in file.private_symbols)
        bounded = tuple(sorted(bounded_sections(symbol for file in kept for symbol in file.symbols)))
        sealed = []
        for (_, source, path, _), file in zip(level.items, files, strict=True):
            if source in registered.folded:
                sealed.append((source, Sealed(path, file, level.name, emptied=True)))
            else:
                own = tuple(symbol.name for symbol in file.symbols if symbol.name in names)
                sealed.append((source, Sealed(path, file, level.name, own, bounded)))
        carrier = self._notes.carry(registered, note, dict(sealed))
        yield from (one for _, one in sealed if one is not carrier)

    def _note(self, level: LevelWork, registered: Registrations, files: Sequence[KnownObject]) -> bytes:
        """Return the note of what the objects of a level hold; what is folded has the code of the lower level."""
        mark = KERNEL_SYMBOL.format(level=level.name)
        codes = self._codes[level.name] = {}
        for source, file in _by_source(level, files).items():
            folded = registered.folded.get(source)
            if folded is None:
                codes[source] = file.measured(mark, lambda one: compact(self._measure.code(one, mark)))
            else:
                codes[source] = self._codes[folded][source]
        return level_note(self._work.project, registered, codes)

    def _write_registered(self, level: LevelWork, registered: Registrations) -> None:
        """Write what a level registers, if it is not what the last run wrote."""
        path = level.registrations
        kernels = {source: (found.registers, found.without) for source, found in registered.kernels.items()}
        names = registered.private, registered.initialised, registered.known
        known = kernels, dict(registered.shared), dict(registered.folded), names
        self._found.append(registered)
        self._now_registered[path] = known
        if self._changed is None or path in self._changed or self._registered.get(path) != known:
            from ..model.plan_file import registrations_text

            self._outputs.write_text(path, registrations_text(registered))
        else:
            self._outputs.keep(path)

    def finish(self, script: str) -> list[str]:
        """Write the objects that carry notes, and the table of stubs, when all levels are sealed.

        Return the files of this run that ninja knows: a linker `script`, if there is one, takes the place of objects.
        Raises `BuildError` where a stub is incomplete.
        """
        work = self._work
        for one in self._notes.carriers():
            self._outputs.write(one)
        if work.module:
            text = module_source(work.stubs_text, work.module, work.every_level, self._module_notes)
            self._outputs.write_text(work.stubs, text)
        else:
            self._outputs.write_text(work.stubs, stubs_source(work.stubs_text, work.every_level, self._found))
        if script:
            self._outputs.write_text(script, linker_script(item[2] for level in work.levels for item in level.items))
        declared = [work.stubs, *self._now_registered, *([script] if script else self._outputs.made)]
        self._outputs.refresh(declared)
        return declared

    def note(self, record: Record, declared: Sequence[str]) -> None:
        """Record what this run read, wrote, and left as it was."""
        noted = {
            "work": plain(self._work),
            "outputs": self._outputs.made,
            "registered": self._now_registered,
            "codes": self._measure.codes,
        }
        read = {*self._work.planned, *(item[0] for level in self._work.levels for item in level.items)}
        states = {path: state for path, state in self._states.items() if path in read}
        record.note({*read, *declared, *self._outputs.made} - states.keys(), noted, states, declared)


def _by_source(level: LevelWork, files: Sequence[KnownObject]) -> dict[str, KnownObject]:
    """Return the object of each kernel source; shims, which hold no code, are left out."""
    return {item[1]: file for item, file in zip(level.items, files, strict=True) if not item[3]}


def _state_of(path: str) -> State:
    """Return the state of an object; of one that is missing, any, because it cannot be loaded."""
    try:
        return state_of(path)
    except OSError:
        return 0, 0, 0, 0
