"""`isagen configure`, which the Meson fragment runs: probes compilers, plans, and writes what the build needs.

It writes the plan, headers, linker scripts and a copy of the build steps.
"""

from __future__ import annotations

import os
import platform
import posixpath
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from .. import __version__
from ..model.errors import ConfigError, IsagenError, KernelError, reported
from ..model.files import content_digest, read_bytes, replace_files, write_if_changed
from ..model.names import (
    SET_NAME,
    TOOL_FOLDER,
    headers_folder,
    plan_name,
    symbols_suffix,
)
from ..model.optimization import UNFOLDED_OPTIMIZATIONS, VECTORISER, optimization_of, vectoriser
from ..model.plan import BUILT, Build, CompilerUse, Limit, Plan, Verdict
from ..model.plan_file import file_text
from ..model.record import Record
from ..planning.config import Config, load_config
from ..planning.known_bugs import bug_warnings, known_bugs
from ..planning.levels import NATIVE, OPTION, check_required, level_named, level_words
from ..planning.plan import CopyOptions, make_plan
from ..probe.cache import NO_CACHE, Cache, default_cache
from ..probe.probe import baseline_features, limited_verdicts, probe_all
from ..processors.detection import ask_permissions, detect, missing_by_level
from ..processors.flags import compiler_family
from ..processors.registry import this_cpu_family, this_machine
from ..processors.table import Table
from .answer import answer, keyval_text
from .compat import COMPAT_FOLDER, compat_texts
from .dispatch import dispatch_texts
from .limits import choose_table, family_of, limit_of, required_args, sealing_of, without_refused_args
from .linker_scripts import audit_values, audit_warnings, find_audit, write_scripts
from .request import Arguments, Request, read_arguments, request_of
from .tool import own_python, write_tool

# Without this option, GCC writes symbols of binding STB_GNU_UNIQUE, which all libraries of a process share.
NO_UNIQUE = "-fno-gnu-unique"


def answer_fragment(words: Iterable[str]) -> int:
    """Configure with the fragment's arguments `words`, and write the answer to the standard output.

    An error is an answer too: Meson hides the output of a failing command, but shows the text that the fragment passes
    to error().
    """
    sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")  # type: ignore[union-attr]
    arguments = read_arguments(words)
    try:
        text, inputs = configure(request_of(arguments))
        _write_depfile(arguments, inputs)
    except (IsagenError, OSError) as problem:
        with suppress(OSError):
            _write_depfile(arguments, [Path(arguments.once["config"])] if "config" in arguments.once else [])
        text = keyval_text({"error": f"isagen: {reported(problem)}"})
    sys.stdout.write(text)
    return 0


def _write_depfile(arguments: Arguments, inputs: Iterable[Path]) -> None:
    if "depfile" in arguments.once:
        depfile = Path(arguments.once["depfile"])
        names = " ".join(path.as_posix().replace("$", "$$").replace(" ", "\\ ") for path in inputs)
        write_if_changed(depfile, f"{depfile.stem}.conf: {names}\n")


