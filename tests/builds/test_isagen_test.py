"""`isagen test` and the pytest plugin: what ran at which level and how, and what does not count as a run."""

import importlib.metadata
import json
import subprocess
import sys

import pytest

from isagen.matrix.where import find_matrices
from isagen.testing.places import Place
from isagen.testing.runs import run_levels
from support.levels import supported_levels
from support.projects import make_project, need

LEVELS = ["DEFAULT", "AVX2", "AVX512"]
PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
SUITE = """\
import os

import bound


def test_level():
    assert bound.level() == os.environ["BOUND_ISA"]
"""
# As in docs/testing.md.
PLUGIN_SUITE = """\
import bound


def test_every_level_runs_its_own_copy(isa_level):
    assert bound.level() == isa_level
"""
PROGRAM_SUITE = """\
import subprocess


def test_program():
    subprocess.run(["build/psabi"], check=True)
"""


@pytest.fixture(scope="module")
def bound(tmp_path_factory):
    """A pybind11 module at three levels, in its build folder `build`."""
    project = make_project(tmp_path_factory.mktemp("bound"), "pybind11")
    project.setup(f"-Disa_levels={','.join(LEVELS)}", "-Doptimization=1")
    project.ninja()
    for name, text in {"suite": SUITE, "levels": PLUGIN_SUITE}.items():
        (project.folder / f"test_{name}.py").write_text(text)
    return project


def run(project, *words, check=True):
    return project.run(sys.executable, "-m", "isagen", "test", *words, check=check, PYTHONPATH=str(project.path(".")))


def results(project, *words):
    done = run(project, "--format", "json", "-o", "results.json", *words, check=False)
    path = project.folder / "results.json"
    assert path.exists(), done.stdout
    return done.returncode, {one["level"]: one for one in json.loads(path.read_text())["levels"]}


@pytest.mark.smoke
def test_a_module_is_tested_at_each_level(bound):
    status, by_level = results(bound, "--", *PYTEST, "test_suite.py")
    assert status == 0
    for level, one in by_level.items():
        if level not in LEVELS:
            assert (one["result"], one["how"]) == ("not run", "")
            assert one["reason"] == "disabled: by the Meson option isa_levels"
        elif level in supported_levels():
            assert (one["result"], one["how"], one["reason"]) == ("passed", "this CPU", "")
            assert one["loaded"] == {level: 1}
        elif one["result"] == "not run":
            assert one["reason"].startswith("this CPU lacks ")


def test_a_program_is_tested_at_each_level(tmp_path):
    project = make_project(tmp_path, "psabi")
    project.setup()
    project.ninja()
    (project.folder / "test_program.py").write_text(PROGRAM_SUITE)
    status, by_level = results(project, "--", *PYTEST, "test_program.py")
    assert status == 0
    assert by_level["X86_64"]["result"] == "passed"
    passed = {name: one["loaded"] for name, one in by_level.items() if one["result"] == "passed"}
    assert passed == {name: {name: 1} for name in passed}


def test_under_qemu(bound):
    """An emulated CPU has the level and as little as possible above it."""
    need("qemu-x86_64")
    status, by_level = results(bound, "--emulated", "--", *PYTEST, "test_suite.py")
    assert status == 0
    assert {name: by_level[name]["how"] for name in ("DEFAULT", "AVX2")} == {
        "DEFAULT": "qemu-x86_64 -cpu Nehalem",
        "AVX2": "qemu-x86_64 -cpu Haswell-v4",
    }
    assert by_level["AVX512"]["reason"].startswith("qemu-x86_64 -cpu max lacks avx512_f ")


@pytest.mark.parametrize("start", ["/usr/bin/env", "/usr/bin/env -S"])
def test_a_script_under_qemu(bound, start):
    need("qemu-x86_64")
    script = bound.folder / "suite.sh"
    script.write_text(f"#!{start} {sys.executable}\nimport bound\n")
    script.chmod(0o755)
    status, by_level = results(bound, "--emulated", "--levels", "default", "--", str(script))
    assert (status, by_level["DEFAULT"]["result"]) == (0, "passed")


