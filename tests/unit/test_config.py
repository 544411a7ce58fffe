"""isa.toml: its keys, and errors."""

import pytest

from isagen.model.errors import ConfigError
from isagen.model.matrix import Alias
from isagen.planning.config import Config, KernelConfig, load_config
from isagen.rendering import render


def load(folder, text) -> Config:
    path = folder / "isa.toml"
    path.write_text(text, encoding="utf-8")
    return load_config(path)


def test_empty_file_leaves_everything_to_the_table(tmp_path):
    config = load(tmp_path, "")
    assert config == Config(tmp_path / "isa.toml", table="default", levels=(), override=None, kernels={})
    assert config.shown == "isa.toml"


def test_full_file(tmp_path):
    config = load(
        tmp_path,
        """
        table = "mine.toml"
        levels = ["all", "-AMX"]
        override = "MY_ISA"
        compat = ["ipex", "aten", "ipex"]
        [kernels."kernels/dot.cpp"]
        levels = ["AVX2"]
        args = ["-funroll-loops"]
        [kernels."kernels/sum.c"]
        levels = []
        [kernels."kernels/max.c"]
        args = "-O3"
        [kernels."kernels/axpy.f90"]
        header = "stubs.h"
        register = { axpy_stub = "axpy" }
        """,
    )
    assert (config.table, config.levels, config.override) == ("mine.toml", ("all", "-AMX"), "MY_ISA")
    assert config.compat == ("ipex", "aten")
    assert config.kernels == {
        "kernels/dot.cpp": KernelConfig(("AVX2",), ("-funroll-loops",)),
        "kernels/sum.c": KernelConfig((), None),
        "kernels/max.c": KernelConfig(None, ("-O3",)),
        "kernels/axpy.f90": KernelConfig(None, None, "stubs.h", {"axpy_stub": "axpy"}),
    }


@pytest.mark.parametrize(
    ("stub", "function", "registered"),
    [
        ("{a,b}_stub", "{}_{}_c", {"a_stub": "a_a_c", "b_stub": "b_b_c"}),
        ("{a, b}_stub", "one", {"a_stub": "one", "b_stub": "one"}),
    ],
)
def test_a_key_for_several_stubs(tmp_path, stub, function, registered):
    config = load(tmp_path, f'kernels.a.register."{stub}" = "{function}"')
    assert config.kernels["a"].register == registered


def test_aliases_of_the_override(tmp_path):
    config = load(
        tmp_path,
        """
        override = "NEW_ISA"
        [override_aliases]
        OLD_ISA = {}
        X_DISABLE_AVX512 = "-avx512"
        ATEN_CPU_CAPABILITY = { default = "DEFAULT", avx2 = "AVX2" }
        """,
    )
    assert config.override == "NEW_ISA"
    assert config.aliases == (
        Alias("OLD_ISA"),
        Alias("X_DISABLE_AVX512", {}, "-avx512"),
        Alias("ATEN_CPU_CAPABILITY", {"DEFAULT": "DEFAULT", "AVX2": "AVX2"}),
    )


def test_aliases_without_a_variable_of_ones_own(tmp_path):
    config = load(tmp_path, "override_aliases.OLD = 'AVX2'")
    assert (config.override, config.aliases) == (None, (Alias("OLD", {}, "AVX2"),))


@pytest.mark.parametrize(
    ("text", "override", "variables"),
    [
        ("levels = 'AVX2'", "P_ISA", ["P_ALIAS"]),
        ("override = 'S_ISA'", "S_ISA", ["P_ALIAS"]),
        ("override_aliases.S_ALIAS = 'AVX2'", "P_ISA", ["S_ALIAS"]),
        ("override = ''\noverride_aliases = {}", "", []),
    ],
)
def test_a_key_that_a_set_lacks_is_the_projects(tmp_path, text, override, variables):
    project = "override = 'P_ISA'\noverride_aliases.P_ALIAS = 'AVX2'"
    config = load(tmp_path, f"{project}\n[sets.s]\n{text}").of_set("s", ["s"])
    assert (config.override, [alias.variable for alias in config.aliases]) == (override, variables)


def test_no_override_is_not_the_tables(tmp_path):
    assert load(tmp_path, 'override = ""').override == ""


