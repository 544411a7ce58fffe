"""A project's isa.toml: the table, the levels, and settings of single kernels and sets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..model.errors import ConfigError, did_you_mean
from ..model.matrix import Alias
from ..model.record import Allowance
from ..model.toml import Section, read_toml
from ..processors.flags import reject_flag

DEFAULT_TABLE = "default"
# The values of `compat`, each with the project's name in messages, and the headers that isagen replaces.
COMPAT: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "ipex": ("Intel Extension for PyTorch", ("dyndisp/DispatchStub.h", "csrc/cpu/dyndisp/DispatchStub.h")),
    "aten": ("ATen", ("ATen/native/DispatchStub.h",)),
}
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
# A value of an alias. Other characters are refused, because the value is written into a string of generated C.
WORD = re.compile(r"[A-Za-z0-9_.+-]+\Z")
WILDCARD = re.compile(r"(\*\*/|\*\*|\*|\?)")
FUNCTION = re.compile(r"[A-Za-z_]\w*(::[A-Za-z_]\w*)*\Z", re.ASCII)
Override = tuple[str | None, tuple[Alias, ...]]


@dataclass(frozen=True)
class KernelConfig:
    """An entry of isa.toml for kernels. `levels` and additional compiler `args` are None if the entry lacks the key.

    `register` maps stubs to the functions that isagen registers for them, in a generated source that includes `header`.
    """

    levels: tuple[str, ...] | None = None
    args: tuple[str, ...] | None = None
    header: str = ""
    register: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Config:
    """A project's isa.toml. `override` is the name of the override variable: None for the table's, "" for no variable.

    With `fold`, a copy with the same code as a lower level's is left out of the link. `withhold` names the project's
    function that may withhold features of a CPU at run time, "" if there is none. The keys of `kernels` are paths and
    patterns of paths. The levels in `aliases` are not yet checked against the table. `levels_key` and `aliases_key` are
    the keys of isa.toml that give `levels` and `aliases`: a set's or the project's.
    """

    path: Path
    table: str = DEFAULT_TABLE
    levels: tuple[str, ...] = ()
    override: str | None = None
    aliases: tuple[Alias, ...] = ()
    compat: tuple[str, ...] = ()
    fold: bool = True
    withhold: str = ""
    allow: tuple[Allowance, ...] = ()
    kernels: Mapping[str, KernelConfig] = field(default_factory=dict)
    sets: Mapping[str, Config] = field(default_factory=dict)
    levels_key: str = "levels"
    aliases_key: str = "override_aliases"

    def of_set(self, name: str, names: Sequence[str]) -> Config:
        """Return the settings of the set `name`, one of `names`. Without isa_sets, `name` is "" and `names` is empty.

        Raises `ConfigError` if isa.toml has an entry for a set that is not in `names`.
        """
        for other in self.sets:
            if other not in names:
                raise ConfigError(
                    f"{other!r} is no set of kernels",
                    where=f"{self.shown}: sets",
                    remedy=did_you_mean(other, names) if names else "name the set in isa_sets of meson.build",
                )
        return self.sets.get(name, self)

    @property
    def shown(self) -> str:
        """The name of the file in messages."""
        return self.path.name


def load_config(path: Path) -> Config:
    """Read the isa.toml at `path`. Raises `ConfigError`, which names the key."""
    top = read_toml(path, ConfigError, path.name)
    kernels = {}
    for source, section in top.sections("kernels"):
        register = _register(section)
        kernels[source] = section.record(KernelConfig, register=register)
        if section.has_type("args", str) and re.search(r"\s", section.string("args")):
            raise section.fail("args", "is a string with spaces, which is one argument", 'write a list: ["-O2", "-g"]')
        for arg in kernels[source].args or ():
            reject_flag(arg, section.where("args"), ConfigError)
            if re.search(r"[\r\n]", arg):
                raise section.fail(
                    "args", f"{arg!r} contains a line break", "give every argument as a string of its own"
                )
    override, aliases = _override(top)
    withhold = top.string("withhold", "")
    if withhold and not VARIABLE.match(withhold):
        raise top.fail("withhold", f"{withhold!r} cannot name a function in C", "use letters, digits and _")
    compat = tuple(dict.fromkeys(top.strings("compat", ())))
    top.check("compat", "project with compat headers", compat, COMPAT)
    sections = dict(top.sections("sets"))
    config = top.record(
        Config,
        path=path,
        levels_key="levels",
        aliases_key="override_aliases",
        override=override,
        aliases=aliases,
        compat=compat,
        withhold=withhold,
        allow=_allow(top.section("audit")),
        kernels=kernels,
        sets={},
    )
    return replace(config, sets={name: _of_set(name, section, top, config) for name, section in sections.items()})


def _of_set(name: str, section: Section, top: Section, project: Config) -> Config:
    """Return the settings of a set of kernels: those of its section, and the `project`'s for the rest."""
    override, aliases = _override(section, top)
    levels = section.strings("levels", project.levels)
    own = {key: f"sets.{name}.{key}" for key in ("levels", "override_aliases") if key in section}
    section.finish()
    return replace(
        project,
        levels=levels,
        levels_key=own.get("levels", project.levels_key),
        override=override,
        aliases=aliases,
        aliases_key=own.get("override_aliases", project.aliases_key),
    )


