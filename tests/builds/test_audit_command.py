"""`isagen audit` for packagers: wheels, folders of wheels, allowances, summaries, progress, and data for programs."""

import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import jsonschema
import pytest

from isagen.audit.findings import KINDS
from support.checkout import ROOT
from support.foreign import AVX2, CALLS, CONSTRUCTOR, DOUBLE, HEAD, run
from support.terminal import on_terminal

SCHEMA = json.loads((ROOT / "docs/audit.schema.json").read_text(encoding="utf-8"))
WEAK = HEAD + f"{AVX2} __attribute__((weak)) void borrowable(void) {{ {DOUBLE} }}"
HARMLESS = "int sound(void) { return 1; }"


def isagen(*arguments, status=0, **options):
    """Run `isagen audit`, check its exit status, and return what it wrote."""
    command = [sys.executable, "-m", "isagen", "audit", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    if status == 2:
        assert done.stderr.startswith("isagen: error: ")
    else:
        assert done.stderr == ""
    return done.stdout if status != 2 else done.stdout + done.stderr


def data(*arguments, status=0, **options):
    """Return the report as data, which the schema describes."""
    text = isagen(*arguments, "--format", "json", status=status, **options)
    report = json.loads(text.partition("\nisagen: error")[0])
    jsonschema.Draft202012Validator(SCHEMA).validate(report)
    return report


def make_wheel(path, **files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            write = archive.write if isinstance(content, Path) else archive.writestr
            write(*((content, f"pkg/{name}.so") if isinstance(content, Path) else (f"pkg/{name}.py", content)))
    return path


@pytest.fixture
def libraries(link):
    """A library with a finding at load, one with a function that others may bind to, and one without findings."""
    sources = {"load": CONSTRUCTOR, "weak": WEAK, "sound": HARMLESS}
    return {name: link(source, name=f"{name}.so") for name, source in sources.items()}


@pytest.fixture
def house(tmp_path, libraries):
    """A folder of wheels."""
    folder = tmp_path / "house"
    folder.mkdir()
    make_wheel(folder / "bad-1.0.whl", _core=libraries["load"], more=libraries["weak"])
    make_wheel(folder / "good-1.0.whl", _core=libraries["sound"])
    make_wheel(folder / "pure-1.0.whl", code="print()")
    return folder


# The exit status.


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("fail_on", "status"),
    [("all", 1), ("load", 1), (" Bindable , past", 1), ("unproven,past", 0), ("none", 0)],
)
def test_the_kinds_to_fail_on_decide_the_exit_status_and_are_all_reported(house, fail_on, status):
    said = isagen("--fail-on", fail_on, house / "bad-1.0.whl", status=status)
    assert "    planted\n" in said
    assert "    borrowable\n" in said
    assert ("fail " in said) == bool(status)
    report = data("--fail-on", fail_on, house / "bad-1.0.whl", status=status)
    assert (report["clean"], report["failed"]) == (False, bool(status))


def test_one_file_needs_no_summary(libraries):
    summary = f"fail   {libraries['load']}: 1 file, 1 load"
    assert summary not in isagen(libraries["load"], status=1)
    assert summary in isagen("--summary", libraries["load"], status=1)


def test_a_kind_that_is_none(libraries):
    said = isagen("--fail-on", "loud", libraries["load"], status=2)
    assert said == "isagen: error: --fail-on: there is no kind of finding 'loud'\n  did you mean 'load'?\n"


# Targets without machine code.


def test_wheels_and_folders_without_machine_code_are_no_error(house, tmp_path):
    said = isagen(house / "pure-1.0.whl")
    assert said == "pure-1.0.whl: contains no machine code: nothing to audit\n"
    (tmp_path / "empty").mkdir()
    assert isagen(tmp_path / "empty").endswith("empty: contains no machine code: nothing to audit\n")
    nothing = tmp_path / "nothing.zip"
    nothing.write_bytes(b"PK\5\6" + bytes(18))
    assert isagen(nothing, "--summary") == f"ok     {nothing}: no machine code\n"
    (target,) = data(nothing)["targets"]
    assert (target["empty"], target["findings"]) == (True, [])
    assert "there is no such file or folder" in isagen(tmp_path / "gone", status=2)
    assert "there is no such file or folder" in isagen(tmp_path / "gone", nothing, status=2)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"\xcf\xfa\xed\xfe" + bytes(60), "a file of the format Mach-O, which is not read"),
        (b"\xca\xfe\xba\xbe\0\0\0\2" + bytes(60), "a file of the format universal Mach-O, which is not read"),
        (
            b"MZ" + bytes(58) + struct.pack("<I", 128) + bytes(64) + b"PE\0\0\x4c\x01",
            "code for x86 (32-bit) is not decoded",
        ),
    ],
)
def test_machine_code_of_other_systems_is_not_passed_over(tmp_path, libraries, content, problem):
    wheel = tmp_path / "other.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("pkg/other", content)
    said = isagen(wheel, status=2)
    assert f"other.whl/pkg/other: {problem}" in said
    said = isagen(wheel, libraries["sound"])
    assert f"other.whl/pkg/other: not audited: {problem}\n" in said
    assert f"skip   {wheel}: 1 file, not audited\n" in said


