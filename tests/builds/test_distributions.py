"""The distributions of this repository: wheel and sdist of the tool and of the kernels; the README's commands."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import jinja2
import pytest

import isagen
from support.checkout import ROOT
from support.projects import base_environment, pip_wheel

# Python 3.11.2, Debian 12's, has no filters yet.
SAFELY = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
EPOCH = {"SOURCE_DATE_EPOCH": "1700000000"}


def sdist(source: Path, folder: Path, *options: str) -> Path:
    """Build an sdist, isolated unless the options say otherwise, in a new folder."""
    command = [sys.executable, "-m", "build", *options, "--sdist", "--outdir", str(folder), str(source)]
    subprocess.run(command, env={**os.environ, **EPOCH}, check=True, capture_output=True)
    (path,) = folder.iterdir()
    return path


def copy_of_the_checkout(folder: Path) -> Path:
    """Copy the sources of the distributions to another path, with other times."""
    for name in (".gitignore", "LICENSE", "README.md", "meson.build", "meson_options.txt", "pyproject.toml"):
        folder.mkdir(exist_ok=True)
        shutil.copyfile(ROOT / name, folder / name)
    for name in ("isagen", "kernels", "python", "templates"):
        shutil.copytree(ROOT / name, folder / name, copy_function=shutil.copyfile)
    return folder


def names_in(folder: Path) -> set[str]:
    paths = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {path.as_posix() for path in paths if "__pycache__" not in path.parts}


@pytest.fixture(scope="module")
def tool(wheelhouse) -> Path:
    (wheel,) = wheelhouse.iterdir()
    return wheel


def test_the_tools_wheel_is_one_for_all_machines(tool):
    assert tool.name == f"isagen-{isagen.__version__}-py3-none-any.whl"
    assert tool.stat().st_size < 1_500_000
    with zipfile.ZipFile(tool) as archive:
        info = f"isagen-{isagen.__version__}.dist-info"
        assert "Root-Is-Purelib: true\n" in archive.read(f"{info}/WHEEL").decode()
        assert archive.read(f"{info}/entry_points.txt").decode().split("\n")[1] == "isagen = isagen.cli:main"


@pytest.mark.smoke
def test_the_tools_wheel_holds_the_package_and_the_templates_and_nothing_else(tool):
    expected = {f"isagen/{name}": ROOT / "isagen" / name for name in names_in(ROOT / "isagen")}
    expected |= {f"isagen/templates/{name}": ROOT / "templates" / name for name in names_in(ROOT / "templates")}
    with zipfile.ZipFile(tool) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
        assert held == set(expected)
        assert not [name for name in held if re.search(r"__pycache__|\.(pyc|pyo|so|pyd|o|a)$", name)]
        assert {"isagen/py.typed", "isagen/processors/x86/tables/x86.toml", "isagen/processors/x86/machine.c"} <= held
        for name, path in expected.items():
            assert archive.read(name) == path.read_bytes(), name
        assert any(name.endswith("/licenses/LICENSE") for name in archive.namelist())


def test_the_tools_wheel_is_the_same_from_elsewhere_and_from_its_sdist(tmp_path):
    first = pip_wheel(ROOT, tmp_path / "first", **EPOCH)
    source = copy_of_the_checkout(tmp_path / "copy")
    here = "--no-build-isolation"
    assert pip_wheel(source, tmp_path / "second", here, **EPOCH).read_bytes() == first.read_bytes()
    packed, again = sdist(ROOT, tmp_path / "sdist"), sdist(source, tmp_path / "again", "--no-isolation")
    assert packed.read_bytes() == again.read_bytes()
    with tarfile.open(packed) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "README.md", "PKG-INFO", "pyproject.toml"} <= names
    assert not [name for name in names if name.startswith(("kernels", "python", "tests"))]
    assert pip_wheel(packed, tmp_path / "third", here, **EPOCH).read_bytes() == first.read_bytes()


def test_an_editable_install_of_the_tool_runs_the_checkout(tmp_path):
    source = copy_of_the_checkout(tmp_path / "checkout")
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv/bin/python"
    command = [python, "-m", "pip", "install", "-q", "--no-deps", "-e", source]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    code = (
        f"import sys; sys.path.append({str(Path(jinja2.__file__).parent.parent)!r})\n"  # its dependencies
        "import isagen.cli, isagen.rendering as r; print(r.__file__, r.template_folder(), sep='\\n')\n"
        "isagen.cli.main(['init'])"
    )
    project = tmp_path / "project"
    project.mkdir()
    done = subprocess.run([python, "-c", code], cwd=project, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[:2] == [str(source / "isagen/rendering.py"), str(source / "templates")]
    assert (project / "isagen/meson.build").read_bytes() == (ROOT / "kernels/isagen/meson.build").read_bytes()


# ---- the kernels


@pytest.mark.smoke
def test_the_versions_of_tool_and_kernels_agree():
    kernels = tomllib.loads((ROOT / "python/pyproject.toml").read_text(encoding="utf-8"))
    assert kernels["project"]["version"] == isagen.__version__
    assert f'__version__ = "{isagen.__version__}"' in (ROOT / "python/isagen_kernels/__init__.py").read_text("utf-8")
    assert f"version: '{isagen.__version__}'" in (ROOT / "meson.build").read_text(encoding="utf-8")


def test_the_kernels_sdist_is_reproducible_and_plain_meson_python_builds_it(tmp_path):
    packed = sdist(ROOT / "python", tmp_path / "sdist")
    assert packed.name == f"isagen_kernels-{isagen.__version__}.tar.gz"
    again = sdist(copy_of_the_checkout(tmp_path / "copy") / "python", tmp_path / "again", "--no-isolation")
    assert packed.read_bytes() == again.read_bytes()

    with tarfile.open(packed) as archive:
        archive.extractall(tmp_path / "unpacked", **SAFELY)
    (source,) = (tmp_path / "unpacked").iterdir()
    assert not list(source.rglob("__pycache__"))
    metadata = (source / "PKG-INFO").read_text(encoding="utf-8")
    assert f"\nName: isagen-kernels\nVersion: {isagen.__version__}\n" in f"\n{metadata}"
    pyproject = tomllib.loads((source / "pyproject.toml").read_text(encoding="utf-8"))
    checkout = tomllib.loads((ROOT / "python/pyproject.toml").read_text(encoding="utf-8"))
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    requires = [*checkout.pop("build-system")["requires"], *tool["dependencies"]]
    assert pyproject.pop("build-system") == {"build-backend": "mesonpy", "requires": requires}
    assert pyproject == checkout

    # One setting: pip 23.0, Debian 12's, takes the last of several.
    options = "--config-settings=setup-args=-Disa_levels=none"
    wheel = pip_wheel(packed, tmp_path / "wheel", options, CXXFLAGS="-O0")  # a build in a third of the time
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    code = "import isagen_kernels as k; print([name for name, level in k.isa.levels.items() if level[0]], k.sum(x))"
    done = subprocess.run(
        [sys.executable, "-c", f"import array; x = array.array('f', [1, 2, 3]); {code}"],
        env={**base_environment(), "PYTHONPATH": str(tmp_path / "site")},
        cwd="/",
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "['DEFAULT'] 6.0\n"


def test_an_editable_install_of_the_kernels_is_refused(tmp_path):
    command = [sys.executable, "-m", "pip", "install", "--no-deps", "--target", tmp_path, "-e", ROOT / "python"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "missing the 'build_editable' hook" in done.stdout + done.stderr


# ---- the README's commands


@pytest.mark.smoke
def test_ci_runs_the_readmes_commands():
    readme = re.findall(r"^python3 -m venv .*$", (ROOT / "README.md").read_text(encoding="utf-8"), re.M)
    assert len(readme) == 2
    ci = (ROOT / ".ci/run").read_text(encoding="utf-8")
    ran = [re.sub(r'"\$bin/(\w+)"|"\$environments/\w+"', r"\1", line).strip() for line in ci.splitlines()]
    at = 0
    for command in readme:
        for step in command.replace(".venv/bin/", "").split(" && "):
            step = step.removesuffix(" .venv")
            at = next((n for n in range(at, len(ran)) if f"{ran[n]} ".startswith(f"{step} ")), len(ran)) + 1
            assert at <= len(ran), f".ci/run does not run {step!r}"
