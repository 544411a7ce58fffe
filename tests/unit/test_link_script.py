"""Linker scripts in the place of sealed objects."""

import os

from isagen.build.link_script import linker_script, listed


def test_what_a_script_lists(tmp_path):
    path = tmp_path / "isa_sealed.a"
    objects = ["isagen/isa_DEFAULT.a.c.o", "isagen/isa_AVX2.a.c.o"]
    path.write_text(linker_script(objects))
    assert list(listed(str(path))) == [os.path.abspath(name) for name in objects]


def test_other_files_stand_for_themselves(tmp_path):
    archive, empty = tmp_path / "x.a", tmp_path / "empty.a"
    archive.write_bytes(b"!<arch>\n\xff")
    empty.touch()
    for path in (archive, empty, tmp_path / "gone.a", tmp_path / "x.o"):
        assert list(listed(str(path))) == [str(path)]
