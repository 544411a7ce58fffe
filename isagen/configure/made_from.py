"""What an answer to the fragment was made from: all that must be the same for it to be the answer again.

Who lets configuring read something more adds it here; a test lists all files that are read.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..model.names import TOOL_FOLDER, headers_folder, plan_name
from ..model.plan import Build
from ..probe.cache import Cache
from ..probe.compiler import RUNS, Compiler
from ..rendering import template_folder
from .again import PACKAGE
from .compat import COMPAT_FOLDER
from .limits import Chosen
from .linkers import linker_names
from .request import Request
from .tool import SUFFIXES, own_python, tool_copies, tool_files

EVERY = ("",)  # the ending of all names
# Questions that compilers are asked at the same time.
MOST = 32
# A run of a compiler: its words, the ending of an empty source that follows them or "", and the digest of its answer.
Question = tuple[tuple[str, ...], str, str]


@dataclass(frozen=True)
class MadeFrom:
    """What an answer was made from, besides the call itself.

    All `files` are there; `folders` may be missing. Of the `kernels` no more matters than that they are files. `trees`
    are folders with the endings of the names of those files in them that matter, and `modules` those that Python must
    find in the same place. `outputs` and `left` are the files and the trees that configuring left, and `copies` those
    that are copies of the same file in each build.
    """

    files: frozenset[str]
    folders: frozenset[str]
    trees: Mapping[str, tuple[str, ...]]
    kernels: tuple[str, ...]
    modules: tuple[str, ...]
    questions: tuple[Question, ...]
    outputs: frozenset[str]
    left: Mapping[str, tuple[str, ...]]
    copies: Mapping[str, str]


def made_from(
    request: Request,
    chosen: Chosen,
    build: Build,
    headers: Iterable[str],
    texts: Iterable[str],
    scripts: Iterable[str],
    tools: Cache,
) -> MadeFrom | None:
    """Return what a build was made from; None where it is unusual, so that each configuring finds everything out.

    `headers` are those that the kept verdicts depend on, `texts` the names of the sources in the tool's folder,
    `scripts` the paths of the scripts in the linkers' places, and `tools` holds bundles.
    """
    processor = chosen.table.features.processor
    place = processor.decoder_folder() if processor.decoder_folder is not None else None
    questions = _questions()
    if build.limit.reason or place is None or processor.decoder_parts is None or questions is None:
        return None
    tool, include = request.output / TOOL_FOLDER, request.output / headers_folder(request.kernel_set)
    compat = request.output / COMPAT_FOLDER
    return MadeFrom(
        files=frozenset(
            [
                *map(os.fspath, (request.config, *chosen.files)),
                *headers,
                own_python(),
                *_programs(request.compilers, build.link_audit.linkers.values()),
                *(os.path.join(place, name) for name in processor.decoder_parts()),
            ]
        ),
        folders=frozenset([os.fspath(place), *os.get_exec_path()]),
        trees={PACKAGE: EVERY, os.fspath(template_folder()): EVERY},
        kernels=tuple(
            os.path.join(request.source_root, one) for one in request.kernels if one not in request.generated
        ),
        modules=(place.name,),
        questions=questions,
        outputs=frozenset(
            [os.fspath(request.output / plan_name(request.kernel_set)), *tool_files(tool, texts), *scripts]
        ),
        left={os.fspath(tool): SUFFIXES, os.fspath(include): EVERY, os.fspath(compat): EVERY},
        copies=dict(tool_copies(tool, processor, tools)),
    )


def _questions() -> tuple[Question, ...] | None:
    """Return what the next configuring asks compilers too; None where it compiles, or asks more than `MOST`.

    Most verdicts of compilations are kept. Those of compilations that failed are not, so that each configuring tries.
    """
    found: dict[tuple[tuple[str, ...], str], str] = {}
    for run in RUNS:
        if run.answer is None or found.setdefault((run.words, run.source), run.answer) != run.answer:
            return None
    return tuple((*question, answer) for question, answer in found.items()) if len(found) <= MOST else None


def _programs(compilers: Sequence[Compiler], linkers: Iterable[str]) -> Iterator[str]:
    """Yield the compilers, their tools and the linkers, and what has the name of a linker in the folders of PATH."""
    for compiler in compilers:
        words = [*compiler.command, *filter(None, (compiler.program("as"), compiler.program("ld")))]
        yield from filter(None, map(shutil.which, words))
    yield from linkers
    names = linker_names()
    for folder in os.get_exec_path():
        yield from filter(os.path.isfile, (os.path.join(folder, name) for name in names))
