"""The audit of programs, objects, wheels, archives and damaged files that were not built with isagen."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from isagen.audit.data import summaries
from isagen.audit.records import Baseline
from isagen.audit.targets import audit_each
from isagen.binary.mangling import demangle
from isagen.model.errors import AuditError
from isagen.processors.table import load_table
from support.damaged import mutations
from support.foreign import AVX2, CALLS, CONSTRUCTOR, DOUBLE, EXPORTED, audit, counted, findings, run

BASELINES = {"x86": Baseline("X86_64", load_table("x86-64", Path(), "").required_features("X86_64"))}


@pytest.mark.smoke
@pytest.mark.parametrize(
    "flags", [["-static"], ["-static-pie"], ["-no-pie", "-fno-pic"], ["-fPIE", "-pie"]], ids=" ".join
)
@pytest.mark.parametrize("stripped", [False, True])
def test_programs(link, flags, stripped):
    program = link(CALLS + "\nint main() { return 0; }", *flags, "-no-pie" if flags[0] == "-fPIE" else "-g0")
    if stripped:
        run("strip", program)
    found = findings(program, "load").values()
    if stripped and "-static" in flags[0]:  # the C library's own checks are known by names, which are stripped
        found = [f for f in found if f.features != ("rtm",)]
    (finding,) = found
    assert len(finding.path) == 3
    assert stripped or finding.symbol == "planted"


@pytest.mark.parametrize("compiler", ["g++", "clang++-16"])
@pytest.mark.parametrize("flags", [[], ["-ffunction-sections"], ["-fno-plt"], ["-O0"], ["-fno-pic", "-mcmodel=large"]])
def test_objects(link, compiler, flags):
    if "-mcmodel=large" in flags:
        pytest.skip("its calls are through registers")
    path = link(CALLS, "-c", *flags, compiler=compiler, name="foreign.o")
    assert findings(path)["planted"].path == ("first", "middle", "planted")
    path = link(EXPORTED, "-c", *flags, compiler=compiler, name="foreign.o")
    assert findings(path)["planted"].path == ("first", "middle", "planted")
    # Only pointed to, or of another project.
    source = CALLS.replace("planted();", "void (*volatile kept)() = planted; (void)kept;")
    path = link(source, "-c", *flags, compiler=compiler, name="foreign.o")
    assert {(f.symbol, f.kind, f.cause) for f in findings(path).values()} == {("planted", "unproven", "pointer")}


def test_objects_with_functions_for_the_end(link):
    source = (
        f"float data[64]; struct held {{ held() {{ data[0] = 1; }} {AVX2} ~held() {{ {DOUBLE} }} }}; static held one;"
    )
    path = link(source, "-c", name="foreign.o", kind=".cpp")
    (finding,) = (f for f in audit(path).findings if f.kind == "load")
    assert finding.symbol.startswith("_ZN4heldD")


def test_an_object_of_many_sections_is_read_in_time(link):
    source = "\n".join(f"inline __attribute__((used)) int f{i}(int a) {{ return a + {i}; }}" for i in range(4000))
    path = link(source, "-c", "-ffunction-sections", "-mavx2", name="foreign.o", kind=".cpp")
    assert audit(path).findings == ()


# Wheels.


@pytest.mark.smoke
def test_a_wheel(link, tmp_path):
    wheel = tmp_path / "foreign-1.0-cp311-cp311-linux_x86_64.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(link(CONSTRUCTOR), "foreign/_core.so")
        archive.write(link("int sound() { return 1; }", name="sound.so"), "foreign/sound.so")
        archive.writestr("foreign/__init__.py", "import foreign._core\n")
    done = subprocess.run([sys.executable, "-m", "isagen", "audit", wheel], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert f"{wheel.name}/foreign/_core.so: no record of isagen in it; judged as code for X86_64" in done.stdout
    assert "    planted\n" in done.stdout
    assert f"fail   {wheel}: 2 files, 1 load, 0 unproven\n" in done.stdout


def test_a_wheel_that_is_damaged(link, tmp_path):
    wheel = tmp_path / "damaged.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(link(CONSTRUCTOR), "foreign/_core.so")
    raw = bytearray(wheel.read_bytes())
    raw[300:600] = bytes(300)
    wheel.write_bytes(raw)
    with pytest.raises(AuditError, match="cannot be unpacked"):
        audit(wheel)


@pytest.mark.parametrize("kind", ["name", "lzma"])
def test_a_wheel_whose_entries_cannot_be_unpacked(link, tmp_path, kind):
    wheel = tmp_path / "damaged.whl"
    name = "foreign/_cöre.so"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_LZMA) as archive:
        archive.write(link(CONSTRUCTOR), name)
    raw = wheel.read_bytes()
    if kind == "name":  # marked as UTF-8
        raw = raw.replace("ö".encode(), b"\xff\xfe")
    else:
        start = raw.index(name.encode()) + len(name.encode())
        raw = raw[: start + 4] + b"\xff" * 5 + raw[start + 9 :]  # the filter's properties
    wheel.write_bytes(raw)
    with pytest.raises(AuditError, match="cannot be unpacked"):
        audit(wheel)


@pytest.mark.parametrize("folder", ["lib.p", "CMakeFiles", "__pycache__"])
def test_a_wheel_s_folders_may_be_called_as_those_of_builds(link, tmp_path, folder):
    wheel = tmp_path / "foreign.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(link(CONSTRUCTOR), f"a/{folder}/lib.so")
    assert audit(wheel).findings[0].symbol == "planted"


@pytest.mark.smoke
def test_one_file_that_cannot_be_read_leaves_the_others_audited(link, tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    library = link(CONSTRUCTOR)
    shutil.copy(library, folder / "whole.so")
    (folder / "cut.so").write_bytes(library.read_bytes()[:3000])
    run("ar", "rcs", folder / "parts.a", link(CONSTRUCTOR, "-c", name="part.o"))
    command = [sys.executable, "-m", "isagen", "audit", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"{folder}/cut.so: not audited: is not an ELF file that can be read" in done.stdout
    assert f"{folder}/parts.a: not audited: an archive of objects" in done.stdout
    assert "    planted\n" in done.stdout
    assert f"isagen: error: {folder}/cut.so: is not an ELF file" in done.stderr
    done = subprocess.run([*command, "--format", "json"], capture_output=True, text=True, check=False)
    problems = {Path(t["target"]).name: t["problem"] for t in json.loads(done.stdout)["targets"]}
    assert "cut off" in problems["cut.so"]
    assert (problems["whole.so"], problems["parts.a"]) == ("", "")
    with pytest.raises(AuditError, match="is an archive of objects"):
        audit(folder / "parts.a")
    for path in folder.glob("*.so"):
        path.unlink()
    assert audit(folder).judged == "not audited: an archive of objects; audit what they are linked into"


@pytest.mark.smoke
@pytest.mark.parametrize("options", [["-g"], []])
def test_a_file_of_debug_information_is_not_said_to_be_sound(link, tmp_path, options):
    library = link(CONSTRUCTOR, *options)
    folder = tmp_path / "debug"
    folder.mkdir()
    run("objcopy", "--only-keep-debug", library, folder / "planted.debug")
    said = "debug information only, its code is in another file"
    assert (audit(folder).judged, audit(folder).decoded) == (f"not audited: {said}", False)
    with pytest.raises(AuditError, match=said):
        audit(folder / "planted.debug")


def test_packages_that_are_not_unpacked_are_not_said_to_be_sound(link, tmp_path):
    house = tmp_path / "house"
    house.mkdir()
    for name, packed in (("one.conda", "pkg-one.tar.zst"), ("two.whl", "tests/data.tar.gz")):
        with zipfile.ZipFile(house / name, "w") as package:
            package.writestr(packed, b"anything")
            package.writestr("two.py", b"")
    results = {Path(result.target).name: result for result in audit_each([house], {})}
    assert results["one.conda"].judged.startswith(
        "not audited: contains pkg-one.tar.zst, which is not unpacked; unpack"
    )
    assert results["two.whl"].empty  # data of the package's own tests
    assert {one.state for one in summaries([results["one.conda"]])} == {"skip"}


def test_a_package_of_debian_is_no_archive_of_objects(tmp_path):
    (tmp_path / "debian-binary").write_text("2.0\n")
    run("ar", "rcs", tmp_path / "one.deb", tmp_path / "debian-binary")
    with pytest.raises(AuditError, match=r"is a Debian package\n.*dpkg-deb -x"):
        audit(tmp_path / "one.deb")
    assert audit(tmp_path).judged.startswith("not audited: a Debian package; unpack it (dpkg-deb -x)")


def test_a_library_that_holds_the_end_of_an_archive(link):
    library = link(CONSTRUCTOR + '\nconst char magic[64] = "PK\\5\\6";')
    with library.open("ab") as stream:
        stream.write(b"PK\5\6" + bytes(18))
    assert zipfile.is_zipfile(library)
    assert list(findings(library)) == ["planted"]


def test_symbols_of_any_letters_are_shown(link):
    library = link(CONSTRUCTOR.replace("planted", "größe"))
    for encoding in ("latin-1", "ascii", "utf-8"):
        done = subprocess.run(
            [sys.executable, "-m", "isagen", "audit", library],
            capture_output=True,
            env={**os.environ, "PYTHONIOENCODING": encoding},
            check=False,
        )
        assert (done.returncode, done.stderr) == (1, b""), encoding
        assert "größe".encode(encoding, errors="backslashreplace") in done.stdout


def test_names_that_nobody_can_have_written_stay_as_they_are():
    assert demangle("_Z\udcff") == "_Z\udcff"
    assert demangle("_Z3sumPKfm") == "sum(float const*, unsigned long)"


# Files of another kind than they claim.


def test_a_library_without_section_headers(link):
    library = link(CONSTRUCTOR)
    raw = bytearray(library.read_bytes())
    raw[40:48] = bytes(8)  # e_shoff
    raw[60:64] = bytes(4)  # e_shnum, e_shstrndx
    library.write_bytes(raw)
    with pytest.raises(AuditError, match="no section headers"):
        audit(library)


@pytest.mark.smoke
@pytest.mark.parametrize("kind", ["library", "stripped", "object", "relr"])
def test_damaged_files_are_one_clear_error_or_a_report(link, tmp_path, kind):
    if kind == "relr":
        path = link(EXPORTED, "-Wl,--pack-dyn-relocs=relr", linker="lld")
    else:
        path = link(EXPORTED, *(["-c"] if kind == "object" else []), name="foreign.o")
    if kind == "stripped":
        run("strip", path)
    content = path.read_bytes()
    damaged = tmp_path / "damaged"
    reports = 0
    for raw in mutations(content, 300):
        damaged.write_bytes(raw)
        try:
            audit(damaged)
            reports += 1
        except AuditError as error:
            assert str(error).startswith(str(damaged)), error
    assert reports > 50


def test_tools_are_there():
    assert shutil.which("strip")
    assert shutil.which("readelf")


# The offset of a function's type is data; here its bytes would be vaddps.
MARKED = """
  .text
  .type marked, @function
