"""The table that tests of plans share."""

import pytest

from isagen.processors.table import Table
from support.plans import level, table_of


@pytest.fixture
def table(tmp_path) -> Table:
    """Return a table of four levels, one of which requires another of its width."""
    return table_of(
        tmp_path,
        level("BASE", 0, 128),
        level("WIDE", 10, 256, "avx2"),
        level("WIDE_VNNI", 20, 256, "avx_vnni", "WIDE", "OWN=1"),
        level("HUGE", 30, 512, "avx512_f", "WIDE"),
    )
