"""Plans, builds and registrations made by hand, for tests of single steps."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from isagen.build.stubs import notes_text, stub_table
from isagen.model.matrix import LevelRow
from isagen.model.names import LEVEL_NOTES_MARK, STUBS_MARK, TEXTS_FOLDER, TOOL_FOLDER
from isagen.model.plan import BUILT, DISABLED, Build, Cell, KernelRow, LinkAudit, Plan, Sealing
from isagen.model.plan_file import file_text
from isagen.model.record import Record
from isagen.model.registrations import Registered, Registrations


def level_row(name: str, **changes) -> LevelRow:
    """A level that is built, with nothing special about it."""
    row = LevelRow(
        name=name, rank=0, verdict=BUILT, reason="", requires=(), features=(), flags={}, macros=(), dropped={}
    )
    return replace(row, **changes)


def kernel_row(source: str, copies: Mapping[str, str], line: str = "") -> KernelRow:
    """A kernel with its copies by level; an empty name is a copy that is not built."""
    cells = tuple(Cell(level, BUILT if copy else DISABLED, "", copy=copy) for level, copy in copies.items())
    return KernelRow(source=source, shown_path=line or source, language="cpp", args=(), cells=cells)


def plan_of(levels: Sequence[str], kernels: Sequence[KernelRow] = ()) -> Plan:
    """A plan of levels and kernels, without units."""
    rows = tuple(level_row(name, rank=rank) for rank, name in enumerate(levels))
    return Plan(table="x86", override="", levels=rows, kernels=tuple(kernels), units=())


def build_of(plan: Plan, record: Record | None = None) -> Build:
    """A build around a plan, for the machine of the tests."""
    return Build(
        isagen="0",
        plan=plan,
        compilers={},
        optimization="-O2",
        lto=False,
        cpu_family="x86_64",
        system="linux",
        sealing=Sealing(project_number="1"),
        link_audit=LinkAudit(how="a test"),
        record=record or record_of(),
    )


def record_of(**changes) -> Record:
    """The record of a project called "project" without levels."""
    record = Record(
        project="project",
        isagen="0",
        table="x86",
        features="x86",
        sealed=True,
        seal_reason="",
        baseline=(),
        levels={},
    )
    return replace(record, **changes)


def write_build(folder: Path, plan: Plan, texts: Mapping[str, str] | None = None) -> Path:
    """Write a plan file and the rendered texts into a folder as configuring does; return the plan's path."""
    path = folder / "plan.json"
    build = build_of(plan)
    path.write_text(file_text(build), encoding="utf-8")
    if texts is None:
        texts = {f"{name.rpartition('.')[0]}.c": "" for name in build.sources}
    place = folder / TOOL_FOLDER / TEXTS_FOLDER
    place.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (place / name).write_text(text, encoding="utf-8")
    return path


def write_dispatch(
    folder: Path, texts: Sequence[Mapping[str, str]], stubs: Mapping[str, Sequence[str]], levels: list[str]
) -> None:
    """Write the dispatch header, and the sources of dispatch and of `stubs` as one, into a folder."""
    headers, sources = texts
    (folder / "isa_dispatch.h").write_text(headers["isa_dispatch.h"])
    table = sources["isa_stubs.c"].replace(STUBS_MARK, stub_table(stubs, levels, {}))
    source = sources["isa_dispatch.c"] + table.replace(LEVEL_NOTES_MARK, notes_text([b"notes"]))
    (folder / "isa_dispatch.c").write_text(source)


def registered_at(level: str, shared: Mapping[str, str] | None = None, **kernels: str) -> Registrations:
    """Registrations of a level: each kernel with its stubs; a '-' before a stub means that the kernel is without it."""
    return Registrations(
        level=level,
        kernels={
            source: Registered(
                registers=tuple(stub for stub in stubs.split() if not stub.startswith("-")),
                without=tuple(stub[1:] for stub in stubs.split() if stub.startswith("-")),
            )
            for source, stubs in kernels.items()
        },
        shared=dict(shared or {}),
    )
