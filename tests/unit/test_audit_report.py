"""The audit's summary, its text, and the option --fail-on."""

import pytest

from isagen.audit.data import summaries
from isagen.audit.findings import KINDS, UNDECODABLE, Entry, Finding, Result
from isagen.audit.report import summary_text, text_of
from isagen.cli.audit import kinds_of
from isagen.model.errors import AuditError


def result(target="x.so", *kinds, **more):
    return Result(target, "judged", tuple(Finding(kind, f"f{i}") for i, kind in enumerate(kinds)), **more)


def lines(results, *fail_on):
    return [summary.line() for summary in summaries(results, fail_on or KINDS)]


def test_a_line_for_each_target_and_wheel():
    entry = Entry("a.toml", 0, "why", symbol="g")
    results = [
        result("a.whl/x.so", "load", *["bindable"] * 2328, group="d/a.whl"),
        result("a.whl/y.so", excused=((entry, (Finding("load", "g"),)),), allowed=(("h", "why", 2),), group="d/a.whl"),
        result("a.whl/z.a", decoded=False, group="d/a.whl"),
        result("b.whl/x.so", "past", "unproven", group="b.whl"),
        result("c.so"),
        result("arm.so", decoded=False),
        result("pure.whl", empty=True),
        result("bad.so", decoded=False, problem=AuditError("is cut off")),
        result("d/x.so", "load", group="d"),
        result("d/cut.so", decoded=False, problem=AuditError("is cut off"), group="d"),
    ]
    assert lines(results) == [
        "fail   d/a.whl: 3 files, 1 load, 0 unproven, 2,328 bindable; allowed 3; not audited 1",
        "fail   b.whl: 1 file, 0 load, 1 unproven, 1 past",
        "ok     c.so: 1 file, 0 load, 0 unproven",
        "skip   arm.so: 1 file, not audited",
        "ok     pure.whl: no machine code",
        "error  bad.so: not audited: is cut off",
        "error  d: 2 files, 1 load, 0 unproven; cannot be read 1",
    ]
    assert [line[:5] for line in lines(results, "past")] == [
        "ok   ",
        "fail ",
        "ok   ",
        "skip ",
        "ok   ",
        *["error"] * 2,
    ]


def test_functions_that_are_not_judged_are_counted_by_feature_and_named_on_request():
    needs = {"avx": ["_Z1fv", "g"], "avx2": ["g"], "bmi2": ["g"], "fma": ["h"], "f16c": ["h"], UNDECODABLE: ["u"]}
    one = result("x.so", counted=needs)
    assert lines([one]) == [
        "ok     x.so: 1 file, 0 load, 0 unproven; not judged: avx 2, avx2 1, bmi2 1, fma 1 and 1 more"
    ]
    said = text_of(one)
    assert "unknown: avx 2, avx2 1, bmi2 1, f16c 1, fma 1 (--list-counted names them)\n" in said
    assert "  avx: " not in said
    named = text_of(one, counted=True)
    assert "  avx: f(), g\n" in named
    assert "--list-counted" not in named


def test_only_the_summary_counts_files():
    assert "x.so: 1 file" not in text_of(result("x.so", "load"))
    assert summary_text([result("x.so", "load"), result("y.so")]).splitlines() == [
        "fail   x.so: 1 file, 1 load, 0 unproven",
        "ok     y.so: 1 file, 0 load, 0 unproven",
    ]


@pytest.mark.parametrize("length", [1, 2, 6, 7, 64])
def test_long_chains_of_calls_are_shortened(length):
    path = tuple(f"f{i}" for i in range(length))
    one = Result("x.so", "judged", (Finding("load", "f", path=path),))
    whole = f"      reached   {' -> '.join(path)}\n"
    if length == 1:
        assert "reached" not in text_of(one)
        return
    assert whole in text_of(one, every=True)
    (shown,) = [line for line in text_of(one).splitlines() if "reached" in line]
    if length <= 6:
        assert f"{shown}\n" == whole
    else:
        assert shown.split("reached")[1].strip() == (
            f"f0 -> f1 -> f2 -> ... {length - 5} more ... -> f{length - 2} -> f{length - 1}"
        )


def test_what_a_file_of_allowances_allows_is_said():
    entry = Entry("a.toml", 0, "cpuid.c asks", file="*.so", symbol="g*", kinds=("load", "bindable"))
    findings = tuple(Finding("load", f"g{i}") for i in range(1200))
    assert text_of(result("x.so", excused=((entry, findings),))) == (
        "x.so: judged\n"
        "  nothing found but what is allowed\n"
        "  allowed by a.toml: g* in *.so (load, bindable) (1,200 findings): cpuid.c asks\n"
    )


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("all", set(KINDS)),
        ("None", set()),
        ("load", {"load"}),
        (" Load, BINDABLE ,,load", {"load", "bindable"}),
        ("load,all", set(KINDS)),
    ],
)
def test_kinds_to_fail_on(text, kinds):
    assert set(kinds_of(text)) == kinds


@pytest.mark.parametrize(
    ("text", "message", "remedy"),
    [
        ("load,bindabel", "there is no kind of finding 'bindabel'", "did you mean 'bindable'?"),
        ("qqqq", "there is no kind of finding 'qqqq'", "known: baseline, level, load"),
        ("load,none", "'none' stands alone", "remove it"),
        ("none,default", "'none' stands alone", "remove it"),
        ("nome", "there is no kind of finding 'nome'", "did you mean 'none'?"),
        (" ,", "there is no kind of finding ' ,'", "known: baseline, level, load"),
    ],
)
def test_kinds_that_are_none(text, message, remedy):
    with pytest.raises(AuditError) as caught:
        kinds_of(text)
    assert (caught.value.where, caught.value.message) == ("--fail-on", message)
    assert remedy in caught.value.remedy


def test_a_variable_that_several_levels_initialise_is_shown_once():
    findings = tuple(
        Finding("load", f"init.{level}", level=level, kernel="dot.cpp", variable="big", features=("avx",))
        for level in ("AVX2", "AVX512", "AMX")
    )
    text = text_of(Result("x.so", "judged", findings))
    assert [line.split() for line in text.splitlines()[2:-1]] == [
        ["init.AMX", "at", "AMX,", "in", "dot.cpp"],
        ["needs", "avx"],
        ["variable", "big"],
        ["also", "at", "AVX2", "AVX512"],
    ]
    assert "baseline (3)" in text
    assert text_of(Result("x.so", "judged", findings), every=True).count("variable  big") == 3