marked:
  .byte 0xeb, 0x06, 0x76, 0x32
  .byte 0xc5, 0xfc, 0x58, 0xc0
  {body}
  ret
  .size marked, .-marked
  .section .init_array, "aw"
  .quad marked
  .section .note.GNU-stack, "", @progbits
"""


def test_the_types_that_the_function_sanitizer_puts_into_functions(link):
    assert audit(link(MARKED.format(body=""), kind=".s")).findings == ()
    (finding,) = audit(link(MARKED.format(body="vmulps %ymm0, %ymm0, %ymm0"), kind=".s")).findings
    assert (finding.symbol, finding.instruction.split()[0]) == ("marked", "vmulps")


@pytest.mark.parametrize("compiler", ["clang++-14", "clang++-16"])
def test_functions_under_the_function_sanitizer(link, compiler):
    functions = "".join(f"struct T{i} {{}}; int f{i}(T{i} *, int x) {{ return x + {i}; }}\n" for i in range(500))
    library = link(functions, "-fsanitize=function", "-Wl,--allow-shlib-undefined", compiler=compiler, kind=".cpp")
    assert b"\xeb\x06v2" in library.read_bytes()
    assert counted(library) == {}


def test_bytes_that_are_no_instruction_are_counted_and_no_feature(link):
    text = MARKED.format(body=".byte 0x06, 0x0e").replace("c5, 0xfc", "90, 0x90")
    library = link(text, kind=".s")
    (finding,) = audit(library).findings
    assert (finding.kind, finding.symbol, finding.cause) == ("unproven", "marked", "bytes")
    assert counted(library) == {"undecodable": 1}
    library = link(text.replace(".quad", ".zero 8 #"), kind=".s")  # what nothing runs at load
    assert (audit(library).findings, counted(library)) == ((), {"undecodable": 1})
    done = subprocess.run(
        [sys.executable, "-m", "isagen", "audit", library], capture_output=True, text=True, check=False
    )
    assert "functions with bytes that are not known instructions (data, or newer than the decoder): 1" in done.stdout
    assert "not judged" not in done.stdout
