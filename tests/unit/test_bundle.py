"""The bundle of the build steps: whose bytecode it holds, when it is written, and what its modules can read."""

import os
import py_compile
import re
import shutil
import subprocess
import sys
from pathlib import Path
from py_compile import PycInvalidationMode as Mode

import pytest

import isagen
from isagen.build.start import BUNDLE, MAIN, PARTS, SIZES, Bundle
from isagen.configure import tool
from isagen.configure.bundle import make_bundle
from isagen.configure.tool import write_tool
from isagen.model.names import TOOL_MAIN
from isagen.probe.cache import Cache
from isagen.processors.features import read_features
from isagen.processors.registry import audited_processor, find_processor
from support.bundles import contents_of, run_in

GENERIC = find_processor("generic")
START = "isagen/build/start.py"
NAME = "isagen/module.py"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A tool as configuring leaves it."""
    folder = tmp_path_factory.mktemp("tool")
    write_tool(folder, {}, audited_processor())
    return folder


@pytest.fixture
def folder(written, tmp_path):
    """A copy of it."""
    return Path(shutil.copytree(written, tmp_path / "isa_tool"))


def step(folder, *words):
    """Run a build step; return what it said."""
    command = [sys.executable, "-I", "-S", folder / TOOL_MAIN, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


def assert_line_of_emit_in(said):
    """A traceback holds the line of the source where a step failed."""
    file = "isagen/build/main.py"
    at, shown = re.search(rf'File "isa_tool/{BUNDLE}/{file}", line (\d+), in _emit\n(.*)\n', said).groups()
    lines = (Path(isagen.__file__).parents[1] / file).read_text().splitlines()
    assert shown.strip() == lines[int(at) - 1].strip()


def test_it_holds_what_is_installed(folder):
    package = Path(isagen.__file__).parent
    contents = contents_of(folder)
    assert contents["isagen/build/seal.py"] == (package / "build/seal.py").read_bytes()
    assert [name for name in contents if name.endswith(".toml")] == [
        "isagen/audit/known_functions.toml",
        "isagen/processors/generic/features.toml",
        "isagen/processors/x86/features.toml",
    ]


def test_modules_come_from_it_with_bytecode(folder):
    said = run_in(
        folder,
        "import isagen, isagen.build.main as main\n"
        "print(main.__file__, main.main.__code__.co_filename, bundle._compiled, len(isagen.__path__))",
    )
    file = "isagen/build/main.py"
    assert said.split() == [f"{folder}/{BUNDLE}/{file}", f"isa_tool/{BUNDLE}/{file}", "True", "0"]
    assert not list(folder.rglob("__pycache__"))


def test_data_of_a_processor_is_read_from_it(folder):
    known = read_features("x86").features
    said = run_in(folder, "from isagen.processors.features import read_features as r\nprint(*r('x86').features)")
    assert said.split() == list(known)


def test_numbers_of_the_decoder_are_read_from_it(folder):
    code = "import iced_x86\nprint(iced_x86.Mnemonic.VPDPBUSD)"
    assert int(run_in(folder, code)) > 0


def test_data_that_is_not_there(folder):
    bundle = Bundle(str(folder / BUNDLE))
    with pytest.raises(FileNotFoundError, match=re.escape(f"{bundle.bundle}/isagen/none")):
        bundle.get_data(f"{bundle.bundle}/isagen/none")


def test_tracebacks_show_the_sources(folder):
    said = step(folder, "emit")
    assert_line_of_emit_in(said)
    assert "ValueError: not enough values to unpack" in said


def test_another_python_takes_the_sources(folder):
    path = folder / BUNDLE
    content, bundle = bytearray(path.read_bytes()), Bundle(str(path))
    content[:4] = b"\0\0\r\n"
    for _, start, size in bundle._modules.values():
        content[bundle._start + start : bundle._start + start + size] = bytes(size)
    boot = int.from_bytes(content[SIZES : SIZES + 4], "little")
    content[PARTS : PARTS + boot] = bytes(boot)
    path.write_bytes(content)
    assert step(folder, "nothing") == "isagen: error: isa_tool: there is no such step: nothing\n"
    assert_line_of_emit_in(step(folder, "emit"))
    assert run_in(folder, "import isagen.audit.built\nprint(bundle._compiled)") == "False\n"


def test_what_python_runs_is_short_and_knows_the_form():
    assert f'+ "{BUNDLE}"' in MAIN
    assert f"read({PARTS})" in MAIN
    assert f"({SIZES}, {SIZES + 4})" in MAIN
    assert MAIN.count("\n") < 12  # it is compiled for each step


def value_in_bundle(tmp_path, source):
    """The value in a bundle's bytecode of a module `value = NUMBER` whose source is installed in `tmp_path`."""
    start = Path(isagen.__file__).parent / "build/start.py"
    paths = {NAME: str(source), START: str(start)}
    path = tmp_path / "bundle"
    path.write_bytes(make_bundle(paths, {name: Path(file).read_bytes() for name, file in paths.items()}))
    space = {}
    exec(Bundle(str(path)).get_code("isagen.module"), space)
    return space["value"]


