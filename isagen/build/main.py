"""The command line of the build steps; the copied tool's only entry point."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from ..model.errors import IsagenError, reported
from .done import is_done, note_done


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one build step and return the exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        if arguments[:1] == ["link"]:  # the linker's own arguments follow, and may look like a step's
            return _link(arguments[1:])
        _run(_parser().parse_args(arguments), arguments)
    except (IsagenError, OSError) as problem:
        error = reported(problem)
        print(f"isagen: error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="isagen step", allow_abbrev=False)
    steps = parser.add_subparsers(dest="step", required=True)
    step = steps.add_parser("emit", help="write copies")
    step.add_argument("plan", type=Path)
    step.add_argument("folder", type=Path)
    step.add_argument("--generated", nargs="*", default=[], help="all kernel sources, where some are generated")
    step = steps.add_parser("seal", help="seal the objects of all levels, and list what they register")
    step.add_argument("plan", type=Path)
    step.add_argument("folder", type=Path)
    step.add_argument("--objects", type=Path, nargs="+", help="the levels' objects; by default, where Meson puts them")
    step = steps.add_parser("stubs", help="write the dispatch source")
    step.add_argument("plan", type=Path)
    step.add_argument("output", type=Path)
    step.add_argument("--registrations", type=Path, nargs="+", default=[])
    step = steps.add_parser("used", help="warn where no target takes the kernels; Meson calls it after configuring")
    step.add_argument("source", type=Path)
    return parser


def _run(options: argparse.Namespace, words: Sequence[str]) -> None:
    """Run one step. Ninja starts a process for each, so each imports only what it needs."""
    if options.step == "emit":
        record = options.folder / f".{options.plan.stem}.emitted"
        if not is_done(record, words):
            from .emit import emit

            note_done(record, words, options.plan, emit(options.plan, options.folder, options.generated))
    elif options.step == "seal":
        record = options.folder / f".{options.plan.stem}.sealed"
        if not is_done(record, words):
            from .seal import seal

            note_done(record, words, options.plan, seal(options.plan, options.folder, options.objects))
    elif options.step == "used":
        from .used import WARNING, is_used

        if not is_used(options.source, Path(os.environ["MESON_BUILD_ROOT"])):
            print(WARNING, file=sys.stderr)
    else:
        from .stubs import write_dispatch_source

        write_dispatch_source(options.plan, options.registrations, options.output)


def _link(arguments: Sequence[str]) -> int:
    from .link import link  # the audit is loaded only where it is needed

    plan, mode, name, *rest = arguments
    return link(Path(plan), mode, name, rest)
