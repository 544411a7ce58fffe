"""The arguments of `isagen configure`: those of the fragment are read, and all others refused in one answer."""

import re

import pytest

from isagen.cli import main
from isagen.configure.answer import SEPARATOR
from isagen.configure.request import FRAGMENT_FORMAT, OF_COMPILER, OF_SET, ONCE, read_arguments, request_of
from isagen.model.errors import ConfigError
from isagen.probe.compiler import Compiler
from isagen.rendering import template_folder

OPTIONS = {
    "isa_levels",
    "isa_editor",
    "isa_require",
    "isa_probe_cache",
    "isa_seal",
    "isa_audit",
    "optimization",
    "b_lto",
}
C = ("--language=c", "--id=gcc", "--version=12", "--syntax=gcc", "--linker=ld.bfd")
C += (f"--command=ccache{SEPARATOR}cc", f"--args=-DX=--lto=true{SEPARATOR}")
CPP = ("--language=cpp", "--id=msvc", "--version=19", "--syntax=msvc", "--linker=link", "--command=cl")
CPP += ("--args=",)


@pytest.fixture
def config(tmp_path):
    """A fragment with both second files."""
    for name in ("isa.toml", "extras/meson.build", "module/meson.build"):
        (tmp_path / "p/isagen" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "p/isagen" / name).touch()
    return tmp_path / "p/isagen/isa.toml"


def words(place, *more, **changed):
    project = place.parent.parent
    values = {
        **dict.fromkeys(ONCE, ""),
        "fragment-format": str(FRAGMENT_FORMAT),
        "config": place,
        "isa_levels": "all",
        "source-root": project,
        "project-root": project,
        "build-root": "/b",
        "output": "/b/isagen",
        **{name if name in OPTIONS else name.replace("_", "-"): value for name, value in changed.items()},
    }
    return [f"--{name}={value}" for name, value in values.items() if value is not None] + list(more)


def of(name, *given, has="kernels"):
    return (f"--of={name}", f"--has={has}", *given)


def test_the_fragment_writes_what_is_read():
    texts = [(template_folder() / "fragment" / f"{name}meson.build.j2").read_text() for name in ("", "extras.")]
    written = {name for text in texts for name in re.findall(r"'--([a-z-]+)=", text)} | OPTIONS
    assert written - {"module-name"} == {*ONCE, *OF_COMPILER, *OF_SET, "of", "language", "fragment-format"}


def test_a_request(config):
    sets = of("one", "--kernel=o.c") + of("two", "--kernel=a=b.c", "--kernel=sub/../c.c", "--kernel=d.cpp")
    more = ("--of=two", "--generated=g.c", "--pch=c")
    changed = {
        "label": "kernels_two",
        "set": "two",
        "b_lto": "true",
        "isa_probe_cache": "false",
        "isa_levels": "-AMX,AVX2",
    }
    asked = request_of(read_arguments(words(config, *sets, *more, *CPP, *C, **changed)))
    assert asked.kernels == ("a=b.c", "c.c", "d.cpp", "g.c")
    assert asked.generated == {"g.c": "g.c"}
    assert asked.other_kernels == ("o.c",)
    assert asked.compilers == (
        Compiler("c", ("ccache", "cc"), "gcc", "12", "gnu", ("-DX=--lto=true", ""), "ld.bfd"),
        Compiler("cpp", ("cl",), "msvc", "19", "msvc", (), "link"),
    )
    assert (asked.kernel_set, asked.config_set, asked.sets) == ("kernels_two", "two", ("one", "two"))
    assert (asked.lto, asked.cache, asked.seal, asked.levels) == (True, False, False, "-AMX,AVX2")
    assert (asked.precompiled, asked.module) == (("c",), "")


