"""The levels as seen from Python: the attribute `isa` of raw, pybind11 and Cython modules, and warnings."""

import json
import os
import re
import subprocess
import sys

import pytest

from support.levels import supported_levels
from support.projects import make_project, need, script

MODULES = {  # a binding: package, module, function that returns the level that ran, override variable
    "raw C API": (None, "_core", "current_level", "HELLO_ISA"),
    "pybind11": ("pybind11", "bound", "level", "BOUND_ISA"),
    "Cython": ("cython", "cythonic", "level", "CYTHONIC_ISA"),
}
# A level that some CPUs lack, and the highest one of this CPU; AMX is left out.
BUILT = [
    "DEFAULT",
    *sorted({"AVX2", "AVX512", [level for level in supported_levels() if level != "AMX"][-1]} - {"DEFAULT"}),
]
RECORDED = (
    "import warnings",
    "with warnings.catch_warnings(record=True) as said:",
    "    warnings.simplefilter('always')",
    "    import {module} as m",
    "    for i in range(1000): str(i)",
    "print(*(f'{{w.category.__name__}}: {{w.message}}' for w in said), sep='\\n')",
)


class Module:
    """A module that was built, and how to ask it."""

    def __init__(self, tmp, package, name, function, override):
        self.name, self.function, self.override = name, function, override
        self.project = make_project(tmp, package)
        if package is None:
            self.project.isagen("init", "--name", "hello")
        self.project.setup(f"-Disa_levels={','.join(BUILT)}", "-Doptimization=1")
        self.project.ninja()

    def run(self, *lines, emulator=(), flags=(), value=None, check=True):
        """Run lines of Python with the module imported as `m`, and a function `level`; return what they print."""
        before = [f"import {self.name} as m", f"level = m.{self.function}", "isa = getattr(m, 'isa', None)"]
        return self.run_alone(*before, *lines, emulator=emulator, flags=flags, value=value, check=check)

    def run_alone(self, *lines, emulator=(), flags=(), value=None, check=True):
        environment = {"PYTHONPATH": str(self.project.path("."))}
        if value is not None:
            environment[self.override] = value
        command = [*emulator, sys.executable, *flags, "-c", script(lines)]
        return self.project.run(*command, check=check, **environment).stdout

    def warnings(self, value, name=None):
        """Return the warnings that an import under an override gives."""
        lines = [line.format(module=name or self.name) for line in RECORDED]
        return self.run_alone(*lines, value=value).split("\n")[:-1]


# The first one is for smoke.
BINDINGS = [pytest.param(one, id=name, marks=[] if one[0] else [pytest.mark.smoke]) for name, one in MODULES.items()]


@pytest.fixture(scope="module", params=BINDINGS)
def module(request, tmp_path_factory):
    return Module(tmp_path_factory.mktemp("module"), *request.param)


@pytest.fixture(scope="module")
def levels():
    """The levels that are built and that this CPU supports, lowest first."""
    return [level for level in supported_levels() if level in BUILT]


@pytest.fixture
def avx2(levels):
    """Skip the test where a level above the lowest cannot be asked for."""
    if "AVX2" not in levels:
        pytest.skip("this CPU does not support AVX2")


def test_what_is_in_use(module, levels):
    said = module.run(
        "print(isa.current, level(), [x for x, (built, supported, _) in isa.levels.items() if built and supported])",
        "built = [x for x, (built, _, _) in isa.levels.items() if built]",
        "supported = [x for x, (_, supported, _) in isa.levels.items() if supported]",
        "assert isa.highest_cpu == supported[-1] and isa.highest_binary == built[-1]",
        "assert 'AMX' not in built and built[0] == supported[0] == 'DEFAULT'",
        "assert all(bool(missing) != supported for _, supported, missing in isa.levels.values())",
        "assert all(isinstance(x, bool) for built, supported, _ in isa.levels.values() for x in (built, supported))",
    )
    assert said.strip() == f"{levels[-1]} {levels[-1]} {levels}"


