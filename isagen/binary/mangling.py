"""ABI tags in the mangled names of C++ functions: `_ZN1a1fEv` tagged AVX2 is `_ZN1a1fB4AVX2Ev`, `a::f[abi:AVX2]()`.

Demanglers show a tag behind the function's name, and debuggers find the function without it. The grammar is that of the
Itanium C++ ABI, "Mangling". Names that use more of it than is read here (expressions, mostly) are left without a tag.
"""

from __future__ import annotations

from functools import lru_cache

DIGITS = frozenset("0123456789")
OF_SEQUENCES = DIGITS | frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
BUILTIN = frozenset("vwbcahstijlmxynofdegz")
BUILTIN_OF_TWO = frozenset("defhisuacn")  # after a D
QUALIFIERS = frozenset("rVKPROCG")
STANDARD = frozenset("absiod")  # after an S: std::allocator, std::string, ...
# By their first letters; without conversions, whose types a tag might belong to.
OPERATORS = {
    "a": "NSadnw",
    "c": "lmo",
    "d": "Vaelv",
    "e": "Ooq",
    "g": "et",
    "i": "x",
    "l": "Sest",
    "m": "ILilm",
    "n": "aegtw",
    "o": "Ror",
    "p": "Llmpst",
    "r": "MSms",
    "s": "s",
}


class _UnreadError(Exception):
    """The name uses more of the grammar than is read here."""


@lru_cache(maxsize=1 << 14)
def place_of_tag(name: str) -> int:
    """Return where a mangled function's name ends, without its template's arguments; -1 if that is not known."""
    if not name.startswith("_Z"):
        return -1
    reader = _Reader(name, 2)
    try:
        place = reader.name()
    except (_UnreadError, IndexError, RecursionError):
        return -1
    return place if reader.at < len(name) else -1  # variables have no types behind the name


def tagged(name: str, tag: str) -> str:
    """Return the name with an ABI tag, or as it is where it is not one of a C++ function that can be read."""
    core, dot, rest = name.partition(".")
    place = place_of_tag(core)
    return name if place < 0 else f"{core[:place]}B{len(tag)}{tag}{core[place:]}{dot}{rest}"


def untagged(name: str, tag: str) -> str:
    """Return what `tagged` was called with."""
    core = name.partition(".")[0]
    place = place_of_tag(core)
    text = f"B{len(tag)}{tag}"
    return name[: place - len(text)] + name[place:] if place >= 0 and core[:place].endswith(text) else name


def is_type(name: str) -> bool:
    """Return whether a symbol is the type information of a class."""
    return name.startswith("_ZTI")


def is_vtable(name: str) -> bool:
    """Return whether a symbol is the table of virtual functions of a class."""
    return name.startswith("_ZTV")


def is_standard(name: str) -> bool:
    """Return whether the type information or table of a class is of the C++ library, or of its ABI."""
    return name[4:].startswith(("St", "NSt", "Sa", "Ss", "Si", "So", "Sd", "N10__cxxabiv1"))


def is_destructor(name: str) -> bool:
    """Return whether a function destroys a variable: code whose address no source can take, only a compiler.

    ``__tcf_0`` and ``__cxx_global_array_dtor`` are those of GCC and Clang for arrays.
    """
    core = name.partition(".")[0]
    of_class = core.startswith("_ZN") and core.endswith(("D0Ev", "D1Ev", "D2Ev"))
    return of_class or core.startswith(("__tcf_", "__cxx_global_array_dtor"))


