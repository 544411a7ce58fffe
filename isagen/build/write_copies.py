"""Writing the copies of kernel sources: of all of a listing, or of those that an edit changed.

This is the step of an edit, so it loads no plan: `emit` makes the listing from it, and the record of the step keeps it.
"""

from __future__ import annotations

from ..model.errors import KernelError
from ..model.files import write_if_changed
from .done import Record, state_of

TYPE_CHECKING = False  # as in typing
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .done import State

    # By the path of each kernel source: its name in the project, and its copies, (path, text before it, text after it);
    # the texts of shims are whole, and nothing follows them: None.
    Listing = Mapping[str, tuple[str, Sequence[tuple[str, str, str | None]]]]

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def write_copies(listing: Listing) -> dict[str, State]:
    """Write the copies; files that would not change stay as they are. Return the states of the sources that were read.

    Raises `KernelError` where a source cannot be read.
    """
    states = {}
    for path, (source, copies) in listing.items():
        try:
            states[path] = state_of(path)
            with open(path, "rb") as stream:
                content = stream.read().removeprefix(BYTE_ORDER_MARK)
        except OSError as problem:
            raise KernelError(f"cannot be read: {problem.strerror}", where=source) from None
        for copy, head, tail in copies:
            write_if_changed(copy, _bytes(head) + (b"" if tail is None else content + _bytes(tail)))
    return states


def write_changed(record: Record) -> bool:
    """Write the copies of the sources that changed since the last run; return whether its record tells which."""
    changed = record.changed()
    if changed is None:
        return False
    try:
        listing: Listing = {
            path: (source, [(copy, head, tail) for copy, head, tail in copies])
            for path, (source, copies) in record.noted.items()
        }
        touched = {
            path: (source, copies)
            for path, (source, copies) in listing.items()
            if path in changed or any(copy in changed for copy, _, _ in copies)
        }
    except (AttributeError, TypeError, ValueError):
        return False  # somebody changed the record
    written = {copy for _, copies in touched.values() for copy, _, _ in copies}
    if changed - touched.keys() - written or listing.keys() - record.states.keys():
        return False  # of what is neither source nor copy: the plan; or somebody changed the record
    if touched:
        left = {path: state for path, state in record.states.items() if path not in written}
        record.note(written, listing, left | write_copies(touched))
    return True


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogateescape")
