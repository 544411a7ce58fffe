"""The last answer of configuring, which is given again where all that it was made from is as it was, and only there."""

import os
import shutil
from pathlib import Path

import pytest

from isagen.model.kept import HEAD
from isagen.processors.registry import audited_processor


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_the_answer_is_that_of_configuring(fragment):
    text = fragment.settle()
    depfile = fragment.folder / "build/isa_plan.d"
    said = depfile.read_text()
    depfile.unlink()  # Meson may
    assert fragment.configure() == (text, True)
    assert depfile.read_text() == said
    fragment.forget()
    assert fragment.configure() == (text, False)
    assert depfile.read_text() == said


def test_what_shells_change_and_kernels_hold_does_not_count(fragment):
    text = fragment.settle()
    (fragment.folder / "one.c").write_text("int another;\n")
    assert fragment.configure(SHLVL="9", OLDPWD="/", _="/usr/bin/other") == (text, True)


def test_the_record_holds_no_environment(fragment):
    fragment.settle()
    for record in (fragment.record, fragment.longer):
        assert fragment.environment["TOKEN"].encode() not in record.read_bytes()


def append(name):
    """Change a file by a line that says nothing; it becomes as it was, but for its times."""

    def change(fragment):
        path = fragment.folder / name
        content = path.read_bytes()
        path.write_bytes(content + b"\n")
        return lambda: path.write_bytes(content)

    return change


def remove(name):
    def change(fragment):
        path = fragment.folder / name
        content, mode = path.read_bytes(), path.stat().st_mode
        path.unlink()
        return lambda: (path.write_bytes(content), path.chmod(mode))

    return change


def add(name, content=b""):
    def change(fragment):
        path = fragment.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        path.chmod(0o755)
        return lambda: path.unlink(missing_ok=True)

    return change


def same_size_and_time(fragment):
    """As an archive restores it."""
    path = fragment.folder / "isa.toml"
    state = path.stat()
    path.write_bytes(path.read_bytes())
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    return lambda: None


def other_macros(fragment):
    return append_text(fragment.folder / "chosen", "compiler='gcc -mpclmul'\n")


def other_version(fragment):
    return append_text(fragment.folder / "chosen", '[ "$1" != --version ] || compiler="echo another"\n')


def other_assembler(fragment):
    return append_text(fragment.folder / "chosen", '[ "$1" != -print-prog-name=as ] || compiler="echo gcc"\n')


def append_text(path, text):
    before = path.read_text()
    path.write_text(before + text)
    return lambda: path.write_text(before)


def other_python(fragment):
    return change_records(fragment, lambda content: content.replace(HEAD, HEAD.replace(b"cpython-3", b"cpython-9")))


def damage(fragment):
    return change_records(fragment, lambda content: content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])


