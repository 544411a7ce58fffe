"""The page of the build matrix in a browser: silent, alone, accessible, usable by keyboard, quick."""

import importlib.util
import json
from dataclasses import replace
from pathlib import Path

import pytest

from isagen.matrix.html import html_text
from isagen.model.matrix import Code
from support.browser import Browser, find_browser
from support.checkout import ROOT
from support.matrices import loops_of, matrix_of

SHIFT = 8
# What a render takes, from the start of the page's load until the picture is made.
SHOWN = """new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done([
  performance.getEntriesByName("isagen-shown")[0].startTime, performance.now()]))))"""
# Switching to a view, with the layout that it needs.
SWITCH = """[...document.querySelectorAll("#views input")].map((input) => {
  const start = performance.now();
  input.click();
  document.getElementById("grid").getBoundingClientRect();
  return [input.value, performance.now() - start];
})"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    program = find_browser()
    if program is None:
        pytest.skip("Chromium is not installed")
    with Browser(program, tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def without_instructions(kernel):
    """A kernel as builds have it whose processor isagen does not decode."""
    cells = {
        name: replace(cell, same_as="", code=cell.code and Code(900, 800, None, 0, {}, ""))
        for name, cell in kernel.levels.items()
    }
    return replace(kernel, levels=cells)


def folded():
    """A matrix in which a copy folds if its code is that of AVX2."""
    matrix = matrix_of(5)
    kernels = []
    for kernel in matrix.kernels:
        cells = {
            name: replace(cell, folded="AVX2") if cell.same_as == "AVX2" else cell
            for name, cell in kernel.levels.items()
        }
        kernels.append(replace(kernel, levels=cells))
    return replace(matrix, kernels=tuple(kernels))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Pages of five kernels, of 500, of two builds, and of names that are hard to show."""
    folder = tmp_path_factory.mktemp("pages")

    def write(name, matrices):
        path = folder / f"{name}.html"
        path.write_text(html_text(matrices), encoding="utf-8")
        return path

    few, many = matrix_of(5), matrix_of(500)
    undecoded = replace(few, kernels=tuple(map(without_instructions, few.kernels)))
    first = replace(few.kernels[0], source="</script><img src=x onerror=alert(1)>.cpp")
    nasty = replace(few, kernels=(first, *few.kernels[1:]))
    return {
        "few": write("few", [("hello", few, loops_of(few))]),
        "many": write("many", [("hello", many, loops_of(many))]),
        "two": write("two", [("gcc", matrix_of(3, "one"), {}), ("clang", matrix_of(4, "two"), {})]),
        "nasty": write("nasty", [("hello", nasty, {})]),
        "undecoded": write("undecoded", [("hello", undecoded, {})]),
        "none": write("none", [("hello", matrix_of(0), {})]),
        "folded": write("folded", [("hello", folded(), {})]),
    }


@pytest.fixture
def page(browser):
    made = browser.page()
    yield made
    made.close()


def quiet(page, path):
    """The page wrote nothing to the console, threw nothing, and asked for nothing but itself."""
    assert page.events("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled") == []
    asked = {event["request"]["url"] for event in page.events("Network.requestWillBeSent")}
    assert {url.partition("#")[0] for url in asked} - {"data:,", "about:blank"} == {path.as_uri()}


def cell(row, column):
    return f'document.getElementById("grid").rows[{row}].cells[{column}]'


def choose(page, name, value, event="change"):
    """Give a select or input a value, as its user does."""
    page.run(f"""(() => {{
      const one = document.getElementById({name!r});
      one.value = {value!r};
      one.dispatchEvent(new Event({event!r}));
    }})()""")


def views(page):
    return page.run('[...document.querySelectorAll("#views input")].map((one) => one.value)')


@pytest.mark.parametrize("name", ["few", "two", "nasty"])
def test_no_console_message_and_no_request(page, files, name):
    page.open(files[name])
    for view in views(page):
        page.run(f'document.querySelector("#views input[value={view}]").click()')
        for row, column in ((0, 2), (1, 0), (1, 1), (2, 3), (2, 5), (3, 8)):
            page.run(f"{cell(row, column)}.click()")
            assert page.run('document.getElementById("panel").open')
            # Nothing but elements: a value that is none of these would show as a text.
            assert page.run("[...document.querySelector('#panel .details').childNodes].every((one) => one.tagName)")
            page.run('document.getElementById("panel").close()')
    quiet(page, files[name])


def test_a_matrix_without_kernels_is_shown(page, files):
    page.open(files["none"])
    assert views(page) == ["verdict"]
    page.run(f"{cell(0, 2)}.click()")
    assert "-mavx2" in page.run('document.getElementById("panel").innerText')
    quiet(page, files["none"])


