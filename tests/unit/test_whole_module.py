"""Whole modules: their plans, the records of private modules, and the text of the dispatch source."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from isagen.audit.records import judged_by, merge, records_of_build
from isagen.binary.formats import FORMATS
from isagen.binary.notes import note_of
from isagen.build.stubs import check_objects, module_table, notes_text
from isagen.model.errors import AuditError, BuildError, ConfigError, KernelError
from isagen.model.languages import language_of
from isagen.model.plan import BUILT, DISABLED, UNAVAILABLE, Cell
from isagen.model.record import LEVEL_OWNER, record_from_json
from isagen.planning.cells import whole_levels
from isagen.planning.config import Config
from isagen.planning.kernels import check_kernels
from isagen.processors.features import features_of
from isagen.processors.instruction_sets import InstructionSets
from isagen.processors.registry import decoder_of
from support.model import build_of, kernel_row, plan_of, record_of, registered_at

CONFIG = Config(Path("isa.toml"))
LEVELS = ["DEFAULT", "AVX2", "AVX512"]


@pytest.mark.parametrize("name", ["a b", "é", "1x", "pkg._core", "_x-y"])
def test_names_that_no_module_has(name):
    with pytest.raises(ConfigError, match="cannot name an extension module"):
        check_kernels(["a.c"], CONFIG, module=name)


def test_a_module_needs_a_source_and_no_module_needs_none():
    with pytest.raises(ConfigError, match="the module _core has no source"):
        check_kernels([], CONFIG, module="_core")
    check_kernels(["a.c"], CONFIG, module="_core")
    check_kernels([], CONFIG)


def test_cython_sources_are_refused_with_the_remedy():
    with pytest.raises(KernelError, match=r"isa_kernels: a/_x\.pyx: is Cython.*\n.*isa_module = 'NAME'"):
        check_kernels(["a/_x.pyx"], CONFIG)
    assert [language_of(f"_x.pyx.{suffix}") for suffix in ("c", "cpp")] == ["c", "cpp"]


def test_a_level_that_one_source_lacks_is_lacking_as_a_whole():
    both = kernel_row("a.cpp", {level: f"a.{level}" for level in LEVELS})
    cells = (
        Cell("DEFAULT", BUILT, "", copy="b"),
        Cell("AVX2", DISABLED, "by isa.toml"),
        Cell("AVX512", UNAVAILABLE, "too old"),
    )
    rows = whole_levels([both, replace(both, source="b.c", cells=cells)])
    assert [[(cell.verdict, cell.copy) for cell in row.cells] for row in rows] == [
        [(BUILT, "a.DEFAULT"), (DISABLED, ""), (UNAVAILABLE, "")],
        [(BUILT, "b"), (DISABLED, ""), (UNAVAILABLE, "")],
    ]
    assert rows[0].cells[1].reason == "its module is not built without b.c: by isa.toml"
    assert rows[1].cells[1].reason == "by isa.toml"


# ---- records


def test_the_record_of_a_private_module_is_read_and_older_records_too():
    record = record_of(baseline=("sse3",), levels={"DEFAULT": (), "AVX2": ("avx", "avx2")})
    private = record.of_module("AVX2")
    assert record_from_json(private.to_json(), "") == private
    assert (private.module, private.outside) == ("AVX2", ("sse3", "avx", "avx2"))
    assert record.outside == ("sse3",)
    assert record_from_json(record.to_json(), "") == record
    of_format_1 = record.to_json().replace('{"format":2,', '{"format":1,').replace(',"module":""', "")
    assert '"format":1,' in of_format_1 and "module" not in of_format_1
    assert record_from_json(of_format_1, "") == record
    later = record.to_json().replace('{"format":2,', '{"format":9,')
    with pytest.raises(
        AuditError, match=r"x\.so: its record cannot be read: it is of format 9, and this isagen reads format 2"
    ):
        record_from_json(later, "x.so")


def test_what_is_linked_into_a_private_module_may_use_its_level():
    private = record_of(levels={"AVX2": ("avx", "avx2")}).of_module("AVX2")
    other = record_of(project="other", baseline=("sse3",), levels={"AVX512": ("avx", "avx512_f")})
    for records in ([private, other], [other, private]):
        found = merge(records)
        assert set(found.outside) == {"avx", "avx2"}
        assert found.levels == {"AVX512": ("avx", "avx512_f")}
    sets = InstructionSets(
        features_of(private.features), decoder_of(FORMATS[0].readers[0].architecture_of(_x86_head()), "")
    )
    assert judged_by(private, sets).endswith("private module of level AVX2, all of it with avx avx2")


def _x86_head():
    from support.elf import with_function

    return with_function(b"f")[:64]


def test_the_records_of_a_build():
    record = record_of(levels={"DEFAULT": (), "AVX2": ("avx2",)})
    build = build_of(plan_of(LEVELS), record)
    assert records_of_build(build) == [record]
    whole = replace(build, plan=replace(build.plan, module="_core"))
    assert [one.module for one in records_of_build(whole)] == ["", "DEFAULT", "AVX2"]


# ---- build steps


def test_the_table_has_the_module_at_the_levels_that_are_built():
    text = module_table("_core", LEVELS, ["DEFAULT", "AVX512"])
    cell = "ISA_CAST(const struct isa_kernel *, &isa_module)"
    assert f'{{"_core", isa_bind_module, {{{cell}, 0, {cell}}}}},' in text


def test_notes_are_numbers_of_a_c_array():
    text = notes_text([b"first", b"second"])
    words = re.sub(r"ISA_NOTE_WORD\((\d+)u\)", r"\1, 0, 0, 0", text)
    numbers = [int(number) for number in re.findall(r"(\d+),", words)]
    assert bytes(numbers) == b"".join(note_of(LEVEL_OWNER, note) for note in (b"first", b"second"))
    assert notes_text([]) == ""


def test_a_stub_in_a_module_is_an_error():
    with pytest.raises(BuildError, match=r"^dot: a.c registers a kernel for it, but is a source of the module _core"):
        check_objects("_core", _registered(), {})
    with pytest.raises(BuildError, match="no source of the module defines PyInit__core"):
        check_objects("_core", registered_at("DEFAULT"), {})


def _registered():
    found = registered_at("DEFAULT", a="dot")
    return replace(found, kernels={"a.c": next(iter(found.kernels.values()))})