def test_a_missing_emulator_is_named(bound, monkeypatch):
    """A level that this CPU lacks would perhaps run there."""
    monkeypatch.setattr("isagen.testing.places._this_cpu", lambda _: Place("this CPU", lacks={"avx2": "avx2"}))
    monkeypatch.setenv("PATH", "")
    matrices = [found.matrix for found in find_matrices(str(bound.path(".")))]
    (one,) = run_levels("", matrices, ["AVX2"], ["true"], emulated=False)
    assert (one.result, one.reason) == ("not run", "this CPU lacks avx2; qemu-x86_64 is not installed")


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("pass", "no level ran: the command loaded nothing with these levels"),
        ("import bound; raise SystemExit(3)", "the command ended with status 3"),
        ("import bound, os; os.abort()", "the command ended with SIGABRT"),
        ("import os; os.kill(os.getpid(), 37)", "the command ended with signal 37"),
    ],
)
def test_what_fails(bound, code, reason):
    status, by_level = results(bound, "--levels", "default", "--", sys.executable, "-c", code)
    assert status == 1
    assert [(one["result"], one["reason"]) for one in by_level.values()] == [("failed", reason)]


def test_another_level_does_not_count(bound):
    """The command undoes the override."""
    if "AVX2" not in supported_levels():
        pytest.skip("this CPU has one level")
    code = "import os; os.environ['BOUND_ISA'] = 'DEFAULT'; import bound"
    status, by_level = results(bound, "--levels", "avx2", "--", sys.executable, "-c", code)
    assert (status, by_level["AVX2"]["reason"]) == (1, "DEFAULT ran in its place")


def test_only_the_command_itself_runs_under_qemu(bound):
    """A CPU with the best level of the emulated one cannot be told from it."""
    need("qemu-x86_64")
    if "AVX2" not in supported_levels():
        pytest.skip("this CPU has one level")
    command = ("env", sys.executable, "-c", "import bound")
    status, by_level = results(bound, "--emulated", "--levels", "default", "--", *command)
    assert (status, by_level["DEFAULT"]["result"]) == (1, "failed")
    assert by_level["DEFAULT"]["reason"].startswith("it ran on this CPU, outside the emulator")


def test_another_build_does_not_count(tmp_path):
    """An older build is installed, stripped, when the build folder is built from a wrong kernel."""
    need("strip")
    project = make_project(tmp_path, "pybind11")
    project.setup("-Disa_levels=DEFAULT", "-Doptimization=1")
    project.ninja()
    (built,) = project.path(".").glob("bound*.so")
    installed = project.folder / "installed" / built.name
    installed.parent.mkdir()
    project.run("strip", "-o", str(installed), str(built))
    command = ("--", sys.executable, "-c", f"import sys; sys.path.insert(0, {str(installed.parent)!r}); import bound")
    assert results(project, *command)[0] == 0

    project.edit("level.cpp", "return ISA_THIS_LEVEL", 'return "wrong"')
    project.ninja()
    status, by_level = results(project, *command)
    assert status == 1
    assert by_level["DEFAULT"]["reason"] == f"{installed} was loaded, which is another build than build"
    assert results(project, "--of", str(installed), *command)[0] == 0

    project.edit("level.cpp", '"wrong"', '"right"')  # the command builds this before it loads it, as `meson test` does
    builds = f"ninja -C build && {sys.executable} -c 'import bound'"
    assert results(project, "--", "sh", "-c", builds)[0] == 0


