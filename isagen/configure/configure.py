"""Configuring a build: probe, plan, and write plan, tool and headers into the build folder."""

from __future__ import annotations

import os
import posixpath
from pathlib import Path

from .. import __version__
from ..model.errors import ConfigError, KernelError, ProjectError, did_you_mean
from ..model.files import content_digest, replace_files, write_if_changed
from ..model.names import SET_NAME, TOOL_FOLDER, headers_folder, plan_name, symbols_suffix
from ..model.optimization import VECTORISER, optimization_of, vectoriser
from ..model.plan import BUILT, Build, CompilerUse, Limit, Plan, Sealing
from ..model.plan_file import plan_text
from ..model.record import Record
from ..planning.config import Config, load_config
from ..planning.levels import check_required
from ..planning.limit import folds, sealing_of
from ..planning.plan import UNNAMEABLE, Style, make_plan
from ..probe.cache import NO_CACHE, Cache, default_cache
from ..probe.compiler import older
from ..probe.limited import limited_verdicts
from ..probe.probe import baseline_features, probe_all
from ..processors.table import Table
from .answer import Editor, Fragment, answer
from .compat import COMPAT_FOLDER, compat_texts
from .dispatch import dispatch_texts, front_texts
from .keyval import write_keyval
from .limits import Chosen, choose_table, find_limit
from .linkers import audit_values, find_audit, write_scripts
from .own_flags import check_own_flags, without_refused
from .request import Request
from .shadows import check_shadows
from .tool import own_python, write_tool

# All libraries of a process share symbols of binding STB_GNU_UNIQUE, even if they are hidden. Clang writes none.
NO_UNIQUE = "-fno-gnu-unique"
# The versions from which compilers have -ffile-prefix-map, by Meson's names of them.
MAPS_FILES_SINCE = {"gcc": "8", "clang": "10"}


def configure(request: Request) -> tuple[str, tuple[Path, ...]]:
    """Probe and plan, write what the build needs, and return the text that Meson reads, and the files it depends on.

    Nothing is written where an error is raised.
    """
    check_paths(request.project_root, request.build_root)
    config = load_config(request.config).of_set(request.config_set, request.sets)
    chosen = choose_table(config.table, request.cpu_family, config.path.parent, f"{config.shown}: table")
    table = chosen.table
    _check(request, config)
    limit = find_limit(request.system, request.compilers, chosen.reason)
    config, left_out = without_refused(config, request.kernels, request.compilers, limit)
    cache = default_cache() if request.cache else NO_CACHE
    build = _build(request, config, chosen, limit, cache)
    dispatch = dispatch_texts(build, table)
    text = plan_text(build)
    folder, plan_file = headers_folder(request.kernel_set), plan_name(request.kernel_set)
    texts = {**dispatch.sources(request.kernel_set), **front_texts(build.plan)}
    tool = write_tool(request.output / TOOL_FOLDER, texts, table.features.processor)
    write_scripts(build.link_audit, request.output, plan_file)
    replace_files(dispatch.headers, request.output / folder)
    replace_files(compat_texts(config.compat, table), request.output / COMPAT_FOLDER)
    write_if_changed(request.output / plan_file, text)
    values = {
        "digest": content_digest(text.encode() + tool.encode()),
        **answer(build, _editor(request, chosen), left_out, _fragment(request)),
        "section": _summary_title(request),
        "plan": plan_file,
        "include_folders": [folder, *([COMPAT_FOLDER] if config.compat else [])],
        **audit_values(build.link_audit, request.compilers, request.output, plan_file),
        "python": own_python(),
    }
    return write_keyval(values), (request.config, *chosen.files)


def _fragment(request: Request) -> Fragment:
    return Fragment(
        built=_relative(request.output, request.build_root),
        up=_relative(request.project_root, request.config.parent),
        precompiled=request.precompiled,
    )


def _summary_title(request: Request) -> str:
    """Return the title of the summary: it names the set, and where a project has several fragments, the folder."""
    kernels = f"kernels of {request.config_set}" if request.config_set else "kernels"
    place = f" in {request.fragment_folder}" if request.kernel_set != request.config_set else ""
    return f"isagen: {kernels} by CPU level{place}"


def _editor(request: Request, chosen: Chosen) -> Editor:
    """Return the level for editors, from the Meson option isa_editor. Raises `ConfigError` for a level that is
    unknown."""
    word, table = request.editor.strip(), chosen.table
    names = {name.casefold(): name for name in table.names()} | {"best": "best", "none": "", "": ""}
    level = names.get(word.casefold())
    if level is None and word.upper() in chosen.elsewhere:
        level = "best"
    if level is not None:
        optional = {flag for one in table.levels for flags in one.optional_flags.values() for flag in flags}
        return Editor(level, frozenset({*optional, NO_UNIQUE, *VECTORISER}))
    known = (*table.names(), "best", "none")
    raise ConfigError(f"unknown level {word!r}", where="Meson option isa_editor", remedy=did_you_mean(word, known))


