"""Renders templates as text. Code computes all values, and templates only lay them out."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from .binary.formats import FOLDER as BINARY_FORMATS
from .processors.processor import FOLDER as PROCESSORS

# The suffix of templates of web pages: in these, texts are escaped unless they are `Markup`.
PAGES = ".html.j2"


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader([template_folder(), PROCESSORS, BINARY_FORMATS]),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        autoescape=lambda name: name is not None and name.endswith(PAGES),
    )


def template_folder() -> Path:
    """Return the folder `templates`: in the installed package, or beside the package in isagen's source tree."""
    package = Path(__file__).parent
    inside = package / "templates"
    return inside if inside.is_dir() else package.parent / "templates"


def render(template: str, **values: Any) -> str:
    """Render the template file `template` with `values`."""
    return _environment().get_template(template).render(**values)
