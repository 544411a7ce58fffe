"""The audit of builds: every planted fault is found and named, and sound builds have none."""

import re

import pytest

from support.auditing import FAULT, append, audit, build, findings, plant_in_baseline
from support.prepared import FEW
from support.projects import need

# Faults of builds, one test each.


@pytest.mark.smoke
def test_code_outside_the_levels_beyond_the_baseline_fails_the_link(prepared):
    project = prepared("leak", FEW)
    plant_in_baseline(project)
    said = project.ninja(check=False)
    assert "code outside the levels uses instructions beyond the baseline (1)" in said
    assert "planted_fault(float*), in leak.p/main.cpp.o" in said
    assert "_Z13planted_faultPf" in said
    assert re.search(r"needs +avx", said)
    assert "-Disa_audit=warn" in said
    assert not project.path("leak").exists()
    assert "planted_fault" in project.ninja(check=False)  # and again, until it is fixed
    project.edit("main.cpp", '__attribute__((target("avx2"), noinline))', "__attribute__((noinline))")
    project.ninja()
    assert project.path("leak").exists()
    assert "audited: yes, when linked" in project.isagen("matrix", "build").stdout


@pytest.mark.smoke
def test_the_audit_can_warn_instead(prepared):
    project = prepared("leak", FEW, "-Disa_audit=warn")
    plant_in_baseline(project)
    assert "isagen audit: warning: leak: " in project.ninja()
    status, report = audit(project, "build")
    assert status == 1
    (finding,) = findings(report)
    assert (finding["kind"], finding["symbol"]) == ("baseline", "_Z13planted_faultPf")
    assert (finding["object"], finding["kernel"], finding["level"]) == ("leak.p/main.cpp.o", "", "")
    assert "avx" in finding["features"]
    assert finding["instruction"].startswith("v")


def test_the_audit_can_be_switched_off(prepared):
    project = prepared("leak", FEW, "-Disa_audit=off")
    plant_in_baseline(project)
    assert "planted_fault" not in project.ninja()
    assert "audited: no, switched off by the Meson option isa_audit" in project.isagen("matrix", "build").stdout
    assert audit(project, "build")[0] == 1


def test_a_level_s_code_beyond_what_is_checked_for_it(new_project):
    project = new_project("leak")
    append(
        project,
        "kernel.cpp",
        '__attribute__((target("avx512f"), used)) static void planted_fault(float *d)\n'
        "{ for (int i = 0; i < 64; i++) d[i] *= 2; }\n",
    )
    project.setup("-Disa_levels=AVX2", "-Disa_audit=warn")
    project.ninja()
    status, report = audit(project, "build")
    assert status == 1
    found = {finding["level"]: finding for finding in findings(report)}
    assert set(found) == {"DEFAULT", "AVX2"}
    assert found["AVX2"]["kind"] == "level"
    assert found["AVX2"]["name"].startswith("planted_fault(float*)")
    assert found["AVX2"]["kernel"] == "kernel.cpp"
    assert found["AVX2"]["features"] == ["avx512_f"]


@pytest.mark.parametrize("how", ["program", "library", "undefined allowed"])
def test_a_level_s_function_that_is_called_past_its_stub(new_project, how):
    """Sealing makes it private to the level, so that the reference finds nothing."""
    project = new_project("leak")
    text = "#ifdef CPU_CAPABILITY_AVX2\nint planted_fault(int i) { return i * 3; }\n#endif\n"
    append(project, "kernel.cpp", text.replace("int planted", "__attribute__((noinline)) int planted"))
    append(
        project,
        "main.cpp",
        "int planted_fault(int i);\nint use(int i);\nint use(int i) { return planted_fault(i) + 1; }\n",
    )
    if how != "program":
        project.edit("meson.build", "executable(", "shared_library(")
    project.setup("-Disa_levels=AVX2", "-Disa_audit=warn", *(["-Db_lundef=false"] if "allowed" in how else []))
    said = project.ninja(check=False)
    if how != "undefined allowed":
        assert "undefined reference to `planted_fault(int)'" in said
        assert "main.cpp.o: refers to planted_fault(int), which kernel sources define: it is private to AVX2" in said
        return
    status, report = audit(project, "build")
    (finding,) = findings(report)
    assert (status, finding["kind"], finding["symbol"], finding["level"]) == (1, "past", "_Z13planted_faulti", "AVX2")
    assert "private to AVX2" in finding["detail"]


