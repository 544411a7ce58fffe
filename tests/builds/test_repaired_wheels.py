"""Wheels after other tools have changed them: repaired ones for Windows and macOS, and wheel variants."""

import base64
import hashlib
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from support.platforms import MACOS, WINDOWS, surroundings
from support.projects import Project, make_project, matrix, need

# delocate calls Apple's tools; LLVM's have no -m, and nothing signs.
OTOOL = '#!/bin/sh\nfor word; do shift; [ "$word" = -m ] || set -- "$@" "$word"; done\nexec llvm-otool-16 "$@"\n'
TOOLS = {
    "otool": OTOOL,
    "install_name_tool": '#!/bin/sh\nexec llvm-install-name-tool-16 "$@"\n',
    "lipo": '#!/bin/sh\nexec llvm-lipo-16 "$@"\n',
    "codesign": "#!/bin/sh\n",
}


def built_module(folder: Path, platform, name: str) -> Project:
    """A module with kernels that uses a library of its own, which a wheel lacks until it is repaired."""
    platform.require()
    project = make_project(folder, "portable")
    project.environment |= surroundings()
    export = "#ifdef _WIN32\n__declspec(dllexport)\n#endif\n"
    (project.folder / "helper.c").write_text(f"{export}int helper(void);\nint helper(void) {{ return 3; }}\n")
    (project.folder / "user.c").write_text("int helper(void);\nint use(void);\nint use(void) { return helper(); }\n")
    options = f"name_prefix: '', name_suffix: '{name}', link_with: shared_library('helper', 'helper.c'),"
    program = "executable('portable', 'main.cpp', 'early.cpp',"
    project.edit("meson.build", program, f"shared_module('fast', 'main.cpp', 'early.cpp', 'user.c', {options}")
    project.setup("--cross-file", str(platform.cross_file(folder)))
    project.ninja()
    return project


def wheel_of(project: Project, binary: str, tag: str) -> Path:
    """A wheel of one binary."""
    made = project.folder / f"package-1-{tag}.whl"
    info = "package-1.dist-info"
    files = {
        "package/__init__.py": b"",
        f"package/{binary}": project.path(binary).read_bytes(),
        f"{info}/METADATA": b"Metadata-Version: 2.1\nName: package\nVersion: 1\n",
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(),
    }
    record = [f"{info}/RECORD,,"]
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(content)}")
        archive.writestr(f"{info}/RECORD", "\n".join(record) + "\n")
    return made


def repaired(project: Project, wheel: Path, *command: str, **environment: str) -> Path:
    """The wheel that a tool writes; the command ends with the folder for it."""
    folder = project.folder / "repaired"
    done = subprocess.run(
        [sys.executable, *command, "-w", folder, wheel],
        env={**project.environment, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = folder.glob("*.whl")
    assert len(zipfile.ZipFile(made).namelist()) > len(zipfile.ZipFile(wheel).namelist())  # it has the library
    return made


def check(project: Project, binary: str, made: Path) -> None:
    """The repaired wheel has the matrix of the build, and `why` and `report` answer from it."""
    assert matrix(project, made) == matrix(project, project.path(binary))
    assert "AVX2" in project.isagen("why", "AVX2", made).stdout
    assert "portable" in project.isagen("report", made).stdout


def test_delvewheel_and_abi3audit(tmp_path):
    pytest.importorskip("delvewheel")
    pytest.importorskip("abi3audit")
    project = built_module(tmp_path, WINDOWS["mingw"], "pyd")
    wheel = wheel_of(project, "fast.pyd", "cp311-abi3-win_amd64")
    made = repaired(project, wheel, "-m", "delvewheel", "repair", "--add-path", str(project.path(".")))
    check(project, "fast.pyd", made)
    project.run(sys.executable, "-m", "abi3audit", "--strict", str(made))


def test_delocate(tmp_path):
    pytest.importorskip("delocate")
    need("llvm-otool-16", "llvm-install-name-tool-16", "llvm-lipo-16")
    project = built_module(tmp_path, MACOS["x86_64"], "so")
    wheel = wheel_of(project, "fast.so", "cp311-cp311-macosx_11_0_x86_64")
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, text in TOOLS.items():
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    found = {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "DYLD_LIBRARY_PATH": str(project.path("."))}
    made = repaired(project, wheel, "-m", "delocate.cmd.delocate_wheel", **found)
    check(project, "fast.so", made)


PROVIDER = """\
[variant.default-priorities]
namespace = ["x86_64"]
[variant.providers.x86_64]
requires = ["provider-variant-x86-64"]
plugin-api = "provider_variant_x86_64.plugin:X8664Plugin"
"""


def test_a_wheel_variant_needs_no_more_than_its_label(scaffold, tmp_path):
    """The build's flags are for x86-64-v2: so the audit finds nothing at the label's level, and the build's at the one
    below.
    """
    pytest.importorskip("variantlib")
    flags = {"CFLAGS": "-march=x86-64-v2", "CXXFLAGS": "-march=x86-64-v2"}
    pip = [sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "-w", "dist", "."]
    scaffold.run(*pip, **flags)
    (wheel,) = scaffold.folder.glob("dist/*.whl")
    (tmp_path / "variant.toml").write_text(PROVIDER)
    (tmp_path / "variants").mkdir()
    made = ["-f", str(wheel), "-o", str(tmp_path / "variants"), "--variant-label", "v2", "-p", "x86_64 :: level :: v2"]
    known = ["--skip-plugin-validation", "--no-isolation", "--pyproject-toml", str(tmp_path / "variant.toml")]
    scaffold.run(
        sys.executable, "-c", "from variantlib.commands.main import main; main()", "make-variant", *made, *known
    )
    (variant,) = (tmp_path / "variants").glob("*-v2.whl")
    assert matrix(scaffold, variant) == matrix(scaffold, wheel)
    assert "nothing found" in scaffold.isagen("audit", "--baseline", "X86_64_V2", variant).stdout
    said = scaffold.isagen("audit", "--baseline", "X86_64", variant, check=False).stdout
    assert "a build's flags are for newer CPUs than the baseline" in said
    assert re.search(r"needs +sse3 ssse3 .*sse4_2", said)
