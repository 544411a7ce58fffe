"""`isagen configure`: answers the fragment, with the last answer where all that it was made from is as it was.

Most configurings of a build folder change nothing that isagen reads. To find that out takes less time than to load what
configures, so this imports little. The record of an answer lies beside the plan; `made_from` says what is in it. The
user's cache has a second record, which holds the files too, for a build folder that is removed and made again.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import find_spec  # `python -m` has loaded it
from typing import TYPE_CHECKING, Any

from ..model.digests import digest_of, digest_of_lines
from ..model.files import write_if_changed
from ..model.kept import State, read_kept, state_of, write_kept
from ..model.names import TOOL_FOLDER, plan_name
from .put_back import keep_longer, place_of, put_back

if TYPE_CHECKING:
    from .made_from import MadeFrom, Question

PACKAGE = os.path.dirname(os.path.dirname(__file__))
# What shells change from one command to the next.
UNSTEADY = frozenset(("_", "PWD", "OLDPWD", "SHLVL"))
BYTECODE = "__pycache__"


def answer_fragment(words: Iterable[str]) -> int:
    """Write the answer to the fragment, whose arguments are `words`, to the standard output."""
    sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")  # type: ignore[union-attr]
    words = list(words)
    last = LastAnswer(words)
    text = last.again()
    if text is None:
        from .fragment import found_answer  # loads all that configures

        text = found_answer(words, last)
    sys.stdout.write(text)
    return 0


class LastAnswer:
    """The record of the last answer to a fragment that calls with `words`."""

    def __init__(self, words: Sequence[str]) -> None:
        values: dict[str, str] = {}
        for word in words:
            name, _, values[name] = word.partition("=")
        self._words = list(words)
        self._depfile = values.get("--depfile", "")
        self._begun: int | None = None
        self._path = self._tool = ""
        folder = values.get("--output")
        # Compilers are started as POSIX does.
        if folder and values.get("--probe-cache") == "true" and hasattr(os, "posix_spawnp"):
            name = plan_name(values.get("--label", "")).removesuffix(".json")
            self._path = os.path.join(folder, f".{name}.answer")
            self._tool = os.path.join(folder, TOOL_FOLDER)

    def again(self) -> str | None:
        """Return the last answer, and leave its depfile; None where configuring may find another one."""
        is_left: Callable[[dict[str, Any]], bool] = _is_left
        kept = read_kept(self._path) if self._path else None
        if self._path and kept is None:
            is_left, kept = self._put_back, read_kept(place_of(self._path))
        try:
            if kept is not None and kept["call"] == self._call() and self._holds(kept) and is_left(kept):
                write_if_changed(self._depfile, kept["depfile"])
                return str(kept["text"])
        except (OSError, ValueError, TypeError, KeyError):  # nobody may read a file, or the record has another form
            pass
        self._begin()
        return None

    def _put_back(self, kept: dict[str, Any]) -> bool:
        """Write what configuring left, and the record of it; return whether nothing else is there."""
        contents, copies = kept.pop("contents"), kept.pop("copies")
        outputs = {*contents, *copies}
        if not outputs.issuperset(_files_in(kept["left"])) or not put_back(contents, copies):
            return False
        self._write(kept, outputs)
        os.utime(place_of(self._path))
        return True

    def _begin(self) -> None:
        """Empty the record, which tells the time: what changes from now on may have been read before it changed."""
        try:
            handle = os.open(self._path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o666)
            try:
                os.write(handle, b"\n")
                self._begun = os.fstat(handle).st_ctime_ns
            finally:
                os.close(handle)
        except OSError:
            pass

    def forget(self) -> None:
        """Leave no record, so that the next configuring finds everything out."""
        self._begun = None
        for path in (self._path, place_of(self._path)) if self._path else ():
            try:  # noqa: SIM105  as in model.files
                os.unlink(path)
            except OSError:
                pass

    def keep(self, text: str, depfile: str, made_from: MadeFrom | None) -> None:
        """Record an answer, where it is known what it was made from, and nothing of that changed meanwhile."""
        try:
            record = self._record(made_from, self._begun) if made_from is not None and self._begun is not None else None
            if made_from is None or record is None:
                self.forget()
                return
            same = {"call": self._call(), "text": text, "depfile": depfile, **record}
            outputs = {*made_from.outputs, *self._sources(made_from.questions), *_files_in(made_from.left)}
            self._write(same, outputs)
        except OSError:  # a file is gone
            self.forget()
        else:
            keep_longer(place_of(self._path), same, outputs, made_from.copies)

    def _write(self, same: Mapping[str, Any], outputs: Iterable[str]) -> None:
        """Write the record of the build folder: what is the `same` in all records, and the states of the outputs."""
        write_kept(self._path, {**same, "outputs": {path: state_of(path) for path in outputs}})

    def _record(self, made_from: MadeFrom, begun: int) -> dict[str, Any] | None:
        read = {path: state_of(path) for path in made_from.files}
        folders = {path: _state(path) for path in made_from.folders}
        trees, places = {}, dict(folders)
        for folder, endings in made_from.trees.items():
            trees[folder] = (endings, _tree(folder, endings, places))
        found = [*read.values(), *places.values(), *(state for _, tree in trees.values() for state in tree.values())]
        if any(state is not None and state[2] >= begun for state in found):
            return None
        return {
            "states": read,
            "folders": folders,
            "trees": trees,
            "kernels": list(made_from.kernels),
            "modules": {name: _file_of(name) for name in made_from.modules},
            "questions": list(made_from.questions),
            "left": dict(made_from.left),
        }

    def _sources(self, questions: Iterable[Question]) -> set[str]:
        """Write the sources that questions need; return their paths."""
        sources = {self._empty(ending) for _, ending, _ in questions if ending}
        for path in sources:
            write_if_changed(path, b"")
        return sources

    def _empty(self, ending: str) -> str:
        """Return the path of the empty source of a language, whose macros compilers list."""
        return os.path.join(self._tool, f"empty{ending}")

    def _call(self) -> list[Any]:
        """Return what the call itself says: the words, and who asks where; and how the build folder is mounted.

        Scripts cannot take the places of linkers where nothing may be run.
        """
        environment = repr(sorted(item for item in os.environ.items() if item[0] not in UNSTEADY))
        mount = os.statvfs(os.path.dirname(self._path)).f_flag
        # The digest alone is written: environments hold secrets.
        return [self._words, digest_of(environment.encode()), os.getcwd(), sys.executable, PACKAGE, mount]

    def _holds(self, kept: Mapping[str, Any]) -> bool:
        """Return whether compilers answer as they did, and the files that they and isagen read are the same."""
        environment = {**os.environ, "LC_ALL": "C", "LANGUAGE": ""}
        # Those with a source take longest.
        questions = sorted(kept["questions"], key=lambda question: not question[1])
        asked: list[tuple[int, int]] = []
        self._sources(questions)
        try:
            for words, ending, _ in questions:
                asked.append(_ask([*words, *([self._empty(ending)] if ending else [])], environment))
            return _are_there(kept) and all(
                _answer(*one) == answer for one, (_, _, answer) in zip(asked, questions, strict=True)
            )
        finally:
            for _, stream in asked:
                os.close(stream)


def _is_left(kept: Mapping[str, Any]) -> bool:
    """Return whether what configuring left is as it was, and nothing else there."""
    outputs = kept["outputs"]
    return all(state_of(path) == state for path, state in outputs.items()) and outputs.keys() >= _files_in(kept["left"])


def _files_in(left: Mapping[str, tuple[str, ...]]) -> set[str]:
    """Return the files in folders whose names end so."""
    return {path for folder, endings in left.items() for path in _tree(folder, endings, {})}


def _are_there(kept: Mapping[str, Any]) -> bool:
    """Return whether all files and folders that configuring read are as they were."""
    return (
        all(state_of(path) == state for path, state in kept["states"].items())
        and all(_state(path) == state for path, state in kept["folders"].items())
        and all(_tree(folder, endings, {}) == tree for folder, (endings, tree) in kept["trees"].items())
        and all(map(os.path.isfile, kept["kernels"]))
        and all(_file_of(name) == file for name, file in kept["modules"].items())
    )


def _state(path: str) -> State | None:
    try:
        return state_of(path)
    except OSError:
        return None


def _tree(folder: str, endings: tuple[str, ...], places: dict[str, State | None]) -> dict[str, State]:
    """Return the states of the files below a folder whose names end so; bytecode that Python keeps does not count.

    The folders that were read are added to `places`. A folder that is missing holds nothing.
    """
    found = {}
    queue = [folder] if os.path.isdir(folder) else []
    for place in queue:
        places[place] = _state(place)
        with os.scandir(place) as entries:
            for entry in entries:
                if entry.is_dir():
                    if entry.name != BYTECODE:
                        queue.append(entry.path)
                elif entry.name.endswith(endings):
                    found[entry.path] = state_of(entry.path)
    return found


def _file_of(module: str) -> str | None:
    """Return the file that an import of a module would load."""
    spec = find_spec(module)
    return spec.origin if spec is not None else None


def _ask(words: list[str], environment: Mapping[str, str]) -> tuple[int, int]:
    """Start a compiler; return its process, and where its answer is read. `subprocess` would take long to load."""
    reading, writing = os.pipe()
    streams = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, writing, 1),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
    ]
    try:
        return os.posix_spawnp(words[0], words, environment, file_actions=streams), reading
    except OSError:
        os.close(reading)
        raise
    finally:
        os.close(writing)


def _answer(process: int, stream: int) -> str:
    """Return the digest of a compiler's answer; nothing where it fails."""
    said = b""
    while part := os.read(stream, 1 << 16):
        said += part
    return digest_of_lines(said) if os.waitpid(process, 0)[1] == 0 else ""