@pytest.mark.parametrize("compiler", ["g++", "clang++-16"])
def test_a_static_initialiser_of_a_level(new_project, compiler):
    need(compiler)
    project = build(new_project, "leak_init", FEW, CXX=compiler)
    said = project.ninja(check=False)
    assert "code that runs at load or exit uses instructions beyond the baseline" in said
    project.setup("-Disa_audit=warn", "--reconfigure")
    project.ninja()
    _, report = audit(project, "build")
    found = {finding["level"]: finding for finding in findings(report)}
    assert {"AVX2", "AVX512"} <= set(found)
    assert "DEFAULT" not in found
    for finding in found.values():
        assert finding["kind"] == "load"
        assert finding["variable"].endswith("table") or "5table" in finding["variable"]
        assert finding["kernel"] == "kernel.cpp"
        assert finding["detail"] == "runs when loaded"
    project.edit(
        "kernel.cpp", "const squares table;", "const squares &table_of() { static const squares t; return t; }"
    )
    project.edit("kernel.cpp", "table.values", "table_of().values")
    project.setup("-Disa_audit=error", "--reconfigure")
    project.ninja()
    assert audit(project, "build")[0] == 0


def test_a_destructor_that_a_level_registers_to_run_at_exit(new_project):
    project = new_project("leak_init")
    project.edit("kernel.cpp", "  squares()\n  {", "  squares() = default;\n  ~squares()\n  {")
    project.edit("kernel.cpp", "const squares table", "squares table")
    project.edit("kernel.cpp", "values[64];", "values[64] = {1};")
    project.setup("-Disa_audit=warn", "-Disa_levels=AVX2")
    project.ninja()
    _, report = audit(project, "build")
    (finding,) = findings(report)
    assert (finding["kind"], finding["level"]) == ("load", "AVX2")
    assert "~squares" in finding["name"]


@pytest.mark.smoke
def test_harmless_initialisers_are_no_fault(prepared):
    project = prepared("leak", FEW)
    project.edit("kernel.cpp", '#include "leak.h"', '#include "leak.h"\n#include <iostream>\n#include <string>')
    append(
        project, "kernel.cpp", "namespace { __attribute__((used)) void say() { std::cout << std::string(99, 'x'); } }\n"
    )
    project.ninja()


def test_levels_that_are_not_sealed(new_project):
    """They are a finding, as long as there are several: which level a function belongs to is unknown."""
    project = build(new_project, "leak", FEW, "-Disa_seal=false")
    assert "isagen audit: error: leak: " in project.ninja(check=False)
    project.setup("--reconfigure", "-Disa_audit=warn")
    said = project.ninja()
    assert "isagen audit: warning: leak: " in said
    assert "the levels are not sealed: the linker uses one level's code for all of them" in said
    status, report = audit(project, "build")
    assert (status, [finding["kind"] for finding in findings(report)]) == (1, ["unsealed"])
    project.setup("--reconfigure", "-Disa_audit=error", "-Disa_levels=none")
    assert "isagen audit" not in project.ninja()


def test_the_audit_is_right_that_an_initialiser_crashes(new_project):
    need("qemu-x86_64")
    project = build(new_project, "leak_init", FEW, "-Disa_audit=off")
    project.ninja()
    assert project.run("qemu-x86_64", "-cpu", "Haswell-v4", project.path("leak_init")).stdout.endswith("49\n")
    assert project.run("qemu-x86_64", "-cpu", "Nehalem", project.path("leak_init"), check=False).returncode in (-4, 132)


# Code that is no finding.


