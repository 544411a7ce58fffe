"""Configuring a build: probe, plan, and leave plan, tool and headers in the build folder."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from .. import __version__
from ..model.errors import ConfigError, KernelError, TableError, did_you_mean
from ..model.files import leave_exactly, write_if_changed
from ..model.names import LINK_PROOF, SET_NAME, TOOL_FOLDER, dispatch_name, headers_folder, plan_name
from ..model.plan import BUILT, Build, CompilerUse, Plan, Sealing
from ..model.plan_file import plan_text
from ..model.record import Record
from ..planning.config import DEFAULT_TABLE, Config, load_config
from ..planning.plan import Style, make_plan
from ..planning.sealing import check_system, sealing_of
from ..probe.cache import NO_CACHE, default_cache
from ..probe.compiler import Compiler
from ..probe.probe import baseline_features, probe_all
from ..processors.registry import default_table
from ..processors.table import Table, load_table, other_levels
from .answer import answer
from .compat import COMPAT_FOLDER, compat_texts
from .dispatch import dispatch_texts
from .front import front_texts
from .keyval import write_keyval
from .linkers import find_linkers, write_linkers
from .own_flags import check_own_flags
from .paths import check_paths
from .request import Request
from .tool import write_tool


def configure(request: Request) -> tuple[str, tuple[Path, ...]]:
    """Probe and plan, write what the build needs, and return the keyval text and the files it was made from.

    Nothing is written where an error is raised.
    """
    check_paths(request.source_root, request.build_root)
    config = load_config(request.config).of_set(request.kernel_set, request.sets)
    table = _table(request, config)
    _check(request)
    build = _build(request, config, table)
    headers, source = dispatch_texts(build, table)
    text = plan_text(build)
    folder, plan_file = headers_folder(request.kernel_set), plan_name(request.kernel_set)
    texts = {dispatch_name(request.kernel_set, "c"): source, **front_texts(build.plan)}
    tool = write_tool(request.output / TOOL_FOLDER, texts, table.features.processor)
    link_folder = write_linkers(build.link_audit, request.output, plan_file)
    leave_exactly(headers, request.output / folder)
    leave_exactly(compat_texts(config.compat, table), request.output / COMPAT_FOLDER)
    write_if_changed(request.output / plan_file, text)
    values = {
        "digest": hashlib.sha256(text.encode() + tool.encode()).hexdigest(),
        **answer(build, _editor_level(request, table)),
        "plan": plan_file,
        "include_folders": [folder, *([COMPAT_FOLDER] if config.compat else [])],
        "link_args": [f"-B{link_folder}"] if build.link_audit.active else [],
        "link_proof": f"-Wl,{LINK_PROOF}",
        "python": sys.executable,
    }
    return write_keyval(values), (request.config, *table.files)


def _table(request: Request, config: Config) -> Table:
    """Load the table that isa.toml names. Raises `TableError` if it is for another architecture."""
    name = config.table if config.table != DEFAULT_TABLE else default_table(request.cpu_family)
    table = load_table(name, request.config.parent, f"{config.shown}: table")
    processor = table.features.processor
    if not processor.is_for(request.cpu_family):
        raise TableError(
            f"table {table.name} is for {', '.join(processor.cpu_families)}, "
            f"but this build is for {request.cpu_family}",
            where=f"{config.shown}: table",
            remedy=f'set table = "{DEFAULT_TABLE}", which takes the table that fits each architecture',
        )
    return table


def _editor_level(request: Request, table: Table) -> str:
    """Return the level that the Meson option isa_editor names; "" for none. Raises `ConfigError`."""
    word = request.editor.strip()
    if word.casefold() in ("", "none", "best"):
        return word.casefold().removeprefix("none")
    for name in table.names():
        if name.casefold() == word.casefold():
            return name
    known = (*table.names(), "best", "none")
    raise ConfigError(f"unknown level {word!r}", where="Meson option isa_editor", remedy=did_you_mean(word, known))


def _check(request: Request) -> None:
    """Raise `KernelError`, `ConfigError` or `CompilerError` for what cannot be built at all."""
    check_system(request.system)
    if request.kernel_set and not SET_NAME.fullmatch(request.kernel_set):
        raise ConfigError(
            f"{request.kernel_set!r} cannot name a set of kernels",
            where="isa_sets",
            remedy="use letters, digits and _, and start with a letter",
        )
    for source in request.kernels:
        if source not in request.generated and not (request.source_root / source).is_file():
            raise KernelError(
                "there is no such kernel source",
                where=f"isa_kernels: {source}",
                remedy=f"looked in {request.source_root}; name kernels with files()",
            )


def _build(request: Request, config: Config, table: Table) -> Build:
    """Probe the compilers, and return the whole build that results."""
    cache = default_cache() if request.cache else NO_CACHE
    verdicts = probe_all(table, request.compilers, cache)
    sealing = sealing_of(request.full_name, request.seal or bool(request.module))
    plan = make_plan(
        config=config,
        table=table,
        kernels=request.kernels,
        generated=request.generated,
        kernel_set=request.kernel_set,
        others=request.elsewhere,
        module=request.module,
        option_levels=request.levels,
        verdicts=verdicts,
        source_root=_relative(request.source_root, request.build_root),
        style=_style(request.compilers),
        elsewhere=other_levels() if config.table == DEFAULT_TABLE else frozenset(),
    )
    check_own_flags(plan, table.features, request.compilers, config.shown)
    return Build(
        isagen=__version__,
        plan=plan,
        compilers={c.language: CompilerUse(c.id, c.version, c.name, c.command, c.args) for c in request.compilers},
        optimization=request.optimization,
        lto=request.lto or any(compiler.wants_lto for compiler in request.compilers),
        cpu_family=request.cpu_family,
        system=request.system,
        sealing=sealing,
        link_audit=find_linkers(request.compilers[-1], request.audit, table.features.processor),
        record=_record(request, config, table, plan, sealing),
    )


def _record(request: Request, config: Config, table: Table, plan: Plan, sealing: Sealing) -> Record:
    return Record(
        project=request.full_name,
        isagen=__version__,
        table=plan.table,
        features=table.features.name,
        sealed=sealing.usable,
        seal_reason=sealing.reason,
        baseline=baseline_features(table, request.compilers),
        levels={level.name: level.features for level in plan.levels if level.verdict == BUILT},
        allow=config.allow,
    )


def _relative(path: Path, start: Path) -> str:
    """Return `path` as seen from `start`, with slashes; absolute only where there is no way (another drive)."""
    try:
        return Path(os.path.relpath(path, start)).as_posix()
    except ValueError:
        return path.as_posix()


def _style(compilers: Iterable[Compiler]) -> Style:
    """Return how these compilers spell what every kernel needs: include folders, no LTO, sealable statics."""
    flags: dict[str, tuple[str, ...]] = {}
    msvc = False
    for compiler in compilers:
        if compiler.dialect == "msvc":
            msvc = True
            flags[compiler.language] = ("/GL-",)
        else:
            # Unique symbols are shared by all libraries of a process, against hidden visibility too; Clang has none.
            unique = ("-fno-gnu-unique",) if compiler.id == "gcc" else ()
            flags[compiler.language] = ("-fno-lto", *(unique if compiler.language == "cpp" else ()))
    return Style("/I" if msvc else "-iquote", flags)