@pytest.mark.parametrize("asked", [None, "default", "AVX2"])
def test_every_stub_has_one_selected_kernel(module, levels, asked):
    if asked is not None and asked.upper() not in levels:
        pytest.skip(f"this CPU does not support {asked}")
    said = module.run(
        "for stub, cells in isa.kernels.items():",
        "    assert list(cells) == list(isa.levels) and cells['AMX'] == ''",
        "    assert all(bool(cells[x]) == built for x, (built, _, _) in isa.levels.items())",
        "    print(stub, [x for x, cell in cells.items() if cell == 'selected'], sorted(set(cells.values())))",
        value=asked,
    )
    chosen = levels[-1] if asked is None else asked.upper()
    assert said.splitlines()
    for line in said.splitlines():
        assert line.split(maxsplit=1)[1] == f"['{chosen}'] ['', 'registered', 'selected']"


def test_why(module, levels, avx2):
    said = module.run(
        "for x in ('avx2', 'DEFAULT', 'AMX'): print(isa.why(x))",
        "try: isa.why('AVX3')",
        "except ValueError as problem: print(problem)",
        value="AVX2",
    ).splitlines()
    assert said[0] == "AVX2 is in use"
    asks = "is preferred" if levels[-1] == "AVX2" else "asks for"
    assert said[1] in (
        f"DEFAULT is built and supported, but {module.override} asks for AVX2",
        "DEFAULT is built and supported, but AVX2 is preferred",
    )
    assert asks in said[1]
    assert said[2] == "AMX is not built: disabled by the Meson option isa_levels"
    assert said[3].startswith("'AVX3' is neither a level nor a stub; levels: DEFAULT, AVX2, ")
    assert said[3].endswith("; isa.kernels lists the stubs")


def test_why_of_a_stub(module, levels):
    stub, best = module.run("print(next(iter(isa.kernels)), isa.current)").split()
    said = module.run(f"for x in ({stub!r}, {stub.removesuffix('_stub')!r}): print(isa.why(x))").splitlines()
    assert re.fullmatch(rf"{stub} calls the copy of ({best}|\w+, because {best}'s has the same code)", said[0])
    assert said[1] == said[0]


def test_why_another_level_is_in_use(module, levels, avx2):
    said = module.run(
        "print(isa.why('DEFAULT'))",
        "with isa.use('DEFAULT'): print(isa.why('AVX2'))",
    ).splitlines()
    assert said == [
        f"DEFAULT is built and supported, but {levels[-1]} is preferred",
        "AVX2 is built and supported, but use() asks for DEFAULT",
    ]


def test_matrix_override_and_report(module, levels):
    said = module.run(
        "import json",
        "print(isa.override)",
        "print(json.dumps(isa.matrix))",
        "print(isa.report())",
    )
    override, matrix, *report = said.splitlines()
    assert override == module.override
    by_name = {level["name"]: level["verdict"] for level in json.loads(matrix)["levels"]}
    assert by_name["DEFAULT"] == "built"
    assert by_name["AMX"] == "disabled"
    assert report[0] == f"### {module.name}: {levels[-1]} in use"
    assert f"- override: {module.override} is not set" in report
    assert "- AMX is not built: disabled by the Meson option isa_levels" in report
    for private in (str(module.project.folder), "/tmp", "/home"):
        assert private not in said


def test_use_switches_and_restores(module, levels, avx2):
    best = levels[-1]
    said = module.run(
        "print(level())",
        "with isa.use('AVX2'):",
        "    print(level(), isa.current)",
        "    with isa.use('default'): print(level(), isa.current)",
        "    print(level(), isa.current)",
        "print(level(), isa.current)",
        "try:",
        "    with isa.use('DEFAULT'): print(level()); 1 / 0",
        "except ZeroDivisionError: print(level(), isa.current)",
    )
    expected = [best, "AVX2 AVX2", "DEFAULT DEFAULT", "AVX2 AVX2", f"{best} {best}", "DEFAULT", f"{best} {best}"]
    assert said.splitlines() == expected


