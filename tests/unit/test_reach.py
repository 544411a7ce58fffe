"""The test link that shows whether a compiler calls the linkers' scripts, and what is kept of it."""

import stat
from dataclasses import replace

import pytest

from isagen.configure.reach import is_reached
from isagen.probe.cache import NO_CACHE, Cache
from isagen.probe.compiler import find_compiler
from support.projects import need

LOGGING = '#!/bin/sh\necho "$*" >> {log}\n{call}\n'


@pytest.fixture
def gcc():
    need("gcc")
    return replace(find_compiler("c", ["gcc"]), linker="ld.bfd")


def wrapped(tmp_path, compiler, call='exec gcc "$@"'):
    """Return a compiler that logs its arguments and then runs `call`; and the log."""
    script, log = tmp_path / "gcc", tmp_path / "log"
    script.write_text(LOGGING.format(log=log, call=call))
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return replace(compiler, command=(str(script),)), log


def links(log):
    return [line for line in log.read_text().splitlines() if "--isagen-proof" in line]


def test_gcc_is_asked_once(gcc, tmp_path):
    compiler, log = wrapped(tmp_path, gcc)
    cache, (one, other) = Cache(tmp_path / "cache"), (tmp_path / "one", tmp_path / "other")
    for folder in (one, other):
        folder.mkdir()
        assert is_reached([compiler], folder, cache)
        assert not list(folder.iterdir())
    assert len(links(log)) == 2  # as it links by itself, and with -fuse-ld=bfd
    assert is_reached([replace(compiler, link_args=("-s",))], one, cache)
    assert len(links(log)) == 4


def test_a_folder_of_another_kind_is_asked_about(gcc, tmp_path):
    compiler, log = wrapped(tmp_path, gcc)
    cache, odd = Cache(tmp_path / "cache"), tmp_path / "o d d"
    odd.mkdir()
    assert is_reached([compiler], tmp_path, cache)
    assert is_reached([compiler], odd, cache)
    assert len(links(log)) == 4


def test_a_compiler_that_takes_another_linker(gcc, tmp_path):
    deaf = 'for word; do shift; case "$word" in -B*) ;; *) set -- "$@" "$word" ;; esac; done; exec gcc "$@"'
    compiler, log = wrapped(tmp_path, gcc, deaf)
    cache = Cache(tmp_path / "cache")
    assert not is_reached([compiler], tmp_path, cache)
    assert not is_reached([gcc, compiler], tmp_path, cache)
    assert len(links(log)) == 2  # a failure is not kept


@pytest.mark.parametrize("change", [{"linker": "ld.gold"}, {"linker": ""}, {"id": "clang"}])
def test_meson_asks_where_it_links_otherwise(gcc, tmp_path, change):
    compiler, log = wrapped(tmp_path, gcc)
    assert not is_reached([replace(compiler, **change)], tmp_path, NO_CACHE)
    assert not log.exists()


def test_fortran_links_nothing(gcc, tmp_path):
    assert is_reached([replace(gcc, language="fortran", linker="")], tmp_path, NO_CACHE)
