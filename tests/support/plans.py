"""Plans made in this process, of a table of four levels and kernels that no file holds."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from isagen.model.plan import Cell, Plan, Verdict
from isagen.planning.config import Config, KernelConfig
from isagen.planning.plan import CopyOptions, make_plan
from isagen.processors.table import Table, load_table


def level(name: str, rank: int, bits: int, features: str = "", requires: str = "", defines: str = "") -> str:
    return f"""
        [levels.{name}]
        rank = {rank}
        vector_bits = {bits}
        features = {features.split()}
        requires = {requires.split()}
        defines = {defines.split()}
        flags.gnu = []
        probe = "return 0;"
    """


def table_of(folder: Path, *levels: str) -> Table:
    (folder / "own.toml").write_text("features = 'x86'\noverride = 'OWN_ISA'\n" + "".join(levels))
    return load_table("own.toml", folder)


def verdicts_of(table: Table, **changed: Verdict) -> Mapping[tuple[str, str], Verdict]:
    """Every level is available in both languages, but those of `changed` (NAME or NAME_LANGUAGE)."""
    return {
        (name, language): changed.get(f"{name}_{language}")
        or changed.get(name)
        or Verdict(True, "probed with GCC 12.2.0", (f"-m{name}",), (), table.required_features(name))
        for name in table.names()
        for language in ("c", "cpp", "fortran")
    }


def plan_of(
    table: Table,
    *kernels: str,
    levels: tuple[str, ...] = (),
    option: str = "",
    own: Mapping[str, KernelConfig] | None = None,
    verdicts: Mapping[tuple[str, str], Verdict] | None = None,
    override: str | None = None,
    copy_options: CopyOptions | None = None,
    config: Config | None = None,
    **more: Any,
) -> Plan:
    return make_plan(
        config=config or Config(Path("some/isa.toml"), levels=levels, override=override, kernels=own or {}),
        table=table,
        kernels=kernels,
        option_levels=option,
        verdicts=verdicts or verdicts_of(table),
        source_root="..",
        copy_options=copy_options or CopyOptions(),
        **more,
    )


def cells_of(plan: Plan, kernel: int = 0) -> dict[str, Cell]:
    return {cell.level: cell for cell in plan.kernels[kernel].cells}
