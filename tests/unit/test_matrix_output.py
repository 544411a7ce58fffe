"""The matrix for people and programs: terminals of any width, JSON by its schema, and differences."""

import io
import json
import zlib
from dataclasses import asdict, replace

import jsonschema
import pytest

from isagen.cli.matrix import as_data
from isagen.matrix.difference import differences
from isagen.matrix.paths import without_paths, word_without_path
from isagen.matrix.planned import public
from isagen.matrix.selection import Selection
from isagen.matrix.terminal import print_matrix
from isagen.matrix.words import code_bytes, level_cells, own_features, size_text, width_text
from isagen.model.errors import AuditError
from isagen.model.matrix import Alias, Matrix, MatrixCell
from isagen.model.matrix_notes import LONGEST, pack, unpack
from isagen.model.names import MATRIX_FORMAT
from isagen.model.registrations import LevelCode
from support.checkout import ROOT
from support.matrices import matrix_of


def lines(matrix: Matrix, width: int, **more) -> list[str]:
    stream = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(width))
        print_matrix(matrix, "", stream, **more)
    return [line.rstrip() for line in stream.getvalue().splitlines()]


@pytest.mark.parametrize("width", [40, 60, 80, 100, 160, 400])
@pytest.mark.parametrize("kernels", [1, 5, 30])
@pytest.mark.parametrize("flags", [False, True])
def test_a_terminal_of_any_width_shows_everything(width, kernels, flags):
    matrix = matrix_of(kernels)
    shown = lines(matrix, width, flags=flags)
    text = "".join("".join(shown).split())
    assert max(map(len, shown)) <= width
    for kernel in matrix.kernels:
        assert kernel.source in text or width < 60  # a name that does not fit goes on in the next line
    for number, level in enumerate(matrix.levels, 1):
        assert any(line.split()[:2] == [str(number), level.name] for line in shown)
    assert "gcc11.4.0isolderthan" in text
    assert "addsavxavx2" in text
    assert ("-mavx2-mfma-mf16c" in text) is flags
    assert not any(end in text for end in ("…", "..."))