def test_nothing_is_said_of_code_that_is_not_decoded(page, files):
    page.open(files["undecoded"])
    assert views(page) == ["verdict", "size"]
    page.run(f"{cell(2, 2)}.click()")
    text = page.run('document.getElementById("panel").innerText')
    assert "800 B" in text
    for word in ("widest", "Instruction families", "identical", "instructions"):
        assert word not in text
    quiet(page, files["undecoded"])


def test_a_request_and_a_message_would_be_noticed(page, tmp_path):
    path = tmp_path / "bad.html"
    path.write_text("<!DOCTYPE html><title>bad</title><img src='missing.png'><script>console.warn('x')</script>")
    page.open(path)
    assert page.events("Runtime.consoleAPICalled")
    with pytest.raises(AssertionError):
        quiet(page, path)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(page, files, scheme):
    found = importlib.util.find_spec("axe_core_python")
    if found is None or found.origin is None:
        pytest.skip("axe-core-python is not installed")
    axe = (Path(found.origin).parent / "axe.min.js").read_text(encoding="utf-8")
    page.media(prefers_color_scheme=scheme)
    page.open(files["few"])
    page.run(f"{axe}; 0")
    for action in ("0", f"{cell(3, 5)}.click()", f"{cell(3, 0)}.click()", f"{cell(0, 3)}.click()"):
        page.run(f"{action}; 0")
        assert serious(page, "axe.run(document)") == [], action
        page.run('document.getElementById("panel").close()')
    for view in views(page):
        page.run(f'document.querySelector("#views input[value={view}]").click()')
        assert serious(page, 'axe.run("#app", {runOnly: ["color-contrast"]})') == [], view


def serious(page, run):
    """Run axe, and return its findings of an impact that is serious or critical: the rule, and the first element."""
    violations, passes = json.loads(
        page.run(f"{run}.then((found) => JSON.stringify([found.violations, found.passes]))")
    )
    assert passes
    return [(one["id"], one["nodes"][0]["html"]) for one in violations if one["impact"] in ("serious", "critical")]


def test_axe_notices_a_violation(page, tmp_path):
    found = importlib.util.find_spec("axe_core_python")
    if found is None or found.origin is None:
        pytest.skip("axe-core-python is not installed")
    path = tmp_path / "bad.html"
    path.write_text(
        "<!DOCTYPE html><html><title>bad</title><body><p style='color:#aaa;background:#bbb'>text</p><img src='data:,'>"
    )
    page.open(path)
    page.run((Path(found.origin).parent / "axe.min.js").read_text(encoding="utf-8") + "; 0")
    said = page.run("axe.run(document).then((found) => found.violations.map((one) => one.id))")
    assert {"color-contrast", "image-alt", "html-has-lang"} <= set(said)


def test_the_theme_follows_the_system_and_the_switch(page, files):
    page.media(prefers_color_scheme="dark")
    page.open(files["few"])
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.run(ground)
    page.media(prefers_color_scheme="light")
    light = page.run(ground)
    assert light != dark
    for name, expected in (("dark", dark), ("light", light), ("dark", dark), ("", light)):
        choose(page, "theme", name)
        assert page.run(ground) == expected


def test_cells_open_by_keyboard(page, files):
    page.open(files["few"])
    focused = "[document.activeElement.closest('tr')?.rowIndex, document.activeElement.cellIndex]"
    for _ in range(20):
        page.press("Tab")
        if page.run("document.activeElement.closest('#grid') !== null"):
            break
    assert page.run(focused) == [1, 1]
    for key, expected in (
        *(("ArrowRight", [1, 2]), ("ArrowDown", [2, 2]), ("ArrowLeft", [2, 1]), ("ArrowUp", [1, 1])),
        *(("ArrowUp", [0, 1]), ("End", [0, 8]), ("ArrowDown", [1, 8]), ("Home", [1, 0]), ("ArrowDown", [2, 0])),
        *(("ArrowRight", [2, 1]), ("ArrowRight", [2, 2])),
    ):
        page.press(key)
        assert page.run(focused) == expected, key
    # One stop of Tab, however many cells there are.
    page.press("Tab")
    assert not page.run("document.activeElement.closest('#grid') !== null")
    page.press("Tab", SHIFT)
    assert page.run(focused) == [2, 2]
    title = 'document.getElementById("panel").open && document.getElementById("panel-title").textContent'
    for open_key in ("Enter", " "):
        page.press(open_key)
        assert page.run(title) == "kernels/cumsum.cpp AVX2"
        assert page.run('document.getElementById("panel").contains(document.activeElement)')
        page.press("Escape")
        assert page.run(title) is False
        assert page.run(focused) == [2, 2]