@pytest.mark.parametrize("content", [b"\xca\xfe\xba\xbe\0\0\0\x34" + bytes(60), b"MZ of a text", b"MZ" + bytes(200)])
def test_what_only_starts_as_machine_code_does(tmp_path, content):
    wheel = tmp_path / "pure.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("pkg/text", content)
    assert "contains no machine code" in isagen(wheel)


def test_what_is_no_regular_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.so")
    (tmp_path / "zeros.so").symlink_to("/dev/zero")
    for name in ("pipe.so", "zeros.so"):
        assert "is no regular file" in isagen(tmp_path / name, status=2, timeout=60)


def test_a_wheel_that_is_none(tmp_path):
    for content in (b"", b"no zip file"):
        (tmp_path / "bad.whl").write_bytes(content)
        assert "bad.whl: cannot be unpacked: File is not a zip file" in isagen(tmp_path / "bad.whl", status=2)


def test_names_of_a_wheel_s_files_are_no_commands_for_the_terminal(tmp_path, libraries):
    wheel = make_wheel(tmp_path / "odd-1.0.whl", **{"a\nb\x1b[31m": libraries["load"]})
    said = isagen(wheel, status=1)
    assert "pkg/a\\x0ab\\x1b[31m.so: no record" in said
    assert "\x1b" not in said


# Several targets.


def test_wheels_in_a_folder_are_audited(house):
    (house / "cut.whl").write_bytes((house / "good-1.0.whl").read_bytes()[:900])
    said = isagen("--summary", house, status=2).splitlines()
    assert said[:4] == [
        f"fail   {house}/bad-1.0.whl: 2 files, 1 load, 0 unproven, 1 bindable",
        f"error  {house}/cut.whl: not audited: cannot be unpacked: File is not a zip file",
        f"ok     {house}/good-1.0.whl: 1 file, 0 load, 0 unproven",
        f"ok     {house}/pure-1.0.whl: no machine code",
    ]
    assert said[4:] == [f"isagen: error: {house}/cut.whl: cannot be unpacked: File is not a zip file"]
    said = isagen(house, status=2)
    assert f"{house}/bad-1.0.whl/pkg/_core.so: no record of isagen in it" in said
    report = data(house, status=2)
    assert [target["group"] for target in report["targets"]] == [
        f"{house}/{name}" for name in ("bad-1.0.whl", "bad-1.0.whl", "cut.whl", "good-1.0.whl", "pure-1.0.whl")
    ]


CALLED_ALONE = HEAD + f"{AVX2} void called(void) {{ {DOUBLE} }}"
CALLED = CALLED_ALONE + " void other(void); void both(void) { other(); }"
CALLING = "void called(void); void both(void); __attribute__((constructor)) static void first(void) {{ {}(); }}"


@pytest.mark.parametrize(("function", "found"), [("called", 1), ("both", 0)])
def test_libraries_of_a_wheel_that_call_each_other_at_load(link, tmp_path, function, found):
    """A constructor of one library calls a function of the other; by itself, that function is only exported."""
    called = link(CALLED, name="called.so")
    calling = link(CALLING.format(function), name="calling.so")
    wheel = make_wheel(tmp_path / "pair-1.0.whl", called=called, calling=calling)
    report = data(wheel, status=found)
    load = [finding for target in report["targets"] for finding in target["findings"] if finding["kind"] == "load"]
    assert [finding["symbol"] for finding in load] == ["called"] * found
    assert all("when another file is loaded" in finding["detail"] for finding in load)
    assert isagen("--fail-on", "load", called) != ""


def test_a_library_that_is_called_only_by_what_another_calls_at_load(link, tmp_path):
    """The constructor of `last`, which is the largest and so is audited last, calls `first`, which calls `second`."""
    last = link("char padding[1 << 16] = {1};\n" + CALLING.format("both"), name="last.so")
    first = link("void called(void); void both(void) { called(); }", name="first.so")
    wheel = make_wheel(tmp_path / "chain-1.0.whl", first=first, second=link(CALLED_ALONE, name="second.so"), last=last)
    report = data(wheel, status=1)
    load = [finding for target in report["targets"] for finding in target["findings"] if finding["kind"] == "load"]
    assert [finding["symbol"] for finding in load] == ["called"]


