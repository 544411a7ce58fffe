"""What limits a build to its lowest level, which verdicts that gives, and what isa_require makes of it."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from isagen.binary.formats import format_names
from isagen.build.registrations import announced_registrations
from isagen.configure.limits import choose_table, limit_of
from isagen.model.codec import from_data
from isagen.model.errors import BuildError, ConfigError
from isagen.model.matrix import Matrix
from isagen.model.plan import Limit, Verdict
from isagen.model.registrations import Registered
from isagen.planning.config import Config
from isagen.planning.levels import check_required, select_levels
from isagen.planning.plan import CopyOptions, make_plan
from isagen.probe.compiler import Compiler
from isagen.processors.registry import family_under
from isagen.processors.table import load_table, other_levels
from support.matrices import matrix_of


def compiler(name, version, *macros):
    made = Compiler("c", ("cc",), name, version)
    vars(made)["baseline_macros"] = dict.fromkeys(macros, "1")
    return made


GCC = compiler("gcc", "12", "__ELF__", "__x86_64__")
CLANG = compiler("clang", "22", "__APPLE__", "__MACH__", "__x86_64__")
MINGW = compiler("gcc", "12", "_WIN32", "__x86_64__", "__MINGW64__")
CLANG_CL = compiler("clang", "16", "_WIN32", "_MSC_VER", "__x86_64__")
MSVC = Compiler("c", ("cl",), "msvc", "19", dialect="msvc")
NVC = compiler("nvidia_hpc", "23")
LCC = compiler("lcc", "1", "__ELF__")


@pytest.mark.parametrize(
    ("system", "compilers", "no_table", "limit"),
    [
        ("linux", [GCC], "", Limit()),
        (None, [GCC], "", Limit()),
        ("linux", [GCC], "no levels", Limit("no levels")),
        ("freebsd", [GCC, GCC], "", Limit()),
        ("darwin", [CLANG], "", Limit()),
        ("haiku", [MINGW], "no levels", Limit("isagen does not know the system haiku", True)),
        ("linux", [GCC, MINGW], "", Limit(f"objects of GCC 12 are not {format_names()}, which isagen reads", True)),
        ("windows", [CLANG_CL], "", Limit()),
        ("beos", [GCC], "", Limit("isagen does not know the system beos", True)),
        (
            "windows",
            [MSVC],
            "",
            Limit(
                "MSVC 19 does not list its macros, which would show its baseline and the features that flags turn on",
                True,
            ),
        ),
        (
            "linux",
            [GCC, NVC],
            "",
            Limit(
                "isagen does not know the compiler nvidia_hpc 23, nor its baseline, as it does not list its macros "
                "(-dM -E)",
                True,
                True,
            ),
        ),
        ("beos", [LCC], "no levels", Limit("isagen does not know the compiler lcc 1", True, True)),
    ],
)
def test_what_limits_a_build(system, compilers, no_table, limit):
    assert limit_of(system, compilers, no_table) == limit


def test_the_table_of_another_architecture_makes_way_for_the_baseline(tmp_path):
    chosen, reason = choose_table("aten", "riscv64", tmp_path, "isa.toml: table")
    assert (chosen.names(), chosen.override) == (("DEFAULT",), "ATEN_CPU_CAPABILITY")
    assert reason == "table aten is for x86_64, and this build is for riscv64"
    assert choose_table("aten", "aarch64", tmp_path, "")[0].levels == load_table("aten-arm64", tmp_path).levels
    own = tmp_path / "own.toml"
    own.write_text('extends = "x86"\n[levels.MINE]\nrank = 99\nvector_bits = 128\nprobe = "return 0;"\n')
    mine, _ = choose_table("own.toml", "arm", tmp_path, "")
    assert own in mine.files
    assert select_levels(["MINE", "avx2"], mine, "") == {"DEFAULT"}
    assert choose_table("own.toml", "x86_64", tmp_path, "")[1] == ""
    assert choose_table("default", "x86", tmp_path, "")[1] == "isagen has no levels for 32-bit x86"


def test_a_table_of_a_project_has_one_beside_it_for_another_processor(tmp_path):
    own, arm64 = tmp_path / "own.toml", tmp_path / "own-arm64.toml"
    for path, table, level in ((own, "x86", "MINE"), (arm64, "arm64", "ITS")):
        path.write_text(f'extends = "{table}"\n[levels.{level}]\nrank = 99\nvector_bits = 128\nprobe = "return 0;"\n')
    for family, level in (("x86_64", "MINE"), ("aarch64", "ITS")):
        chosen, reason = choose_table("own.toml", family, tmp_path, "")
        assert (chosen.names()[-1], reason, own in chosen.files) == (level, "", True)
        assert select_levels(["MINE", "ITS"], chosen, "") == {"DEFAULT", level}
    assert select_levels(["MINE", "ITS"], choose_table("own.toml", "arm", tmp_path, "")[0], "") == {"DEFAULT"}
    assert choose_table("own-arm64.toml", "x86_64", tmp_path, "")[1].startswith("table own-arm64 is for aarch64")


@pytest.mark.parametrize(
    ("macros", "family"),
    [({"__x86_64__"}, "x86_64"), ({"__i386__"}, "x86"), ({"__aarch64__"}, "aarch64"), ({"__arm__"}, ""), ((), "")],
)
def test_the_architecture_that_macros_name(macros, family):
    assert family_under(macros) == family


def planned(tmp_path, table, verdicts, **config):
    found = {(name, "cpp"): verdicts.get(name, Verdict(True, "probed")) for name in table.names()}
    return make_plan(
        config=Config(path=tmp_path / "isa.toml", **config),
        table=table,
        kernels=["a.cpp"],
        option_levels=config.pop("option", "all"),
        verdicts=found,
        source_root="..",
        copy_options=CopyOptions(),
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", ""),
        ("none", ""),
        ("default", ""),
        ("avx2", ""),
        ("AVX512, avx2", "AVX512 is required, but not built: it is unavailable: too old"),
        ("all", "AVX512 is required, but not built: it is unavailable: too old"),
        ("all,-avx512", ""),
        ("-avx512", ""),
        ("amx", "AMX is required, but not built: table aten has no such level"),
        ("none,-amx", ""),
        ("avx3", "unknown level 'avx3'"),
    ],
)
def test_levels_that_are_required(tmp_path, words, said):
    table = replace(load_table("aten", tmp_path), other_levels=other_levels())
    plan = planned(tmp_path, table, {"AVX512": Verdict(False, "too old")})
    if not said:
        check_required(plan, words, table, "")
        return
    with pytest.raises(ConfigError, match="isa_require") as caught:
        check_required(plan, words, table, "")
    assert caught.value.message == said
    assert caught.value.remedy


def test_a_required_level_that_is_switched_off(tmp_path):
    table = load_table("aten", tmp_path)
    plan = planned(tmp_path, table, {}, levels=("AVX512",))
    with pytest.raises(ConfigError, match=r"AVX2 is required, but not built: it is disabled by isa\.toml: levels"):
        check_required(plan, "avx2", table, "")


def test_what_kernels_announce_is_found_in_bytes(tmp_path):
    a, b = (tmp_path / name for name in ("meson-generated_.._a.cpp.DEFAULT.cpp.obj", "b.cpp.DEFAULT.cpp.o"))
    a.write_bytes(b'\0isagen:registers:DEFAULT:one;isagen:registers:DEFAULT:two;\xff"isagen:registers:" #level ";"')
    b.write_bytes(b"isagen:without:DEFAULT:one;isagen:registers:AVX2:no;isagen:registers:DEFAULT:isagen:")
    found = announced_registrations("DEFAULT", [(a, "a.cpp"), (b, "b.cpp")]).kernels
    assert found == {"a.cpp": Registered(("one", "two"), ()), "b.cpp": Registered((), ("one",))}
    b.write_bytes(b"isagen:registers:DEFAULT:two;")
    with pytest.raises(BuildError, match="two: is registered twice at DEFAULT"):
        announced_registrations("DEFAULT", [(a, "a.cpp"), (b, "b.cpp")])


def test_a_matrix_of_an_earlier_version_has_no_limit():
    data = json.loads(json.dumps(asdict(matrix_of(2))))
    del data["baseline_only"]
    assert from_data(Matrix, data).baseline_only == ""
    del data["kernels"]
    with pytest.raises(ValueError, match=r"it is no Matrix: .*'kernels'"):
        from_data(Matrix, data)


def test_tables_of_other_architectures_are_read_for_a_name_alone(tmp_path, monkeypatch):
    chosen, _ = choose_table("default", "x86_64", tmp_path, "isa.toml: table")
    monkeypatch.setattr("isagen.processors.table.builtin_tables", lambda: pytest.fail("they were read"))
    with pytest.raises(pytest.fail.Exception):
        choose_table("default", "x86_64", tmp_path, "isa.toml: table")
    monkeypatch.undo()
    assert {"AVX2", "AVX512"} <= chosen.other_levels
    assert "NONE" not in chosen.other_levels


def test_levels_that_the_system_does_not_report():
    features = load_table("arm64", Path()).features
    assert {"sve", "sve2"} <= features.unreported({"__APPLE__"})
    assert "dotprod" not in features.unreported({"__APPLE__"})
    assert "fp16fml" in features.unreported({"_WIN32"})
    assert not features.unreported({"__ELF__"}) & {"sve", "fp16fml", "dotprod"}
    assert not load_table("x86", Path()).features.unreported({"__APPLE__"})
