"""The page of the build matrix: one file, everything in it escaped, readable without scripts, small."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from isagen.matrix.html import html_text
from isagen.matrix.loops import Loop
from isagen.matrix.words import NOT_COMPILED, state_of
from support.matrices import LEVELS, LOOP, loops_of, matrix_of

NASTY = """</script><script>alert(1)</script><!--<b>&amp;'"`${x}\u2028{{ 7 * 7 }}{% raw %}\\ .cpp"""


class Elements(HTMLParser):
    """What a page holds: (name, attributes, text) of each element that is not nested in a script or style."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None], list[str]]] = []
        self._open: list[list[str]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        texts: list[str] = []
        self.found.append((tag, dict(attrs), texts))
        if tag not in ("meta", "link", "input", "rect"):
            self._open.append(texts)

    def handle_endtag(self, tag):
        if self._open:
            self._open.pop()

    def handle_data(self, data):
        if self._open:
            self._open[-1].append(data)

    def texts(self, name: str, **attributes: str) -> list[str]:
        return [
            "".join(texts)
            for tag, found, texts in self.found
            if tag == name and all(found.get(key) == value for key, value in attributes.items())
        ]


def data_of(text: str, number: int = 0) -> dict:
    (found,) = Elements(text).texts("script", id=f"data-{number}")
    return json.loads(found)


def with_source(source: str):
    matrix = matrix_of(3)
    first = replace(matrix.kernels[0], source=source)
    return replace(matrix, kernels=(first, *matrix.kernels[1:]))


# ---- one file, and nothing else


def test_no_reference_leads_out_of_the_file():
    text = html_text([("hello", matrix_of(5), {})])
    for tag, attributes, _ in Elements(text).found:
        for name in ("src", "href", "srcset", "action", "data", "poster", "background", "style"):
            assert attributes.get(name) in (None, "data:,"), (tag, attributes)
        assert not [name for name in attributes if name.startswith("on")]
    assert "@import" not in text
    assert "url(" not in text
    for address in re.findall(r"https?://[^\s\"'<]*", text):
        assert address == "http://www.w3.org/2000/svg"  # a name, which nothing loads


def test_only_the_page_s_own_scripts_and_style_may_run():
    elements = Elements(html_text([("hello", matrix_of(5), {})]))
    policy = next(attributes["content"] for _, attributes, _ in elements.found if "http-equiv" in attributes)
    scripts = [texts for tag, found, texts in elements.found if tag == "script" and "type" not in found]
    assert len(scripts) == 3
    for texts in (*scripts, *[[text] for text in elements.texts("style")]):
        digest = base64.b64encode(hashlib.sha256("".join(texts).encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


@pytest.mark.parametrize("kernels", [0, 1, 5])
def test_the_page_is_small(kernels):
    assert len(html_text([("hello", matrix_of(kernels), {})]).encode()) < 100_000


def test_five_hundred_kernels_are_below_two_megabytes():
    matrix = matrix_of(500)
    text = html_text([("hello", matrix, loops_of(matrix))])
    assert len(text.encode()) < 2_000_000


def test_the_same_matrix_is_the_same_page():
    assert html_text([("hello", matrix_of(5), {})]) == html_text([("hello", matrix_of(5), {})])


# ---- escaping


@pytest.mark.parametrize("name", [NASTY, "\udcff.c", "gr\u00f6\u00dfe.cpp", "a\tb.c", "\u202egnp.c"])
def test_names_hold_any_characters(name):
    plain = Elements(html_text([("hello", matrix_of(3), {})]))
    text = html_text([("hello", with_source(name), {})])
    elements = Elements(text)
    shown = name.replace("\udcff", "\ufffd")
    assert [tag for tag, _, _ in elements.found] == [tag for tag, _, _ in plain.found]
    assert elements.texts("th", scope="row")[0] == shown
    assert data_of(text)["kernels"][0]["source"].replace("\udcff", "\ufffd") == shown
    text.encode()


def test_everything_that_a_matrix_says_is_escaped():
    matrix = matrix_of(5)
    bad = NASTY.removesuffix(".cpp")
    levels = tuple(replace(level, reason=bad, macros=(bad,), dropped={"cpp": ((bad, bad),)}) for level in matrix.levels)
    cell = replace(
        matrix.kernels[0].levels["AVX2"], reason=bad, verdict="disabled", flags=(bad,), stubs=(bad,), copy=bad
    )
    first = replace(matrix.kernels[0], args=(bad,), levels={**matrix.kernels[0].levels, "AVX2": cell})
    matrix = replace(
        matrix,
        **dict.fromkeys(("project", "override", "table", "baseline_origin", "seal_reason", "system"), bad),
        sealed=False,
        beyond_architecture=(bad,),
        levels=levels,
        kernels=(first, *matrix.kernels[1:]),
    )
    loop = Loop(bad, (LOOP.instructions[0]._replace(text=bad, features=(bad,)),))
    text = html_text([(bad, matrix, {(first.source, "AVX2"): loop})])
    plain = Elements(html_text([("hello", matrix_of(5, beyond_architecture=("avx",)), {})]))
    elements = Elements(text)
    assert [tag for tag, _, _ in elements.found] == [tag for tag, _, _ in plain.found]
    assert "alert(1)" not in "".join(
        "".join(texts) for tag, found, texts in elements.found if tag == "script" and not found
    )
    data = data_of(text)
    assert data["levels"][1]["reason"] == data["kernels"][0]["cells"][1]["reason"] == bad
    (loops,) = elements.texts("script", id="loops-0")
    assert json.loads(loops) == [[bad, [[0x40, bad, [bad]]]]]


# ---- without scripts


def test_verdicts_are_there_without_scripts():
    matrix = matrix_of(40)
    elements = Elements(html_text([("hello", matrix, {})]))
    cells = elements.texts("td")[: len(matrix.kernels) * len(matrix.levels)]
    expected = []
    for _, _, cell in matrix.cells():
        state = state_of(cell)
        expected.append(f"{state}: {cell.reason}" if cell.reason else state)
    assert cells == expected
    assert {state.split(":")[0] for state in cells} == {"built", NOT_COMPILED, "disabled", "unavailable"}
    assert elements.texts("th", scope="row")[:40] == [kernel.source for kernel in matrix.kernels]
    assert [text for text in elements.texts("th", scope="col") if text in LEVELS] == list(LEVELS)


def test_the_facts_of_the_build_are_there_without_scripts():
    matrix = matrix_of(5, beyond_architecture=("avx", "avx2"), baseline_origin="cpp_args: -mavx2", sealed=False)
    matrix = replace(matrix, seal_reason="isa_seal=false", audited=False, audit_reason="isa_audit=off", lto=True)
    elements = Elements(html_text([("hello", matrix, {})]))
    said = elements.texts("dd")
    for fact in (
        *("gcc 11.4.0 (C, C++)", "x86_64 linux", "-O3", "HELLO_ISA=LEVEL", "isagen 0.1.0"),
        *("avx avx2 (cpp_args: -mavx2): every user's CPU must have them", "no, isa_seal=false", "no, isa_audit=off"),
        "kernels are compiled without it: it would merge code of different levels",
    ):
        assert fact in said
    tally = elements.texts("span")
    for state in ("built", "disabled", "unavailable"):
        count = sum(state_of(cell) == state for _, _, cell in matrix.cells())
        assert f"{count} {state}" in tally


def test_a_matrix_of_nothing():
    assert "0 kernels" in html_text([("hello", matrix_of(0), {})])
    assert "no build" in html_text([])


def test_several_matrices_are_chosen_by_their_labels():
    first, second = matrix_of(3, "one"), matrix_of(4, "two")
    text = html_text([("with gcc", first, {}), ("with clang", second, loops_of(second))])
    assert Elements(text).texts("option")[:2] == ["with gcc", "with clang"]
    assert [len(data_of(text, number)["kernels"]) for number in (0, 1)] == [3, 4]
    # A loop is shown in its own build only.
    assert all(cell["loop"] is None for kernel in data_of(text, 0)["kernels"] for cell in kernel["cells"])
    assert any(cell["loop"] == 0 for kernel in data_of(text, 1)["kernels"] for cell in kernel["cells"])