def test_the_file_that_init_writes_is_valid(tmp_path):
    config = load(tmp_path, render("isa.toml.j2", variable="PKG_ISA"))
    assert (config.table, config.levels, config.override) == ("default", ("all",), "PKG_ISA")


@pytest.mark.parametrize(
    ("text", "where", "message", "remedy"),
    [
        ("level = []", "level", "unknown key", "did you mean 'levels'?"),
        (
            "kernels.a = { header = 's\"h', register = { x = 'f' } }",
            "kernels.a.header",
            "'s\"h' cannot be included",
            "name it as #include does, without quotes",
        ),
        ("kernels.a.register.x = 'f g'", "kernels.a.register.x", "'f g' cannot be registered for it", "write register"),
        ("kernels.a.register.'{a,b' = 'f'", "kernels.a.register.{a,b", "'f' cannot be registered for it", "write reg"),
        (
            "kernels.a.register = { '{a,b}' = 'f', b = 'g' }",
            "kernels.a.register.b",
            "gives b a function",
            "give each",
        ),
        (
            "kernels.a.register.'{a,b}_{c,d}' = 'f_{}'",
            "kernels.a.register.{a,b}_{c,d}",
            "'f_{}' cannot be registered for it",
            "write reg",
        ),
        ("kernels.a.register.x = 1", "kernels.a.register.x", "must be a string, not 1", ""),
        ("kernels.a.register.'a-b' = 'f'", "kernels.a.register.a-b", "'f' cannot be registered for it", "write reg"),
        ("[kernels.'a.c']\narg = []", "kernels.a.c.arg", "unknown key", "did you mean 'args'?"),
        ("levels = 3", "levels", "must be a list of strings, not 3", ""),
        ("levels = [3]", "levels", "contains 3", ""),
        ("kernels = []", "kernels", "must be a table", ""),
        ("[kernels]\n'a.c' = 3", "kernels.a.c", "must be a table", ""),
        ("compat = ['atem']", "compat", "there is no project with compat headers 'atem'", "did you mean 'aten'?"),
        ("compat = 'torch'", "compat", "there is no project with compat headers 'torch'", "known: ipex, aten"),
        ("compat = true", "compat", "must be a list of strings", ""),
        ("override = 'MY-ISA'", "override", "'MY-ISA' cannot name an environment variable", "letters"),
        ("override = '1SA'", "override", "cannot name an environment variable", ""),
        ("override = false", "override", "must be a string", ""),
        ("override = ['A']", "override", "must be a string", ""),
        ("[override_aliases]\n'B-C' = 'AVX2'", "override_aliases.B-C", "cannot name an environment variable", ""),
        ("[override_aliases]\nB = 2", "override_aliases.B", "must be a string", ""),
        ("[override_aliases]\nB = ''", "override_aliases.B", "is empty", "-LEVEL"),
        ("[override_aliases.B]\non = 'AVX2'\nON = 'AMX'", "override_aliases.B", "a value twice", "keep one"),
        ("[override_aliases.B]\non = 2", "override_aliases.B.on", "must be a string", ""),
        ("[override_aliases.B]\n'\"' = 'AVX2'", 'override_aliases.B."', "cannot be a value", "letters"),
        ("[kernels.'a.c']\nargs = ['-O2', '-march=native']", "kernels.a.c.args", "-march=native", "instruction sets"),
        ("[kernels.'a.c']\nargs = '-O2 -g'", "kernels.a.c.args", "is a string with spaces", "write a list"),
        ("[kernels.'a.c']\nargs = ['-O2', '-flto=thin']", "kernels.a.c.args", "-flto=thin asks for", "take it out"),
        ("[kernels.'a.c']\nlevels = {}", "kernels.a.c.levels", "must be a list of strings", ""),
    ],
)
def test_bad_file(tmp_path, text, where, message, remedy):
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text)
    assert caught.value.where == f"isa.toml: {where}"
    assert message in caught.value.message
    assert remedy in caught.value.remedy


def test_absent_file(tmp_path):
    with pytest.raises(ConfigError, match=r"^isa\.toml: cannot be read: No such file"):
        load_config(tmp_path / "isa.toml")