def test_use_without_with_switches_at_once_and_for_good(module, levels, avx2):
    said = module.run(
        "used = isa.use('avx2')",
        "print(level(), isa.current, used)",
        "with isa.use('DEFAULT'): print(level())",
        "print(level())",
        "try: isa.use('amx')",
        "except RuntimeError as problem: print(problem)",
        "print(level())",
        "isa.use('DEFAULT')",
        "with used: print(level())",
    )
    expected = ["AVX2 AVX2 <isa: AVX2 in use>", "DEFAULT", "AVX2"]
    expected += ["AMX is not built: disabled by the Meson option isa_levels", "AVX2", "AVX2"]
    assert said.splitlines() == expected


def test_every_level_runs_its_own_copy(module, levels):
    said = module.run(*(f"with isa.use({x!r}): print(level())" for x in levels))
    assert said.splitlines() == levels


def test_what_cannot_be_used_changes_nothing(module, levels, avx2):
    said = module.run(
        "def attempt(name):",
        "    try:",
        "        with isa.use(name): print('used')",
        "    except Exception as problem: print(type(problem).__name__, problem)",
        "    print(level(), isa.current)",
        "attempt('AVX3')",
        "attempt(None)",
        "attempt('AMX')",
        "with isa.use('AVX2'): attempt('AMX')",
        "print(level())",
    ).splitlines()
    assert said[0].startswith("ValueError 'AVX3' is not a level; levels: DEFAULT, ")
    assert said[2].startswith("ValueError None is not a level")
    assert said[4] == said[6] == "RuntimeError AMX is not built: disabled by the Meson option isa_levels"
    assert [*said[1::2], said[8]] == [*[f"{levels[-1]} {levels[-1]}"] * 3, "AVX2 AVX2", levels[-1]]


def test_a_level_that_the_cpu_lacks(module):
    need("qemu-x86_64")
    said = module.run(
        "print(isa.current, level(), isa.highest_cpu)",
        "try:",
        "    with isa.use('AVX512'): print('used')",
        "except RuntimeError as problem: print(problem)",
        "print(isa.current, level())",
        "print(isa.why('AVX512'))",
        "print(isa.levels['AVX512'][2])",
        emulator=["qemu-x86_64", "-cpu", "Haswell-v4"],
    ).splitlines()
    said = [line for line in said if not line.startswith("qemu-x86_64: warning")]
    assert said[0] == "AVX2 AVX2 AVX2"
    assert said[1].startswith("AVX512 needs features that CPU or OS lack: avx512_f ")
    assert said[2] == "AVX2 AVX2"
    assert said[3] == said[1]
    assert said[1].endswith(f": {said[4]}")


def test_text_for_people(module, avx2):
    said = module.run("print(repr(isa)); help(isa); help(isa.use)", value="AVX2")
    assert "Switch every stub to a level at once" in said
    shown, text = said.split("\n", 1)
    assert shown.startswith(f"<isa: AVX2 in use, CPU supports {supported_levels()[-1]}, built up to ")
    assert f"in module {module.name}" in text
    for name in ("current", "highest_cpu", "highest_binary", "levels", "kernels", "why(LEVEL)", "with use(LEVEL)"):
        assert name in text


# ---- the override


def test_an_unknown_value_is_one_warning(module):
    (said,) = module.warnings("nonsense")
    assert said.startswith(
        f"RuntimeWarning: {module.override}=nonsense is not a level, and is ignored; levels: DEFAULT "
    )


def test_warnings_as_errors_fail_the_import(module):
    said = module.run("print('imported')", flags=["-W", "error"], value="nonsense", check=False)
    assert "RuntimeWarning: " in said
    assert "=nonsense is not a level" in said
    assert "imported" not in said


