"""Sphinx's configuration: builds the site from the pages of this folder, which GitHub shows as they are.

    pip install ".[docs]"
    sphinx-build -W docs build/docs

A page's comment `<!-- site: NAME -->` is replaced by generated text. The index's links are the site's contents.
"""

import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
# The site describes this checkout, not an installed isagen.
sys.path[:0] = [str(HERE), str(HERE.parent)]

import _tables  # noqa: E402
from sphinx.application import Sphinx  # noqa: E402
from sphinx.environment import BuildEnvironment  # noqa: E402

from isagen import __version__  # noqa: E402

project = "isagen"
version = release = __version__
extensions = ["myst_parser", "sphinx_copybutton"]
exclude_patterns = ["_*"]
html_theme = "furo"
html_title = f"isagen {__version__}"
html_show_copyright = False
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["tables.css"]
# Pictures that pages show by HTML, in light and dark.
html_extra_path = sorted(path.name for path in HERE.glob("*.png"))
# The links of headings are GitHub's.
myst_heading_anchors = 4

LINK = re.compile(r"^- \[[^]]+\]\(([\w-]+)\.md\)", re.M)
OUTWARD = re.compile(r"\]\(\.\./([^)#]+)(?:#[^)]*)?\)")
MARK = re.compile(r"<!-- site: (\w+) -->")


def changes() -> str:
    """Return the list of changes, less its title, with links as this folder's pages have them."""
    text = (HERE.parent / "CHANGELOG.md").read_text(encoding="utf-8")
    return text.split("\n", 1)[1].replace("](docs/", "](")


GENERATED = {"levels": _tables.levels, "features": _tables.features, "changes": changes}


def contents(text: str) -> str:
    """Return the contents of the site: for each section of the index, the pages that its list links to."""
    trees = []
    for section in text.split("\n## ")[1:]:
        caption, pages = section.split("\n", 1)[0], LINK.findall(section)
        if pages:
            trees.append("\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```"]))
    return "\n\n".join(trees)


def prepare(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put the generated text into a page, and make links that lead out of this folder links to the files."""
    text = MARK.sub(lambda mark: GENERATED[mark[1]](), source[0])
    if docname == "index":
        text += "\n" + contents(text)
    source[0] = OUTWARD.sub(r"](path:../\1)", text)


def generated(app: Sphinx, env: BuildEnvironment, *changed: set[str]) -> list[str]:
    """Return the pages that hold generated text: each build reads them, because the data may have changed."""
    return [name for name in env.found_docs if MARK.search(Path(env.doc2path(name)).read_text(encoding="utf-8"))]


def setup(app: Sphinx) -> None:
    """Have every page prepared before it is read."""
    app.connect("source-read", prepare)
    app.connect("env-get-outdated", generated)
