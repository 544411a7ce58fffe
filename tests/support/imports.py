"""Which package of isagen imports which, read from the sources, and the rule that the imports keep."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

# Lowest first: a package imports packages of its own layer and of lower layers.
LAYERS = (
    ("model",),
    ("binary", "processors"),
    ("probe", "planning", "code", "rendering"),
    ("build", "audit"),
    ("configure", "matrix"),
    ("project", "testing", "tune"),
    ("cli",),
    ("__main__",),
)
# The packages that configuring copies into a build folder: they import no others.
TOOL = {"model", "binary", "processors", "code", "build", "audit"}
# Other packages import a format's or processor's folder only through these modules.
DOORS = {"binary": "formats", "processors": "registry"}


class Import(NamedTuple):
    """One import: dotted names below isagen, and the line of the statement."""

    importer: str
    imported: str
    line: int


def imports(folder: Path) -> Iterator[Import]:
    """Yield what the modules in `folder`, isagen's package, import of each other, inside functions too."""
    names = {_dotted(path, folder) for path in folder.rglob("*.py")}
    for path in sorted(folder.rglob("*.py")):
        here = _dotted(path, folder)
        package = here if path.name == "__init__.py" else here.rpartition(".")[0]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for name in _imported(node, package):
                whole = name if name in names else name.rpartition(".")[0]
                yield Import(here, whole, node.lineno)


def _dotted(path: Path, folder: Path) -> str:
    return ".".join(path.relative_to(folder).with_suffix("").parts).removesuffix("__init__").rstrip(".")


def _imported(node: ast.AST, package: str) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (a.name.removeprefix("isagen.") for a in node.names if a.name.startswith("isagen."))
    elif isinstance(node, ast.ImportFrom) and node.level:
        parts = package.split(".") if package else []
        base = parts[: len(parts) - node.level + 1] + (node.module.split(".") if node.module else [])
        yield from (".".join([*base, alias.name]) for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "isagen":
        base = node.module.split(".")[1:]
        yield from (".".join([*base, alias.name]) for alias in node.names)


def violations(found: list[Import]) -> list[str]:
    """Return a sentence for every import that breaks the rule."""
    layer = {package: number for number, packages in enumerate(LAYERS) for package in packages}
    said = []
    for one in found:
        importer, imported = one.importer.split(".")[0], one.imported.split(".")[0]
        if importer == imported or imported == "":
            said += _past_a_door(one)
            continue
        where = f"{one.importer}:{one.line} imports {one.imported}"
        if importer not in layer or imported not in layer:
            said.append(f"{where}, one of which is in no layer")
        elif layer[importer] < layer[imported]:
            said.append(f"{where}, which is in a higher layer")
        elif importer in TOOL and imported not in TOOL:
            said.append(f"{where}, which is not copied into build folders")
        else:
            said += _past_a_door(one)
    return said + _circles(found)


def file_circles(found: Iterable[Import]) -> set[frozenset[str]]:
    """Return the groups of files each of which imports the others, directly or through others, at any time."""
    graph: dict[str, set[str]] = {}
    for one in found:
        if one.imported and one.importer != one.imported:
            graph.setdefault(one.importer, set()).add(one.imported)
    reached = {name: _reached(graph, name) for name in graph}
    return {
        frozenset(other for other in names if name in reached.get(other, ()))
        for name, names in reached.items()
        if name in names
    }


def _reached(graph: Mapping[str, set[str]], start: str) -> set[str]:
    """Return what `start` imports, directly or through others."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        new = graph.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return found


def _past_a_door(one: Import) -> list[str]:
    """Return a sentence where an import reaches into a format's or processor's folder from outside."""
    package, _, rest = one.imported.partition(".")
    folder = rest.partition(".")[0]
    if package not in DOORS or f"{package}.{folder}" not in _folders(package):
        return []
    if one.importer.startswith(f"{package}.{folder}") or one.importer == f"{package}.{DOORS[package]}":
        return []
    return [f"{one.importer}:{one.line} imports {one.imported}, past {package}.{DOORS[package]}"]


def _folders(package: str) -> set[str]:
    import isagen

    here = Path(isagen.__file__).parent / package
    return {f"{package}.{path.name}" for path in here.iterdir() if (path / "__init__.py").is_file()}


def _circles(found: list[Import]) -> list[str]:
    graph: dict[str, set[str]] = {}
    for one in found:
        importer, imported = one.importer.split(".")[0], one.imported.split(".")[0]
        if imported and importer != imported:
            graph.setdefault(importer, set()).add(imported)
    return [f"packages import each other in a circle: {circle}" for circle in _circle(graph)]


def _circle(graph: Mapping[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as problem:
        return [" -> ".join(problem.args[1])]
    return []