def check_paths(source: Path, build: Path) -> None:
    """Raise `ProjectError` if the path of the project or build folder contains what Meson or ninja cannot handle.

    `source` is a path inside the project. A '|' in the build folder's path does no harm: ninja never names it.
    """
    for path, shown, characters in ((source, "source", UNNAMEABLE), (build, "build", UNNAMEABLE[:1])):
        for character, reason in characters:
            if character in str(path):
                raise ProjectError(
                    f"has a {reason}",
                    where=f"{shown} folder: {path}",
                    remedy="move it to a path without this character",
                )


def _check(request: Request, config: Config) -> None:
    """Raise `KernelError` or `ConfigError` for what cannot be built at all."""
    check_shadows(config, request.kernels, request.project_root)
    if request.config_set and not SET_NAME.fullmatch(request.config_set):
        raise ConfigError(
            f"{request.config_set!r} cannot name a set of kernels",
            where="isa_sets",
            remedy="use letters, digits and _, and start with a letter",
        )
    for source in request.kernels:
        if source not in request.generated and not os.path.isfile(os.path.join(request.project_root, source)):
            raise KernelError(
                "there is no such kernel source",
                where=f"isa_kernels: {source}",
                remedy=f"looked in {request.project_root}; isa_kernels takes files(); of a target or configure_file(), "
                f"write isa_generated = {{'{source}': target}}",
            )


def _build(request: Request, config: Config, chosen: Chosen, limit: Limit, cache: Cache) -> Build:
    """Probe the compilers, and return the whole build that results."""
    table = chosen.table
    if limit.opaque:
        verdicts = limited_verdicts(table, request.compilers, limit)
    else:
        verdicts = probe_all(table, request.compilers, cache)
    sealing = sealing_of(
        symbols_suffix(request.full_name, request.kernel_set),
        request.seal or bool(request.module),
        limit,
        folds(config.fold, request.module, _optimization(request)),
    )
    plan = make_plan(
        config=config,
        table=table,
        kernels=request.kernels,
        generated=request.generated,
        kernel_set=request.kernel_set,
        others=request.other_kernels,
        module=request.module,
        option_levels=request.levels,
        verdicts=verdicts,
        source_root=_relative(request.project_root, request.build_root),
        style=_style(request, limit),
        sealed=sealing.usable or limit.opaque,  # a single level needs no seal
        elsewhere=chosen.elsewhere,
        baseline=() if limit.reason else baseline_features(table, request.compilers),
    )
    check_required(plan, request.require, table, chosen.elsewhere, limit.reason)
    if not limit.foreign:
        check_own_flags(plan, table.features, request.compilers, config)
    return Build(
        isagen=__version__,
        plan=plan,
        compilers={c.language: CompilerUse(c.id, c.version, c.name, c.command, c.args) for c in request.compilers},
        optimization=_optimization(request),
        lto=request.lto or any(compiler.wants_lto for compiler in request.compilers),
        cpu_family=request.cpu_family,
        system=request.system,
        sealing=sealing,
        link_audit=find_audit(request.compilers, request.audit, table.features.processor, limit),
        record=_record(request, config, table, plan, sealing),
        limit=limit,
    )


def _optimization(request: Request) -> str:
    """Return the options that optimize kernels in C++, or without C++ in the first language."""
    compiler = next((one for one in request.compilers if one.language == "cpp"), request.compilers[0])
    options = request.optimization, compiler.args
    return " ".join((optimization_of(*options), *vectoriser(compiler.id, *options))).strip()


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
    """Return `path` relative to `start`, with slashes; absolute only on another drive."""
    try:
        return Path(os.path.relpath(path, start)).as_posix()
    except ValueError:
        return path.as_posix()


def _style(request: Request, limit: Limit) -> Style:
    """Return the compilers' options that every kernel needs: include folders, no LTO, no unique symbols.

    Copies include their sources from the fragment's folder. `__FILE__` and debug information contain paths from the
    build folder's root, as those of Meson's own sources do.
    """
    if limit.foreign:
        return Style("-I")
    folder = _relative(request.output, request.build_root)
    up = "../" * len(folder.split("/"))
    named = "=" not in folder and not posixpath.isabs(folder)
    flags: dict[str, tuple[str, ...]] = {}
    copies: dict[str, tuple[str, ...]] = {}
    msvc = False
    for compiler in request.compilers:
        if compiler.dialect == "msvc":
            msvc = True
            flags[compiler.language] = ("/GL-",)
        else:
            unique = (NO_UNIQUE,) if compiler.id == "gcc" else ()
            loops = vectoriser(compiler.id, request.optimization, compiler.args)
            since = MAPS_FILES_SINCE.get(compiler.id)
            maps = named and since is not None and not older(compiler.version, since)
            if maps and compiler.language != "fortran":
                copies[compiler.language] = (f"-ffile-prefix-map={folder}/{up}=",)
            # Folders of generated kernels may not exist.
            own = {"cpp": unique, "fortran": ("-Wno-missing-include-dirs",)}
            flags[compiler.language] = ("-fno-lto", *loops, *own.get(compiler.language, ()))
    return Style("/I" if msvc else "-iquote", flags, copies)