def kept_by_python(source, mode=Mode.TIMESTAMP):
    """Keep other bytecode than that of the source, which shows whether it is taken."""
    text, state = source.read_text(), source.stat()
    source.write_text("value = 2\n" if mode == Mode.TIMESTAMP else text)
    os.utime(source, ns=(state.st_atime_ns, state.st_mtime_ns))
    kept = Path(py_compile.compile(str(source), doraise=True, invalidation_mode=mode))
    source.write_text(text)
    os.utime(source, ns=(state.st_atime_ns, state.st_mtime_ns))
    return kept


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "module.py"
    path.write_text("value = 1\n")
    return path


def test_bytecode_that_python_kept_is_taken(tmp_path, source):
    kept_by_python(source)
    assert value_in_bundle(tmp_path, source) == 2


@pytest.mark.parametrize("mode", [Mode.CHECKED_HASH, Mode.UNCHECKED_HASH])
def test_bytecode_with_a_hash_is_taken_where_it_is_the_source_s(tmp_path, source, mode):
    kept = kept_by_python(source, mode)
    source.write_text("value = 2\n")
    other = Path(py_compile.compile(str(source), str(tmp_path / "other.pyc"), invalidation_mode=mode))
    source.write_text("value = 1\n")
    kept.write_bytes(kept.read_bytes()[:16] + other.read_bytes()[16:])
    assert value_in_bundle(tmp_path, source) == 2
    kept.write_bytes(other.read_bytes())
    assert value_in_bundle(tmp_path, source) == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda source, kept: os.utime(source, ns=(0, source.stat().st_mtime_ns + 2_000_000_000)),
        lambda source, kept: source.write_text("value =  1\n"),
        lambda source, kept: kept.write_bytes(b"\0\0\r\n" + kept.read_bytes()[4:]),
        lambda source, kept: kept.write_bytes(kept.read_bytes()[:20]),
        lambda source, kept: kept.write_bytes(kept.read_bytes()[:16] + b"N"),
        lambda source, kept: kept.write_bytes(b""),
        lambda source, kept: kept.unlink(),
    ],
    ids=["another time", "another size", "another Python", "cut off", "no code", "empty", "missing"],
)
def test_other_bytecode_is_not_taken(tmp_path, source, change):
    change(source, kept_by_python(source))
    assert value_in_bundle(tmp_path, source) == 1


def test_the_same_files_make_the_same_bytes(tmp_path, source):
    """Whether their bytecode was kept or not, and wherever they are installed."""
    elsewhere = tmp_path / "elsewhere/module.py"
    start = tmp_path / "start.py"
    elsewhere.parent.mkdir()
    for path in (source, elsewhere, start):
        shutil.copy(Path(isagen.__file__).parent / "build/start.py", path)
    py_compile.compile(str(source), doraise=True)
    made = []
    for path in (source, elsewhere):
        contents = {START: start.read_bytes(), NAME: path.read_bytes()}
        made += [make_bundle({START: str(start), NAME: str(path)}, dict(order)) for order in
                 (contents.items(), reversed(contents.items()))]  # fmt: skip
    assert made[0] == made[1] == made[2] == made[3]


class Installation:
    """A few of isagen's files, installed where a test can change them."""

    def __init__(self, folder, monkeypatch):
        package = Path(isagen.__file__).parent
        self.paths = {}
        for name in ("isagen/__init__.py", "isagen/model/names.py", START):
            self.paths[name] = folder / "installed" / name
            self.paths[name].parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(package / name.removeprefix("isagen/"), self.paths[name])
        self.folder, self.cache = folder / "isa_tool", folder / "cache"
        self.made = []
        monkeypatch.setattr(tool, "_own", lambda: ((name, str(path)) for name, path in self.paths.items()))
        monkeypatch.setattr(tool, "make_bundle", self._make)

    def _make(self, *arguments):
        self.made.append(arguments)
        return make_bundle(*arguments)

    def configure(self, cache=True, folder=None, processor=GENERIC):
        """Write the tool; return its digest."""
        return write_tool(folder or self.folder, {}, processor, Cache(self.cache if cache else None))

    @property
    def bundle(self):
        return self.folder / BUNDLE

    @property
    def state(self):
        found = self.bundle.stat()
        return found.st_ino, found.st_mtime_ns

    def kept(self, kind):
        (found,) = self.cache.glob(f"*.{kind}")
        return found