@pytest.mark.parametrize("value", ["\udcff\udc80", "gr\u00f6\u00dfe", "a\nb\x1b", "x" * 63 + "\u00f6" * 9, "%s%n"])
def test_any_bytes_are_one_warning(module, value):
    (said,) = module.warnings(value)
    assert " is not a level, and is ignored" in said
    assert said.isascii()


def test_an_empty_value_is_ignored(module, levels):
    assert module.warnings("") == [""]
    assert module.run("print(level())", value="").strip() == levels[-1]


def test_a_value_is_read_once(module, levels, avx2):
    said = module.run(
        "import os",
        f"os.environ['{module.override}'] = 'DEFAULT'",
        "print(isa.current, level())",
        "with isa.use('DEFAULT'): pass",
        "print(isa.current, level())",
        value="avx2",
    )
    assert said.splitlines() == ["AVX2 AVX2"] * 2


def test_the_report_tells_what_the_override_was_when_the_module_was_loaded(module, levels, avx2):
    before, name = f"import os; os.environ['{module.override}']", module.override
    said = module.run(f"{before} = 'AVX2'; print(isa.report())")
    assert f"- override: {name} was not set when the module was loaded; set to 'AVX2' later, without effect\n" in said
    said = module.run(f"{before} = ''; print(isa.report())", value="avx2")
    assert f"- override: {name} was 'avx2' when the module was loaded; unset later, without effect\n" in said
    said = module.run("print(isa.report())", value="avx2")
    assert f"- override: {name} = 'avx2'\n- OS: " in said
    said = module.run("print(isa.report())", value="AVX3", flags=["-W", "ignore"])
    assert f"- override: {name} = 'AVX3'\n- {name}=AVX3 is not a level, and is ignored; levels: DEFAULT" in said


@pytest.mark.parametrize("module", [MODULES["pybind11"]], ids=["pybind11"], indirect=True)
def test_a_module_without_isa_still_warns_through_python(module, levels):
    (said,) = module.warnings("nonsense", "silent")
    assert said.startswith("RuntimeWarning: BOUND_ISA=nonsense is not a level")
    assert module.warnings("", "silent") == [""]
    lines = ("import silent", "for i in range(1000): str(i)", "print('went on')")
    said = module.run_alone(*lines, flags=["-W", "error"], value="nonsense", check=False)
    assert "RuntimeWarning: BOUND_ISA=nonsense" in said
    assert "went on" not in said


@pytest.mark.parametrize("module", [MODULES["pybind11"]], ids=["pybind11"], indirect=True)
def test_two_modules_do_not_disturb_each_other(module, levels):
    said = module.run("import silent", "with isa.use('DEFAULT'): print(level(), silent.level())")
    assert said.split() == ["DEFAULT", levels[-1]]


def test_a_program_without_python_warns_on_stderr(new_project):
    project = new_project("leak")
    project.setup("-Disa_levels=AVX2")
    project.ninja()
    for value, count in (("nonsense", 1), ("", 0), ("default", 0)):
        environment = {**os.environ, "LEAK_ISA": value}
        done = subprocess.run([project.path("leak")], env=environment, capture_output=True, text=True, check=True)
        assert done.stderr.count("\n") == count
        assert done.stderr.startswith(f"warning: LEAK_ISA={value} is not a level" if count else "")
        assert "warning" not in done.stdout


@pytest.mark.parametrize("package", [None, "cython", "pybind11"])
def test_lto_sees_no_declaration_that_contradicts_python_s(new_project, package):
    need("g++")
    project = new_project(package)
    if package is None:
        project.isagen("init", "--name", "hello")
    project.setup("-Disa_levels=AVX2", "-Db_lto=true", "-Doptimization=1", CXX="g++", CC="gcc")
    assert "warning" not in project.ninja()