def _register(kernel: Section) -> Mapping[str, str]:
    section = kernel.section("register")
    functions: dict[str, str] = {}
    for name, value in section.texts().items():
        for stub, function in _expanded(name, value):
            if stub in functions:
                raise section.fail(name, f"gives {stub} a function, as another key does", "give each stub one function")
            functions[stub] = function
    for stub, function in functions.items():
        if not VARIABLE.match(stub) or not FUNCTION.match(function):
            raise section.fail(
                stub, f"{function!r} cannot be registered for it", 'write register = { my_stub = "my_function" }'
            )
    header = kernel.string("header", "")
    if re.search(r'["\\\r\n]', header):
        raise kernel.fail("header", f"{header!r} cannot be included", "name it as #include does, without quotes")
    return functions


def _expanded(stub: str, function: str) -> Iterator[tuple[str, str]]:
    """Yield each stub with its function. Each word of a list ``{word,word}`` in the `stub`'s name gives one stub.

    In the stub's name, the word replaces the list; in the function's name, it replaces ``{}``.
    """
    listed = re.fullmatch(r"([^{}]*)\{([^{}]*)\}([^{}]*)", stub)
    if listed is None:
        yield stub, function
        return
    start, words, end = listed.groups()
    for word in map(str.strip, words.split(",")):
        yield f"{start}{word}{end}", function.replace("{}", word)


def _override(top: Section, project: Section | None = None) -> Override:
    """Return the override variable and its aliases. `project` gives the keys that `top`, a set's section, lacks."""
    keys = "override", "override_aliases"
    given, with_aliases = (top if project is None or key in top else project for key in keys)
    override = given.string("override", None)
    if override:  # "" is for no variable
        _check_variable(given, "override", override)
    section = with_aliases.section("override_aliases")
    return override, tuple(_alias(section, name) for name in section.names())


def _alias(section: Section, name: str) -> Alias:
    """Read an alias: one meaning for all values, or a table of values and meanings. A meaning is LEVEL or -LEVEL."""
    _check_variable(section, name, name)
    if not section.has_type(name, dict):
        always = section.string(name)
        if not always:
            raise section.fail(name, "is empty", "name the highest level to allow, or -LEVEL to switch LEVEL off")
        return Alias(name, {}, always)
    entry = section.section(name)
    values = {word.upper(): entry.string(word) for word in entry.names()}
    for word in entry.names():
        if not WORD.match(word):
            raise entry.fail(word, f"{word!r} cannot be a value", "use letters, digits, and any of + - . _")
    if len(values) < len(entry.names()):
        raise section.fail(name, "has a value twice, in different case", "case does not count: keep one")
    return Alias(name, values)


def _check_variable(section: Section, key: str, name: str) -> None:
    if not VARIABLE.match(name):
        raise section.fail(key, f"{name!r} cannot name an environment variable", "use letters, digits and _")


def _allow(audit: Section) -> tuple[Allowance, ...]:
    allowances = []
    for entry in audit.tables("allow"):
        allowance = entry.record(Allowance)
        for key, value in vars(allowance).items():
            if not value.strip():
                raise entry.fail(
                    key, "is empty", "name the function that may use unchecked instructions, and say why that is safe"
                )
        if not allowance.symbol.strip("*?"):
            raise entry.fail("symbol", f"{allowance.symbol!r} allows everything", "name the functions")
        allowances.append(allowance)
    audit.finish()
    return tuple(allowances)
