"""Renders a template: `render.py TEMPLATE OUTPUT DEPFILE`; .j2 is Jinja2, .in is Tempita.

Lines of the output keep the number of the template's line that they come from, also in loops and included templates:
each line of a template starts with a mark, which becomes a #line where the numbers jump. Tags must end on their line.
"""

import re
import sys
from pathlib import Path

MARK = re.compile("\x01(\\d+):([^\x02]*)\x02")


def marked(path: Path) -> str:
    lines = path.read_text(encoding="utf-8").splitlines()
    return "".join(f"\x01{number}:{path.as_posix()}\x02{line}\n" for number, line in enumerate(lines, 1))


def with_lines(text: str) -> str:
    """Replace marks by #line where a line does not follow the one above."""
    result = []
    expected = None
    for line in text.splitlines():
        marks = MARK.findall(line)
        if marks:
            place = (int(marks[-1][0]), marks[-1][1])
            if place != expected:
                result.append(f'#line {place[0]} "{place[1]}"')
            expected = (place[0] + 1, place[1])
        elif expected is not None:
            expected = (expected[0] + 1, expected[1])
        result.append(MARK.sub("", line))
    return "\n".join(result) + "\n"


def jinja(template: Path) -> tuple[str, list[Path]]:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    read = []

    def load(name: str) -> str:
        read.append(template.parent / name)
        return marked(read[-1])

    environment = Environment(loader=FunctionLoader(load), undefined=StrictUndefined, keep_trailing_newline=True)
    return environment.get_template(template.name).render(), read


def tempita(template: Path) -> tuple[str, list[Path]]:
    from Cython.Tempita import Template

    return Template(marked(template), name=str(template)).substitute(), [template]


template, output, depfile = map(Path, sys.argv[1:])
text, read = (jinja if template.suffix == ".j2" else tempita)(template)
output.write_text(with_lines(text), encoding="utf-8")
depfile.write_text(f"{output}: {' '.join(path.as_posix().replace(' ', chr(92) + ' ') for path in read)}\n")
