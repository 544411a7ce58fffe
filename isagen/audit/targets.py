"""What people point an audit at: a build folder, any other folder, an object, a library, a program, or a wheel."""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from ..binary.formats import is_binary, open_binary
from ..binary.protocol import Binary
from ..model.errors import AuditError, IsagenError
from ..model.names import CODE_SECTION, TOOL_FOLDER
from ..model.plan_file import find_plans, has_plan, read_plan
from ..model.record import Record
from ..processors.features import features_of, read_features
from ..processors.x86.instructions import InstructionSets
from .findings import Result
from .flags import COMMANDS, audit_flags
from .linked import audit_linked, merge, records_of
from .objects import Objects
from .rules import Allowances, audit_foreign, audit_object, judged

# How ELF files and archives of objects start.
ELF, ARCHIVES = b"\x7fELF", (b"!<arch>\n", b"!<thin>\n")
# Folders of a build that hold no targets: objects, and isagen's own tool.
PRIVATE_FOLDERS = (".p", TOOL_FOLDER, "meson-private", "meson-info", "meson-logs", "CMakeFiles", "__pycache__")
# Values of e_machine (System V gABI).
MACHINES = {
    3: "x86",
    20: "PowerPC",
    21: "64-bit PowerPC",
    22: "S390",
    40: "Arm",
    62: "x86-64",
    183: "AArch64",
    243: "RISC-V",
    258: "LoongArch",
}


@dataclass(frozen=True)
class Baseline:
    """What a file without a record must run on: the name of a level, and its features.

    `everywhere`: files with a record have to keep to it too, where their own baseline has more.
    """

    name: str
    features: tuple[str, ...]
    everywhere: bool = False

    def narrow(self, record: Record) -> Record:
        """Return a record by which its build is judged."""
        if not self.everywhere:
            return record
        return replace(record, baseline=tuple(name for name in record.baseline if name in self.features))

    def note(self, result: Result) -> Result:
        """Return the result of a file with a record, which says what it was judged by."""
        said = f"code outside the levels was judged by what both {self.name} and the baseline of its build have"
        return replace(result, notes=(*result.notes, said)) if self.everywhere else result


def audit_targets(targets: Sequence[Path], baseline: Baseline) -> list[Result]:
    """Audit all `targets`. What cannot be audited is among the results, with its problem, beside others that can.

    Raises `AuditError` where nothing can.
    """
    results = [result for target in targets for result in _audit(target, baseline)]
    if not any(result.decoded for result in results):
        for result in results:
            if result.problem:
                raise result.problem
        first = results[0]
        raise AuditError(first.judged.removeprefix("not audited: "), where=first.target, remedy="only x86-64 is")
    return results


def _audit(target: Path, baseline: Baseline) -> Iterator[Result]:
    try:
        if target.is_dir():
            if _is_build(target):
                yield from _build_folder(target, baseline)
            else:
                yield from _folder(target, str(target), baseline)
        elif not target.exists():
            raise AuditError(
                "there is no such file or folder",
                where=str(target),
                remedy="give a build folder, an object, a library, a program, a wheel, or a folder of them",
            )
        elif not is_binary(target) and zipfile.is_zipfile(target):  # the end of a wheel may be anywhere in a library
            with _unpacked(target) as folder:
                yield from _folder(folder, target.name, baseline)
        else:
            yield _attempt(str(target), lambda: _file(target, str(target), baseline))
    except (IsagenError, OSError) as problem:
        yield _failed(str(target), problem)


def _attempt(shown: str, audit: Callable[[], Result]) -> Result:
    """Return the result of an audit, or what went wrong with it: other files can still be audited."""
    try:
        return audit()
    except (IsagenError, OSError) as problem:
        return _failed(shown, problem)


