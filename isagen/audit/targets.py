"""The audit of a command's targets: build folders, files, wheels, and folders of files or wheels."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from ..binary.formats import format_names, is_archive, is_binary, open_binary
from ..model.errors import AuditError, IsagenError
from ..model.plan_file import plans_in
from ..processors.registry import decoded
from .binaries import audit_foreign, audit_linked
from .builds import audit_build, audit_with_plans, build_of, is_build, not_decoded, without_code
from .files import UNIVERSAL, WHEELS, Progress, archive_reason, files_in, other_format, packed_names, split, unpacked
from .findings import Result, failed_result
from .records import Baselines, baseline_of


def audit_each(targets: Sequence[Path], baselines: Baselines, progress: Progress = lambda *_: None) -> Iterator[Result]:
    """Audit all `targets` in their order, and yield the results of their files."""
    audit = _Audit(baselines, progress)
    for target in dict.fromkeys(targets):
        shown = str(target)
        for result in _or_failed(shown, partial(audit.target, target)):
            yield result if result.target == shown else replace(result, group=result.group or shown)


def require_audited(targets: Iterable[Path], results: Sequence[Result]) -> None:
    """Raise an error if no file was decoded: the first `problem` of a result, or, if there is none, `AuditError`.

    But if there is no problem and a target is a folder, nothing is raised: a folder may contain only files that isagen
    does not decode, as a package for another processor does. A folder or wheel without machine code counts as decoded.
    """
    if any(result.decoded for result in results):
        return
    for result in results:
        if result.problem:
            raise result.problem
    if any(target.is_dir() for target in targets):
        return
    first = results[0]
    message = first.judged.removeprefix("not audited: ")
    raise AuditError(message, where=first.target, remedy=f"only {format_names()} files of {decoded()} are decoded")


def _not_read(name: str, shown: str) -> Result:
    return Result(name, f"not audited: a file of the format {shown}, which is not read", decoded=False)


def _parts(path: Path, shown: str, folder: Path) -> tuple[dict[Path, str], list[Result]]:
    """Split a universal file into `folder`; return the parts' names in reports, and a result if some are not read."""
    parts, are_all = split(path, folder)
    names = {part: shown.removesuffix(path.name) + part.name for part in parts}
    return names, [] if are_all else [_not_read(shown, UNIVERSAL)]


def _or_failed(shown: str, audit: Callable[[], Iterable[Result]]) -> Iterator[Result]:
    try:
        yield from audit()
    except (IsagenError, OSError) as problem:
        yield failed_result(shown, problem)


@dataclass(frozen=True)
class _Audit:
    baselines: Baselines
    progress: Progress

    def target(self, target: Path) -> Iterator[Result]:
        shown = str(target)
        if not target.exists():
            raise AuditError(
                "there is no such file or folder",
                where=shown,
                remedy="give a build folder, an object, a library, a program, a wheel, or a folder of them",
            )
        if target.is_dir():
            is_built = is_build(target)
            yield from audit_build(target, self.baselines, self.progress) if is_built else self._folder(target, shown)
        elif not target.is_file():
            raise AuditError("is no regular file", where=shown, remedy="give the file that contains the code")
        elif not is_binary(target) and (target.suffix in WHEELS or zipfile.is_zipfile(target)):
            # `is_binary` is asked first, because `is_zipfile` is also true for a binary that ends like a zip archive.
            yield from self._wheel(target, target.name)
        elif other_format(target) == UNIVERSAL:
            with TemporaryDirectory(prefix="isagen-audit-") as folder:
                parts, unread = _parts(target, shown, Path(folder))
                yield from (self._file(part, name) for part, name in parts.items())
                yield from unread
        else:
            self.progress(shown, 1, 1)
            yield self._file(target, shown)

    def _wheel(self, wheel: Path, shown: str) -> Iterator[Result]:
        self.progress(shown, 0, 0)
        with unpacked(wheel) as folder:
            packed = ", ".join(packed_names(wheel))
            results = self._folder(folder, shown, in_wheel=True)
            yield from (result for result in results if not (packed and result.empty))
        if packed:
            judged = f"not audited: contains {packed}, which is not unpacked; unpack it, and audit the folder"
            yield Result(shown, judged, decoded=False)

    def _folder(self, folder: Path, shown: str, in_wheel: bool = False) -> Iterator[Result]:
        """Audit a folder's files. In an unpacked wheel, universal files are split already, and wheels not audited."""
        results: list[Result] = []
        code: dict[Path, str] = {}
        with TemporaryDirectory(prefix="isagen-audit-") as parts_folder:
            # The files are listed first: `folder` may be the system's temporary folder, where wheels are unpacked.
            for number, path in enumerate(list(files_in(folder))):
                name = f"{shown}/{path.relative_to(folder).as_posix()}"
                if is_binary(path):
                    code[path] = name
                elif is_archive(path):
                    judged = "not audited: {}; {}".format(*archive_reason(path))
                    results.append(Result(name, judged, decoded=False))
                elif (other := other_format(path)) == UNIVERSAL and not in_wheel:
                    place = Path(parts_folder, str(number))  # files of different folders may have one name
                    place.mkdir()
                    parts, unread = _parts(path, name, place)
                    code |= parts
                    results += unread
                elif other:
                    results.append(_not_read(name, other))
                elif path.suffix in WHEELS and not in_wheel:
                    in_this = _or_failed(name, partial(self._wheel, path, name))
                    results += [replace(result, group=name) for result in in_this]
            results += self._together(code)
        yield from sorted(results, key=lambda result: result.group or result.target)
        if not results:
            yield Result(shown, "contains no machine code: nothing to audit", empty=True)

    def _together(self, code: Mapping[Path, str]) -> Iterable[Result]:
        """Audit files that one process may load; `code` maps each file to its name in reports.

        A function that one file calls at load is a root of the file that exports it.
        """
        results: dict[Path, Result] = {}
        called: dict[Path, frozenset[str]] = {}  # by file: what the others called when it was audited

        def calls_of_others(path: Path) -> frozenset[str]:
            return frozenset().union(*(result.calls for other, result in results.items() if other != path))

        paths = sorted(code, key=lambda path: path.stat().st_size)  # the largest last, so that it is rarely repeated
        waiting = paths
        while waiting:
            for number, path in enumerate(waiting, 1):
                self.progress(code[path], number, len(waiting))
                called[path] = calls_of_others(path)
                results[path] = self._file(path, code[path], called[path])
            waiting = [path for path in paths if (calls_of_others(path) - called[path]) & results[path].exports]
        return results.values()

    def _file(self, path: Path, shown: str, called: Iterable[str] = ()) -> Result:
        try:
            if is_archive(path):
                what, remedy = archive_reason(path)
                raise AuditError(f"is {what}", where=shown, remedy=remedy)
            if undecoded := not_decoded(path, shown):
                return undecoded
            with open_binary(path, shown) as binary:
                if debug := without_code(binary):
                    return debug
                root, baseline = build_of(path), baseline_of(binary, self.baselines)
                records = binary.records()
                if binary.relocatable and (records or binary.levels or (root and any(plans_in(root)))):
                    remedy = "audit the build folder, or what the object is linked into"
                    raise AuditError("is an object of a build of isagen", where=shown, remedy=remedy)
                if not records:
                    return audit_foreign(binary, baseline, called)
                if root is not None:
                    return replace(audit_with_plans(binary, path, plans_in(root), root, baseline), target=shown)
                return audit_linked(binary, records, None, baseline)
        except (IsagenError, OSError) as problem:
            return failed_result(shown, problem)
