"""The matrix wherever a build is: folders, binaries, wheels, installed modules; and its numbers against binutils'."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import jsonschema
import pytest

from isagen.binary.notes import note_of
from isagen.matrix.where import find_matrices
from isagen.model.errors import ProjectError
from isagen.model.matrix_notes import pack
from isagen.model.record import MATRIX_OWNER
from support.checkout import ROOT
from support.elf import LIBRARY, NOTE, Part, elf_object
from support.levels import supported_levels
from support.matrices import matrix_of
from support.projects import Project, make_project, matrix, need

SCHEMA = json.loads((ROOT / "docs/matrix.schema.json").read_text(encoding="utf-8"))
CROSS = """\
[binaries]
c = 'aarch64-linux-gnu-gcc'
ar = 'aarch64-linux-gnu-ar'
[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
"""
PORTABLE = {
    "meson.build": "project('portable', 'c')\nisa_kernels = files('k.c')\nsubdir('isagen')\n"
    "shared_library('portable', 'main.c', dependencies: isa_kernels_dep)\n",
    "k.c": '#include "k.h"\nstatic int k(void) { return 1; }\nISA_REGISTER_DISPATCH(k_stub, &k)\n',
    "k.h": '#include "isa_dispatch.h"\ntypedef int k_fn(void);\nISA_DECLARE_DISPATCH(k_fn *, k_stub)\n',
    "main.c": '#include "k.h"\nISA_DEFINE_DISPATCH(k_stub)\nint f(void);\nint f(void) { return k_stub(); }\n',
}


class House:
    """The project of `isagen init`, its wheel, and the wheel's files in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.project = make_project(folder)
        self.project.isagen("init", "--name", "hello")
        self.project.run(
            *(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", "dist", "."),
            "--config-settings=build-dir=build",
        )
        (self.wheel,) = (self.project.folder / "dist").glob("*.whl")
        self.site = folder / "site"
        with zipfile.ZipFile(self.wheel) as archive:
            archive.extractall(self.site)
        (self.binary,) = (self.site / "hello").glob("*.so")


@pytest.fixture(scope="module")
def house(tmp_path_factory) -> House:
    return House(tmp_path_factory.mktemp("house"))


def ask(project: Project, *words, check=True, **environment) -> str:
    """Run isagen, away from the project's own folder, where a folder is called like the module."""
    command = [sys.executable, "-m", "isagen", *words]
    return project.run(*command, check=check, **environment).stdout


def data_at(house: House, where, **environment) -> dict:
    data = json.loads(ask(house.project, "matrix", where, "--format", "json", **environment))
    jsonschema.validate(data, SCHEMA)
    return data


def test_every_place_has_the_same_matrix(house, tmp_path):
    stripped = tmp_path / house.binary.name
    subprocess.run(["strip", "-o", stripped, house.binary], check=True)
    expected = data_at(house, "build")
    python_path = {"PYTHONPATH": str(house.site)}
    for where in (house.binary, stripped, house.wheel, "dist", house.site, "build/isagen/isa_plan.json"):
        assert data_at(house, where) == expected, where
    for where in ("hello", "hello._core"):
        assert data_at(house, where, **python_path) == expected, where
    for cell in (cell for kernel in expected["kernels"] for cell in kernel["levels"].values()):
        assert cell["verdict"] != "built" or cell["code"]["code_bytes"] > 0


def test_a_module_that_is_installed_editable(house, tmp_path):
    """The distribution may have another name. The command of the build would fail: nothing is rebuilt."""
    (tmp_path / "hello").mkdir()
    (tmp_path / "hello/__init__.py").write_text("")
    said = ask(house.project, "matrix", "hello", check=False, PYTHONPATH=str(tmp_path))
    assert "hello: no build that uses isagen is here" in said
    build = str(house.project.folder / "build")
    finder = f"MesonpyMetaFinder('hi-there', {{'hello'}}, {build!r}, ['false'])"
    (tmp_path / "sitecustomize.py").write_text(
        f"import sys\nfrom mesonpy._editable import MesonpyMetaFinder\nsys.meta_path.insert(0, {finder})\n"
    )
    for where in ("hello", "hello._core"):
        assert data_at(house, where, PYTHONPATH=str(tmp_path)) == data_at(house, "build")
    said = ask(house.project, "matrix", "hello._cord", check=False, PYTHONPATH=str(tmp_path))
    assert "hello._cord: is no folder, file or installed module" in said


def test_the_name_of_a_distribution_gets_the_names_of_its_modules(house, tmp_path):
    (tmp_path / "hi_there-0.1.dist-info").mkdir()
    info = {"METADATA": "Metadata-Version: 2.1\nName: hi-there\nVersion: 0.1\n", "top_level.txt": "hello\n"}
    for name, text in info.items():
        (tmp_path / "hi_there-0.1.dist-info" / name).write_text(text)
    said = ask(house.project, "matrix", "hi-there", check=False, PYTHONPATH=str(tmp_path))
    assert said.endswith("\n  an installed distribution has this name; give the name of its module: hello\n")


def test_the_name_of_an_editable_distribution_gets_the_names_of_its_modules(tmp_path, monkeypatch):
    """The only module among the files of such a distribution is that of meson-python's finder."""
    loader, info = "_hi_there_editable_loader", tmp_path / "hi_there-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hi-there\nVersion: 0.1\n")
    (info / "RECORD").write_text(f"{loader}.py,,\nhi-there-editable.pth,,\nhi_there-0.1.dist-info/METADATA,,\n")
    finder = type("MesonpyMetaFinder", (), {"__module__": loader, "find_spec": lambda *_: None})()
    finder._top_level_modules, finder._build_path = {"hello", "_core"}, str(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("sys.meta_path", [finder, *sys.meta_path])
    with pytest.raises(ProjectError, match=r"give the name of its module: _core, hello\Z"):
        find_matrices("hi-there")


def test_a_build_that_cannot_be_read_hides_no_other(house):
    old = house.project.folder / "older/isagen/isa_plan.json"
    old.parent.mkdir(parents=True)
    try:
        plan = json.loads((house.project.folder / "build/isagen/isa_plan.json").read_text())
        old.write_text(json.dumps({**plan, "format": 1}))
        said = ask(house.project, "matrix", ".")
        assert "isagen: warning: older/isagen/isa_plan.json: cannot be read: it is of format 1" in said
        assert "hello: 2 kernels x " in said
        said = ask(house.project, "matrix", "older", check=False)
        assert said.startswith("isagen: error: older/isagen/isa_plan.json: cannot be read: it is of format 1")
    finally:
        shutil.rmtree(house.project.folder / "older")


def test_a_build_whose_last_configuring_failed(scaffold):
    scaffold.setup("-Disa_levels=none")
    scaffold.setup("--reconfigure", "-Disa_levels=wide", check=False)
    warning = "isagen: warning: {}: its last `meson setup` failed, so this may not be what the project's files now ask"
    for where in ("build", "build/isagen/isa_plan.json"):
        said = scaffold.isagen("matrix", where).stdout
        assert said.startswith(warning.format(where))
        assert "2 kernels x " in said
    scaffold.setup("--reconfigure", "-Disa_levels=none")
    assert "warning" not in scaffold.isagen("matrix", "build").stdout


def test_a_repaired_wheel(house, tmp_path):
    pytest.importorskip("auditwheel")
    done = subprocess.run(
        [sys.executable, "-m", "auditwheel", "repair", "--strip", "-w", tmp_path, house.wheel],
        env={**house.project.environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (repaired,) = tmp_path.glob("*.whl")
    assert "manylinux" in repaired.name
    assert data_at(house, repaired) == data_at(house, "build")


def test_the_kernels_of_isagen(house):
    pytest.importorskip("isagen_kernels")
    data = data_at(house, "isagen_kernels")
    assert data["project"] == "isagen-kernels"
    assert all(cell["code"] for kernel in data["kernels"] for cell in kernel["levels"].values() if cell["copy"])


@pytest.mark.parametrize(("package", "module"), [("pybind11", "bound"), ("cython", "cythonic")])
def test_packages(package, module, new_project, tmp_path):
    project = new_project(package)
    project.setup("-Disa_levels=AVX2")
    before = project.isagen("matrix", "build").stdout
    assert "not compiled" in before
    assert "+ built" not in before
    project.ninja()
    after = matrix(project)
    (binary,) = project.path(".").glob(f"{module}.*.so")
    site, wheel = tmp_path / "site", tmp_path / "package-1-py3-none-linux_x86_64.whl"
    site.mkdir()
    subprocess.run(["strip", "-o", site / binary.name, binary], check=True)
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(binary, binary.name)
    project.environment["PYTHONPATH"] = str(site)
    for where in (binary, site / binary.name, site, wheel, module):
        assert matrix(project, where) == after, where


def test_a_wheel_of_another_architecture(new_project, tmp_path):
    need("aarch64-linux-gnu-gcc")
    project = new_project()
    for name, text in PORTABLE.items():
        (project.folder / name).write_text(text)
    (project.folder / "cross.ini").write_text(CROSS)
    project.isagen("init")
    said = project.setup("--cross-file", "cross.ini")
    assert re.search(r"audited +: when linked", said)
    project.ninja()
    assert "levels DEFAULT" in project.isagen("audit", "build").stdout
    wheel = tmp_path / "portable-1-py3-none-linux_aarch64.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(project.path("libportable.so"), "portable/libportable.so")
    level, *_ = json.loads(project.isagen("matrix", wheel, "--format", "json").stdout)["levels"]
    assert (level["name"], level["verdict"], level["compiled"]) == ("DEFAULT", "built", True)
    assert "it is built for aarch64, and this machine is " in project.isagen("why", "default", wheel).stdout
    assert "selected: unknown: it is built for aarch64" in project.isagen("report", wheel).stdout


def test_wheels_in_a_folder(tmp_path):
    """Beside one without machine code, and beside a binary."""
    library = elf_object([Part(b".note.isagen", NOTE, note_of(MATRIX_OWNER, pack(matrix_of())))], kind=LIBRARY)
    (tmp_path / "one.so").write_bytes(library)
    for name, file, content in (("a.whl", "pkg/core.so", library), ("b.whl", "pkg/code.py", b"print()")):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr(file, content)
    assert [found.label for found in find_matrices(str(tmp_path))] == ["a.whl/pkg/core.so", "one.so"]
    (tmp_path / "one.so").unlink()
    assert [found.label for found in find_matrices(str(tmp_path))] == ["a.whl/pkg/core.so"]


def test_what_holds_no_matrix(house, tmp_path):
    shutil.copy(shutil.which("true"), tmp_path / "true")
    with zipfile.ZipFile(tmp_path / "pure.whl", "w") as archive:
        archive.writestr("pkg/one.so", b"x = 1\n")
    (tmp_path / "empty").mkdir()
    (tmp_path / "failed/meson-info").mkdir(parents=True)
    for where, said in {
        "true": "its binary has no build matrix of isagen\n  built without isagen",
        "pure.whl": "no build that uses isagen is here\n  give a build folder, ",
        "empty": "no build that uses isagen is here\n  give a build folder, ",
        "failed": "is a build folder of Meson without a plan of isagen\n  configuring failed, or ",
    }.items():
        text = ask(house.project, "matrix", tmp_path / where, check=False)
        assert text.startswith(f"isagen: error: {tmp_path / where}: {said}"), text
    for where in ("no.such.module", "nowhere", "../x"):
        text = ask(house.project, "matrix", where, check=False)
        assert text.startswith(f"isagen: error: {where}: is no folder, file or installed module\n  give a build folder")


def test_the_numbers_are_those_of_binutils(house):
    need("size", "nm", "objdump")
    objects = list(house.project.path("isagen").glob("libisa_*.p/*.o"))
    data = data_at(house, "build")
    cells = {
        cell["copy"]: (level, cell) for k in data["kernels"] for level, cell in k["levels"].items() if cell["copy"]
    }
    assert len(objects) == len(cells) > 0
    for path in objects:
        level, cell = cells[path.name.removeprefix("meson-generated_.._").removesuffix(".o")]
        text, data_size, *_ = run("size", path).splitlines()[1].split()
        assert cell["code"]["loaded_bytes"] == int(text) + int(data_size)
        lines = run("size", "-A", path).splitlines()
        assert cell["code"]["code_bytes"] == sum(int(x.split()[1]) for x in lines if x.startswith(".text"))
        defined = [line.split()[2] for line in run("nm", "--defined-only", path).splitlines()]
        mark = f"isa_kernel_{level}__"
        assert cell["stubs"] == sorted(name.removeprefix(mark) for name in defined if name.startswith(mark))
        code = run("objdump", "-d", "-w", "-M", "intel", path)
        instructions = [line.split("\t") for line in code.splitlines() if line.count("\t") >= 2]
        assert cell["code"]["instructions"] == len(instructions)
        for register, bits in (("zmm", 512), ("ymm", 256), ("xmm", 128)):
            if register in code:
                assert cell["code"]["widest"] == bits
                break


def run(*words) -> str:
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True).stdout


# ---- the other commands


def test_why_and_report_of_an_installed_module(house):
    best = supported_levels()[-1]
    python_path = {"PYTHONPATH": str(house.site)}
    assert ask(house.project, "why", best, "hello", **python_path).startswith(f"{best} is selected: ")
    said = ask(house.project, "why", "default", "dot_stub", "hello", HELLO_ISA="default", **python_path)
    assert said.startswith("kernels/dot.cpp at DEFAULT is selected: ")
    report = ask(house.project, "report", "hello", **python_path)
    for text in ("- package: hello 0.1", f"- selected: {best}, ", "HELLO_ISA is not set", f"\n- level_stub: {best}\n"):
        assert text in report
    assert re.search(rf"\n- dot_stub: {best}( \(the copy of [A-Z0-9_]+\))?\n", report)
    assert f" {best} in use\n" in report
    for private in (str(house.site), str(house.project.folder), "/tmp", "/home", "/root"):
        assert private not in report


def test_a_module_whose_import_fails_is_reported(house, tmp_path):
    shutil.copytree(house.site, tmp_path / "site")
    (tmp_path / "site/hello/__init__.py").write_text("raise ImportError('no luck')")
    said = ask(house.project, "report", "hello", PYTHONPATH=str(tmp_path / "site"))
    assert said.endswith("importing it failed: ImportError: no luck\n")


def test_a_folder_here_does_not_hide_an_installed_module_from_the_report(house, tmp_path):
    """As from the command `isagen`: its path has the folder of commands, not this one."""
    (tmp_path / "hello").mkdir()
    (tmp_path / "hello/__init__.py").write_text("raise ImportError('the source')")
    command = [sys.executable, "-P", "-m", "isagen", "report", "hello"]
    environment = {**os.environ, "PYTHONPATH": str(house.site)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert "\n### hello._core: " in done.stdout


def test_a_module_in_a_python_without_zlib(house):
    said = house.project.run(
        *(
            sys.executable,
            "-c",
            "import sys; sys.modules['zlib'] = None\nimport hello._core as m\nprint(m.isa.report())",
        ),
        PYTHONPATH=str(house.site),
    ).stdout
    assert " in use\n- override: HELLO_ISA " in said


def test_diff(house, tmp_path):
    assert ask(house.project, "diff", "build", house.wheel) == "nothing differs\n"
    other = make_project(tmp_path)
    other.isagen("init", "--name", "hello")
    other.setup("-Disa_levels=-AMX", "-Doptimization=1")
    done = house.project.run(sys.executable, "-m", "isagen", "diff", "build", other.path("."), check=False)
    assert done.returncode == 1
    assert "optimization\n  - -O3\n  + -O1\n" in done.stdout
    assert "AMX\n  - built\n  + disabled: by the Meson option isa_levels\n" in done.stdout
    assert "AVX2\n" not in done.stdout


def test_several_matrices_are_told_apart(house):
    said = ask(house.project, "matrix", "build", house.wheel)
    assert said.startswith("build\nhello: ")
    assert "\nhello/_core." in said
    data = json.loads(ask(house.project, "matrix", "build", house.wheel, "--format", "json"))
    jsonschema.validate(data, SCHEMA)
    assert [one["where"].partition(".")[0] for one in data] == ["build", "hello/_core"]


def test_output_goes_to_a_file(house, tmp_path):
    for form in ("terminal", "html", "json"):
        path = tmp_path / form
        assert ask(house.project, "matrix", "build", "--format", form, "-o", path) == ""
        assert path.read_text(encoding="utf-8") == ask(house.project, "matrix", "build", "--format", form)
    said = ask(house.project, "matrix", "build", "-o", tmp_path, check=False)
    assert said.startswith(f"isagen: error: {tmp_path}: ")


def test_the_binary_s_notes_hold_no_path_of_the_builder(house):
    """The notes are compressed: what is read from them is searched."""
    text = json.dumps(data_at(house, house.binary))
    for private in (str(house.project.folder), str(Path.home()), "/tmp/", sysconfig.get_paths()["include"]):
        assert private not in text
