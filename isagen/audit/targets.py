"""Auditing the targets of a command: build folders, files, wheels, and folders of them."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from ..binary.formats import format_names, is_archive, is_binary, open_binary
from ..model.errors import AuditError, IsagenError
from ..processors.registry import decoded
from .builds import audit_build, audit_one_object, audit_with_plans, build_of, is_build, not_decoded, plans_of
from .built import audit_linked
from .files import WHEEL, Progress, digest_of, files_in, other_format, unpacked, unseen
from .findings import Result, failed
from .foreign import audit_foreign
from .records import Baseline, records_of


def audit_each(
    targets: Sequence[Path], baseline: Baseline, progress: Progress = unseen
) -> Generator[Result, None, None]:
    """Audit all `targets` file by file, and yield each result when it is there."""
    audit = _Audit(baseline, progress)
    for target in dict.fromkeys(targets):
        shown = str(target)
        for result in _or_failed(shown, partial(audit.target, target)):
            yield result if result.target == shown else replace(result, group=result.group or shown)


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


def _or_failed(shown: str, audit: Callable[[], Iterable[Result]]) -> Iterator[Result]:
    """Yield the results of an audit, or its error, after which other files can still be audited."""
    try:
        yield from audit()
    except (IsagenError, OSError) as problem:
        yield failed(shown, problem)


@dataclass(frozen=True)
class _Audit:
    """An audit of several targets."""

    baseline: Baseline
    progress: Progress

    def target(self, target: Path) -> Iterator[Result]:
        """Yield the results of a target's files."""
        shown = str(target)
        if not target.exists():
            raise AuditError(
                "there is no such file or folder",
                where=shown,
                remedy="give a build folder, an object, a library, a program, a wheel, or a folder of them",
            )
        if target.is_dir():
            is_built = is_build(target)
            yield from audit_build(target, self.baseline, self.progress) if is_built else self._folder(target, shown)
        elif not target.is_file():
            raise AuditError("is no regular file", where=shown, remedy="give the file that holds the code")
        elif not is_binary(target) and (target.suffix == WHEEL or zipfile.is_zipfile(target)):
            # The end-of-archive record of a wheel may be in any library.
            yield from self._wheel(target, target.name)
        else:
            self.progress(shown, 1, 1)
            yield self._file(target, shown)

    def _wheel(self, wheel: Path, shown: str) -> Iterator[Result]:
        self.progress(shown, 0, 0)
        with unpacked(wheel) as folder:
            yield from self._folder(folder, shown, inside=True)

    def _folder(self, folder: Path, shown: str, inside: bool = False) -> Iterator[Result]:
        """Audit the files in a folder; one that is the `inside` of a wheel holds no wheels."""
        results: list[Result] = []
        known: dict[bytes, str] = {}  # names of files by their content: some wheels hold a library several times
        code: dict[Path, str] = {}
        for path in list(files_in(folder)):
            name = f"{shown}/{path.relative_to(folder).as_posix()}"
            if is_binary(path):
                same = known.setdefault(digest_of(path), name)
                if same == name:
                    code[path] = name
                else:
                    results.append(Result(name, f"the same file as {same}"))
            elif is_archive(path):
                judged = "not audited: an archive of objects; audit what they are linked into"
                results.append(Result(name, judged, decoded=False))
            elif other := other_format(path):
                judged = f"not audited: a file of the format {other}, which is not read"
                results.append(Result(name, judged, decoded=False))
            elif path.suffix == WHEEL and not inside:
                parts = _or_failed(name, partial(self._wheel, path, name))
                results += [replace(part, group=name) for part in parts]
        results += self._together(code)
        yield from sorted(results, key=lambda result: result.group or result.target)
        if not results:
            yield Result(shown, "holds no machine code: nothing to audit", empty=True)

    def _together(self, code: Mapping[Path, str]) -> Iterable[Result]:
        """Audit files, given with their names, that may be loaded together: what one calls at load runs in another."""
        results: dict[Path, Result] = {}
        called: dict[Path, frozenset[str]] = {}  # by file, what the others call, as far as was known

        def calls(path: Path) -> frozenset[str]:
            return frozenset().union(*(one.calls for other, one in results.items() if other != path))

        waiting = sorted(code, key=lambda path: path.stat().st_size)  # the largest are audited again least often
        while waiting:
            for number, path in enumerate(waiting, 1):
                self.progress(code[path], number, len(waiting))
                called[path] = calls(path)
                results[path] = self._file(path, code[path], called[path])
            waiting = [path for path in waiting if (calls(path) - called[path]) & results[path].exports]
        return results.values()

    def _file(self, path: Path, shown: str, called: Iterable[str] = ()) -> Result:
        """Audit a file; `called` are the names of functions that other files call at load."""
        try:
            return _file(path, shown, self.baseline, called)
        except (IsagenError, OSError) as problem:
            return failed(shown, problem)


def _file(path: Path, shown: str, baseline: Baseline, called: Iterable[str]) -> Result:
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
            return audit_foreign(binary, baseline, called)
        if root is not None:
            return replace(audit_with_plans(binary, path, plans_of(root), root, baseline), target=shown)
        return baseline.note(audit_linked(binary, [baseline.narrow(record) for record in records], None))
