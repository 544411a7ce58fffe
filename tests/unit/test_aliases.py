"""Aliases of the override, by the levels of a table."""

from dataclasses import replace
from pathlib import Path

import pytest

from isagen.model.errors import ConfigError
from isagen.model.matrix import Alias
from isagen.planning.config import Config, load_config
from isagen.planning.levels import aliases_of
from isagen.processors.table import Table
from support.plans import plan_of


def aliases_in(table: Table, *aliases: Alias, other_levels: frozenset[str] = frozenset()) -> tuple[Alias, ...]:
    return aliases_of(Config(Path("isa.toml"), aliases=aliases), replace(table, other_levels=other_levels), "OWN_ISA")


def test_aliases_mean_levels_as_the_table_writes_them(table):
    said = (Alias("A"), Alias("B", {"ON": "wide", "OFF": "-Huge"}), Alias("C", {}, "-wide_vnni"))
    expected = (Alias("A"), Alias("B", {"ON": "WIDE", "OFF": "-HUGE"}), Alias("C", {}, "-WIDE_VNNI"))
    assert aliases_in(table, *said) == expected


def test_aliases_that_mean_levels_of_other_architectures_are_left_out(table):
    said = (Alias("B", {"ON": "wide", "OFF": "neon"}), Alias("C", {}, "-NEON"))
    assert aliases_in(table, *said, other_levels=frozenset({"NEON"})) == (Alias("B", {"ON": "WIDE"}),)


@pytest.mark.parametrize(
    ("alias", "where", "message"),
    [
        (Alias("B", {"ON": "wid"}), "override_aliases.B.ON", "unknown level 'wid'"),
        (Alias("B", {}, "-wid"), "override_aliases.B", "unknown level '-wid'"),
        (Alias("B", {}, "-base"), "override_aliases.B", "BASE cannot be switched off"),
    ],
)
def test_bad_aliases(table, alias, where, message):
    with pytest.raises(ConfigError) as caught:
        aliases_in(table, alias)
    assert caught.value.where == f"isa.toml: {where}"
    assert message in caught.value.message


@pytest.mark.parametrize(("override", "name"), [(None, "OWN_ISA"), ("MINE", "MINE")])
def test_an_alias_is_another_variable_than_the_override(table, override, name):
    with pytest.raises(ConfigError) as caught:
        plan_of(table, config=Config(Path("isa.toml"), override=override, aliases=(Alias(name),)))
    assert str(caught.value).startswith(f"isa.toml: override_aliases.{name}: is the override itself\n")
    plan_of(table, config=Config(Path("isa.toml"), override="", aliases=(Alias(name),)))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("override = 'A'\n[sets.s.override_aliases]\nA = 'WIDE'", "sets.s.override_aliases.A: is the override itself"),
        ("[sets.s.override_aliases]\nA = 'wid'", "sets.s.override_aliases.A: unknown level 'wid'"),
        ("sets.s.override = 'A'\n[override_aliases]\nA = 'WIDE'", "override_aliases.A: is the override itself"),
    ],
)
def test_errors_name_the_key_of_a_set_or_of_the_project(table, tmp_path, text, said):
    (tmp_path / "isa.toml").write_text(text)
    config = load_config(tmp_path / "isa.toml").of_set("s", ["s"])
    with pytest.raises(ConfigError) as caught:
        plan_of(table, config=config)
    assert str(caught.value).startswith(f"isa.toml: {said}\n")
