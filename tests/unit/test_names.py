"""The ends of symbols: no two sets of kernels share theirs."""

from itertools import product

from isagen.model.names import symbols_suffix


def test_no_two_sets_of_kernels_have_the_same_symbols():
    names = ["".join(name) for size in (1, 2, 3, 4) for name in product("as_-.5\N{DIGIT FIVE}é", repeat=size)]
    sets = {(name, kernels) for name in names for kernels in ("", "a", "_set_a", "5f_a")}
    found = {symbols_suffix(f"{name}.{kernels}" if kernels else name, kernels) for name, kernels in sets}
    assert len(found) == len(sets)
    assert all(one.isascii() and one.replace("_", "a").isalnum() for one in found)
    assert symbols_suffix("foo-bar.stats", "stats") == "foo_2d_bar_set_stats"
