"""What the OS refuses becomes one line that names the file: in commands, in build steps, and in Meson's error()."""

import errno
import os
from types import SimpleNamespace

import pytest

from isagen.build.main import main as step
from isagen.cli import main
from isagen.configure import configure
from isagen.configure.configure import answer_fragment
from isagen.configure.request import FRAGMENT_FORMAT, ONCE
from support.model import kernel_row, plan_of, write_build


def fragment_words(folder) -> list[str]:
    paths = dict.fromkeys(ONCE, folder) | {
        "config": folder / "isa.toml",
        "depfile": folder / "plan.d",
        "fragment-format": FRAGMENT_FORMAT,
    }
    return [f"--{name}={value}" for name, value in paths.items()]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_configuring_answers_the_fragment(tmp_path, monkeypatch, capsys, number):
    def refused(request):
        raise OSError(number, os.strerror(number), "/build/isa_plan.json")

    monkeypatch.setattr(configure, "request_of", lambda options: SimpleNamespace(compilers=()))
    monkeypatch.setattr(configure, "configure", refused)
    assert answer_fragment(fragment_words(tmp_path)) == 0
    said = capsys.readouterr().out
    assert said == f"error=isagen: /build/isa_plan.json: {os.strerror(number)}\n"
    assert (tmp_path / "plan.d").read_text().startswith("plan.conf: ")


def test_configuring_answers_where_not_even_the_depfile_can_be_written(tmp_path, monkeypatch, capsys):
    (tmp_path / "plan.d").mkdir()
    monkeypatch.setattr(configure, "request_of", lambda options: SimpleNamespace(compilers=()))
    monkeypatch.setattr(configure, "configure", lambda request: ("a=b\n", ()))
    assert answer_fragment(fragment_words(tmp_path)) == 0
    assert capsys.readouterr().out.startswith("error=isagen: /")


def test_a_step_that_cannot_write(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    plan = write_build(tmp_path, plan_of(("DEFAULT",), [kernel_row("a.c", {"DEFAULT": "a.c.DEFAULT.c"})]))
    (tmp_path / "a.c").touch()
    (tmp_path / "file").touch()
    assert step(["emit", str(plan), "file"]) == 1
    assert capsys.readouterr().err == "isagen: error: file/isa_dispatch.c: Not a directory\n"


def test_a_step_that_cannot_read(tmp_path, capsys):
    plan = write_build(tmp_path, plan_of(("DEFAULT",)), {})
    assert step(["emit", str(plan), str(tmp_path)]) == 1
    assert (
        "isa_dispatch.c: cannot be read: No such file or directory\n  configure the build folder again"
        in capsys.readouterr().err
    )


def test_a_command_that_cannot_write(tmp_path, monkeypatch, capsys):
    def refused(path, data, mode):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr("isagen.model.files.write_atomically", refused)
    assert main(["init", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"isagen: error: {tmp_path}/")
    assert said.endswith(": No space left on device\n")


def test_a_compiler_without_a_name(capsys):
    assert main(["probe", "--compiler", ""]) == 2
    assert "there is no compiler ''" in capsys.readouterr().err