@pytest.fixture
def installed(tmp_path, monkeypatch):
    return Installation(tmp_path, monkeypatch)


@pytest.mark.parametrize("cache", [True, False])
def test_configuring_again_leaves_it(installed, cache):
    digest = installed.configure(cache)
    state = installed.state
    assert installed.configure(cache) == digest
    assert installed.state == state
    assert len(installed.made) == 1
    assert installed.cache.exists() == cache


def test_other_build_folders_get_the_one_that_is_kept(installed, tmp_path):
    digest = installed.configure()
    assert installed.configure(folder=tmp_path / "other") == digest
    assert len(installed.made) == 1
    assert (tmp_path / "other" / BUNDLE).read_bytes() == installed.bundle.read_bytes()
    assert installed.configure(cache=False, folder=tmp_path / "third") == digest
    assert len(installed.made) == 2


DAMAGE = {
    "cut off": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "a bit": lambda path: path.write_bytes(path.read_bytes()[:-900] + b"?" + path.read_bytes()[-899:]),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"?"),
    "empty": lambda path: path.write_bytes(b""),
    "missing": lambda path: path.unlink(),
    "for another Python": lambda path: path.write_bytes(b"\0\0\r\n" + path.read_bytes()[4:]),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_one_is_written_again(installed, damage):
    digest = installed.configure()
    good = installed.bundle.read_bytes()
    damage(installed.bundle)
    assert installed.configure() == digest
    assert installed.bundle.read_bytes() == good
    assert len(installed.made) == 1  # from the one that is kept
    damage(installed.bundle)
    damage(installed.kept("bundle"))
    assert installed.configure() == digest
    assert installed.bundle.read_bytes() == installed.kept("bundle").read_bytes() == good


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"digests": 1, "check": 2}', '{"digests": ["00", "11"]}'], ids=str
)
def test_kept_digests_that_are_damaged_do_not_count(installed, text):
    digest = installed.configure()
    state = installed.state
    good = installed.kept("json").read_text()
    installed.kept("json").write_text(text)
    assert installed.configure() == digest
    assert installed.state == state
    assert installed.kept("json").read_text() == good


@pytest.mark.parametrize("cache", [True, False])
def test_the_digest_changes_with_the_content_alone(installed, cache):
    digest = installed.configure(cache)
    names = installed.paths["isagen/model/names.py"]
    text = names.read_text()
    py_compile.compile(str(names), doraise=True)
    os.utime(names)
    assert installed.configure(cache) == digest
    names.write_text(text + "\nMORE = 1\n")
    other = installed.configure(cache)
    assert other != digest
    assert contents_of(installed.folder)["isagen/model/names.py"] == names.read_bytes()
    names.write_text(text)
    assert installed.configure(cache) == digest
    assert write_tool(installed.folder, {"isa_dispatch.c": "1"}, GENERIC) != digest
    assert installed.configure(cache, processor=audited_processor()) not in (digest, other)


def test_what_is_kept_does_not_grow_with_edits(installed):
    for number in range(3):
        installed.paths["isagen/__init__.py"].write_text(f"number = {number}\n")
        installed.configure()
    assert len(list(installed.cache.iterdir())) == 2


def test_a_cache_that_cannot_be_written_is_none(installed):
    installed.cache.write_text("a file")
    digest = installed.configure()
    assert installed.configure() == digest
    assert len(installed.made) == 1


def test_a_configuring_that_ends_early_leaves_the_old_one(installed, monkeypatch):
    installed.configure()
    good = installed.bundle.read_bytes()
    installed.paths["isagen/__init__.py"].write_text("another = 1\n")

    def stop(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("isagen.model.files.os.replace", stop)
        with pytest.raises(KeyboardInterrupt):
            installed.configure()
    assert installed.bundle.read_bytes() == good
    assert sorted(path.name for path in installed.folder.iterdir()) == [TOOL_MAIN, BUNDLE]
    installed.configure()
    assert installed.bundle.read_bytes() != good
