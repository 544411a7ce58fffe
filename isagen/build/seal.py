"""Sealing: gives the code of each level private names, and records what the objects register and contain.

One process seals all levels. After an edit, it reads only the objects that changed, and writes only the sealed objects
whose content changes. The binary format renames the symbols (for ELF, `binary.elf.sealing`). If the kernels form an
extension module, each level becomes a separate library, so no symbol is renamed: objects are copied, and the first
object of a level gets notes with the level's record and measures.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..binary.contents import Binding
from ..binary.format import AnyObject
from ..binary.formats import format_of, load_object
from ..model.files import AnyPath, content_digest, read_bytes, write_if_changed
from ..model.matrix import is_plain
from ..model.matrix_notes import pack
from ..model.names import registrations_name, stubs_name
from ..model.optimization import NARROW_CODE, PLAIN_CODE, SCALAR, reason_for_plain_code
from ..model.plan import Build
from ..model.plan_file import file_text, read_plan
from ..model.record import LEVEL_OWNER, RECORD_OWNER
from ..model.registrations import Registrations
from ..processors.decoding import Decoder
from .addresses import LevelAddresses
from .compiled import Compiled, ObjectPaths, compiled_object, objects_of_levels
from .emit import rendered_text
from .fold import Folding
from .last_run import LastRun, plan_states, state_of
from .measure import lost_code
from .registrations import announced_registrations, registered_by, registrations_of
from .stubs import check_objects, stubs_source


@dataclass(frozen=True)
class Memo:
    """What the next run reads.

    `compiled` maps paths to compiled objects. `digests` maps paths of sealed objects to digests of what they were made
    from. `needs` maps the decoder's codes of instructions to the features that they need.
    """

    compiled: dict[str, Compiled] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    needs: Mapping[int, frozenset[str]] = field(default_factory=dict)


def seal(plan_path: AnyPath, folder: AnyPath, last_run: LastRun) -> None:
    """Seal the compiled objects of all levels of a plan into `folder`.

    The registrations and the source of the stub table are written too; if levels are not sealed, only these. The sealed
    object of a copy that folds is empty. This run replaces `last_run` as the step's last run.
    """
    inputs = plan_states(Path(plan_path))
    key = content_digest(b"\0".join(map(read_bytes, inputs)))
    build = read_plan(plan_path)
    objects = objects_of_levels(build, Path(plan_path), os.fspath(folder))
    changed = last_run.changed
    # The memo is read only if the plan's files are unchanged: otherwise another version of isagen, with other
    # classes, may have written it.
    memo = pickle.loads(last_run.memo) if changed is not None and changed.isdisjoint(inputs) else Memo()
    for path in changed or ():
        memo.compiled.pop(path, None)
        memo.digests.pop(path, None)
    for path in (paths.compiled for of_level in objects.values() for paths in of_level):
        if os.path.isfile(path):  # a missing object is an error when it is read
            inputs[path] = state_of(path)
    run = _Run(build, objects, key, os.fspath(folder), memo)
    for level in objects:
        run.seal(level)
    outputs, memo = run.finish(os.fspath(plan_path))
    # The memo is pickled separately, so that a step with nothing to do imports none of its classes.
    last_run.record(outputs, pickle.dumps(memo), inputs)


class _Run:
    """One run of the step. `key` changes with the plan and with isagen. `memo` contains nothing of changed files."""

    def __init__(
        self, build: Build, objects: Mapping[str, Sequence[ObjectPaths]], key: str, folder: str, memo: Memo
    ) -> None:
        self._build = build
        self._objects = objects
        self._folder = folder
        self._stubs = os.path.join(folder, stubs_name(build.plan.kernel_set, build.dispatch_language))
        self._key = key
        self._digests: dict[str, str] = {}
        self._unchanged_outputs: set[str] = set()
        self._memo = memo
        self._needs = memo.needs
        self._compiled: dict[str, Compiled] = {}
        self._below = {level.name: level.requires for level in build.plan.levels}
        self._folding = Folding(self._below)
        self._registrations: list[Registrations] = []
        # By level: its private names that are not weak, each with the level whose sealed object defines it.
        self._owners: dict[str, dict[str, str]] = {}

    def seal(self, level: str) -> None:
        if self._build.limit.opaque:
            announcing = [(paths.compiled, paths.source) for paths in self._objects[level]]
            registrations = announced_registrations(level, announcing)
        else:
            objects = [(paths, self._object(paths.compiled, level)) for paths in self._objects[level]]
            lower = self._lower_names(level, [compiled for _, compiled in objects])
            registrations, private = self._check(level, objects, lower)
            if self._build.sealing.active:
                self._write(level, registrations, objects, private, lower)
        self._registrations.append(registrations)
        self._write_file(self._registrations_path(level), file_text(registrations))

    def _registrations_path(self, level: str) -> str:
        return os.path.join(self._folder, registrations_name(level, self._build.plan.kernel_set))

    def _object(self, path: str, level: str) -> Compiled:
        self._compiled[path] = self._memo.compiled.get(path) or compiled_object(path, level, self._needs_of)
        return self._compiled[path]

    def _needs_of(self, decoder: Decoder) -> Mapping[int, frozenset[str]]:
        if not self._needs:
            from ..processors.features import features_of

            self._needs = decoder.needs(features_of(self._build.record.features).instructions)
        return self._needs

    def _lower_names(self, level: str, objects: Sequence[Compiled]) -> dict[str, str]:
        """Return the names that a level uses and does not define, and that are private to a level that it requires.

        Each name is mapped to the level whose sealed object defines it. That is the highest such level, or,
        if the object folds at that level, the level to which it folds. Weak names are left out.
        """
        symbols = [symbol for compiled in objects for symbol in compiled.symbols]
        used = {symbol.name for symbol in symbols}.difference(symbol.name for symbol in symbols if symbol.defined)
        # A name is looked up in the highest level first; `self._below` lists the lowest first.
        owners = ChainMap(*(self._owners.get(below, {}) for below in reversed(self._below[level])))
        return {name: owners[name] for name in used if name in owners}

    def _check(
        self, level: str, objects: Sequence[tuple[ObjectPaths, Compiled]], lower: Mapping[str, str]
    ) -> tuple[Registrations, frozenset[str]]:
        """Check the objects of one level; return its registrations, and the names that sealing makes private to it."""
        plan, sealing, record = self._build.plan, self._build.sealing, self._build.record
        compiled_objects = [compiled for _, compiled in objects]
        addresses = LevelAddresses(level, compiled_objects, lower)
        registered = [(paths.source, registered_by(compiled, level, paths.is_shim)) for paths, compiled in objects]
        variables = (symbol for compiled in compiled_objects for symbol in addresses.shared_variables(compiled))
        shared = {symbol.name: symbol.initial_value for symbol in variables}
        registrations = registrations_of(level, registered, shared)
        if plan.module:
            check_objects(plan.module, registrations, compiled_objects)
            return registrations, frozenset()
        sources = [(paths.source, compiled) for paths, compiled in objects]
        is_baseline = record.needs_only_baseline(level)
        elsewhere = {paths.source for one, others in self._objects.items() if one != level for paths in others}
        for source, compiled in sources:
            addresses.check(source, compiled, registers_ordinary=is_baseline and source not in elsewhere)
        if not sealing.active:
            return registrations, frozenset()
        private = addresses.private_names()
        symbols = [symbol for compiled in compiled_objects for symbol in compiled.symbols]
        weak = frozenset(symbol.name for symbol in symbols if symbol.weak_code_or_constant)
        strong = {symbol.name for symbol in symbols if symbol.defined and symbol.binding == Binding.GLOBAL} & private
        registrations = replace(
            registrations,
            private_names=tuple(sorted(strong)),
            initialised_variables=tuple(sorted(addresses.initialised_variables)),
            public_names=tuple(sorted({symbol.name for symbol in symbols} - private - weak)),
        )
        if any(compiled.runs_at_load for compiled in compiled_objects):
            from .at_load import check_at_load

            check_at_load(self._build, level, sources, private, lower)
        if sealing.fold:
            by_source: dict[str, list[Compiled]] = {}
            for source, compiled in sources:
                by_source.setdefault(source, []).append(compiled)
            folded = self._folding.folded(registrations, by_source, private | weak, lower)
            registrations = replace(registrations, folded=folded)
        self._owners[level] = {
            symbol.name: registrations.folded.get(source, level)
            for source, compiled in sources
            for symbol in compiled.symbols
            if symbol.defined and symbol.name in strong
        }
        return registrations, private | weak

    def _write(
        self,
        level: str,
        registrations: Registrations,
        objects: Sequence[tuple[ObjectPaths, Compiled]],
        private: frozenset[str],
        lower: Mapping[str, str],
    ) -> None:
        record, number = self._build.record, self._build.sealing.project_number
        if self._build.plan.module:
            code = pack(registrations.level_code(record.project))
            notes = (LEVEL_OWNER, code), (RECORD_OWNER, record.of_module(level).to_json().encode())
            for place, (paths, compiled) in enumerate(objects):
                self._write_sealed(paths.sealed, compiled, _with_notes, () if place else notes)
            return
        private_to = {**lower, **dict.fromkeys(private, level)}
        linked = (compiled for paths, compiled in objects if paths.source not in registrations.folded)
        bounded = tuple(sorted(frozenset().union(*(compiled.bounded_sections for compiled in linked))))
        for paths, compiled in objects:
            if paths.source in registrations.folded:
                self._write_sealed(paths.sealed, compiled, _emptied)
            else:
                used = (symbol.name for symbol in compiled.symbols)
                names = {name: private_to[name] for name in used if name in private_to}
                self._write_sealed(paths.sealed, compiled, _sealed, level, number, names, bounded)

    def _write_sealed(self, path: str, compiled: Compiled, make: Callable[..., bytes], *arguments: object) -> None:
        """Write what `make` returns, unless the file was made from the same object, `make` and `arguments`."""
        inputs = self._key, compiled.content_digest, make.__name__, arguments
        digest = self._digests[path] = content_digest(repr(inputs).encode(errors="surrogateescape"))
        if self._memo.digests.get(path) == digest:
            self._unchanged_outputs.add(path)
        else:
            self._write_file(path, make(load_object(compiled.path), *arguments))

    def _write_file(self, path: str, content: bytes | str) -> None:
        if not write_if_changed(path, content):
            self._unchanged_outputs.add(path)

    def finish(self, plan_path: str) -> tuple[list[str], Memo]:
        """Write the stub table after all levels are sealed; return the paths of all outputs, and the next memo."""
        plan = self._build.plan
        all_levels = [level.name for level in plan.levels]
        template = rendered_text(plan_path, self._stubs)
        text = stubs_source(template, self._build.record.project, all_levels, self._registrations, plan.module)
        self._write_file(self._stubs, text)
        optimization, lowest = self._build.optimization, self._registrations[0].level
        codes = [[kernel.code for kernel in level.kernels.values()] for level in self._registrations]
        if is_plain(codes):
            from ..processors.baseline import baseline_origin, beyond_architecture

            baseline = baseline_origin(self._build) if beyond_architecture(self._build) else ""
            reason = reason_for_plain_code(optimization, baseline)
            print(f"isagen: note: {PLAIN_CODE.format(lowest)}: {reason}", file=sys.stderr)
        elif optimization in SCALAR and is_plain(codes, by_width=True):
            print(f"isagen: note: {NARROW_CODE.format(lowest)}: {reason_for_plain_code(optimization)}", file=sys.stderr)
        paths = {kernel.source: kernel.shown_path for kernel in plan.kernels}
        for warning in lost_code(self._registrations, self._below, paths):
            print(warning, file=sys.stderr)
        for path in self._unchanged_outputs:
            os.utime(path)
        outputs = [self._stubs, *map(self._registrations_path, self._objects), *self._digests]
        return outputs, Memo(self._compiled, self._digests, self._needs)


def _sealed(file: AnyObject, level: str, number: str, names: Mapping[str, str], bounded: Sequence[str]) -> bytes:
    return format_of(file).seal(file, level, number, names, bounded)


def _emptied(file: AnyObject) -> bytes:
    return format_of(file).emptied(file)


def _with_notes(file: AnyObject, notes: Sequence[tuple[str, bytes]]) -> bytes:
    content = read_bytes(file.path)
    for owner, text in notes:
        content = format_of(file).with_note(content, owner, text)
    return content