def _failed(shown: str, problem: IsagenError | OSError) -> Result:
    if isinstance(problem, AuditError):
        error = problem
    elif isinstance(problem, IsagenError):
        error = AuditError(problem.message, where=problem.where, remedy=problem.remedy)
    else:
        error = AuditError(f"cannot be read: {problem.strerror}", where=str(problem.filename or shown))
    return Result(shown, f"not audited: {error.message}", decoded=False, problem=error)


def _is_build(folder: Path) -> bool:
    return (folder / "meson-info").is_dir() or has_plan(folder)


@contextmanager
def _unpacked(wheel: Path) -> Iterator[Path]:
    """Unpack the binaries of a wheel into a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="isagen-audit-") as folder:
        try:
            with zipfile.ZipFile(wheel) as archive:
                for entry in archive.infolist():
                    with archive.open(entry) as stream:
                        if entry.is_dir() or not stream.read(8).startswith((ELF, *ARCHIVES)):
                            continue
                    archive.extract(entry, folder)
        except Exception as problem:  # of zipfile, and of whatever unpacks and names its entries
            raise AuditError(f"cannot be unpacked: {problem}", where=str(wheel)) from None
        yield Path(folder)


def _folder(folder: Path, shown: str, baseline: Baseline) -> Iterator[Result]:
    found = False
    for path in _files(folder):
        name = f"{shown}/{path.relative_to(folder).as_posix()}"
        if is_binary(path):
            found = True
            yield _attempt(name, lambda path=path, name=name: _file(path, name, baseline))  # type: ignore[misc]
        elif _is_archive(path):
            yield Result(name, "not audited: an archive of objects; what they are linked into can be", decoded=False)
    if not found:
        raise AuditError("holds no ELF file", where=shown, remedy="give a folder or wheel with compiled code")


def _files(folder: Path, skipped: tuple[str, ...] = ()) -> Iterator[Path]:
    """Yield the files in a folder, but for those in folders whose names end in one of those `skipped`."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not skipped or not name.endswith(skipped))
        for name in sorted(names):
            path = Path(place, name)
            if path.is_file() and not path.is_symlink():
                yield path


