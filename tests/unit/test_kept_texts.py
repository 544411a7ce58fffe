"""Generated texts that are kept across builds: they are those that would be laid out anew."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from isagen import rendering
from isagen.configure import compat, dispatch, kept_texts
from isagen.configure.kept_texts import CODE, PACKAGE, sources_digest, template_files
from isagen.model.names import MATRIX_MARK, NOTE_MARK
from isagen.model.plan import Limit
from isagen.probe.cache import NO_CACHE, Cache
from isagen.processors.registry import builtin_tables
from isagen.processors.table import load_table
from support.model import build_of, record_of
from support.registrations import plan_for

TABLE = load_table("x86", Path())
PLAN = plan_for(TABLE)
BUILD = build_of(PLAN)
# Builds whose texts differ.
BUILDS = {
    "plain": BUILD,
    "another project": build_of(PLAN, record_of(project="other")),
    "a set": build_of(replace(PLAN, kernel_set="one")),
    "a module": build_of(replace(PLAN, module="one")),
    "an override": build_of(replace(PLAN, override="ISA_LEVEL")),
    "a baseline": build_of(PLAN, record_of(baseline=("sse3",))),
    "fewer levels": build_of(replace(PLAN, levels=PLAN.levels[:2])),
    "no kernel": build_of(replace(PLAN, kernels=())),
    "opaque objects": replace(BUILD, limit=Limit("a test", opaque=True)),
    "a foreign compiler": replace(BUILD, limit=Limit("a test", foreign=True)),
}


def texts(build, kept):
    found = dispatch.dispatch_texts(build, TABLE, kept)
    named = {**found.headers, "source": found.source, "stubs": found.stubs, **dispatch.front_texts(build.plan, kept)}
    return named | compat.compat_texts(("aten", "ipex"), TABLE, kept)


@pytest.fixture
def kept(tmp_path):
    return Cache(tmp_path / "kept")


def test_builds_find_their_own(kept):
    laid_out = {name: texts(build, NO_CACHE) for name, build in BUILDS.items()}
    assert len(set(map(str, laid_out.values()))) == len(BUILDS)
    for _ in range(2):
        assert {name: texts(build, kept) for name, build in BUILDS.items()} == laid_out


def test_what_is_kept_is_not_laid_out(kept, monkeypatch):
    first = texts(BUILD, kept)
    for module in (dispatch, compat):
        monkeypatch.setattr(module, "render", None)
    assert texts(BUILD, kept) == first
    # The matrix of another version of the project is no other text.
    matrix = texts(replace(BUILD, record=replace(BUILD.record, isagen="1")), kept)
    assert matrix["source"] != first["source"]


def test_texts_of_other_code_are_others(tmp_path, monkeypatch):
    before = sources_digest()
    for name in CODE:
        target = tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((PACKAGE / name).read_bytes())
    monkeypatch.setattr(kept_texts, "PACKAGE", tmp_path)
    sources_digest.cache_clear()
    assert sources_digest() == before
    (tmp_path / CODE[0]).write_text("")
    sources_digest.cache_clear()
    assert sources_digest() != before
    sources_digest.cache_clear()


def test_no_mark_is_left():
    source = texts(BUILD, NO_CACHE)["source"]
    assert MATRIX_MARK not in source
    assert NOTE_MARK.partition("{")[0] not in source


DEEP = pytest.param("[" * 100_000, id="deep")
NOTHING = json.dumps({"texts": None, "digest": Cache.key(None)})


@pytest.mark.parametrize("content", ["", "[]", "{", DEEP, NOTHING, '{"digest": "x", "texts": {"x": "y"}}', "\0"])
def test_a_damaged_text_is_laid_out_anew(kept, tmp_path, content):
    first = texts(BUILD, kept)
    for path in (tmp_path / "kept").iterdir():
        path.write_text(content)
    assert texts(BUILD, kept) == first
    assert texts(BUILD, kept) == first


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path):
    (tmp_path / "file").touch()
    assert texts(BUILD, Cache(tmp_path / "file/kept")) == texts(BUILD, NO_CACHE)


def test_every_template_that_is_read_counts(monkeypatch):
    read = set()
    environment = rendering._environment()
    find = environment.loader.get_source

    def noted(environment, name):
        found = find(environment, name)
        read.add(Path(found[1]))
        return found

    monkeypatch.setattr(environment.loader, "get_source", noted)
    environment.cache.clear()
    for build in BUILDS.values():
        texts(build, NO_CACHE)
    for name in builtin_tables():
        table = load_table(name, Path())
        dispatch.dispatch_texts(build_of(plan_for(table)), table)
    assert len(read) > 12
    assert read <= set(template_files())
    assert not [path for path in template_files() if path.suffix in (".pyc", ".py~")]
