"""Compiled objects by what an earlier run of the step read in them, so that it reads those that changed.

What is private to a level, what folds, and what is registered follow from the objects of all levels. What one object
answers follows from that object alone: it is kept, and valid while the object, the plan and isagen stay as they are. An
object with other times is read, to see whether it is another.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from ..binary.formats import load_object
from ..binary.protocol import Binding, Held, Kind, ObjectFile
from ..model.digests import blake2b
from ..model.kept import State, read_kept, write_kept
from .addresses import is_variable

Answers = dict[str, Any]

FORMAT = 2  # raise it when an answer has another form
LONG = 100  # characters of a question, of which the digest is kept
ROOM = 24 << 20  # bytes of objects that are in memory at a time: with what is read in them, they take five times that


class KnownSymbol(NamedTuple):
    """A global symbol (`binary.protocol.NamedSymbol`), whether it is the level's own, its value, and what it holds."""

    name: str
    kind: Kind
    binding: Binding
    size: int
    constant: bool
    defined: bool
    code: bool
    private: bool
    value: str
    held: tuple[tuple[str, ...], tuple[str, ...]]


NOTHING: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())


class Loaded:
    """Objects in memory: those that were loaded last."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[ObjectFile, int]] = {}
        self._size = 0

    def of(self, path: str, size: int) -> ObjectFile:
        """Return the object at a path, whose size is given."""
        if path not in self._files:
            while self._files and self._size + size > ROOM:
                _, gone = self._files.pop(next(iter(self._files)))
                self._size -= gone
            self._files[path] = load_object(path), size
            self._size += size
        return self._files[path][0]


class KnownObject:
    """A compiled object (`binary.protocol.ObjectFile`) by its answers; it is loaded where a question is new.

    `content` is a digest of it.
    """

    format = ""

    def __init__(self, path: str, state: State, answers: Answers | None, loaded: Loaded) -> None:
        self.path = path
        self.state = state
        self._loaded = loaded
        known = answers is not None and answers["state"] == state
        self.content = answers["content"] if answers is not None and known else _digest_of(path)
        self._kept = answers if answers is not None and answers["content"] == self.content else self._first()
        self.is_new = not known
        self._said: Answers = {}  # in this run, to questions that depend on other objects
        self.symbols: Sequence[KnownSymbol] = list(map(KnownSymbol._make, self._kept["symbols"]))
        self.names = frozenset(symbol.name for symbol in self.symbols)

    @property
    def file(self) -> ObjectFile:
        """The object itself."""
        return self._loaded.of(self.path, self.state[0])

    @property
    def answers(self) -> Answers:
        """What to keep: the answers that this run asked for."""
        first = {key: self._kept[key] for key in ("symbols", "sets", "initialised", "runs")}
        return {"state": self.state, "content": self.content, **first, **self._said}

    def _first(self) -> Answers:
        """Return the answers that every run asks for."""
        file = self.file
        private = {symbol.name for symbol in file.private_symbols}
        symbols = []
        for one in file.symbols:
            held = NOTHING
            if one.defined and not one.code:
                found = file.held(one)
                held = (found.code, found.names)
            own = one.defined and one.name in private
            value = file.value(one) if one.defined and is_variable(one) else ""
            known = one.name, int(one.kind), int(one.binding), one.size, one.constant, one.defined, one.code, own, value
            symbols.append((*known, held))
        sets = {name: (held.code, held.names) for name, held in file.held_by_sets().items()}
        return {
            "symbols": tuple(symbols),
            "sets": sets,
            "initialised": tuple(file.initialised),
            "runs": file.runs_at_load,
        }

    def _answer(self, question: str, ask: Callable[[], Any]) -> Any:
        """Return the answer to a question: of this run, or kept, or a new one."""
        if question not in self._said:
            if question in self._kept:
                self._said[question] = self._kept[question]
            else:
                self._said[question] = ask()
                self.is_new = True
        return self._said[question]

    def _about(self, names: Collection[str]) -> str:
        """Return those of the `names` that the object has, as a part of a question."""
        text = "\0".join(sorted(self.names.intersection(names)))
        if len(text) > LONG:
            return blake2b(text.encode(errors="surrogateescape"), digest_size=16).hexdigest()
        return text

    @property
    def private_symbols(self) -> Sequence[KnownSymbol]:
        """The symbols that belong to the object's level alone, of those that a linker would merge across levels."""
        return [symbol for symbol in self.symbols if symbol.private]

    def held(self, symbol: KnownSymbol) -> Held:
        """Return the addresses that the data of one of `symbols` holds."""
        return Held(*symbol.held)

    def value(self, symbol: KnownSymbol) -> str:
        """Return the size and the initial value of a variable that linkers merge across objects."""
        return symbol.value

    @property
    def runs_at_load(self) -> bool:
        """Whether the loader runs any of its code."""
        return bool(self._kept["runs"])

    @property
    def initialised(self) -> frozenset[str]:
        """The names of variables that code initialises, and of their guards."""
        return frozenset(self._kept["initialised"])

    def held_by_sets(self) -> Mapping[str, Held]:
        """Return the addresses in each section that any object of a program can find by the section's name."""
        return {name: Held(*held) for name, held in self._kept["sets"].items()}

    @property
    def loaded_bytes(self) -> int:
        """How many of its bytes a program loads."""
        return self.file.loaded_bytes

    def code(self) -> Sequence[bytes]:
        """Return the bytes of each section of code."""
        return self.file.code()

    def digest(self, mark: str = "", names: Collection[str] | None = None) -> str:
        """Return a text that two objects share if their code, data and relocations are equal, names aside."""
        about = "all" if names is None else f"of {self._about(names)}"
        found: str = self._answer(f"digest {mark} {about}", lambda: self.file.digest(mark, names))
        return found

    def holds_more(self, shared: Collection[str]) -> bool:
        """Return whether it holds more than code and constants; `shared` names data of all levels."""
        unnamed = "" in shared
        found: bool = self._answer(f"more {unnamed} {self._about(shared)}", lambda: self.file.holds_more(shared))
        return found

    def fingerprint(self, symbol: KnownSymbol) -> str:
        """Return a text that definitions of one of `symbols` share if they are made of the same."""

        def ask() -> str:
            file = self.file
            return file.fingerprint(file.symbols[next(n for n, one in enumerate(self.symbols) if one is symbol)])

        found: str = self._answer(f"fingerprint {symbol.name}", ask)
        return found

    @property
    def addressed(self) -> frozenset[str]:
        """The global names that it refers to in another way than by a call, as far as that can be told."""
        return frozenset(self._answer("addressed", lambda: tuple(self.file.addressed)))

    def measured(self, mark: str, ask: Callable[[ObjectFile], str]) -> str:
        """Return the text that `ask` makes of the code of the object, whose symbols with a `mark` register kernels."""
        found: str = self._answer(f"measured {mark}", lambda: ask(self.file))
        return found


