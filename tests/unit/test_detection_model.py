"""The detection in Python on recorded CPUs, and its report."""

from pathlib import Path

from isagen.cli.cpu import ipex_text
from isagen.processors.detection import ask_permissions, detect, missing_by_level
from isagen.processors.table import load_table
from support.recorded import FEATURES, SAMPLE, X86_TABLES, recorded

BY_NAME = {cpu.name: cpu for cpu in recorded()}


def test_every_recording_says_what_is_selected():
    for cpu in BY_NAME.values():
        assert "none" in cpu.selected["x86"], cpu.name
        assert set(cpu.selected) | set(cpu.missing) <= set(X86_TABLES), cpu.name


def test_the_report_of_a_sapphire_rapids_is_the_documented_one():
    text = ipex_text(detect(FEATURES, BY_NAME["sapphire-rapids"]))
    assert text.split() == SAMPLE.split()
    lines = text.splitlines()
    assert len(lines) == 5 + 39
    assert lines[4:6] == ["os --> amx: true", "mmx:\t\t\ttrue"]


def test_the_report_shows_cpuid_whatever_the_os_saves():
    text = ipex_text(detect(FEATURES, BY_NAME["no-ymm-state"]))
    assert text.startswith("XCR0: 0000000000000003\nos --> avx: false\n")
    assert "\navx512_f:\t\t\ttrue\n" in text


def test_permission_is_not_asked_for_what_cannot_be_used():
    cpu = detect(FEATURES, BY_NAME["sapphire-rapids-without-tile-state"])
    assert cpu.missing(["amx_tile"]) == ("amx_tile (OS)",)
    assert ask_permissions(cpu, BY_NAME["sapphire-rapids"]).refused == frozenset()


def test_refused_features_are_those_that_the_cpu_has():
    machine = BY_NAME["sapphire-rapids-without-permission"]
    cpu = ask_permissions(detect(FEATURES, machine), machine)
    assert cpu.missing(["amx_tile"]) == ("amx_tile (refused by the OS)",)
    assert cpu.missing(["amx_fp16"]) == ("amx_fp16",)
    missing = missing_by_level(load_table("x86", Path()), cpu)
    assert missing["AMX"]
    assert not missing["AVX512_FP16"]