def test_a_level_that_is_asked_for_must_run(bound):
    assert results(bound, "--levels", "default,amx", "--", *PYTEST, "test_suite.py")[0] == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--"], "isagen test: there is no command\n  name it: isagen test -- pytest"),
        (["--", ""], "isagen test: there is no command\n  name it: isagen test -- pytest"),
        (["--levels", "AVX3", "--", "true"], "--levels: unknown level 'AVX3'\n  did you mean 'AVX2'?"),
        (["--", "no-such-program"], "no-such-program: cannot be run: No such file or directory"),
        (["--of", "nowhere", "--", "true"], "nowhere: is no folder, file or installed module"),
    ],
)
def test_errors(bound, words, message):
    done = run(bound, *words, check=False)
    assert done.returncode == 2
    assert message in done.stdout


@pytest.mark.parametrize("columns", [40, 80])
def test_the_table_fits_the_terminal(bound, columns):
    bound.run(
        *(sys.executable, "-m", "isagen", "test", "-o", "table", "--", sys.executable, "-c", "import bound"),
        PYTHONPATH=str(bound.path(".")),
        COLUMNS=str(columns),
    )
    lines = (bound.folder / "table").read_text().splitlines()
    assert lines[0].split() == ["level", "result", "how"]
    assert max(map(len, lines)) <= columns


# ---- the plugin


def plugin(project, *words, check=True, modules="bound"):
    if not any(one.name == "isagen" for one in importlib.metadata.entry_points(group="pytest11")):
        words = ("-p", "isagen.testing.plugin", *words)
    environment = {"PYTHONPATH": str(project.path("."))}
    ini = ("-o", f"isa_modules={modules}") if modules else ()
    return project.run(*PYTEST, "-rs", "-vv", *ini, *words, "test_levels.py", check=check, **environment).stdout


@pytest.mark.smoke
@pytest.mark.parametrize("processes", [(), ("-n", "2")])
def test_a_fixture_runs_a_test_at_each_level(bound, processes):
    said = plugin(bound, *processes)
    ran = [level for level in LEVELS if level in supported_levels()]
    assert f"{len(ran)} passed" in said
    for level in LEVELS:
        assert f"[{level}]" in said, said
    for level in set(LEVELS) - set(ran):
        assert f"{level} needs features that CPU or OS lack" in said


def test_levels_of_the_fixture_are_chosen(bound):
    said = plugin(bound, "--isa-levels=default,amx")
    assert "[DEFAULT]" in said
    assert "1 passed, 1 skipped" in said
    assert "AMX is not built: disabled by the Meson option isa_levels" in said
    assert "[AVX2]" not in said


@pytest.mark.parametrize(
    ("words", "modules", "message"),
    [
        (["--isa-levels=avx3"], "bound", "--isa-levels: 'AVX3' is not a level; levels: DEFAULT, AVX2"),
        ([], "", "the fixture isa_level needs isa_modules in pytest's configuration: isa_modules = fastdot._core"),
        ([], "json", "isa_modules: module 'json' has no attribute 'isa'\n  name the extension module itself, "),
        ([], "no_such_module", "isa_modules: No module named 'no_such_module'"),
    ],
)
def test_errors_of_the_plugin(bound, words, modules, message):
    said = plugin(bound, *words, modules=modules, check=False)
    assert message in said
    assert "plugin.py" not in said  # no traceback


@pytest.mark.parametrize(
    "code",
    [
        "def test(request): request.getfixturevalue('isa_level')",
        """\
import pytest, unittest
@pytest.mark.usefixtures('isa_level')
class Test(unittest.TestCase):
    def test(self): pass
""",
    ],
)
def test_what_pytest_cannot_run_once_per_level(bound, tmp_path, code):
    (tmp_path / "test_other.py").write_text(code)
    said = plugin(bound, str(tmp_path / "test_other.py"), check=False)
    assert "isa_level works neither in a unittest.TestCase nor through request.getfixturevalue" in said
    assert "name it among the arguments of a test function" in said


def test_the_plugin_imports_nothing_that_is_not_used():
    """Every pytest of the environment loads it."""
    code = (
        "import pytest, sys; before = set(sys.modules); import isagen.testing.plugin; "
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["isagen", "isagen.testing", "isagen.testing.plugin"]