@pytest.mark.parametrize("width", [60, 100])
def test_no_line_ends_in_blanks_or_within_a_flag(width, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    matrix = matrix_of()
    print_matrix(matrix, flags=True)
    shown = capsys.readouterr().out.splitlines()
    assert [line for line in shown if line != line.rstrip()] == []
    words = {word for line in shown for word in line.split()}
    assert {flag for level in matrix.levels for flag in level.flags.get("cpp", ())} <= words
    assert "-mno-avx256-split-unaligned-load" in words


def test_folded_facts_are_indented_below_their_names():
    shown = lines(matrix_of(), 60, flags=True)
    facts = shown[next(n for n, line in enumerate(shown) if line.startswith("DEFAULT: ")) :]
    assert any(line.startswith("    -mno-avx256-split-unaligned-load ") for line in facts)
    assert all(": " in line for line in facts if line and not line.startswith("    "))


def test_the_grid_has_a_mark_for_each_cell():
    matrix = matrix_of()
    kernel = matrix.kernels[0]
    cells = {**kernel.levels, "AVX2": replace(kernel.levels["AVX2"], verdict="disabled")}
    cells["AVX512_BF16"] = replace(cells["AVX512_BF16"], same_as="AVX512", folded="AVX512")
    cells["AMX"] = replace(cells["AMX"], same_as="AVX512", folded="")
    shown = lines(replace(matrix, kernels=(replace(kernel, levels=cells),)), 80)
    (head,) = [line for line in shown if line.split() == list("12345678")]
    row = next(line for line in shown if line.startswith(kernel.source))
    for place, cell in zip(places(head), cells.values(), strict=True):
        same = "=" if cell.folded else "*"
        assert row[place] == {"built": same if cell.same_as else "+", "disabled": "-", "unavailable": "!"}[cell.verdict]
    legend = " ".join(shown[next(n for n, line in enumerate(shown) if line.startswith("+ built")) :])
    for item in ("= same code as a lower level", "* same code, linked again", "- disabled", "! unavailable"):
        assert item in legend


def places(line: str) -> list[int]:
    return [place for place, letter in enumerate(line) if letter != " "]


@pytest.mark.parametrize(
    ("here", "said"),
    [
        (Selection(selected="AVX2"), ["runs here: AVX2, the best built level that CPU and OS support"]),
        (Selection(selected="AVX2", variable="X", override="avx2", asked="AVX2"), ["runs here: AVX2, as X=avx2 says"]),
        (
            Selection(selected="AVX2", variable="X", override="avx512", asked="AVX512", excluded=("AMX",)),
            ["runs here: AVX2, the best built level that CPU and OS support and that X=avx512 allows"],
        ),
        (
            Selection(selected="AVX2", variable="X", override="bogus"),
            ["runs here: AVX2, the best built level that CPU and OS support"],
        ),
        (Selection(), ["runs here: nothing: CPU or OS lack features of every level that is built and allowed"]),
        (Selection("it is built for arm64"), []),
        (None, []),
    ],
)
def test_the_level_that_runs_here(here, said):
    assert [line for line in lines(matrix_of(), 100, here=here) if line.startswith("runs here")] == said


def test_a_level_adds_what_no_built_level_below_it_has():
    """A disabled level has no row of its own, so that the next one has its features."""
    matrix = matrix_of()
    levels = (replace(one, verdict="disabled") if one.name == "AVX512" else one for one in matrix.levels)
    off = replace(matrix, levels=tuple(levels))
    assert own_features(off, off.level("AVX2")) == own_features(matrix, matrix.level("AVX2"))
    both = (*own_features(matrix, matrix.level("AVX512")), *own_features(matrix, matrix.level("AVX512_VNNI")))
    assert own_features(off, off.level("AVX512_VNNI")) == both


def test_what_is_not_compiled_is_not_called_built():
    matrix = matrix_of()
    kernels = (
        replace(one, levels={name: replace(cell, stubs=None, same_as="") for name, cell in one.levels.items()})
        for one in matrix.kernels
    )
    levels = tuple(replace(level, compiled=False) for level in matrix.levels)
    waiting = replace(matrix, levels=levels, kernels=tuple(kernels))
    shown = "\n".join(lines(waiting, 100))
    assert "not compiled" in shown
    assert "+ built" not in shown


def test_a_copy_that_folds_adds_nothing():
    """Its cell names the level whose copy is linked; the level's sum is without it, and a difference says so."""
    matrix = matrix_of()
    first, *rest = matrix.kernels
    cells = first.levels | {"AVX512_VNNI": replace(first.levels["AVX512_VNNI"], same_as="AVX512", folded="AVX512")}
    folded = replace(matrix, kernels=(replace(first, levels=cells), *rest))
    sizes = [code_bytes(level_cells(one, "AVX512_VNNI")) for one in (matrix, folded)]
    assert sizes[0] - sizes[1] == first.levels["AVX512_VNNI"].code.code_bytes
    assert [str(one.what) for one in differences(matrix, folded)] == [f"{first.source} at AVX512_VNNI: linked copy"]


def test_piped_output_has_no_colours(capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    print_matrix(matrix_of(), "label")
    said = capsys.readouterr().out
    assert said.startswith("label\nhello: 5 kernels x 8 levels of table x86\n")
    assert "\x1b" not in said
    monkeypatch.setenv("COLUMNS", "60")
    print_matrix(matrix_of())
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 60


def test_json_is_by_the_schema_and_complete():
    schema = json.loads((ROOT / "docs/matrix.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    one = matrix_of()
    data = json.loads(json.dumps(as_data(one)))
    for shown in (data, [{"where": "a", **data}, {"where": "b", **data}]):
        jsonschema.validate(shown, schema)
    assert data.pop("format") == 4
    assert data == json.loads(json.dumps(asdict(one)))
    del data["kernels"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"format": 2, **data}, schema)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        *[(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (99_949, "99.9 kB"), (123_456, "123 kB")],
        *[(999_499, "999 kB"), (999_960, "1.0 MB"), (5_250_000, "5.2 MB")],
    ],
)
def test_sizes(size, text):
    assert size_text(size) == text


def test_widths():
    assert [width_text(bits) for bits in (0, 128, 512, 8192)] == ["none", "128", "512", "tile"]


# ---- what is published


@pytest.mark.parametrize(
    ("word", "kept"),
    [
        ("-I/home/ada/x", "-IPATH"),
        ("-isystem", "-isystem"),
        ("/opt/inc/x.h", "PATH"),
        ("-fprofile-use=/home/ada/p.profdata", "-fprofile-use=PATH"),
        ("-ffile-prefix-map=/home/ada/b=.", "-ffile-prefix-map=PATH."),
        ("C:\\Users\\Ada\\x", "C:PATH"),
        ("-Isrc/include/x", "-Isrc/include/x"),
        ("src/kernels/dot.cpp", "src/kernels/dot.cpp"),
        ("/arch:AVX2", "/arch:AVX2"),
        ("-mavx2", "-mavx2"),
        ("-DNAME=a/b", "-DNAME=a/b"),
        ("1/2", "1/2"),
        ("file:///home/ada/x", "file:PATH"),
        ("//server/share/x", "PATH"),
        ("~ada/x", "PATH"),
        ("-isysroot/home/ada/x", "-isysrootPATH"),
        ("-MF/home/ada/x", "-MFPATH"),
        ("-o/home/ada/x", "-oPATH"),
        ("@/home/ada/x", "@PATH"),
        ("-Wl,-rpath,lib/x:/home/ada/lib", "-Wl,-rpath,lib/x:PATH"),
        ('-DNAME="/home/ada/x"', '-DNAME="PATH"'),
        ("\u2018/home/ada/x.c\u2019:", "\u2018PATH\u2019:"),
        ("`/home/ada/x'", "`PATH'"),
        ("</home/ada/x.h>", "<PATH>"),
        ("[/home/ada/x]", "[PATH]"),
        ("-I../include/x", "-I../include/x"),
        ("$ORIGIN/../lib/x", "$ORIGIN/../lib/x"),
        ("and/or", "and/or"),
    ],
)
def test_paths_of_the_builder_are_taken_out(word, kept):
    assert word_without_path(word) == kept
    assert without_paths(f"x {word} y") == f"x {kept} y"


def test_paths_in_messages():
    said = "cannot find '/home/ada/x/probe.c': (/tmp/b/c.h), see /home/ada/log."
    assert "ada" not in without_paths(said)
    assert "tmp" not in without_paths(said)


@pytest.mark.parametrize(
    "text", ["it is wrong (https://example.org/bugs/show.cgi?id=1)", "see https://example.org/a/b."]
)
def test_an_address_of_the_web_is_no_path(text):
    assert without_paths(text) == text


@pytest.mark.parametrize("quotes", ["''", '""', "\u2018\u2019", "`'", "()", "[]"])
def test_a_quoted_path_may_have_spaces(quotes):
    opening, closing = quotes
    said = without_paths(f"cannot import x from {opening}/home/ada/My Docs/y.py{closing} today")
    assert said == f"cannot import x from {opening}PATH{closing} today"


def test_a_public_matrix_names_no_folder_of_the_builder():
    matrix = matrix_of()
    first, *rest = matrix.kernels
    cells = {name: replace(cell, flags=("-I/home/ada/x", *cell.flags)) for name, cell in first.levels.items()}
    own = replace(
        matrix,
        table="/home/ada/t.toml",
        baseline_origin="c_args: -I/home/ada/y",
        seal_reason="/home/ada/z fails",
        audit_reason="no /home/ada/ld",
        levels=tuple(replace(level, reason="/home/ada/gcc is old") for level in matrix.levels),
        kernels=(replace(first, args=("-include", "/home/ada/c.h"), levels=cells), *rest),
    )
    assert "ada" in json.dumps(asdict(own))
    assert "ada" not in json.dumps(asdict(public(own)))


# ---- notes in binaries


def test_a_note_is_read_as_it_was_written():
    matrix = matrix_of(20)
    note = pack(matrix)
    assert unpack(Matrix, note, "x") == matrix
    assert list(unpack(Matrix, note, "x").kernels[0].levels) == [level.name for level in matrix.levels]
    level = LevelCode("hello", "AVX2", {})
    assert unpack(LevelCode, pack(level), "x") == level


def test_the_variables_that_narrow_the_level_are_shown():
    aliases = (Alias("OLD", {"BEST": "AVX2"}), Alias("NO_AVX512", {}, "-AVX512"))
    matrix = replace(matrix_of(), override="NEW", aliases=aliases)
    assert "override at run time: NEW=LEVEL, else OLD=best|LEVEL, else NO_AVX512 (set: -AVX512)" in lines(matrix, 200)


def test_notes_that_are_damaged_or_of_another_format():
    note = pack(matrix_of(2))
    for damaged in (b"", note[:-40], b"x" + note, note[:50] + b"\0\0" + note[52:], pack(LevelCode("a", "b", {}))):
        with pytest.raises(AuditError, match=r"^x\.so: its build matrix cannot be read: "):
            unpack(Matrix, damaged, "x.so")
    for number in (1, 99):
        with pytest.raises(
            AuditError, match=rf"its build matrix cannot be read: it is of format {number},.*\n.*the isagen that built"
        ):
            unpack(Matrix, zlib.compress(json.dumps({"format": number}).encode()), "x.so")


# ---- differences


def test_what_differs():
    before = matrix_of()
    assert differences(before, before) == []
    after = replace(before, isagen="9.0", lto=True, compilers={})
    said = {change.what: (change.before, change.after) for change in differences(before, after)}
    assert said["isagen"] == ("0.1.0", "9.0")
    assert said["lto"] == ("no", "yes")
    assert said["compiler of cpp"] == ("gcc 11.4.0", "not there")


def test_aliases_that_differ_are_shown_with_what_their_values_mean():
    before = matrix_of(aliases=(Alias("OLD", {"BEST": "AVX2"}), Alias("NO_AVX512", {}, "-AVX512"), Alias("NEW")))
    (change,) = differences(before, replace(before, aliases=(Alias("OLD", {"BEST": "AVX512"}),)))
    assert change.what == "aliases"
    assert change.before == "OLD=best|LEVEL (best: AVX2) NO_AVX512 (set: -AVX512) NEW=LEVEL"
    assert change.after == "OLD=best|LEVEL (best: AVX512)"


def test_differences_of_levels_and_cells():
    before = matrix_of()
    first, *rest = before.kernels
    code = first.levels["AVX2"].code
    cells = {**first.levels, "AVX2": replace(first.levels["AVX2"], code=replace(code, code_bytes=1, digest="x"))}
    after = replace(before, levels=before.levels[:-1], kernels=(replace(first, levels=cells), *rest[1:]))
    said = {change.what: (change.before, change.after) for change in differences(before, after)}
    assert said["AVX512_FP16"][1] == "not there"
    assert said[f"{first.source} at AVX2: code"] == (size_text(code.code_bytes), "1 B")
    assert said[rest[0].source] == ("kernel", "not there")


def test_what_differs_for_a_whole_level_is_not_repeated_for_each_kernel():
    before = matrix_of()
    reason = {"verdict": "unavailable", "reason": "GCC 10 is older than 11"}
    levels = [replace(level, **(reason if level.name == "AVX2" else {})) for level in before.levels]
    kernels = [replace(one, levels={**one.levels, "AVX2": MatrixCell(**reason)}) for one in before.kernels]
    (change,) = differences(before, replace(before, levels=tuple(levels), kernels=tuple(kernels)))
    assert (change.what, change.after) == ("AVX2", "unavailable: GCC 10 is older than 11")


def test_code_that_differs_though_its_size_looks_the_same():
    before = matrix_of()
    first, *rest = before.kernels
    code = replace(first.levels["AVX2"].code, code_bytes=100_100, digest="x")
    sides = []
    for one in (code, replace(code, code_bytes=100_200, digest="y")):
        cells = {**first.levels, "AVX2": replace(first.levels["AVX2"], code=one)}
        sides.append(replace(before, kernels=(replace(first, levels=cells), *rest)))
    (change,) = differences(*sides)
    assert change.what == f"{first.source} at AVX2: code"
    assert (change.before, change.after) == ("100 kB, with the digest x", "100 kB, with the digest y")


def test_a_level_with_another_rank_differs():
    before = matrix_of()
    levels = (*before.levels[:-1], replace(before.levels[-1], rank=7, macros=()))
    said = {change.what for change in differences(before, replace(before, levels=levels))}
    assert said == {"AVX512_FP16: rank", "AVX512_FP16: macros"}


def test_notes_whose_parts_do_not_fit():
    matrix = matrix_of(2)
    first, second = matrix.kernels
    fewer = replace(first, levels={"DEFAULT": first.levels["DEFAULT"]})
    other = replace(first, levels={**first.levels, "DEFAULT": replace(first.levels["DEFAULT"], verdict="odd")})
    for damaged in (
        *(replace(matrix, kernels=(kernel, second)) for kernel in (fewer, other)),
        replace(matrix, levels=(), kernels=()),
        replace(matrix, levels=(*matrix.levels, matrix.levels[0])),
        replace(matrix, levels=(replace(matrix.levels[0], verdict="odd"), *matrix.levels[1:])),
    ):
        with pytest.raises(AuditError, match=r"^x\.so: its build matrix cannot be read: "):
            unpack(Matrix, pack(damaged), "x.so")
    text = json.dumps({"format": MATRIX_FORMAT, **asdict(LevelCode("a", "b", {}))})
    assert unpack(LevelCode, zlib.compress(text.encode()), "x.so").project == "a"
    with pytest.raises(AuditError, match=r"^x\.so: its build matrix cannot be read: "):
        unpack(LevelCode, zlib.compress(b" " * (LONGEST - len(text) + 1) + text.encode(), 1), "x.so")
