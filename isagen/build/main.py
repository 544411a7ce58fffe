"""The command line of the build steps: the only entry point of the copy of isagen in a build folder.

Each step runs in a process of its own, so it imports only what it needs. The Meson fragment writes the arguments, but
those of `link` are in the scripts that `configure.linker_scripts` writes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from ..model.errors import BuildError, IsagenError, reported


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one build step and return the exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        step = STEPS.get(words[0]) if words else None
        if step is None:
            raise BuildError(f"there is no such step: {' '.join(words[:1])}", where="isa_tool")
        return step(words)
    except (IsagenError, OSError) as problem:
        error = reported(problem)
        print(f"isagen: error: {error}", file=sys.stderr)
        return error.exit_code


def _emit(words: Sequence[str]) -> int:
    """``emit PLAN FOLDER [--generated SOURCE...]``: write the dispatch sources and the copies of kernel sources."""
    from .emit import emit

    _, plan, folder, *generated = words
    emit(Path(plan), folder, generated[1:])
    return 0


def _seal(words: Sequence[str]) -> int:
    """``seal PLAN FOLDER``: seal the objects of all levels, which Meson compiled."""
    from .last_run import LastRun

    _, plan, folder = words
    name = os.path.basename(plan).removesuffix(".json")
    last_run = LastRun(os.path.join(folder, f".{name}.sealed"))
    if last_run.changed == set():
        last_run.refresh()
    else:
        from .seal import seal

        seal(plan, folder, last_run)
    return 0


def _configured(words: Sequence[str]) -> int:
    """``configured PLAN SOURCE [LEVEL WORD...]``: warn about the project's targets, and add entries for editors.

    Meson calls this step after configuring. SOURCE is the dispatch source. If LEVEL is given, each kernel source
    that is neither generated nor Fortran gets an entry in compile_commands.json. The entry contains the command of the
    source's copy at LEVEL, or else at the nearest level with a copy. Each WORD is removed from the command.
    """
    from ..model.ninja import NinjaFile
    from ..model.plan_file import outputs_folder, read_plan
    from .configured import COMPILED_TWICE, NOT_AUDITED, WARNING, add_entries, is_used, unaudited

    root = os.environ["MESON_BUILD_ROOT"]
    outputs, build = outputs_folder(Path(words[1]).parent), read_plan(words[1])
    ninja = NinjaFile(Path(root))
    if not is_used(outputs / words[2], ninja):
        kernel_set = build.plan.kernel_set
        dependency = f"isa_kernels_deps['{kernel_set}']" if kernel_set else "isa_kernels_dep"
        print(WARNING.format(dependency=dependency), file=sys.stderr)
    for file in unaudited(build, outputs, ninja):
        print(NOT_AUDITED.format(file=file), file=sys.stderr)
    if len(words) > 3:
        for path in add_entries(root, build.plan, outputs, words[3], words[4:]):
            source = os.path.relpath(os.path.join(root, path), os.environ["MESON_SOURCE_ROOT"])
            print(COMPILED_TWICE.format(source=source), file=sys.stderr)
    return 0


def _link(words: Sequence[str]) -> int:
    """``link PLAN MODE LINKER ARGUMENT...``: call the linker and audit its output."""
    from .linker_process import Linking

    _, plan, mode, linker, *arguments = words
    linking = Linking(linker, arguments)
    try:
        from .link import finish

        return finish(linking, plan, mode)
    except BaseException:
        linking.discard()
        raise


def _audit(words: Sequence[str]) -> int:
    """``audit MODE STAMP FILE...``: audit the linked files of a target."""
    from .linked import audit_targets

    _, mode, stamp, *files = words
    return audit_targets(mode, stamp, files)


STEPS = {"emit": _emit, "seal": _seal, "configured": _configured, "link": _link, "audit": _audit}