@pytest.mark.parametrize(("name", "languages"), [("c", ["c"]), ("both", ["c", "cpp"]), ("none", ["cpp"])])
def test_a_set_has_the_compilers_of_its_kernels(config, name, languages):
    sets = of("c", "--kernel=a.c") + of("both", "--kernel=b.c", "--kernel=b.cpp") + of("none", has="")
    asked = request_of(read_arguments(words(config, *sets, *C, *CPP, set=name)))
    assert [compiler.language for compiler in asked.compilers] == languages


@pytest.mark.parametrize(
    ("project", "path", "found"),
    [
        ("", "sub/k.c", "sub/k.c"),
        ("/sub", "sub/k.c", "k.c"),  # a subproject: Meson names files from the outermost project's root
        ("/su", "sub/k.c", "../sub/k.c"),
        ("/", "./sub//k.c", "sub/k.c"),
        ("", "/other/k.c", "../" * 20 + "other/k.c"),
    ],
)
def test_kernels_are_named_from_the_project_s_root(config, project, path, found):
    root = config.parent.parent
    changed = {"project_root": f"{root}{project}", "source_root": str(root)}
    asked = request_of(read_arguments(words(config, *of("", f"--kernel={path}"), *C, **changed)))
    assert asked.kernels[0].replace("../", "") == found.replace("../", "")
    assert asked.kernels[0].startswith("../") == found.startswith("../")


def test_generated_kernels_of_a_subproject_are_in_its_build_folder(config):
    root = config.parent.parent
    changed = {"project_root": f"{root}/sub", "source_root": str(root)}
    asked = request_of(read_arguments(words(config, *of("", "--generated=a/g.c"), *C, **changed)))
    assert asked.generated == {"a/g.c": "sub/a/g.c"}


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        (of("", has=""), r"meson\.build: isa_kernels is not set: write .* before subdir\('isagen'\)"),
        (
            of("", "--string=k/one.cpp"),
            r"isa_kernels: k/one\.cpp: is a string: name kernels w.* sets isa_kernels",
        ),
        (of("a", "--string=../k/one.cpp"), r"isa_sets: a: \.\./k/one\.cpp: is a string: .* sets isa_sets"),
        (of("a", has="kernls"), r"isa_sets: a: kernls is unknown: keys are kernels, "),
    ],
)
def test_mistakes_in_meson_build(config, sets, message):
    name = sets[0].partition("=")[2]
    with pytest.raises(ConfigError, match=message):
        request_of(read_arguments(words(config, *sets, *C, set=name)))


@pytest.mark.parametrize(("word", "file"), [("c_pch", "extras"), ("generated", "extras"), ("module", "module")])
def test_a_second_file_that_is_missing(config, word, file):
    (config.parent / file / "meson.build").unlink()
    with pytest.raises(ConfigError, match=f"isa_{word} needs isagen/{file}/meson.build\n  run `isagen init`"):
        request_of(read_arguments(words(config, *of("", has=f"kernels{SEPARATOR}{word}"), *C)))


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        (["--no-such-thing=1"], ""),
        (["kernel.c"], ""),
        (["--seal"], ""),
        (["--args=-O2"], ""),  # of no compiler
        ({"fragment_format": "99"}, ": its format is 99"),
        ({"fragment_format": "many"}, ": its format is many"),
        ({"fragment_format": None}, ": its format is unknown"),
        ({"system": None}, f": its format is {FRAGMENT_FORMAT}"),
        ({"config": None}, f": its format is {FRAGMENT_FORMAT}"),
        ({"set": "other"}, f": its format is {FRAGMENT_FORMAT}"),
    ],
)
def test_what_no_fragment_of_this_version_writes_is_refused_in_an_answer(config, capsys, change, shown):
    more, changed = (change, {}) if isinstance(change, list) else ([], change)
    given = words(config, *more, *of("", "--kernel=k.c"), **{"depfile": config.parent / "plan.d", **changed})
    assert main(["configure", *given]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("error=isagen: ")
    assert "the Meson fragment was not written by isagen" in said.out
    assert shown in said.out
    assert said.err == ""
    assert (config.parent / "plan.d").exists()
