"""What isa.toml says of single kernels and of patterns of them, as the plan takes it."""

import pytest

from isagen.model.errors import ConfigError
from isagen.planning.config import KernelConfig
from isagen.planning.kernels import matches
from support.plans import cells_of, plan_of


@pytest.mark.parametrize(
    ("pattern", "matched"),
    [
        ("k/*.cpp", ["k/a.cpp", "k/b.cpp"]),
        ("*.cpp", []),
        ("**/*.cpp", ["k/a.cpp", "k/b.cpp", "k/m/c.cpp"]),
        ("**/c.c*", ["k/m/c.cpp", "c.c"]),
        ("k/**", ["k/a.cpp", "k/b.cpp", "k/m/c.cpp"]),
        ("k/?.cpp", ["k/a.cpp", "k/b.cpp"]),
        ("k/a.c++", []),
    ],
)
def test_what_a_pattern_matches(pattern, matched):
    sources = ["k/a.cpp", "k/b.cpp", "k/m/c.cpp", "c.c"]
    assert [source for source in sources if matches(pattern, source)] == matched


def test_an_exact_path_counts_before_patterns_and_the_last_pattern_before_others(table):
    own = {
        "k/a.cpp": KernelConfig(None, ("-exact",)),
        "k/*.cpp": KernelConfig(("BASE", "WIDE"), ("-first",)),
        "k/*": KernelConfig(None, ("-last",)),
        "k/b.cpp": KernelConfig(("HUGE",), None),  # as a source written for one level
        "k/c.cpp": KernelConfig(None, ()),
    }
    plan = plan_of(table, "k/a.cpp", "k/b.cpp", "k/c.cpp", "k/d.c", own=own)
    built = [[cell.level for cell in kernel.cells if cell.verdict == "built"] for kernel in plan.kernels]
    assert [kernel.args for kernel in plan.kernels] == [("-exact",), ("-last",), (), ("-last",)]
    assert built == [["BASE", "WIDE"], ["HUGE"], ["BASE", "WIDE"], list(table.names())]
    assert cells_of(plan, 0)["HUGE"].reason == "by isa.toml: kernels.'k/*.cpp'.levels"
    assert cells_of(plan, 1)["WIDE"].reason == "by isa.toml: kernels.'k/b.cpp'.levels"


def test_a_pattern_that_matches_no_kernel_is_an_error(table):
    with pytest.raises(ConfigError, match=r"isa\.toml: kernels: 'l/\*' matches no kernel\n.*k/a\.c, k/b\.c"):
        plan_of(table, "k/a.c", "k/b.c", own={"l/*": KernelConfig()})


def test_a_path_with_a_wildcard_in_its_name_is_found(table):
    plan = plan_of(table, "k/a*.c", "k/ab.c", own={"k/a*.c": KernelConfig(None, ("-x",))})
    assert [kernel.args for kernel in plan.kernels] == [("-x",), ("-x",)]
