"""The test link that shows whether a compiler calls the linkers' scripts, and what is kept of it."""

import os
import shutil
from dataclasses import replace

import pytest

from isagen.configure.reach import is_reached
from isagen.model.names import LINK_PROOF
from isagen.probe.cache import NO_CACHE, Cache
from isagen.probe.compiler import Compiler, find_compiler
from support.projects import need


@pytest.fixture
def gcc():
    need("gcc")
    return replace(find_compiler("c", ["gcc"]), linker="ld.bfd")


@pytest.fixture
def links(monkeypatch):
    """The test links that compilers were asked for."""
    found, run = [], Compiler.run

    def noted(self, args, *more, **named):
        if f"-Wl,{LINK_PROOF}" in args:
            found.append(args)
        return run(self, args, *more, **named)

    monkeypatch.setattr(Compiler, "run", noted)
    return found


def test_gcc_is_asked_once(gcc, links, tmp_path):
    cache, (one, other) = Cache(tmp_path / "cache"), (tmp_path / "one", tmp_path / "other")
    for folder in (one, other):
        folder.mkdir()
        assert is_reached([gcc], folder, cache)
        assert not list(folder.iterdir())
    assert len(links) == 2  # as it links by itself, and with -fuse-ld=bfd
    assert is_reached([replace(gcc, link_args=("-s",))], one, cache)
    assert len(links) == 4


def test_a_folder_of_another_kind_is_asked_about(gcc, links, tmp_path):
    cache, odd = Cache(tmp_path / "cache"), tmp_path / "o d d"
    odd.mkdir()
    assert is_reached([gcc], tmp_path, cache)
    assert is_reached([gcc], odd, cache)
    assert len(links) == 4


def test_a_compiler_that_takes_another_linker(gcc, links, tmp_path):
    deaf = replace(gcc, link_args=(f"-B{os.path.dirname(shutil.which('ld'))}",))
    cache = Cache(tmp_path / "cache")
    assert not is_reached([deaf], tmp_path, cache)
    assert not is_reached([gcc, deaf], tmp_path, cache)
    assert len(links) == 4  # a failure is not kept


@pytest.mark.parametrize("change", [{"linker": "ld.gold"}, {"linker": ""}, {"id": "clang"}])
def test_meson_asks_where_it_links_otherwise(gcc, links, tmp_path, change):
    assert not is_reached([replace(gcc, **change)], tmp_path, NO_CACHE)
    assert links == []


@pytest.mark.parametrize("arg", ["-specs=own.specs", "--specs=own.specs", "-specs", "@own.args"])
@pytest.mark.parametrize("name", ["args", "link_args", "command"])
def test_meson_asks_where_a_file_has_more_arguments(gcc, links, tmp_path, name, arg):
    """It may come to say something else."""
    assert not is_reached([replace(gcc, **{name: (*getattr(gcc, name), arg)})], tmp_path, NO_CACHE)
    assert links == []


def test_meson_asks_where_a_script_calls_the_compiler(gcc, links, tmp_path):
    script = tmp_path / "gcc"
    script.write_text('#!/bin/sh\nexec gcc $MORE "$@"\n')
    script.chmod(0o755)
    assert not is_reached([replace(gcc, command=(str(script),))], tmp_path, NO_CACHE)
    assert links == []


def test_fortran_links_nothing(gcc, tmp_path):
    assert is_reached([replace(gcc, language="fortran", linker="")], tmp_path, NO_CACHE)
