"""`isagen audit`: reports instructions in compiled code that a CPU may lack and that no check at run time covers.

It also reports other ways for a level's code to run without a check of the CPU, such as calls that go past a stub.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Collection
from pathlib import Path

from ..audit.allowances import read_allow_files, unused, without_allowed
from ..audit.data import as_data
from ..audit.findings import KINDS, fails
from ..audit.records import Baseline, Baselines
from ..audit.report import summary_text, text_of
from ..audit.targets import audit_each, require_audited
from ..model.errors import AuditError, did_you_mean
from ..processors.registry import PROCESSORS
from ..processors.table import load_table
from .output import flush, standard_output, wrapped
from .parser import Commands
from .progress import Progress

ALL, NONE, DEFAULT = "all", "none", "default"
STATUS = "exit status: 0 without findings of the kinds of --fail-on, 1 with some, 2 where a file cannot be read"


def add(commands: Commands) -> None:
    """Add the command's parser."""
    column = max(map(len, KINDS)) + 2
    kinds = (f"  {kind:{column}}{meaning}" for kind, (meaning, _) in KINDS.items())
    parser = commands.add_parser(
        "audit",
        help="report instructions that are not checked at run time",
        description="Decode compiled code and report instructions that a CPU may lack and no check at run time covers.",
        epilog="\n".join(("kinds of findings:", *kinds, "", STATUS)),
    )
    parser.add_argument(
        "targets",
        type=Path,
        nargs="+",
        metavar="TARGET",
        help="a build folder, an object, a library, a program, a wheel, or a folder of them",
    )
    parser.add_argument(
        "--baseline",
        metavar="LEVEL",
        help="the oldest CPU that runs the code outside levels: X86_64_V2, ARMV8_2_A, ...; default: the baseline "
        "in the file's record, or else the lowest level of its processor",
    )
    parser.add_argument(
        "--fail-on",
        metavar="KIND,...",
        default=DEFAULT,
        help=f"the kinds of findings, listed below, that make the exit status 1, or {ALL}, {NONE} or {DEFAULT}; others "
        f"are only reported. {DEFAULT}: all but unproven and split for files that isagen built, load for other files",
    )
    parser.add_argument(
        "--allow",
        type=Path,
        action="append",
        default=[],
        metavar="FILE.toml",
        help="a file of allowances: findings that are known to be no fault, with their reasons; repeatable",
    )
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--all", action="store_true", help="show every finding and whole chains of calls")
    shown.add_argument("--summary", action="store_true", help="show only a line for each wheel, folder or file")
    parser.add_argument("--list-counted", action="store_true", help="name the functions that are not judged")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="how the answer is written")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    fail_on = kinds_of(options.fail_on)
    entries = read_allow_files(options.allow)
    standard_output()  # from here on, stdout escapes letters that it cannot encode
    with Progress() as line:
        audits = audit_each(options.targets, _baselines(options.baseline), line.show)
        results = [without_allowed(result, entries) for result in audits]
    require_audited(options.targets, results)
    if options.format == "json":
        data = as_data(results, fail_on, entries, brief=options.summary, counted=options.list_counted)
        flush(json.dumps(data, separators=(",", ":")) + "\n")
    else:
        for result in () if options.summary else results:
            flush(_shown(text_of(result, every=options.all, counted=options.list_counted)))
        if options.summary or len(results) > 1:
            flush(_shown(summary_text(results, fail_on)))
        flush("".join(f"{sentence}\n" for sentence in unused(entries, results)))
    problems = [result.problem for result in results if result.problem]
    for problem in problems:
        print(f"isagen: error: {problem}", file=sys.stderr)
    return AuditError.exit_code if problems else int(any(fails(result, fail_on) for result in results))


def _shown(text: str) -> str:
    return wrapped(text.split("\n")[:-1], indent=" " * 6)


def kinds_of(text: str) -> Collection[str] | None:
    """Return the kinds of findings that --fail-on names; None for the default. Raises `AuditError` for a wrong word."""
    words = text.lower().replace(",", " ").split()
    if words in ([DEFAULT], [NONE]):
        return None if words == [DEFAULT] else frozenset()
    for word in words or [text]:
        if word in (NONE, DEFAULT):
            raise AuditError(f"{word!r} stands alone", where="--fail-on", remedy="remove it, or the other words")
        if word not in (*KINDS, ALL):
            message = f"there is no kind of finding {word!r}"
            raise AuditError(message, where="--fail-on", remedy=did_you_mean(word, (*KINDS, ALL, NONE, DEFAULT)))
    return frozenset(KINDS) if ALL in words else frozenset(words)


def _baselines(option: str | None) -> Baselines:
    """Return each processor's baseline: its level `option`, or its lowest. Raises `AuditError` for an unknown level."""
    tables = [load_table(name, Path.cwd(), "--baseline") for name in (p.baseline_table for p in PROCESSORS) if name]
    wanted = re.sub("[-.]", "_", (option or "").upper())
    names = [name for table in tables for name in table.names()]
    if option is not None and wanted not in names:
        raise AuditError(f"there is no level {option!r}", where="--baseline", remedy=did_you_mean(option, names))
    baselines = {}
    for table in tables:
        name = wanted if wanted in table.names() else table.lowest.name
        baselines[table.features.name] = Baseline(name, table.required_features(name), everywhere=name == wanted)
    return baselines