class _Reader:
    """Reads a mangled name from the place `at` on."""

    def __init__(self, text: str, at: int) -> None:
        self._text = text
        self.at = at

    def _peek(self, size: int = 1) -> str:
        return self._text[self.at : self.at + size]

    def _take(self, expected: str) -> bool:
        if self._text.startswith(expected, self.at):
            self.at += len(expected)
            return True
        return False

    def _skip(self, letters: frozenset[str]) -> str:
        start = self.at
        while self._peek() in letters:
            self.at += 1
        return self._text[start : self.at]

    def _number(self) -> int:
        digits = self._skip(DIGITS)
        if not digits:
            raise _UnreadError
        return int(digits)

    def _sequence(self) -> None:
        self._skip(OF_SEQUENCES)
        self._end_of("_")

    def _discriminator(self) -> None:
        """Read which of several local things of one name is meant, if that is said: `_1`, or `__12_`."""
        start = self.at
        if self._take("__") and self._skip(DIGITS) and self._take("_"):
            return
        self.at = start
        self.at += 2 if self._peek() == "_" and self._peek(2)[1:] in DIGITS else 0

    def name(self) -> int:
        """Read a name; return where its last part ends, -1 if that has no name of its own."""
        if self._take("N"):
            return self._nested()
        if self._take("Z"):
            return self._local()
        if self._peek() == "S" and self._peek(2) != "St":
            self._substitution()
            self._arguments()
            return -1
        self._take("St")
        place = self._unqualified()
        self._arguments()
        return place

    def _nested(self) -> int:
        while self._peek() in QUALIFIERS:
            self.at += 1
        place = -1
        while not self._take("E"):
            following = self._peek()
            if following == "I":
                self._arguments()
            elif following == "S" and place < 0:
                self._substitution()
            elif following == "T" and place < 0:
                self._parameter()
            else:
                place = self._unqualified()
            self._take("M")  # behind the member whose initialiser holds a lambda
        return place

    def _local(self) -> int:
        self._encoding()
        if not self._take("E"):
            raise _UnreadError
        if self._take("s"):
            place = -1
        else:
            if self._take("d"):
                if self._peek() != "_":
                    self._number()
                self._take("_")
            place = self.name()
        self._discriminator()
        return place

    def _encoding(self) -> None:
        self.name()
        while self._peek() not in ("E", ""):
            self._type()

    def _unqualified(self) -> int:
        """Read one part of a name; return its end."""
        self._take("L")
        two = self._peek(2)
        if two[:1].isdecimal():
            self._source_name()
        elif len(two) == 2 and two[1] in OPERATORS.get(two[0], ""):
            self.at += 2
        elif two[0] in "CD" and two[1:].isdecimal():
            self.at += 2
            if self._peek() == "I":  # GNU's demangler takes the tag for a return type
                raise _UnreadError
        elif two in ("Ul", "Ut"):
            self.at += 2
            while two == "Ul" and not self._take("E"):
                self._type()
            self._sequence()
        else:
            raise _UnreadError
        while self._take("B"):
            self._source_name()
        return self.at

    def _source_name(self) -> None:
        length = self._number()
        if not 0 < length <= len(self._text) - self.at:
            raise _UnreadError
        self.at += length

    def _substitution(self) -> None:
        self.at += 1
        if self._take("t"):
            return
        if self._peek() in STANDARD:
            self.at += 1
        else:
            self._sequence()
        while self._take("B"):
            self._source_name()

    def _parameter(self) -> None:
        self.at += 1
        self._sequence()

    def _arguments(self) -> None:
        """Read a template's arguments, if there are any."""
        if self._take("I"):
            while not self._take("E"):
                self._argument()

    def _argument(self) -> None:
        if self._take("J"):
            while not self._take("E"):
                self._argument()
        elif self._take("L"):
            self._literal()
        elif self._take("XadL_Z"):  # the address of a function
            self._encoding()
            self._end_of("EE")
        else:
            self._type()

    def _literal(self) -> None:
        if self._take("_Z"):
            self._encoding()
        else:
            self._type()
            while self._peek() in "n0123456789abcdef" and self._peek():
                self.at += 1
        self._end_of("E")

    def _end_of(self, expected: str) -> None:
        if not self._take(expected):
            raise _UnreadError

    def _type(self) -> None:
        first = self._peek()
        if not first:
            raise _UnreadError
        if first in QUALIFIERS:
            self.at += 1
            self._type()
        elif first in BUILTIN:
            self.at += 1
        elif first == "D":
            self._type_of_two()
        elif first in "AMFUu":
            self.at += 1
            self._compound(first)
        elif first == "T":
            self._parameter()
            self._arguments()
        else:
            self.name()

    def _type_of_two(self) -> None:
        second = self._text[self.at + 1]
        self.at += 2
        if second == "p":
            self._type()
        elif second == "v":
            self._number()
            self._end_of("_")
            self._type()
        elif second == "F":
            self._number()
            self._sequence()
        elif second == "o" and self._peek() == "F":
            self._type()
        elif second not in BUILTIN_OF_TWO:
            raise _UnreadError

    def _compound(self, first: str) -> None:
        if first == "A":
            if self._peek() != "_":
                self._number()
            self._end_of("_")
            self._type()
        elif first == "M":
            self._type()
            self._type()
        elif first == "F":
            self._take("Y")
            while not self._take("E"):
                if self._peek(2) in ("RE", "OE"):
                    self.at += 1
                else:
                    self._type()
        else:
            self._source_name()
            self._arguments()
            if first == "U":
                self._type()
