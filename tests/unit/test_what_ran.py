"""The page of what ran where: what becomes of a test is what its cells say."""

import pytest

from support.what_ran import GRIDS, PROPERTY, X86, Writer


def report(outcome, how, when="call", longrepr=None):
    """A report of a test that fills the cell of AVX2 on this machine."""
    cell = (PROPERTY, [X86, "AVX2", "this machine's CPU", how])
    return pytest.TestReport("test", ("test.py", 1, "test"), {}, outcome, longrepr, when, user_properties=[cell])


@pytest.mark.parametrize(
    ("reports", "said"),
    [
        ([], "not run"),
        ([report("passed", "run", "setup")], "not run"),
        ([report("passed", "run"), report("passed", "run")], "run"),
        ([report("passed", "gcc"), report("passed", "clang-16")], "gcc; clang-16"),
        ([report("skipped", "run", longrepr=("test.py", 1, "Skipped: no qemu"))], "not run: no qemu"),
        ([report("passed", "run"), report("failed", "run")], "run; **failed**"),
        ([report("passed", "run"), report("failed", "run", "teardown")], "run; **failed**"),
    ],
)
def test_a_cell_says_what_became_of_its_tests(tmp_path, reports, said):
    writer = Writer(tmp_path / "page.md")
    for one in reports:
        writer.pytest_runtest_logreport(one)
    assert f"\n| AVX2 | {said} | not run | not run | not run |\n" in writer.text()


def test_every_expected_cell_is_on_the_page(tmp_path):
    text = Writer(tmp_path / "page.md").text()
    cells = sum(len(grid.rows) * len(grid.columns) for grid in GRIDS.values())
    assert text.count("| not run ") == cells


def test_a_cell_that_no_table_has_is_an_error(cell):
    with pytest.raises(AssertionError):
        cell(X86, "AVX3", "this machine's CPU")
