"""The targets of an audit: a build folder, any other folder, an object, a library, a program, or a wheel."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ..binary.formats import format_names, is_archive, is_binary, open_binary
from ..model.errors import AuditError, IsagenError
from ..processors.registry import decoded
from .baseline import Baseline
from .builds import audit_build, audit_one_object, audit_with_plans, build_of, is_build, not_decoded, plans_of
from .built import audit_linked
from .files import files_in, unpacked
from .findings import Result, failed
from .foreign import audit_foreign
from .records import records_of


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
        message = first.judged.removeprefix("not audited: ")
        raise AuditError(message, where=first.target, remedy=f"only code for {decoded()} is decoded")
    return results


def _audit(target: Path, baseline: Baseline) -> Iterator[Result]:
    try:
        if target.is_dir():
            if is_build(target):
                yield from audit_build(target, baseline)
            else:
                yield from _folder(target, str(target), baseline)
        elif not target.exists():
            raise AuditError(
                "there is no such file or folder",
                where=str(target),
                remedy="give a build folder, an object, a library, a program, a wheel, or a folder of them",
            )
        elif not is_binary(target) and zipfile.is_zipfile(target):  # the end of a wheel may be anywhere in a library
            with unpacked(target) as folder:
                yield from _folder(folder, target.name, baseline)
        else:
            yield _attempt(str(target), lambda: _file(target, str(target), baseline))
    except (IsagenError, OSError) as problem:
        yield failed(str(target), problem)


def _attempt(shown: str, audit: Callable[[], Result]) -> Result:
    """Return the result of an audit, or what went wrong with it: other files can still be audited."""
    try:
        return audit()
    except (IsagenError, OSError) as problem:
        return failed(shown, problem)


def _folder(folder: Path, shown: str, baseline: Baseline) -> Iterator[Result]:
    found = False
    for path in files_in(folder):
        name = f"{shown}/{path.relative_to(folder).as_posix()}"
        if is_binary(path):
            found = True
            yield _attempt(name, lambda path=path, name=name: _file(path, name, baseline))  # type: ignore[misc]
        elif is_archive(path):
            yield Result(name, "not audited: an archive of objects; what they are linked into can be", decoded=False)
    if not found:
        raise AuditError(
            f"holds no {format_names()} file", where=shown, remedy="give a folder or wheel with compiled code"
        )


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