def configure(request: Request) -> tuple[str, tuple[Path, ...]]:
    """Configure a build; return the text of the answer, and the paths of isa.toml and the project's table files.

    If one of these files changes, ninja configures again. Files for the build are written only after all checks.
    """
    request = replace(request, compilers=tuple(compiler.with_own_version() for compiler in request.compilers))
    request = replace(request, cpu_family=family_of(request.compilers, request.cpu_family))
    config = load_config(request.config).of_set(request.config_set, request.sets)
    table, reason = choose_table(config.table, request.cpu_family, config.path.parent, f"{config.shown}: table")
    _check(request, config)
    limit = limit_of(request.system, request.compilers, reason, whole_module=bool(request.module))
    config, warnings = without_refused_args(config, request.kernels, request.compilers, limit)
    cache = default_cache() if request.cache else NO_CACHE
    build = _build(request, config, table, limit, cache)
    macros = {} if limit.foreign else {one.language: one.baseline_macros for one in request.compilers}
    bugs = list(known_bugs(table.features.known_broken, build.compilers, macros, build.plan)) if macros else []
    build = replace(build, known_bugs={f"{build.compilers[one].name}: {bug.text}": levels for bug, one, levels in bugs})
    own_sources = [source for source in request.kernels if bugs and source not in request.generated]
    texts = {source: read_bytes(request.project_root / source).decode(errors="replace") for source in own_sources}
    warnings += bug_warnings(bugs, build.compilers, build.plan, texts)
    warnings += audit_warnings(build.link_audit, table.features.processor)
    fragment = _relative(request.output, request.build_root)
    answered = answer(
        build,
        warnings,
        folder=fragment,
        root=_relative(request.project_root, request.config.parent),
        precompiled=request.precompiled,
    )
    editor = _editor(request, table, build.plan)
    headers, sources = dispatch_texts(build, table)
    text = file_text(build)
    folder, plan_file = headers_folder(request.kernel_set), plan_name(request.kernel_set)
    tool_digest = write_tool(request.output / TOOL_FOLDER, sources, table.features.processor)
    write_scripts(build.link_audit, request.output, plan_file)
    replace_files(headers, request.output / folder)
    replace_files(compat_texts(config.compat, table), request.output / COMPAT_FOLDER)
    write_if_changed(request.output / plan_file, text)
    of_set = f" of {request.config_set}" if request.config_set else ""
    several_fragments = request.kernel_set != request.config_set
    place = f" in {_relative(request.config.parent, request.project_root)}" if several_fragments else ""
    values = {
        "digest": content_digest(text.encode() + tool_digest.encode()),
        **answered,
        "editor": editor,
        "section": f"isagen: kernels{of_set} by CPU level{place}",
        "plan": plan_file,
        "include_folders": [folder, *([COMPAT_FOLDER] if config.compat else [])],
        **audit_values(request, build.link_audit, fragment, plan_file),
        "python": own_python(),
    }
    return keyval_text(values), (request.config, *table.files)


def _editor(request: Request, table: Table, plan: Plan) -> list[str]:
    """Return the level of the Meson option isa_editor, then the flags to leave out of compile_commands.json.

    clangd refuses flags that only GCC knows.
    """
    word = request.editor.strip()
    if word.casefold() in ("", "none"):
        return []
    best = next((row.name for row in reversed(plan.levels) if row.verdict == BUILT), "")
    level = "" if word.casefold() == "best" else level_named(word, table, "Meson option isa_editor", "best", "none")
    optional = (flag for one in table.levels for flags in one.optional_flags.values() for flag in flags)
    return [level or best, *sorted({*optional, NO_UNIQUE, *VECTORISER})]


def _check(request: Request, config: Config) -> None:
    if config.withhold and request.module:
        raise ConfigError(
            "a whole module cannot use it: its level is selected by generated code alone",
            where=f"{config.shown}: withhold",
            remedy="remove it, or dispatch the kernels by stubs",
        )
    if request.config_set and not SET_NAME.fullmatch(request.config_set):
        raise ConfigError(
            f"{request.config_set!r} cannot name a set of kernels",
            where="isa_sets",
            remedy="use letters, digits and _, and start with a letter",
        )
    for source in request.kernels:
        if source not in request.generated and not os.path.isfile(os.path.join(request.project_root, source)):
            raise KernelError(
                f"there is no such kernel source in {request.project_root}",
                where=f"isa_kernels: {source}",
                remedy="name existing files with files(); for the output of a target or of configure_file(), write "
                f"isa_generated = {{'{source}': target}}",
            )


