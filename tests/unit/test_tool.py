"""The copied tool: which files configuring removes from its folder, and which it leaves."""

from isagen.configure.tool import write_tool
from isagen.model.names import TEXTS_FOLDER
from isagen.processors.registry import find_processor

GENERIC = find_processor("generic")


def test_stale_files_go_and_others_stay(tmp_path):
    write_tool(tmp_path, {"isa_dispatch.h": "1", "isa_dispatch.other.c": "1"}, GENERIC)
    (tmp_path / "isagen/steps").mkdir()
    stale = tmp_path / "isagen/steps/old.py"
    stale.touch()
    script = tmp_path / "audit_error/ld"
    foreign = tmp_path / "library" / TEXTS_FOLDER / "words"
    folder = tmp_path / "folder.py"
    for path in (script, foreign):
        path.parent.mkdir(parents=True)
        path.touch()
    folder.mkdir()
    (tmp_path / TEXTS_FOLDER / "folder").mkdir()
    write_tool(tmp_path, {"isa_dispatch.h": "1"}, GENERIC)
    assert not stale.exists()
    assert script.is_file()
    assert foreign.is_file()
    assert folder.is_dir()
    assert (tmp_path / TEXTS_FOLDER / "isa_dispatch.h").read_text() == "1"
    assert (tmp_path / TEXTS_FOLDER / "isa_dispatch.other.c").is_file()  # of another set of kernels
