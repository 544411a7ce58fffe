"""The step of isagen/audit: it audits the linked files of a target, where no script takes the linker's place."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from ..audit.builds import audit_with_plans, build_of
from ..audit.findings import Result
from ..audit.recorded import ALLOWED, LOST
from ..audit.records import NO_LIMIT, records_of
from ..binary.formats import is_binary, open_binary
from ..model.errors import BuildError
from ..model.files import write_atomically
from ..model.plan_file import plans_in
from .link import STRIP_WHEN_INSTALLING
from .verdict import status_of


def audit_targets(mode: str, stamp: str, files: Sequence[str]) -> int:
    """Audit the linked `files`, and return the exit status; write the file `stamp` if it is 0."""
    root = build_of(Path(stamp)) or Path()
    plans = list(plans_in(root))
    statuses = [status_of(mode, file, partial(_audit, file, plans, root)) for file in files]
    if not any(statuses):
        write_atomically(stamp, b"")
    return max(statuses, default=0)


def _audit(file: str, plans: Sequence[Path], root: Path) -> Result:
    """Return the audit of a linked file. Raises `BuildError` if it is none that links kernels."""
    remedy = "isa_links takes executables, shared libraries and extension modules that link isa_kernels_dep"
    if not is_binary(file):
        raise BuildError("is in isa_links, and is no linked file", where=file, remedy=remedy)
    with open_binary(file) as binary:
        if binary.relocatable or not records_of(binary):
            raise BuildError("is in isa_links, and contains no record of isagen", where=file, remedy=remedy)
        result = audit_with_plans(binary, Path(file), plans, root, NO_LIMIT)
    # Without symbols, some findings are only counted. A PE file of lld-link never has them.
    if {LOST, ALLOWED}.intersection(result.notes) or (binary.stripped and binary.format != "coff"):
        raise BuildError("the link left out the symbols that its audit needs", where=file, remedy=STRIP_WHEN_INSTALLING)
    return result