def test_what_a_cell_opens(page, files):
    page.open(files["few"])
    matrix = matrix_of(5)
    page.run(f"{cell(3, 5)}.click()")
    text = page.run('document.getElementById("panel").innerText')
    found = matrix.kernels[2].levels["AVX512_VNNI"]
    for part in (
        *(
            f"{found.code.instructions:,}",
            "512 bit",
            "vpdpbusd zmm0, zmm3, [rsi+rax]",
            "2 of 7 instructions",
            "dot_stub",
        ),
        *("-mavx512vnni", "CPU_CAPABILITY_AVX512_VNNI", found.copy, "avx512_f"),
    ):
        assert part in text, part
    marked = page.run("[...document.querySelectorAll('#panel tr.own code')].map((one) => one.textContent)")
    assert [line.split()[0] for line in marked] == ["vpdpbusd", "vpdpbusd"]
    page.run(f"document.getElementById('panel').close(); {cell(3, 8)}.click()")
    assert "gcc 11.4.0 is older than 12.1" in page.run('document.getElementById("panel").innerText')


def test_views_filter_and_order(page, files):
    page.open(files["few"], "#size")
    assert page.run('document.querySelector("#views input:checked").value') == "size"
    matrix = matrix_of(5)
    sizes = [kernel.levels["DEFAULT"].code.code_bytes for kernel in matrix.kernels]
    shown = '[...document.querySelectorAll("#grid tbody tr:not([hidden]) th")].map((one) => one.textContent)'
    choose(page, "order", "high")
    largest = max(matrix.kernels, key=lambda one: max(c.code.code_bytes for c in one.levels.values() if c.code))
    assert page.run(shown)[0] == largest.source
    assert sorted(page.run(shown)) == sorted(kernel.source for kernel in matrix.kernels)
    assert sizes[0] and page.run(f"{cell(1, 1)}.textContent").endswith("B")
    choose(page, "filter", "DOT_stub", "input")
    assert page.run(shown) == ["kernels/dot.cpp"]
    assert page.run('document.getElementById("count").textContent') == "1 of 5"
    choose(page, "filter", "none of these", "input")
    assert page.run(shown) == []
    assert page.run('document.getElementById("none").hidden') is False


def test_the_views_mark_copies_that_gain_nothing(page, files):
    """The marks are those in the terminal: = is linked once, * is linked again."""
    page.open(files["folded"])
    marks = set()
    for row, kernel in enumerate(folded().kernels, 1):
        for column, level in enumerate(kernel.levels, 1):
            found = kernel.levels[level]
            if found.code is None:
                continue
            mark = "" if not found.same_as else "=" if found.folded else "*"
            marks.add(mark)
            text, label = (page.run(f"{cell(row, column)}.{one}") for one in ("textContent", "ariaLabel"))
            same = f", the same code as {found.same_as}, linked {'once' if found.folded else 'again'}"
            assert (text, label) == (mark or "✓", f"built{same if mark else ''}")
            page.run('document.querySelector("#views input[value=same]").click()')
            assert page.run(f"{cell(row, column)}.textContent") == (f"{mark} {found.same_as}" if mark else "own")
            page.run('document.querySelector("#views input[value=verdict]").click()')
    assert marks == {"", "=", "*"}
    legend = page.run('document.getElementById("legend").innerText')
    assert "= the same code as a lower level" in legend
    assert "* the same code, linked again" in legend


def test_an_address_opens_a_cell(page, files):
    """The address of the page, with the panel open, shows the same again."""
    page.open(files["two"])
    choose(page, "build", "1")
    for row, column in ((2, 3), (0, 3), (2, 0)):
        page.run(f"{cell(row, column)}.click()")
        title = page.run('document.getElementById("panel-title").textContent')
        fragment = page.run("location.hash")
        page.open(files["two"], fragment)
        assert page.run('document.getElementById("panel").open')
        assert page.run('document.getElementById("panel-title").textContent') == title
        assert page.run('document.getElementById("build").value') == "1"
        closed = """new Promise((done) => {
          const panel = document.getElementById("panel");
          panel.addEventListener("close", () => done(location.hash));
          panel.close();
        })"""
        assert page.run(closed) == "#verdict,1"
    for fragment in ("#verdict,0,none.cpp,AVX2", "#%", "#,,,", "#verdict,7,kernels/dot.cpp,NONE"):
        page.open(files["two"], fragment)
        quiet(page, files["two"])


def test_the_slash_filters_after_a_view_was_chosen(page, files):
    page.open(files["few"])
    page.run('document.querySelector("#views input[value=size]").focus(); 0')
    page.press("/")
    assert page.run("document.activeElement.id") == "filter"


