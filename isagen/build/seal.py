"""Sealing: makes the code of each level private to it, and records what its objects register and contain.

Where the kernels are a whole extension module, each level is a library of its own: its objects are only copied, and the
first of them gets the ELF notes.

How an object is sealed is its format's business: `binary.elf.sealing`. One process seals all levels. After an edit it
reads the objects that changed, and writes those whose sealed content changes.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..binary.protocol import Binding
from ..model.files import AnyPath
from ..model.matrix import is_plain
from ..model.matrix_notes import pack
from ..model.names import stubs_name
from ..model.optimization import UNUSED, reason_for_plain_code
from ..model.plan_file import registrations_text
from ..model.record import LEVEL_OWNER, NOTE_OWNER
from ..model.registrations import Registrations
from ..processors.features import features_of
from .addresses import LevelAddresses
from .at_load import check_at_load
from .compiled import Compiled, compiled_object
from .fold import Folding
from .last_run import LastRun, State, plan_files, state_of
from .measure import Codes, Measure
from .modules import check_objects
from .outputs import Outputs, Sealed
from .registrations import announced, registrations_of, said
from .sealing_work import LevelWork, Work, work_of
from .stubs import stubs_source
from .texts import text_for


@dataclass
class Memo:
    """What a run leaves for the next one: by path, what it read in each object and a digest of each output's inputs;
    and the measured code."""

    compiled: dict[str, Compiled] = field(default_factory=dict)
    made: dict[str, bytes] = field(default_factory=dict)
    codes: Codes = field(default_factory=dict)


def seal(plan_path: AnyPath, folder: AnyPath, last_run: LastRun | None = None) -> None:
    """Seal the compiled objects of all levels of a plan into `folder`, and write there the stubs that they register.

    A copy that folds gets an object without code. If the plan does not seal, only the registrations and the table of
    stubs are written. Objects that isagen does not read stay as they are. `last_run` is the record of the last run;
    this run updates it.
    """
    states = {str(path): state_of(path) for path in plan_files(Path(plan_path)) if path.is_file()}
    work = work_of(Path(plan_path), os.fspath(folder), states)
    changed = last_run.changed() if last_run is not None else None
    # Another version of isagen, whose memo may have another form, writes other plan files.
    memo_is_valid = changed is not None and changed.isdisjoint(states)
    memo = pickle.loads(last_run.noted) if last_run is not None and memo_is_valid else Memo()
    for path in (item.path for level in work.levels for item in level.items):
        if os.path.isfile(path):  # `compiled_object` reports one that is missing
            states[path] = state_of(path)
    run = _Run(work, os.fspath(folder), memo, changed or set())
    for level in work.levels:
        run.seal(level)
    outputs = run.finish(os.fspath(plan_path))
    if last_run is not None:
        run.note(last_run, states, outputs)


class _Run:
    """One run of the step; `memo` is what the last one noted, and `changed` the files that changed since."""

    def __init__(self, work: Work, folder: str, memo: Memo, changed: set[str]) -> None:
        self._work = work
        self._build = build = work.build
        self._stubs = os.path.join(folder, stubs_name(build.plan.kernel_set, build.dispatch_language))
        self._outputs = Outputs(work, memo.made, changed)
        self._measure = Measure(lambda: features_of(build.record.features), memo.codes)
        self._cached = {path: one for path, one in memo.compiled.items() if path not in changed}
        self._compiled: dict[str, Compiled] = {}
        self._folding = Folding({level.name: level.below for level in work.levels})
        self._registrations: list[Registrations] = []

    def seal(self, level: LevelWork) -> None:
        """Seal one level, and write what it registers."""
        if self._build.limit.opaque:
            registered = announced(level.name, [(item.path, item.source) for item in level.items])
        else:
            files = [self._object(item.path, level.name) for item in level.items]
            registered, private = self._checked(level, files)
            if self._build.sealing.usable:
                for one in self._sealed(level, registered, files, private):
                    self._outputs.write(one)
        self._registrations.append(registered)
        self._outputs.write_text(level.registrations, registrations_text(registered))

    def _object(self, path: str, level: str) -> Compiled:
        self._compiled[path] = self._cached.get(path) or compiled_object(path, level, self._measure)
        return self._compiled[path]

    def _checked(self, level: LevelWork, files: Sequence[Compiled]) -> tuple[Registrations, frozenset[str]]:
        """Check the objects of one level; return what they register, and the names that no other level may use.

        Weak constants without addresses of code are not among them: sealing makes these private in each object.
        """
        plan, sealing = self._build.plan, self._build.sealing
        items = list(zip(level.items, files, strict=True))
        addresses = LevelAddresses(level.name, files)
        registered = registrations_of(
            level.name, [said(item.source, file, level.name, addresses, item.shim) for item, file in items]
        )
        if plan.module:
            check_objects(plan.module, registered, files)
            return registered, frozenset()
        for item, file in items:
            addresses.check(item.source, file)
        if not sealing.usable:
            return registered, frozenset()
        private = addresses.private_names()
        every = [symbol for file in files for symbol in file.symbols]
        merged = frozenset(symbol.name for symbol in every if symbol.merged)
        own = {one.name for one in every if one.defined and one.binding == Binding.GLOBAL}
        registered = replace(
            registered,
            private_names=tuple(sorted(own & private)),
            initialised_variables=tuple(sorted(addresses.initialised)),
            public_names=tuple(sorted({one.name for one in every} - private - merged)),
        )
        sources = [(item.source, file) for item, file in items]
        check_at_load(self._build.record, self._build.link_audit.mode, level.name, sources, private)
        if sealing.fold:
            objects: dict[str, list[Compiled]] = {}
            for source, file in sources:
                objects.setdefault(source, []).append(file)
            registered = replace(registered, folded=self._folding.folded(registered, objects, private | merged))
        return registered, private

    def _sealed(
        self, level: LevelWork, registered: Registrations, files: Sequence[Compiled], private: frozenset[str]
    ) -> Iterator[Sealed]:
        """Yield the sealed objects of a level. Of a whole module, only the first contains the notes."""
        record = self._build.record
        if self._build.plan.module:
            code = pack(registered.level_code(record.project))
            notes = (LEVEL_OWNER, code), (NOTE_OWNER, record.of_module(level.name).to_json().encode())
            for number, (item, file) in enumerate(zip(level.items, files, strict=True)):
                yield Sealed(item.sealed, file, level.name, notes=() if number else notes, whole=True)
            return
        linked = [file for item, file in zip(level.items, files, strict=True) if item.source not in registered.folded]
        names = private.union(symbol.name for file in linked for symbol in file.symbols if symbol.merged)
        bounded = tuple(sorted(frozenset().union(*(file.looks_for for file in linked))))
        for item, file in zip(level.items, files, strict=True):
            if item.source in registered.folded:
                yield Sealed(item.sealed, file, level.name, emptied=True)
            else:
                own = tuple(symbol.name for symbol in file.symbols if symbol.name in names)
                yield Sealed(item.sealed, file, level.name, own, bounded)

    def finish(self, plan_path: str) -> list[str]:
        """Write the table of stubs, after all levels are sealed, and return the paths of all outputs. Raises
        `BuildError` where a stub is incomplete.
        """
        plan, levels = self._build.plan, self._work.levels
        every_level = [level.name for level in plan.levels]
        text = text_for(plan_path, self._stubs)
        table = stubs_source(text, self._build.record.project, every_level, self._registrations, plan.module)
        self._outputs.write_text(self._stubs, table)
        self._note_unused_levels()
        outputs = [self._stubs, *(level.registrations for level in levels), *self._outputs.made]
        self._outputs.refresh(outputs)
        return outputs

    def _note_unused_levels(self) -> None:
        """Say so where no kernel uses an instruction that the lowest level lacks."""
        if is_plain([one.code for one in level.kernels.values()] for level in self._registrations):
            reason = reason_for_plain_code(self._build.optimization)
            print(f"isagen: note: {UNUSED.format(self._registrations[0].level)}: {reason}", file=sys.stderr)

    def note(self, last_run: LastRun, states: Mapping[str, State], outputs: Sequence[str]) -> None:
        """Record what this run read, in these `states`, and what it wrote."""
        memo: Any = pickle.dumps(Memo(self._compiled, self._outputs.made, self._measure.codes))
        last_run.note(outputs, memo, states, outputs)