class KnownObjects:
    """The objects of one level, and the file that keeps what they answered; `key` changes with the plan and isagen."""

    def __init__(self, kept: str, key: str, loaded: Loaded) -> None:
        self._path = kept
        self._key = key
        self._loaded = loaded
        self._files: list[KnownObject] = []
        data = read_kept(kept)
        valid = isinstance(data, dict) and data.get("format") == FORMAT and data.get("key") == key
        self._answers: Mapping[str, Answers] = data["objects"] if valid else {}

    def load(self, paths: Collection[str], states: Mapping[str, State]) -> Sequence[KnownObject]:
        """Return the objects at the paths, which are in these `states`."""
        for path in paths:
            self._files.append(KnownObject(path, states[path], self._answers.get(path), self._loaded))
        return self._files

    def keep(self) -> None:
        """Keep the answers, where there are new ones, for the next run; without room on the disk, that asks again."""
        found = {file.path: file for file in self._files}
        if found.keys() == self._answers.keys() and not any(file.is_new for file in self._files):
            return
        objects = {path: file.answers for path, file in found.items()}
        write_kept(self._path, {"format": FORMAT, "key": self._key, "objects": objects})


def _digest_of(path: str) -> bytes:
    """Return a digest of a file: compiling a kernel again may give the same object."""
    try:
        with open(path, "rb") as stream:
            return blake2b(stream.read(), digest_size=16).digest()
    except OSError:
        return b""  # loading it says why


def kept_path(registrations: str) -> str:
    """Return where the answers of a level's objects are kept: beside what they register."""
    folder, name = os.path.split(registrations)
    return os.path.join(folder, f".{name.removesuffix('.json')}.known")