def _is_archive(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            return stream.read(8) in ARCHIVES
    except OSError:
        return False


def _build_folder(folder: Path, baseline: Baseline) -> Iterator[Result]:
    found = False
    plans = find_plans(folder)
    for path in filter(is_binary, _files(folder, PRIVATE_FOLDERS)):
        if _other_machine(path):
            continue  # none of them holds a record
        try:
            with open_binary(path) as binary:
                if binary.relocatable or not records_of(binary):
                    continue
                found = True
                yield _linked(binary, path, plans, folder, baseline)
        except (IsagenError, OSError) as problem:
            yield _failed(str(path), problem)
    if not found:
        raise AuditError(
            "nothing that is linked here holds isagen's record",
            where=str(folder),
            remedy="build it first (ninja -C BUILD_DIR), with isa_kernels_dep among the target's dependencies",
        )


def _linked(binary: Binary, path: Path, plans: Iterable[Path], folder: Path, baseline: Baseline) -> Result:
    """Audit a linked file in a `folder` with builds, with the objects that Meson put beside it."""
    records = records_of(binary)
    texts = {record.to_json() for record in records}
    records = [baseline.narrow(record) for record in records]
    for plan_path in plans:
        build = read_plan(plan_path)
        if build.record.to_json() in texts:
            root = _build_of(plan_path) or folder
            inputs = sorted(path.with_name(path.name + ".p").glob("*.o"))
            objects = Objects(build.plan, plan_path.parent, inputs, root)
            result = audit_linked(binary, records, objects)
            flags = audit_flags(build.record, objects, root)
            notes = result.notes
            if not (root / COMMANDS).is_file():
                notes += (f"the flags of kernels were not judged: {COMMANDS} is not in {root}",)
            return baseline.note(replace(result, findings=(*result.findings, *flags), notes=notes))
    note = "its plan is not in the build folder any more, so that objects and kernels cannot be named: build it again"
    result = audit_linked(binary, records, None)
    return baseline.note(replace(result, notes=(*result.notes, note)))


def _build_of(path: Path) -> Path | None:
    """Return the build folder of Meson that a file is in, if it is in one."""
    return next((parent for parent in path.resolve().parents if (parent / "meson-info").is_dir()), None)


def _file(path: Path, shown: str, baseline: Baseline) -> Result:
    if _is_archive(path):
        raise AuditError("is an archive of objects", where=shown, remedy="audit what they are linked into")
    other = _other_machine(path)
    if other:
        return Result(shown, f"not audited: code for {other} is not decoded", decoded=False)
    with open_binary(path, shown) as binary:
        root = _build_of(path)
        plans = find_plans(root) if root is not None and has_plan(root) else []
        if binary.relocatable:
            return _object(binary, path, shown, plans, root, baseline)
        records = records_of(binary)
        if not records:
            return audit_foreign(binary, baseline.features, InstructionSets(read_features("x86")), baseline.name)
        if root is not None:
            return replace(_linked(binary, path, plans, root, baseline), target=shown)
        return baseline.note(audit_linked(binary, [baseline.narrow(record) for record in records], None))


def _other_machine(path: Path) -> str:
    """Return what an ELF file is for, if that is not x86-64."""
    try:
        with path.open("rb") as stream:
            head = stream.read(20)
    except OSError:
        return ""
    if len(head) < 20 or head[:4] != b"\x7fELF" or head[4] not in (1, 2) or head[5] not in (1, 2):
        return ""
    machine = int.from_bytes(head[18:20], "little" if head[5] == 1 else "big")
    name = MACHINES.get(machine, f"machine {machine}")
    return "" if (machine, head[4]) == (62, 2) or machine == 0 else name + (" (32-bit)" if head[4] == 1 else "")


def _object(
    binary: Binary, path: Path, shown: str, plans: Iterable[Path], root: Path | None, baseline: Baseline
) -> Result:
    """Audit an object: by its level, if it is one of a build of isagen; else by the baseline alone."""
    inside = next((s.name.removeprefix(CODE_SECTION) for s in binary.sections if s.name.startswith(CODE_SECTION)), "")
    for plan_path in plans:
        build = read_plan(plan_path)
        objects = Objects(build.plan, plan_path.parent, (), root or plan_path.parent)
        record = build.record
        narrow = baseline.narrow(record)
        level = inside or objects.level(path)
        if level in record.levels or _is_of_target(path, records=[record]):
            return baseline.note(_one_object(binary, narrow, level, shown, objects))
    records = records_of(binary)
    if records:  # the dispatch source's own
        return baseline.note(_one_object(binary, baseline.narrow(merge(records)), "", shown, None))
    return audit_foreign(binary, baseline.features, InstructionSets(read_features("x86")), baseline.name)


def _is_of_target(path: Path, records: Sequence[Record]) -> bool:
    """Return whether an object of no level is linked with kernels: into a target that has their record."""
    target = path.parent.with_name(path.parent.name.removesuffix(".p"))
    if not path.parent.name.endswith(".p") or not target.is_file() or not is_binary(target):
        return False
    with open_binary(target) as linked:
        found = {record.to_json() for record in records_of(linked)}
    return any(record.to_json() in found for record in records)


def _one_object(binary: Binary, record: Record, level: str, shown: str, objects: Objects | None) -> Result:
    allowances = Allowances(record.allow)
    kernel = objects.kernel(binary.path) if objects is not None else ""
    sets = InstructionSets(features_of(record))
    findings, counted = audit_object(binary, record, sets, level, allowances, lambda *_: (shown, kernel))
    what = f"an object of {record.project}, level {level}" if level else f"an object of {record.project}, of no level"
    return Result(shown, f"{what}; {judged(record, sets)}", tuple(findings), dict(counted), allowances.allowed())