def cut(fragment):
    return change_records(fragment, lambda content: content[: len(content) // 2])


def change_records(fragment, changed):
    for record in (fragment.record, fragment.longer):
        content = record.read_bytes()
        record.write_bytes(changed(content))
        assert record.read_bytes() != content
    return lambda: None


PARTS = (audited_processor().decoder_parts or tuple)()
OUTPUTS = (
    "isa_plan.json",
    "isa_include/isa_dispatch.h",
    "isa_include/isa_guard_AVX2.h",
    "isa_tool/__main__.py",
    "isa_tool/isagen.bundle",
    "isa_tool/texts/isa_dispatch.c",
    "isa_tool/audit_error/ld",
    *(f"isa_tool/iced_x86/{name}" for name in PARTS if not name.endswith(".py")),
)
CHANGES = {
    "the project's settings": append("isa.toml"),
    "the project's settings, restored": same_size_and_time,
    "a table": append("own.toml"),
    "a header that probes include": append("probed.h"),
    "a module of isagen": append("site/isagen/configure/own_flags.py"),
    "a module that only build steps load": append("site/isagen/build/seal.py"),
    "a new module of isagen": add("site/isagen/model/another.py"),
    "a table of isagen": append("site/isagen/processors/x86/tables/x86.toml"),
    "a template": append("site/templates/isa_guard.h.j2"),
    "macros of the compiler behind a wrapper": other_macros,
    "version of the compiler behind a wrapper": other_version,
    "assembler of the compiler behind a wrapper": other_assembler,
    "the wrapper": append("bin/own-cc"),
    "a new linker on PATH": add("bin/ld.other"),
    "a header that nobody generated": add("build/isagen/isa_include/immintrin.h"),
    "a header of compat": add("build/isagen/isa_compat/isa_torch.h"),
    "a module in the tool's folder": add("build/isagen/isa_tool/isagen/former.py"),
    "another Python": other_python,
    "damaged records": damage,
    "half of the records": cut,
    **{f"edited: {name}": append(f"build/isagen/{name}") for name in OUTPUTS},
    **{f"removed: {name}": remove(f"build/isagen/{name}") for name in OUTPUTS},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_configures(fragment, change):
    fragment.settle()
    undo = change(fragment)
    try:
        text, again = fragment.configure()
        assert not again
        assert not text.startswith("error=")
    finally:
        undo()
    fragment.settle()


@pytest.mark.parametrize("name", OUTPUTS)
def test_what_is_edited_or_removed_is_as_configuring_left_it(fragment, name):
    fragment.settle()
    content = (fragment.output / name).read_bytes()
    append(f"build/isagen/{name}")(fragment)
    fragment.configure()
    assert (fragment.output / name).read_bytes() == content


def test_another_call_configures(fragment):
    for words in (fragment.words(levels="AVX2"), fragment.words("--arg=-DX"), fragment.words(editor="AVX2")):
        fragment.settle()
        assert not fragment.configure(words)[1]
    fragment.settle()
    assert not fragment.configure(NEW_VARIABLE="1")[1]
    assert fragment.configure(NEW_VARIABLE="1")[1]
    assert not fragment.configure(NEW_VARIABLE="2")[1]


def test_sets_have_records_of_their_own(fragment):
    sets = [fragment.words(label=label, set=label, sets="one,other") for label in ("one", "other")]
    for words in (*sets, *sets):
        fragment.configure(words)
    assert [fragment.configure(words)[1] for words in sets] == [True, True]


def test_an_error_is_not_given_again(fragment):
    fragment.settle()
    (fragment.folder / "two.c").rename(fragment.folder / "gone.c")
    for _ in range(2):
        text, again = fragment.configure()
        assert text.replace("%20", " ").startswith("error=isagen: isa_kernels: two.c: there is no such kernel source")
        assert not again
        assert not fragment.record.exists()
        assert not fragment.longer.exists()
    (fragment.folder / "gone.c").rename(fragment.folder / "two.c")
    fragment.settle()


def test_nothing_is_kept_without_the_probe_cache(fragment):
    fragment.settle()
    words = fragment.words(probe_cache="false", output=str(fragment.folder / "uncached"))
    assert [fragment.configure(words)[1] for _ in range(2)] == [False, False]
    assert not list((fragment.folder / "uncached").glob(".*"))


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("own.toml", "\nextends", '\nlevels.AVX512.probe = "no_such_instruction();"\nextends'),  # is tried each time
        ("isa.toml", "table", 'compat = ["aten"]\ntable'),  # the project's own headers count
    ],
)
def test_what_may_change_unnoticed_is_found_out_each_time(fragment, name, old, new):
    path = fragment.folder / name
    before = path.read_text()
    edit(path, old, new)
    try:
        said = {fragment.configure() for _ in range(3)}
        ((text, again),) = said
        assert not again
        assert not text.startswith("error=")
        assert not fragment.record.exists()
    finally:
        path.write_text(before)
    fragment.settle()


def test_macros_that_arguments_of_kernels_turn_on_are_asked_for_again(fragment):
    path = fragment.folder / "isa.toml"
    before = path.read_text()
    path.write_text(f'{before}\n[kernels."one.c"]\nargs = ["-fno-math-errno"]\n')
    try:
        fragment.settle()
        undo = append_text(fragment.folder / "chosen", 'case "$*" in *math-errno*) compiler="gcc -msse3" ;; esac\n')
        assert not fragment.configure()[1]
        undo()
    finally:
        path.write_text(before)
    fragment.settle()


@pytest.mark.parametrize("name", ["isa.toml", "own.toml", "probed.h", "site/isagen/configure/own_flags.py"])
def test_what_changes_while_isagen_configures_is_seen(fragment, name):
    fragment.settle()
    path = fragment.folder / name
    undo = append_text(fragment.folder / "chosen", f"echo >> {path}\n")
    before = path.read_bytes()
    fragment.configure()
    undo()
    assert path.read_bytes() != before
    assert not fragment.configure()[1]
    path.write_bytes(before)
    fragment.settle()


def test_a_table_behind_a_link_that_leads_elsewhere(fragment):
    path, link, other = (fragment.folder / name for name in ("isa.toml", "linked.toml", "other.toml"))
    before = path.read_text()
    shutil.copy(fragment.folder / "own.toml", other)
    link.symlink_to("own.toml")
    edit(path, "own.toml", "linked.toml")
    fragment.settle()
    link.unlink()
    link.symlink_to("other.toml")
    try:
        assert not fragment.configure()[1]
    finally:
        path.write_text(before)
    fragment.settle()
