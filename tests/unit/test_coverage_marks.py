"""Reports on coverage leave out what isagen generates: gcovr and lcov obey marks in the source."""

from pathlib import Path

import pytest

from isagen.configure.compat import compat_texts
from isagen.configure.dispatch import dispatch_texts
from isagen.model.names import MATRIX_MARK, NOTE_MARK
from isagen.processors.table import load_table
from support.model import build_of
from support.registrations import plan_for

START, STOP = "/* LCOV_EXCL_START", "/* LCOV_EXCL_STOP */\n"


def texts() -> dict[str, str]:
    table = load_table("ipex", Path())
    headers, sources = dispatch_texts(build_of(plan_for(table)), table)
    return {**sources, **headers, **compat_texts(("aten", "ipex"), table)}


@pytest.mark.parametrize("name", ["isa_dispatch.c", "isa_python.h", "isa_torch.h"])
def test_generated_functions_are_left_out(name):
    before, _, rest = texts()[name].partition(START)
    inside, mark, after = rest.rpartition(STOP)
    assert mark
    assert "{" in inside
    assert "{" not in before + after


def test_no_mark_of_the_matrix_and_its_notes_is_left():
    source = texts()["isa_dispatch.c"]
    assert MATRIX_MARK not in source
    assert NOTE_MARK.partition("{")[0] not in source


def test_other_texts_hold_macros_and_declarations_alone():
    for name, text in texts().items():
        if START not in text:
            lines = [line for line in text.splitlines() if line.startswith("{") or line.endswith(") {")]
            assert not lines, name