def test_a_build_is_chosen(page, files):
    page.open(files["two"])
    rows = 'document.getElementById("grid").tBodies[0].rows.length'
    assert page.run(rows) == 3
    choose(page, "build", "1")
    assert page.run(rows) == 4
    assert "TWO_ISA=LEVEL" in page.run("document.body.innerText")
    assert "ONE_ISA=LEVEL" not in page.run("document.body.innerText")


@pytest.mark.parametrize("width", [1280, 400])
def test_the_grid_scrolls_in_its_box_and_the_page_does_not(browser, files, width):
    page = browser.page(width, 800)
    page.open(files["few"])
    wide = page.run(f"""[...document.querySelectorAll("body *:not(#grid, #grid *, .hidden, option)")]
      .filter((one) => one.getClientRects().length && one.getBoundingClientRect().right > {width} + 1)
      .map((one) => one.id || one.className || one.tagName)""")
    assert wide == []
    assert page.run("document.documentElement.scrollWidth") == width
    scrolled = page.run("""(() => {
      const box = document.querySelector(".box:has(#grid)"), name = document.querySelector("#grid tbody th");
      box.scrollLeft = 1000;
      return [box.scrollLeft, name.getBoundingClientRect().left - box.getBoundingClientRect().left];
    })()""")
    assert (scrolled[0] > 0) == (width == 400)
    assert scrolled[1] == (0 if scrolled[0] else 2)  # names stay, at most without the space before them
    page.close()


def test_scripts_off(page, files):
    page.send("Emulation.setScriptExecutionDisabled", value=True)
    page.open(files["few"])
    text = page.run("document.body.innerText")
    assert "Verdicts of hello" in text
    assert "gcc 11.4.0 is older than 12.1" in text
    assert not page.run('document.getElementById("app").getClientRects().length')
    page.send("Emulation.setDeviceMetricsOverride", width=400, height=800, deviceScaleFactor=1, mobile=False)
    assert page.run("document.documentElement.scrollWidth") == 400


def test_five_hundred_kernels_at_eight_levels_in_a_second(browser, files, capsys):
    """In the time of one thread of the CPU, because other tests run on it too; what the clock says is printed."""
    for _ in range(3):
        page = browser.page()
        page.send("Performance.enable", timeDomain="threadTicks")
        page.open(files["many"])
        shown, painted = page.run(SHOWN)
        worked = task_seconds(page)
        assert page.run('document.querySelectorAll("#grid tbody td").length') == 4000
        view, slowest = max(page.run(SWITCH), key=lambda one: one[1])
        switched = (task_seconds(page) - worked) / len(views(page))
        page.close()
        if max(worked, switched) < 1:
            break
    with capsys.disabled():
        print(f"\n500 x 8: built after {shown:.0f} ms, painted after {painted:.0f} ms, {worked * 1000:.0f} ms of CPU;")
        print(f"views in {switched * 1000:.0f} ms of CPU each, the slowest ({view}) after {slowest:.0f} ms")
    assert 0 < worked < 1
    assert 0 < switched < 1


def task_seconds(page):
    """The CPU time that the page's main thread has spent on it."""
    return next(one["value"] for one in page.send("Performance.getMetrics")["metrics"] if one["name"] == "TaskDuration")


def test_text_in_tables_of_the_documentation_is_readable_on_a_telephone(browser, tmp_path):
    rule = (ROOT / "docs/_static/tables.css").read_text(encoding="utf-8")
    furo = ".table-wrapper { overflow-x: auto } table { width: 100% }"
    for texts in (("<code>isa_gnu_symbol_visibility</code>", "in", "word " * 60), ("in", "<code>word</code> " * 60)):
        head = "".join("<th>word</th>" for _ in texts)
        row = "".join(f"<td><p>{text}</p></td>" for text in texts)
        body = f'<div class="table-wrapper"><table><tr>{head}</tr><tr>{row}</tr></table></div>'
        (tmp_path / "table.html").write_text(f"<!doctype html><style>{furo} {rule}</style><body>{body}</body>")
        page = browser.page(400, 800)
        page.open(tmp_path / "table.html")
        widths = page.run("[...document.querySelectorAll('p')].map((one) => one.clientWidth)")
        assert 200 < widths[-1] < 400
        assert page.run("document.documentElement.scrollWidth") == 400
        scrolls = page.run("document.querySelector('.table-wrapper').scrollWidth") > 384
        assert scrolls == (len(texts) > 2)
        page.run("document.querySelector('.table-wrapper').scrollLeft = 50")
        assert page.run("document.querySelector('td').getBoundingClientRect().left") in (8, 10)  # it stays
        page.close()
