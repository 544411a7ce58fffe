"""What the Meson fragment calls at configure time: probe, plan, and leave the plan in the build folder."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from . import __version__
from .audit.instructions import iced_x86
from .audit.record import Record
from .cache import NO_CACHE, default_cache
from .compat import COMPAT_FOLDER, compat_texts, write_compat
from .compiler import Compiler
from .config import DEFAULT_TABLE, load_config
from .dispatch import dispatch_texts
from .errors import KernelError, TableError
from .files import write_if_changed
from .keyval import write_keyval
from .linking import Linking, find_linkers, write_script
from .matrix import PLAN_FILE, summary_lines
from .plan import BUILT, Plan, Style, check_kernels, make_plan
from .probe import baseline_features, probe_all
from .sealing import Sealing, check_system, sealing_of
from .steps.proof import PROOF
from .steps.seal import sealed_name
from .table import Table, default_table, load_table, other_levels

TOOL_FOLDER = "isa_tool"
PLAN_FORMAT = 2
# The modules that the build steps need; copied into the build folder.
TOOL_MODULES = ("__init__.py", "audit", "errors.py", "features.py", "files.py", "schema.py", "steps", "tables/features")
TOOL_FILES = (".py", ".toml", ".so", ".pyd")
TOOL_MAIN = "import sys\n\nfrom isagen.steps.main import main\n\nsys.exit(main())\n"


@dataclass(frozen=True)
class Request:
    """What the fragment knows: folders, machine, compilers, options. Kernels are paths from `source_root`."""

    config: Path
    source_root: Path
    build_root: Path
    output: Path
    cpu_family: str
    system: str
    compilers: tuple[Compiler, ...]
    kernels: tuple[str, ...]
    name: str = "project"
    levels: str = ""
    cache: bool = True
    seal: bool = True
    audit: str = "error"
    optimization: str = ""
    lto: bool = False


def configure(request: Request) -> tuple[str, tuple[Path, ...]]:
    """Probe and plan, write the plan and the build steps' tool, and return the keyval text and the files it read.

    Nothing is written unless everything is well.
    """
    config = load_config(request.config)
    name = config.table if config.table != DEFAULT_TABLE else default_table(request.cpu_family)
    table = load_table(name, request.config.parent, f"{config.shown}: table")
    _check_architecture(table, request.cpu_family, config.shown)
    check_kernels(request.kernels, config)
    check_system(request.system)
    for source in request.kernels:
        if not (request.source_root / source).is_file():
            raise KernelError(
                "there is no such kernel source",
                where=f"isa_kernels: {source}",
                remedy=f"looked in {request.source_root}; name kernels with files(); they cannot be generated",
            )
    cache = default_cache() if request.cache else NO_CACHE
    verdicts = probe_all(table, request.compilers, cache)
    sealing = sealing_of(request.name, request.seal)
    plan = make_plan(
        config=config,
        table=table,
        kernels=request.kernels,
        option_levels=request.levels,
        verdicts=verdicts,
        source_root=_relative(request.source_root, request.build_root),
        style=_style(request.compilers, sealing),
        elsewhere=other_levels() if config.table == DEFAULT_TABLE else frozenset(),
    )
    decodes = bool(table.features.instructions.always)
    linking = find_linkers(request.compilers[-1], request.audit, decodes)
    record = Record(
        project=request.name,
        isagen=__version__,
        table=plan.table,
        features=table.features.name,
        sealed=sealing.usable,
        seal_reason=sealing.reason,
        baseline=baseline_features(table, request.compilers),
        levels={level.name: level.features for level in plan.levels if level.verdict == BUILT},
        allow=config.allow,
    )
    headers, source = dispatch_texts(plan, table, request.name, record if decodes else None)
    data = _plan_data(plan, request, sealing, linking, headers, source)
    data["record"] = record.to_json()
    text = json.dumps(data, indent=1, ensure_ascii=False) + "\n"
    tool = _copy_tool(request.output / TOOL_FOLDER)
    link_folder = _write_linkers(linking, request.output)
    write_compat(compat_texts(config.compat, table), request.output / COMPAT_FOLDER)
    write_if_changed(request.output / PLAN_FILE, text)
    digest = hashlib.sha256(text.encode() + tool.encode()).hexdigest()
    values = _keyval(plan, data, digest, sealing, config.compat)
    values["link_args"] = [f"-B{link_folder}"] if linking.audited else []
    values["link_proof"] = f"-Wl,{PROOF}"
    values["python"] = sys.executable
    return write_keyval(values), (request.config, *table.files)


def _check_architecture(table: Table, cpu_family: str, shown: str) -> None:
    families = table.features.cpu_families
    if "*" not in families and cpu_family not in families:
        raise TableError(
            f"table {table.name} is for {', '.join(families)}, but this build is for {cpu_family}",
            where=f"{shown}: table",
            remedy=f'set table = "{DEFAULT_TABLE}", which takes the table that fits each architecture',
        )


def _relative(path: Path, start: Path) -> str:
    """Return `path` as seen from `start`, with slashes; absolute only where there is no way (another drive)."""
    try:
        return Path(os.path.relpath(path, start)).as_posix()
    except ValueError:
        return path.as_posix()


def _style(compilers: Iterable[Compiler], sealing: Sealing) -> Style:
    """Return how these compilers spell what every kernel needs: include folders, no LTO, sealable statics."""
    flags: dict[str, tuple[str, ...]] = {}
    msvc = False
    for compiler in compilers:
        if compiler.dialect == "msvc":
            msvc = True
            flags[compiler.language] = ("/GL-",)
        else:
            # Unique symbols are shared by all libraries of a process, against hidden visibility too; Clang has none.
            unique = ("-fno-gnu-unique",) if compiler.id == "gcc" and sealing.usable else ()
            flags[compiler.language] = ("-fno-lto", *(unique if compiler.language == "cpp" else ()))
    return Style("/I" if msvc else "-iquote", flags)


def _write_linkers(linking: Linking, output: Path) -> Path:
    """Write a script in the place of each linker: it links, then audits. Return their folder."""
    folder = output / TOOL_FOLDER / f"audit_{linking.mode}"
    tool, plan = shlex.quote(str(output / TOOL_FOLDER)), shlex.quote(str(output / PLAN_FILE))
    for name in linking.linkers:
        command = f"{shlex.quote(sys.executable)} {tool} link {plan} {linking.mode} {name}"
        write_script(folder / name, f'exec {command} "$@"\n')
    return folder


def _plan_data(
    plan: Plan, request: Request, sealing: Sealing, linking: Linking, headers: dict[str, str], source: str
) -> dict[str, Any]:
    compilers = {c.language: {"name": c.name, "command": c.command, "args": c.args} for c in request.compilers}
    return {
        "format": PLAN_FORMAT,
        "isagen": __version__,
        **asdict(plan),
        "compilers": compilers,
        "optimization": request.optimization,
        "lto": request.lto or any(compiler.wants_lto for compiler in request.compilers),
        "cpu_family": request.cpu_family,
        "system": request.system,
        "seal": asdict(sealing),
        "audit": asdict(linking),
        "dispatch": {"headers": headers, "source": source},
    }


def _copy_tool(folder: Path) -> str:
    """Copy the build steps, and the decoder that they use, into `folder`; return a digest of what is there."""
    here = Path(__file__).parent
    wanted: dict[Path, bytes] = {Path("__main__.py"): TOOL_MAIN.encode()}
    sources = [(here, Path("isagen"), here / name) for name in TOOL_MODULES]
    if iced_x86 is not None:
        library = Path(iced_x86.__file__).parent
        sources.append((library, Path("iced_x86"), library))
    for root, target, entry in sources:
        for path in sorted(entry.rglob("*")) if entry.is_dir() else [entry]:
            if path.suffix in TOOL_FILES:
                wanted[target / path.relative_to(root)] = path.read_bytes()
    for stale in {p.relative_to(folder) for p in folder.rglob("*") if p.suffix in TOOL_FILES} - set(wanted):
        (folder / stale).unlink()
    digest = hashlib.sha256()
    for name, content in sorted(wanted.items()):
        write_if_changed(folder / name, content)
        digest.update(f"{name.as_posix()} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def _keyval(
    plan: Plan, data: dict[str, Any], digest: str, sealing: Sealing, compat: Sequence[str]
) -> dict[str, str | Sequence[str]]:
    """Return what the fragment reads; it refers to copies by their place in `copies`."""
    copies = [cell.copy for kernel in plan.kernels for cell in kernel.cells if cell.copy]
    place = {copy: str(index) for index, copy in enumerate(copies)}
    values: dict[str, str | Sequence[str]] = {
        "digest": digest,
        "headers": list(data["dispatch"]["headers"]),
        "copies": copies,
        "levels": [level.name for level in plan.levels if any(u.level == level.name for u in plan.units)],
        "compat_folders": [COMPAT_FOLDER] if compat else [],
        "sealed": "yes" if sealing.usable else "no",
        "dispatch_source": "isa_dispatch.c" if all(k.language == "c" for k in plan.kernels) else "isa_dispatch.cpp",
    }
    for level in plan.levels:
        built = [
            cell.copy for kernel in plan.kernels for cell in kernel.cells if cell.copy and cell.level == level.name
        ]
        values[f"{level.name}_sealed"] = [sealed_name(copy, level.name) for copy in built] if sealing.usable else []
        values[f"{level.name}_units"] = [unit.name for unit in plan.units if unit.level == level.name]
    for unit in plan.units:
        values[f"{unit.name}_copies"] = [place[copy] for copy in unit.copies]
        for language in ("c", "cpp"):
            values[f"{unit.name}_{language}_args"] = unit.args.get(language, ())
    lines = summary_lines(data)
    values["summary"] = [str(number) for number in range(len(lines))]
    for number, (key, text) in enumerate(lines):
        values[f"summary_{number}_key"] = key
        values[f"summary_{number}_text"] = text
    return values