def _build(request: Request, config: Config, table: Table, limit: Limit, cache: Cache) -> Build:
    optimization = _optimization(request)
    if limit.opaque:
        verdicts = limited_verdicts(table, request.compilers, limit)
    else:
        verdicts = probe_all(table, request.compilers, cache)
    sealing = sealing_of(
        symbols_suffix(request.full_name, request.kernel_set),
        request.seal or bool(request.module),
        limit,
        # A copy that folds is not linked: its stubs call a lower level's copy. A whole module has no stubs.
        fold=config.fold and not request.module and optimization not in UNFOLDED_OPTIMIZATIONS,
    )
    plan = make_plan(
        config=config,
        table=table,
        kernels=request.kernels,
        generated=request.generated,
        kernel_set=request.kernel_set,
        other_kernels=request.other_kernels,
        module=request.module,
        option_levels=request.levels,
        verdicts=verdicts,
        source_root=_relative(request.project_root, request.build_root),
        copy_options=_copy_options(request, limit),
        sealed=sealing.active or limit.opaque,  # an opaque build has one level, which needs no seal
        baseline=() if limit.reason else baseline_features(table, request.compilers),
        native=native_levels(request, table, verdicts, limit),
    )
    check_required(plan, request.require, table, limit.reason)
    return Build(
        isagen=__version__,
        plan=plan,
        compilers={c.language: CompilerUse(c.id, c.version, c.name, c.command, c.args) for c in request.compilers},
        optimization=optimization,
        lto=request.lto or any(compiler.wants_lto for compiler in request.compilers),
        cpu_family=request.cpu_family,
        system=request.system,
        sealing=sealing,
        link_audit=find_audit(request, table.features.processor, limit),
        record=Record(
            project=request.full_name,
            isagen=__version__,
            table=plan.table,
            features=table.features.name,
            sealed=sealing.active,
            seal_reason=sealing.reason,
            baseline=baseline_features(table, request.compilers),
            levels={level.name: level.features for level in plan.levels if level.verdict == BUILT},
            allow=config.allow,
        ),
        limit=limit,
    )


def native_levels(
    request: Request, table: Table, verdicts: Mapping[tuple[str, str], Verdict], limit: Limit
) -> Mapping[str, tuple[str, ...]] | None:
    """Return the features that this machine's CPU or OS lacks, by level; None if isa_levels does not contain `native`.

    Raises `ConfigError` unless the build is for this machine's system and processor, or has only the lowest level.
    """
    if NATIVE not in map(str.casefold, level_words([request.levels])):
        return None
    if limit.reason:  # only the lowest level is built, whatever the machine has
        return {}
    target, here = (request.system, request.cpu_family), (platform.system().lower(), this_cpu_family())
    if target != here:
        raise ConfigError(
            f"{NATIVE} asks for the levels of this machine ({' '.join(here)}), and the build is for {' '.join(target)}",
            where=OPTION,
            remedy="name the levels that its CPU has",
        )
    machine = this_machine(table.features.name)
    cpu = ask_permissions(detect(table.features, machine), machine)
    turned_on: dict[str, tuple[str, ...]] = {}
    for (level, _), verdict in verdicts.items():
        turned_on[level] = (*turned_on.get(level, ()), *verdict.features)
    return missing_by_level(table, cpu, turned_on)


def _optimization(request: Request) -> str:
    compiler = next((one for one in request.compilers if one.language == "cpp"), request.compilers[0])
    options = request.optimization, compiler.args
    return " ".join((optimization_of(*options), *vectoriser(compiler.id, *options)))


def _relative(path: Path, start: Path) -> str:
    """Return `path` with slashes, relative to `start` unless they are on different drives."""
    try:
        return Path(os.path.relpath(path, start)).as_posix()
    except ValueError:
        return path.as_posix()


def _copy_options(request: Request, limit: Limit) -> CopyOptions:
    if limit.foreign:
        return CopyOptions("-I")
    folder = _relative(request.output, request.build_root)
    up = "../" * len(folder.split("/"))
    can_map = "=" not in folder and not posixpath.isabs(folder)
    flags: dict[str, tuple[str, ...]] = {}
    msvc = False
    for compiler in request.compilers:
        required = () if limit.opaque else required_args(compiler)
        if compiler.dialect == "msvc":
            msvc = True
            flags[compiler.language] = ("/GL-",)
        else:
            added = vectoriser(compiler.id, request.optimization, compiler.args)
            flags[compiler.language] = compiler.spelled(("-fno-lto", *required, *added))
            if compiler.language == "fortran":
                flags["fortran"] += ("-Wno-missing-include-dirs",)  # folders of generated kernels may not exist
                continue
            if compiler.language == "cpp" and compiler.id == "gcc":
                flags["cpp"] += (NO_UNIQUE,)
            # Most copies include their sources by paths like isagen/../../k.cpp. In `__FILE__` and debug information,
            # this option turns them into ../k.cpp, from the build folder's root, as for other sources.
            if can_map and compiler_family(compiler.id) in ("gcc", "clang"):
                flags[compiler.language] += compiler.spelled([f"-ffile-prefix-map={folder}/{up}="])
    return CopyOptions("/I" if msvc else "".join(request.compilers[-1].spelled(["-iquote"])), flags)