def test_functions_that_are_not_judged_are_named_on_request(link):
    library = link(
        HEAD + f"{AVX2} static void hidden(void) {{ {DOUBLE} }} void (*hook(void))(void) {{ return hidden; }}"
    )
    assert "avx 1 (--list-counted names them)" in isagen(library)
    assert "  avx: hidden\n" in isagen("--list-counted", library)


def test_a_target_that_is_given_twice_is_audited_once(libraries):
    assert isagen("--summary", libraries["load"], libraries["load"], status=1).count("\n") == 1


def test_wheels_of_one_name_have_a_line_each(house, tmp_path):
    other = shutil.copy(house / "good-1.0.whl", tmp_path / "bad-1.0.whl")
    said = isagen("--summary", house / "bad-1.0.whl", other, status=1)
    assert [line.split(":")[0] for line in said.splitlines()] == [f"fail   {house}/bad-1.0.whl", f"ok     {other}"]


# Allowances.


@pytest.mark.smoke
def test_files_of_allowances(house, tmp_path):
    allow = tmp_path / "allow.toml"
    allow.write_text(
        '[[allow]]\nfile = "pkg/_core.so"\nsymbol = "plant*"\nkind = "load"\nreason = "only on new CPUs"\n'
        '[[allow]]\nfile = "elsewhere/*.so"\nsymbol = "borrow*"\nreason = "never there"\n'
    )
    more = tmp_path / "more.toml"
    more.write_text('[[allow]]\nsymbol = "borrowable"\nkind = ["bindable", "load"]\nreason = "cpuid.c asks"\n')
    wheel = house / "bad-1.0.whl"
    said = isagen("--allow", allow, "--fail-on", "bindable", wheel, status=1)
    assert "    planted\n" not in said
    assert f"  allowed by {allow}: plant* in pkg/_core.so (load) (1 finding): only on new CPUs\n" in said
    assert said.endswith(
        f"fail   {wheel}: 2 files, 0 load, 0 unproven, 1 bindable; allowed 1\n"
        f"{allow}: allow[1]: borrow* in elsewhere/*.so: no file of that name was audited\n"
    )
    said = isagen("--allow", allow, "--allow", more, "--summary", wheel)
    assert said.startswith(f"ok     {wheel}: 2 files, 0 load, 0 unproven; allowed 2\n")
    report = data("--allow", allow, "--allow", more, wheel)
    assert report["clean"]
    assert [(entry["files"], entry["findings"]) for entry in report["allow"]] == [(1, 1), (0, 0), (2, 1)]
    assert [target["excused"] for target in report["targets"]] == [
        [{"entry": 0, "findings": [{"kind": "load", "symbol": "planted"}]}],
        [{"entry": 2, "findings": [{"kind": "bindable", "symbol": "borrowable"}]}],
    ]


def test_allowed_functions_of_stripped_files(link, tmp_path):
    library = link(CALLS)
    run("strip", library)
    (finding,) = data(library, status=1)["targets"][0]["findings"]
    allow = tmp_path / "allow.toml"
    allow.write_text('[[allow]]\nsymbol = "f*"\nreason = "those with names"\n')
    isagen("--allow", allow, library, status=1)
    assert finding["symbol"].startswith("function at 0x")
    allow.write_text(f'[[allow]]\nsymbol = "{finding["symbol"]}"\nreason = "the one"\n')
    isagen("--allow", allow, library)
    allow.write_text('[[allow]]\nfile = "foreign.so"\nkind = "load"\nreason = "all of it"\n')
    isagen("--allow", allow, library)


def test_a_bad_file_of_allowances_is_one_error(libraries, tmp_path):
    allow = tmp_path / "allow.toml"
    allow.write_text('[[allow]]\nsymbol = "f"\n')
    said = isagen("--allow", allow, libraries["load"], status=2)
    assert said == f"isagen: error: {allow}: allow[0].reason: is missing\n  give it as a string\n"


def test_findings_in_what_isagen_built(new_project, tmp_path):
    from support.auditing import build, plant_in_baseline

    project = build(new_project, "leak", "-Disa_audit=warn")
    plant_in_baseline(project)
    project.ninja()
    allow = tmp_path / "allow.toml"
    allow.write_text(
        '[[allow]]\nfile = "leak"\nsymbol = "planted_fault(float*)"\nkind = "baseline"\nreason = "asked"\n'
    )
    report = data("build", status=1, cwd=project.folder)
    assert report["summary"][0]["findings"] == {"baseline": 1}
    report = data("build", "--allow", allow, cwd=project.folder)
    assert (report["clean"], report["summary"][0]["target"], report["summary"][0]["allowed"]) == (True, "build", 1)


