"""The targets of an audit: a build folder, any other folder, an object, a library, a program, or a wheel."""

from __future__ import annotations

import zipfile
from collections.abc import Generator, Iterator, Sequence

from ..binary.formats import format_names, is_archive, is_binary, open_binary
from ..model.errors import AuditError, IsagenError
from ..model.frozen import replace
from ..processors.registry import decoded
from .baseline import Baseline
from .builds import audit_build, audit_one_object, audit_with_plans, build_of, is_build, not_decoded, plans_of
from .built import audit_linked
from .files import WHEEL, Progress, files_in, other_format, unpacked, unseen
from .findings import Result, failed
from .foreign import audit_foreign
from .records import records_of

TYPE_CHECKING = False  # as in typing
if TYPE_CHECKING:
    from pathlib import Path


def audit_each(
    targets: Sequence[Path], baseline: Baseline, progress: Progress = unseen
) -> Generator[Result, None, None]:
    """Audit all `targets` file by file, and yield each result when it is there."""
    for target in dict.fromkeys(targets):
        for result in _Target(target, baseline, progress).audit():
            yield result if result.target == str(target) else replace(result, group=result.group or str(target))


def require_audited(results: Sequence[Result]) -> None:
    """Raise `AuditError` where no file could be audited; where there was none to audit, that is no error."""
    if any(result.decoded for result in results):
        return
    for result in results:
        if result.problem:
            raise result.problem
    first = results[0]
    message = first.judged.removeprefix("not audited: ")
    raise AuditError(message, where=first.target, remedy=f"only {format_names()} files of {decoded()} are decoded")


class _Target:
    """One target of an audit."""

    def __init__(self, target: Path, baseline: Baseline, progress: Progress) -> None:
        self._target = target
        self._baseline = baseline
        self._progress = progress

    def audit(self) -> Iterator[Result]:
        """Yield the results of its files."""
        target, shown = self._target, str(self._target)
        try:
            if target.is_dir():
                if is_build(target):
                    yield from audit_build(target, self._baseline, self._progress)
                else:
                    yield from self._folder(target, shown)
            elif not target.exists():
                raise AuditError(
                    "there is no such file or folder",
                    where=shown,
                    remedy="give a build folder, an object, a library, a program, a wheel, or a folder of them",
                )
            elif not is_binary(target) and zipfile.is_zipfile(
                target
            ):  # the end of a wheel may be anywhere in a library
                yield from self._wheel(target, target.name)
            else:
                self._progress(shown, 1, 1)
                yield self._attempt(shown, target)
        except (IsagenError, OSError) as problem:
            yield failed(shown, problem)

    def _folder(self, folder: Path, shown: str, inside: bool = False) -> Iterator[Result]:
        """Audit the files in a folder; one that is the `inside` of a wheel holds no wheels."""
        found = False
        paths = list(files_in(folder))
        for number, path in enumerate(paths, 1):
            name = f"{shown}/{path.relative_to(folder).as_posix()}"
            result = None
            if is_binary(path):
                self._progress(name, number, len(paths))
                result = self._attempt(name, path)
            elif is_archive(path):
                result = Result(
                    name, "not audited: an archive of objects; audit what they are linked into", decoded=False
                )
            elif other := other_format(path):
                result = Result(name, f"not audited: a file of the format {other}, which is not read", decoded=False)
            elif path.suffix == WHEEL and not inside:
                found = True
                for part in self._wheel_inside(path, name):
                    yield replace(part, group=name)
            if result is not None:
                found = True
                yield result
        if not found:
            yield Result(shown, "holds no machine code: nothing to audit", empty=True)

    def _wheel(self, wheel: Path, shown: str) -> Iterator[Result]:
        self._progress(shown, 0, 0)
        with unpacked(wheel) as folder:
            yield from self._folder(folder, shown, inside=True)

    def _wheel_inside(self, wheel: Path, shown: str) -> Iterator[Result]:
        """Audit a wheel in a folder; the others there can still be audited where it cannot."""
        try:
            yield from self._wheel(wheel, shown)
        except (IsagenError, OSError) as problem:
            yield failed(shown, problem)

    def _attempt(self, shown: str, path: Path) -> Result:
        """Return the result of a file's audit, or what went wrong with it: other files can still be audited."""
        try:
            return _file(path, shown, self._baseline)
        except (IsagenError, OSError) as problem:
            return failed(shown, problem)


def _file(path: Path, shown: str, baseline: Baseline) -> Result:
    if is_archive(path):
        raise AuditError("is an archive of objects", where=shown, remedy="audit what they are linked into")
    undecoded = not_decoded(path, shown)
    if undecoded:
        return undecoded
    with open_binary(path, shown) as binary:
        root = build_of(path)
        if binary.relocatable:
            return audit_one_object(binary, path, shown, root, baseline)
        records = records_of(binary)
        if not records:
            return audit_foreign(binary, baseline)
        if root is not None:
            return replace(audit_with_plans(binary, path, plans_of(root), root, baseline), target=shown)
        return baseline.note(audit_linked(binary, [baseline.narrow(record) for record in records], None))