@pytest.mark.smoke
def test_what_isa_toml_allows_is_no_fault_and_unused_entries_are_reported(prepared):
    project = prepared("leak", FEW)
    plant_in_baseline(project)
    append(
        project,
        "isagen/isa.toml",
        '[[audit.allow]]\nsymbol = "planted_*(float*)"\nreason = "main() asks the CPU"\n'
        '[[audit.allow]]\nsymbol = "gone"\nreason = "once"\n',
    )
    project.ninja()
    status, report = audit(project, "build")
    assert status == 0
    (target,) = report["targets"]
    assert target["allowed"] == [{"symbol": "planted_*(float*)", "reason": "main() asks the CPU", "functions": 1}]
    assert target["unused"] == [{"symbol": "gone", "reason": "once"}]
    said = project.isagen("audit", "build").stdout
    assert "allowed by isa.toml: planted_*(float*) (1 function): main() asks the CPU" in said
    assert "allowed by isa.toml: gone (none in the file; remove the entry): once" in said
    copy = project.folder / "copied"
    project.run("strip", "-o", copy, project.path("leak"))
    status, report = audit(project, copy)
    assert status == 0  # it has no name, so it is counted
    assert report["targets"][0]["counted"]["avx"] >= 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[audit.allow]]\nsymbol = "f"\n', "isa.toml: audit.allow[0].reason: is missing"),
        ('[[audit.allow]]\nsymbol = "f"\nreason = " "\n', "isa.toml: audit.allow[0].reason: is empty"),
        ('[[audit.allow]]\nsymbol = "*"\nreason = "no"\n', "'*' allows everything"),
        ('[[audit.allow]]\nsymbol = "f"\nreason = "x"\nwhy = "y"\n', "isa.toml: audit.allow[0].why: unknown key"),
        ('[audit]\nallow = "f"\n', "isa.toml: audit.allow: must be an array of tables"),
        ('[audit]\nallow = ["f"]\n', "must be an array of tables, but contains 'f'"),
    ],
)
def test_an_entry_that_cannot_be_right_is_an_error(prepared, text, message):
    project = prepared("leak", FEW)
    append(project, "isagen/isa.toml", text)
    assert message in project.setup("--reconfigure", check=False)


def test_a_name_out_of_the_report_allows_itself(prepared):
    project = prepared("leak", FEW, "-Disa_audit=warn")
    append(project, "main.cpp", FAULT.replace("float *data", "float (&data)[64]"))
    project.edit("main.cpp", "const answer first", "planted_fault(data);\n  const answer first")
    project.edit("main.cpp", "int main()", "void planted_fault(float (&data)[64]);\nint main()")
    project.ninja()
    (finding,) = findings(audit(project, "build")[1])
    assert "[64]" in finding["name"]
    append(project, "isagen/isa.toml", f'[[audit.allow]]\nsymbol = "{finding["name"]}"\nreason = "x"\n')
    project.ninja()
    assert audit(project, "build")[0] == 0


def test_the_baseline_of_a_build_and_one_that_is_asked_for(new_project):
    project = new_project("leak")
    project.setup(FEW, CXXFLAGS="-mavx2")
    plant_in_baseline(project)
    project.ninja()
    status, report = audit(project, "build")
    assert status == 0
    assert re.search("everything else with .*avx avx2", report["targets"][0]["judged"].replace("\n", " "))
    for target in ("build", "build/leak"):
        status, report = audit(project, target, "--baseline", "X86_64_V2")
        assert status == 1
        assert "_Z13planted_faultPf" in {f["symbol"] for f in findings(report) if f["kind"] == "baseline"}
    assert audit(project, "build", "--baseline", "X86_64_V3")[0] == 0


def test_what_a_cpu_may_lack_besides_vectors_can_be_a_feature_of_a_level(new_project):
    project = new_project("leak")
    project.edit("kernel.cpp", '#include "leak.h"', '#include "leak.h"\n#include <x86intrin.h>')
    text = "namespace { __attribute__((used)) unsigned long long ticks() { unsigned aux; return __rdtscp(&aux); } }\n"
    append(project, "kernel.cpp", f"#ifdef CPU_CAPABILITY_AVX2\n{text}#endif\n")
    project.setup("-Disa_levels=AVX2")
    said = project.ninja(check=False)
    assert re.search("needs +rdtscp", said)
    project.edit("isagen/isa.toml", 'table = "default"', 'table = "own.toml"')
    (project.folder / "isagen/own.toml").write_text(
        'extends = "x86"\n[levels.AVX2]\nfeatures = ["avx", "avx2", "fma", "f16c", "rdtscp"]\n'
    )
    project.ninja()
    assert audit(project, "build")[0] == 0


@pytest.mark.smoke
def test_code_that_ifunc_resolvers_choose_from_is_behind_a_check(prepared):
    project = prepared("leak", FEW)
    append(
        project,
        "main.cpp",
        '__attribute__((target_clones("default", "avx2"))) float total(const float *d)\n'
        "{ float sum = 0; for (int i = 0; i < 64; i++) sum += d[i]; return sum; }\n",
    )
    project.edit("main.cpp", "const answer first", "data[0] = total(data) * 0;\n  const answer first")
    project.edit("main.cpp", "int main()", "float total(const float *d);\nint main()")
    project.ninja()
    _, report = audit(project, "build")
    assert report["targets"][0]["counted"]["avx"] >= 1