# Data for programs.


def test_data_is_compact_and_says_what_text_says(house, tmp_path):
    run("ar", "rcs", house / "parts.a")
    text = isagen(house, "--format", "json", status=1)
    assert text.count("\n") == 1
    assert ": " not in text.partition('"summary":')[0].partition('"kinds":')[0]
    report = data(house, status=1)
    assert json.loads(text) == report
    assert report["kinds"] == {kind: {"meaning": m, "remedy": r} for kind, (m, r) in KINDS.items()}
    assert text.count(KINDS["load"][0]) == 1
    found = [finding for target in report["targets"] for finding in target["findings"]]
    assert [finding["symbol"] for finding in found] == ["planted", "borrowable"]
    assert [summary["state"] for summary in report["summary"]] == ["fail", "ok", "skip", "ok"]
    brief = data(house, "--summary", status=1)
    assert brief == {key: value for key, value in report.items() if key != "targets"}


def test_data_of_objects_and_of_what_cannot_be_read(link, tmp_path):
    folder = tmp_path / "objects"
    folder.mkdir()
    shutil.copy(link(WEAK, "-c", "-ffunction-sections", name="foreign.o"), folder / "a.o")
    (folder / "b.o").write_bytes((folder / "a.o").read_bytes()[:100])
    report = data(folder, status=2)
    assert [bool(target["problem"]) for target in report["targets"]] == [False, True]
    (finding,) = report["targets"][0]["findings"]
    assert finding["detail"] == "weak"
    assert {"instruction", "address"} <= finding.keys()  # in an object, code may be at address 0


def test_the_schema_is_a_schema_that_refuses_other_data(house):
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    report = data(house / "bad-1.0.whl", status=1)
    finding = report["targets"][0]["findings"][0]
    for broken in (
        {**report, "format": 1},
        {key: value for key, value in report.items() if key != "summary"},
        {**report, "targets": [{**report["targets"][0], "findings": [{**finding, "more": 1}]}]},
        {**report, "targets": [{**report["targets"][0], "notes": None}]},
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(broken, SCHEMA)


# On a terminal.


def test_progress_is_shown_on_a_terminal_and_taken_away(house):
    plain = isagen(house / "bad-1.0.whl", status=1)
    status, output, shown = on_terminal("audit", house / "bad-1.0.whl")
    assert (status, output) == (1, plain)
    assert re.search(r"2 of 2  bad-1\.0\.whl/pkg/(_core|more)\.so", shown)  # the first may be too fast to be shown
    assert shown.rstrip().endswith(("\x1b[2K", "\x1b[?25h", "\x1b[1A\x1b[2K"))  # the line is erased, the cursor is back
    assert shown.count("\x1b[?25l") == shown.count("\x1b[?25h") > 0
    assert on_terminal("audit", house / "bad-1.0.whl", TERM="dumb") == (1, plain, "")


def test_names_of_any_letters_and_lengths_are_shown_on_a_terminal(libraries, tmp_path):
    folder = tmp_path / f"grö\udcffße-{'x' * 99}"
    folder.mkdir()
    shutil.copy(libraries["sound"], folder / "ende.so")
    status, _, shown = on_terminal("audit", folder, PYTHONIOENCODING="ascii", LC_ALL="C", PYTHONUTF8="0")
    assert status == 0
    assert "1 of 1  ...xxx" in shown
    assert "xxx/ende.so" in shown


def test_an_interrupt_ends_cleanly(link, tmp_path):
    slow = link(f".text\n.type f, @function\nf: .fill {1 << 25}, 1, 0x90\n.size f, .-f\n", "-nostdlib", kind=".s")
    wheel = make_wheel(tmp_path / "z.whl", one=slow)
    command = [sys.executable, "-m", "isagen", "audit", wheel]
    # A process in the background of a script ignores the signal, and so do those that it starts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        signal.signal(signal.SIGINT, before)
        try:
            while not list(tmp_path.glob("isagen-audit-*/pkg/one.so")):
                assert process.poll() is None
                time.sleep(0.1)
            time.sleep(0.5)  # decoding 32 MiB takes longer
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, errors, list(tmp_path.glob("isagen-audit-*"))) == (130, "", [])


def test_the_help_lists_the_kinds():
    said = isagen("--help")
    for kind, (meaning, _) in KINDS.items():
        assert f"\n  {kind} " in said
        assert meaning in " ".join(said.split())
    assert "isagen audit --summary wheelhouse" in said
