"""The arguments of `isagen configure`: those of the fragment are read, and all others refused in one answer."""

import re

import pytest

from isagen.cli import main
from isagen.configure.arguments import COMPILER_WORDS, DEFAULTS, KERNEL_WORDS, REQUIRED, read_arguments
from isagen.configure.request import FRAGMENT_FORMAT, request_of
from isagen.probe.compiler import Compiler
from isagen.rendering import template_folder

GIVEN = {**dict.fromkeys(REQUIRED, "/p"), "fragment-format": str(FRAGMENT_FORMAT)}


def words(*more, **changed):
    values = {**GIVEN, **{name.replace("_", "-"): value for name, value in changed.items()}}
    return [f"--{name}={value}" for name, value in values.items() if value is not None] + list(more)


def test_the_fragment_writes_what_is_read():
    text = (template_folder() / "fragment.meson.build.j2").read_text()
    written = set(re.findall(r"'--([a-z-]+)=", text))
    assert written >= {*REQUIRED, *COMPILER_WORDS, *KERNEL_WORDS}
    assert written - {"module-name"} == {*REQUIRED, *DEFAULTS, *COMPILER_WORDS, *KERNEL_WORDS}  # that is Cython's


def test_a_request():
    asked = request_of(
        read_arguments(
            words(
                *("--kernel=a=b.c", "--generated=build/g.c", "--elsewhere=o.c", "--kernel=sub/../c.c"),
                *("--language=c", "--id=gcc", "--version=12", "--syntax=gcc", "--linker=ld.bfd"),
                *("--command=ccache", "--command=cc", "--arg=-DX=--lto=true", "--arg="),
                *("--language=cpp", "--id=msvc", "--version=19", "--syntax=msvc", "--linker=link", "--command=cl"),
                label="one",
                set="two",
                sets="two,three",
                lto="true",
                probe_cache="false",
                levels="-AMX,AVX2",
            )
        )
    )
    assert asked.kernels == ("a=b.c", "build/g.c", "c.c")
    assert asked.generated == {"build/g.c": "build/g.c"}
    assert asked.elsewhere == ("o.c",)
    assert asked.compilers == (
        Compiler("c", ("ccache", "cc"), "gcc", "12", "gnu", ("-DX=--lto=true", ""), "ld.bfd"),
        Compiler("cpp", ("cl",), "msvc", "19", "msvc", (), "link"),
    )
    assert (asked.kernel_set, asked.config_set, asked.sets) == ("one", "two", ("two", "three"))
    assert (asked.lto, asked.cache, asked.seal, asked.levels) == (True, False, True, "-AMX,AVX2")


@pytest.mark.parametrize(
    ("project", "path", "found"),
    [
        ("/p", "sub/k.c", "sub/k.c"),
        ("/p/sub", "sub/k.c", "k.c"),  # a subproject: Meson names files from the outermost project's root
        ("/p/su", "sub/k.c", "../sub/k.c"),
        ("/p/", "./sub//k.c", "sub/k.c"),
        ("/p", "/other/k.c", "../other/k.c"),
        ("/", "k.c", "p/k.c"),
    ],
)
def test_kernels_are_named_from_the_project_s_root(project, path, found):
    asked = read_arguments(words(f"--kernel={path}", project_root=project))
    assert request_of(asked).kernels == (found,)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (words("--no-such-thing=1"), ""),
        (words("kernel.c"), ""),
        (words("--seal"), ""),
        (words("--arg=-O2"), ""),  # of no compiler
        (words(fragment_format="99"), "(format 99, this version reads"),
        (words(fragment_format="many"), "(format unknown, this version reads"),
        (words(fragment_format=None), "(format unknown, this version reads"),
        (words(system=None), "(format unknown, this version reads"),
        (words(config=None), "(format unknown, this version reads"),
        (words(lto="perhaps"), "(format unknown, this version reads"),
        (words(audit="never"), "(format unknown, this version reads"),
        ([], "(format unknown, this version reads"),
    ],
)
def test_what_no_fragment_of_this_version_writes_is_refused_in_an_answer(tmp_path, monkeypatch, capsys, given, shown):
    monkeypatch.chdir(tmp_path)
    depfile = [f"--depfile={tmp_path / 'plan.d'}"] if given else []
    assert main(["configure", *given, *depfile]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("error=isagen:%20")
    assert "the Meson fragment was not written by isagen" in said.out.replace("%20", " ")
    assert shown in said.out.replace("%20", " ")
    assert said.err == ""
    assert (tmp_path / "plan.d").exists() == bool(given)
