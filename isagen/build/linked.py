"""The step that the project's isagen/audit/meson.build declares: it audits the linked files of a target."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from ..audit.binaries import NAMELESS
from ..audit.builds import audit_with_plans, build_of
from ..audit.findings import Result
from ..audit.records import NO_LIMIT
from ..binary.formats import is_archive, is_binary, open_binary
from ..model.errors import BuildError
from ..model.files import write_atomically
from ..model.ninja import NinjaFile
from ..model.plan_file import plans_in, read_plan
from .link import STRIP_WHEN_INSTALLING, check_unrecorded, judge
from .linker_process import discard
from .tables import check_stubs

STATIC = (
    "isagen audit: warning: {file}: is a static library, which is not audited by itself\n"
    "  in isa_links, list the targets that link it; for lib = both_libraries(), list lib.get_shared_lib()"
)
WITHOUT_SYMBOLS = "; lld-link writes no symbols: use -Disa_audit=warn, or no entry of [[audit.allow]]"


def audit_targets(mode: str, stamp: str, files: Sequence[str]) -> int:
    """Audit the linked `files`, and return the exit status; if it is 0, write the file `stamp`.

    Static libraries are skipped, because they are not linked. A DLL may come with one, its import library.
    """
    root = build_of(Path(stamp)) or Path()
    plans = list(plans_in(root))
    linked = [file for file in files if not is_archive(file)]
    if not linked:
        print(STATIC.format(file=", ".join(files)), file=sys.stderr)
    failed = False
    for file in linked:
        inputs = NinjaFile(root).inputs_of(Path(file))
        status = 1
        try:
            status = judge(mode, partial(_audit, file, inputs, plans, root))
        finally:
            if status and inputs:  # this build made the file
                discard(file)
        failed = failed or bool(status)
    if not failed:
        write_atomically(stamp, b"")
    return int(failed)


def _audit(file: str, inputs: Sequence[str], plans: Sequence[Path], root: Path) -> Result:
    remedy = "isa_links takes executables, libraries and extension modules that link isa_kernels_dep"
    if not is_binary(file):
        raise BuildError("is in isa_links, and is no linked file", where=file, remedy=remedy)
    with open_binary(file) as binary:
        if binary.relocatable:
            raise BuildError("is in isa_links, and is an object, not a linked file", where=file, remedy=remedy)
        if not binary.records():
            for plan in plans:
                check_unrecorded(read_plan(plan).plan, plan.parent, binary, map(Path, inputs))
            raise BuildError("is in isa_links, and contains no record of isagen", where=file, remedy=remedy)
        check_stubs(inputs)
        result = audit_with_plans(binary, Path(file), plans, root, NO_LIMIT)
    # Without symbols, some functions are counted and not judged. PE files from lld-link never have symbols.
    if NAMELESS in result.notes or (binary.stripped and binary.format != "coff"):
        remedy = STRIP_WHEN_INSTALLING + (WITHOUT_SYMBOLS if binary.format == "coff" else "")
        raise BuildError("the link left out the symbols that its audit needs", where=file, remedy=remedy)
    return result
