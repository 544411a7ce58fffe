"""`isagen init` adds its options to a project's file of options, and keeps the rest."""

from pathlib import Path

import pytest

from isagen.project.init import OPTIONS_BEGIN, OPTIONS_END
from support.init import OPTIONS, existing_project, run


@pytest.fixture
def project(tmp_path) -> Path:
    return existing_project(tmp_path)


def test_options_are_appended(project):
    (project / "meson_options.txt").write_text(OPTIONS)
    assert "updated  meson_options.txt" in run(project)
    text = (project / "meson_options.txt").read_text()
    assert text.startswith(OPTIONS)
    assert all(text.count(f"'{name}'") == 1 for name in ("isa_levels", "isa_require", "isa_probe_cache", "isa_seal"))
    assert text.count(OPTIONS_BEGIN) == text.count(OPTIONS_END) == 1


def test_options_are_appended_to_a_file_without_a_last_line_end(project):
    (project / "meson_options.txt").write_text(OPTIONS.rstrip())
    run(project)
    assert (project / "meson_options.txt").read_text().startswith(OPTIONS)


def test_old_options_are_updated_in_place(project):
    run(project)
    path = project / "meson_options.txt"
    newest = path.read_text()
    path.write_text(f"{OPTIONS}{OPTIONS_BEGIN}\noption('isa_levels', type: 'integer')\n{OPTIONS_END}\n# last\n")
    assert "updated  meson_options.txt" in run(project)
    assert path.read_text() == f"{OPTIONS}{newest}# last\n"
    assert "kept     meson_options.txt (up to date)" in run(project)


def test_rest_of_the_options_keeps_its_bytes(project):
    rest = b"option('speed', type: 'boolean')\r\noption('size', type: 'integer')\r\n"
    (project / "meson_options.txt").write_bytes(rest)
    run(project)
    assert (project / "meson_options.txt").read_bytes().startswith(rest)


def test_options_that_are_no_utf8_keep_their_bytes(project):
    rest = b"# Latin-1: \xe9\n"
    (project / "meson_options.txt").write_bytes(rest)
    run(project)
    assert (project / "meson_options.txt").read_bytes().startswith(rest)


def test_options_declared_by_hand_are_left(project):
    text = "option('isa_levels', type: 'string', value: 'AVX2')\n"
    (project / "meson_options.txt").write_text(text)
    assert "kept     meson_options.txt" in run(project)
    assert (project / "meson_options.txt").read_text() == text


def test_meson_options_is_preferred(project):
    (project / "meson.options").write_text(OPTIONS)
    (project / "meson_options.txt").write_text(OPTIONS)
    run(project)
    assert "isa_levels" in (project / "meson.options").read_text()
    assert (project / "meson_options.txt").read_text() == OPTIONS
