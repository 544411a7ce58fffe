"""The pages: every relative link and anchor leads somewhere, the index lists every page, and tables hold the data."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

from isagen.processors.features import read_features
from isagen.processors.registry import PROCESSORS, builtin_tables
from isagen.processors.sources import Condition, Source
from isagen.processors.table import load_table
from support.checkout import ROOT

DOCS = ROOT / "docs"
CPUS = sorted((ROOT / "tests/cpuid").glob("*.toml"))
PAGES = sorted(DOCS.glob("*.md"))
LINKED = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *PAGES]
FENCE = re.compile(r"^(```|~~~).*?^\1[ \t]*$", re.M | re.S)
CODE = re.compile(r"`+[^`]*`+")
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(.+?)\s*$", re.M)


def links(text):
    """Return the targets of the links that lead to files, outside code."""
    found = LINK.findall(CODE.sub("", FENCE.sub("", text)))
    return [target for target in found if not re.match(r"[a-z]+:", target)]


def anchors(text):
    """Return GitHub's anchors of a page's headings."""
    found = []
    for heading in HEADING.findall(FENCE.sub("", text)):
        shown = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("&lt;", "<").replace("&gt;", ">")
        anchor = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        found.append(anchor if anchor not in found else f"{anchor}-{found.count(anchor)}")
    return found


def broken(page, text):
    """Return the links of a page that lead to no file, or to no heading of one."""
    wrong = []
    for target in links(text):
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        there = path.exists() and path.is_relative_to(ROOT)
        if not there or (anchor and anchor not in anchors(path.read_text(encoding="utf-8"))):
            wrong.append(target)
    return wrong


@pytest.mark.parametrize("page", LINKED, ids=lambda page: page.name)
def test_every_relative_link_leads_somewhere(page):
    assert broken(page, page.read_text(encoding="utf-8")) == []


def test_broken_links_are_found():
    text = "[a](#a-page) [b](none.md) [c](reference.md#none) [d](../CONTRIBUTING.md#tests) `[f](none.md)`\n"
    page = DOCS / "versions.md"
    page_text = page.read_text(encoding="utf-8")
    assert broken(page, text) == ["#a-page", "none.md", "reference.md#none"]
    assert broken(page, page_text + "\n```\n[a](none.md)\n```\n") == []
    assert anchors("# A b: `c_d.h`\n## Vec&lt;T&gt;\n```\n# no\n```\n") == ["a-b-c_dh", "vect"]


def test_the_index_lists_every_page_once():
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    lists = "\n".join(line for line in text.splitlines() if line.startswith("- "))
    listed = [target for target in links(lists) if target.endswith(".md")]
    assert sorted(listed) == [page.name for page in PAGES if page.name != "index.md"]


def test_the_start_page_and_the_readme_show_one_demo():
    (shown,) = re.findall(r"```text\nlevel .*?```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S)
    assert shown in (DOCS / "index.md").read_text(encoding="utf-8")
    assert max(map(len, shown.splitlines())) <= 60


@pytest.fixture(scope="module")
def tables():
    sys.path.insert(0, str(DOCS))
    try:
        import _tables
    finally:
        sys.path.remove(str(DOCS))
    return _tables


def cells(text, heading):
    """Return the rows of the tables under a heading, each a list of cells."""
    section = re.split(r"^### ", text, flags=re.M)
    (found,) = [one for one in section if one.split("\n", 1)[0] == heading]
    lines = [line.strip("|") for line in found.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.split("|")] for line in lines]


@pytest.mark.parametrize("name", builtin_tables())
def test_the_page_of_tables_has_every_level_with_its_features_and_flags(tables, name):
    rows = cells(tables.levels(), f"Table {name}")
    assert len({len(row) for row in rows}) <= 2  # two tables, each of one width
    for level in load_table(name, Path()).levels:
        mine = " ".join(cell for row in rows if row[0] == f"`{level.name}`" for cell in row)
        for word in (*level.features, *level.requires, *level.flags.get("gnu", ()), f"CPU_CAPABILITY_{level.name}"):
            assert f"`{word}`" in mine
        for compiler, version in level.minimum.items():
            assert f"{compiler} {version}" in mine


@pytest.mark.parametrize("name", [processor.name for processor in PROCESSORS])
def test_the_reference_names_every_level_of_a_default_table(name):
    text = (DOCS / "reference.md").read_text(encoding="utf-8").partition("\n## Tables\n")[2]
    (row,) = (line for line in text.splitlines() if line.startswith("|") and f"`{name}`" in line.split("|")[1])
    assert set(load_table(name, Path()).names()) <= set(re.findall(r"\w+", row.split("|")[2]))


@pytest.mark.parametrize("name", [processor.name for processor in PROCESSORS])
def test_the_page_of_tables_has_every_feature(tables, name):
    features = read_features(name).features
    if features:
        rows = {row[0]: row for row in cells(tables.features(), f"Features of {name}")}
        assert len(rows) == len(features) + 2
        assert all(rows[f"`{feature}`"][2] == (one.state or "-") for feature, one in features.items())


@pytest.mark.parametrize(
    ("condition", "shown"),
    [
        (Condition(Source("cpuid", (7, 0, "ebx")), 5), "CPUID.7H.0:EBX[5]"),
        (Condition(Source("cpuid", (0x24, 0, "ebx")), 0, 8, 2), "CPUID.24H.0:EBX[7:0] >= 2"),
        (Condition(Source("hwcap", (1,)), 20), "AT_HWCAP[20]"),
        (Condition(Source("hwcap", (2,)), 60, 4, 4), "AT_HWCAP2[63:60] >= 4"),
        (Condition(Source("sysctl", ("hw.optional.arm.FEAT_BF16",)), 0, 31), "sysctl hw.optional.arm.FEAT_BF16 >= 1"),
    ],
)
def test_places_of_features_are_written_as_in_manuals(tables, condition, shown):
    assert tables.detection(condition) == shown


def test_which_cpu_runs_which_level_is_as_recorded():
    text = (DOCS / "tables.md").read_text(encoding="utf-8")
    section = text.partition("\n## Which CPU runs which level\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([A-Z][A-Z0-9_]+) \| (.+) \|$", section, re.MULTILINE)
    recorded = [(path.read_text(encoding="utf-8"), tomllib.loads(path.read_text("utf-8"))) for path in CPUS]
    assert [level for level, _ in rows] == [level.name for level in load_table("x86", Path()).levels]
    for level, names in rows:
        for name in names.split(", "):
            (cpu,) = (cpu for comment, cpu in recorded if comment.startswith(f"# {name}"))
            assert cpu["selected"]["x86"]["none"] == level, name
