"""The rules of imports and of lengths: isagen keeps them, and the check of imports notices violations."""

import ast
from pathlib import Path

import pytest

import isagen
from isagen.configure.tool import write_tool
from isagen.processors.registry import audited_processor
from support.imports import TOOL, Import, file_circles, imports, violations
from support.tool import run_in

PACKAGE = Path(isagen.__file__).parent
FOUND = list(imports(PACKAGE))


def test_packages_import_downwards_and_in_no_circle():
    assert violations(FOUND) == []


def test_files_import_each_other_in_no_circle():
    """Neither inside functions nor for types alone."""
    assert file_circles(FOUND) == set()


def test_modules_and_functions_are_short():
    """As CONTRIBUTING.md says."""
    texts = {path: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    functions = (node for text in texts.values() for node in ast.walk(ast.parse(text)) if type(node) is ast.FunctionDef)
    assert [one.name for one in functions if one.end_lineno - one.lineno >= 60] == []
    assert [path for path, text in texts.items() if text.count("\n") > 350] == []


@pytest.mark.parametrize("where", ["    from .second import two", "if TYPE_CHECKING:\n    from .second import two"])
def test_a_circle_of_files_is_noticed_wherever_it_is_imported(tmp_path, where):
    texts = {
        "first": f"def one():\n    pass\n{where}\n",
        "second": "from . import third\n",
        "third": "from . import first",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(text)
    (tmp_path / "fourth.py").write_text("from . import first\n")
    assert file_circles(imports(tmp_path)) == {frozenset(texts)}


def test_imports_are_found_at_all():
    assert ("build.compiled", "binary.formats") in [one[:2] for one in FOUND]
    assert any(one.importer == "cli.audit" and one.imported.startswith("audit.") for one in FOUND)  # inside a function
    assert not [one for one in FOUND if one.importer.startswith("model") and not one.imported.startswith("model")]


@pytest.mark.parametrize(
    ("importer", "imported", "said"),
    [
        ("model.plan", "processors.table", "higher layer"),
        ("binary.elf.reader", "audit.findings", "higher layer"),
        ("audit.report", "build.seal", "circle"),
        ("probe.probe", "configure.configure", "higher layer"),
        ("build.link", "planning.plan", "not copied"),
        ("configure.request", "cli", "higher layer"),
        ("audit.report", "binary.elf.reader", "past binary.formats"),
        ("processors.table", "processors.x86.machine", "past processors.registry"),
        ("newcomer.module", "model.plan", "in no layer"),
    ],
)
def test_a_forbidden_import_is_noticed(importer, imported, said):
    assert any(said in problem for problem in violations([*FOUND, Import(importer, imported, 1)]))


def test_a_forbidden_import_is_noticed_in_a_source(tmp_path):
    for path in PACKAGE.rglob("*.py"):
        target = tmp_path / path.relative_to(PACKAGE)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    plan = tmp_path / "model/plan.py"
    plan.write_text(plan.read_text() + "\n\ndef late():\n    from ..audit.report import text_of\n    return text_of\n")
    assert any(
        "model.plan:" in problem and "audit.report" in problem for problem in violations(list(imports(tmp_path)))
    )


def test_every_module_of_the_copied_tool_can_be_imported_on_its_own(tmp_path):
    """As build folders hold it, without isagen's other packages and dependencies."""
    write_tool(tmp_path, {}, audited_processor())
    names = [path.relative_to(tmp_path).as_posix() for path in (tmp_path / "isagen").rglob("*.py")]
    assert {name.split("/")[1] for name in names} == {*TOOL, "__init__.py"}
    modules = [name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in names]
    code = "\n".join(f"import {name}" for name in modules)
    run_in(tmp_path, f"{code}\nassert not {{'jinja2', 'rich', 'platformdirs'}} & set(sys.modules)\n")
