"""A project's isa.toml: which table, which levels, and what is special about single kernels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..model.aliases import Alias
from ..model.errors import ConfigError, did_you_mean
from ..model.record import Allowance
from ..model.toml import Section, read_toml
from ..processors.flags import reject_flag

DEFAULT_TABLE = "default"
# The values of `compat`: the name in messages and comments, and the headers that sources include.
COMPAT: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "ipex": (
        "Intel Extension for PyTorch",
        ("dyndisp/DispatchStub.h", "csrc/cpu/dyndisp/DispatchStub.h"),
    ),
    "aten": ("ATen", ("ATen/native/DispatchStub.h",)),
}
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
# A value of an alias, which generated C holds.
WORD = re.compile(r"[A-Za-z0-9_.+-]+\Z")
FUNCTION = re.compile(r"[A-Za-z_]\w*(::[A-Za-z_]\w*)*\Z", re.ASCII)


@dataclass(frozen=True)
class KernelConfig:
    """An entry for kernels in isa.toml: their levels and additional compiler arguments, each None where it has none.

    `register` gives functions by stub, which isagen registers after it includes `header`.
    """

    levels: tuple[str, ...] | None = None
    args: tuple[str, ...] | None = None
    header: str = ""
    register: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SetConfig:
    """What isa.toml says of one set of kernels; None: what it says of the project."""

    levels: tuple[str, ...] | None = None
    override: tuple[str | None, tuple[Alias, ...]] | None = None


@dataclass(frozen=True)
class Config:
    """A project's isa.toml. `override` is None where the table's own variable is to be used.

    `fold` tells whether copies whose code is the same as a lower level's are left out of the link.
    The keys of `kernels` are paths and patterns of paths. The levels that `aliases` mean are as they are written.
    """

    path: Path
    table: str = DEFAULT_TABLE
    levels: tuple[str, ...] = ()
    override: str | None = None
    aliases: tuple[Alias, ...] = ()
    compat: tuple[str, ...] = ()
    fold: bool = True
    allow: tuple[Allowance, ...] = ()
    kernels: Mapping[str, KernelConfig] = field(default_factory=dict)
    sets: Mapping[str, SetConfig] = field(default_factory=dict)

    def of_set(self, name: str, known: Sequence[str]) -> Config:
        """Return the settings of the set `name`, one of the `known`; "" is a project's only one.

        Raises `ConfigError` for settings of a set that is not known.
        """
        for other in self.sets:
            if other not in known:
                raise ConfigError(
                    f"{other!r} is no set of kernels",
                    where=f"{self.shown}: sets",
                    remedy=did_you_mean(other, known) if known else "name the set in isa_sets of meson.build",
                )
        own = self.sets.get(name, SetConfig())
        override, aliases = (self.override, self.aliases) if own.override is None else own.override
        levels = self.levels if own.levels is None else own.levels
        return replace(self, levels=levels, override=override, aliases=aliases)

    @property
    def shown(self) -> str:
        """How messages name the file."""
        return self.path.name


def load_config(path: Path) -> Config:
    """Read the isa.toml at `path`. Raises `ConfigError`, which names the key."""
    top = read_toml(path, ConfigError, path.name)
    kernels = {}
    for source, section in top.sections("kernels"):
        args = section.strings("args") if "args" in section else None
        for arg in args or ():
            reject_flag(arg, section.where("args"), ConfigError)
            if re.search(r"[\r\n]", arg):
                raise section.fail("args", f"{arg!r} holds a line break", "give every argument as a string of its own")
        kernels[source] = KernelConfig(
            levels=section.strings("levels", None) if "levels" in section else None,
            args=args,
            header=section.string("header", ""),
            register=_register(section),
        )
        section.finish()
    override, aliases = _override(top)
    config = Config(
        path=path,
        table=top.string("table", DEFAULT_TABLE),
        levels=top.strings("levels", ()),
        override=override,
        aliases=aliases,
        compat=tuple(dict.fromkeys(top.strings("compat", ()))),
        fold=top.boolean("fold", True),
        allow=_allow(top.section("audit")),
        kernels=kernels,
        sets=dict(_sets(top)),
    )
    for name in config.compat:
        if name not in COMPAT:
            raise top.fail("compat", f"{name!r} is nothing that isagen stands in for", did_you_mean(name, COMPAT))
    top.finish()
    return config


def _register(kernel: Section) -> Mapping[str, str]:
    """Read the functions that isagen registers, by stub."""
    section = kernel.section("register")
    found = section.texts()
    for stub, function in found.items():
        if not VARIABLE.match(stub) or not FUNCTION.match(function):
            raise section.fail(
                stub, f"{function!r} cannot be registered for it", 'write register = { my_stub = "my_function" }'
            )
    header = kernel.string("header", "")
    if header and not found:
        raise kernel.fail("header", "has no use without register", 'add register = { my_stub = "my_function" }')
    if re.search(r'["\\\r\n]', header):
        raise kernel.fail("header", f"{header!r} cannot be included", "name it as #include does, without quotes")
    return found


def _sets(top: Section) -> Iterator[tuple[str, SetConfig]]:
    """Read the settings of single sets of kernels."""
    for name, section in top.sections("sets"):
        levels = section.strings("levels", None) if "levels" in section else None
        said = _override(section)
        yield name, SetConfig(levels, said if said != (None, ()) else None)
        section.finish()


def _override(top: Section) -> tuple[str | None, tuple[Alias, ...]]:
    """Read the override variable and its aliases, in the order in which they count."""
    names: tuple[str | None, ...] = (None,)
    if "override" in top:
        names = top.strings("override") if top.has_type("override", list) else (top.string("override"),)
    if not names:
        raise top.fail("override", "is empty", 'name a variable; override = "" is for none')
    aliases = [Alias(name or "") for name in names[1:]]
    if names[0]:
        _check_variable(top, "override", names[0])
    for alias in aliases:
        _check_variable(top, "override", alias.variable)
    section = top.section("override_aliases")
    for name in section.names():
        _check_variable(section, name, name)
        if section.has_type(name, dict):
            entry = section.section(name)
            values = {word.upper(): entry.string(word) for word in entry.names()}
            for word in entry.names():
                if not WORD.match(word):
                    raise entry.fail(word, f"{word!r} cannot be a value", "use letters, digits, and any of + - . _")
            aliases.append(Alias(name, values))
        else:
            aliases.append(Alias(name, {}, section.string(name)))
            if not aliases[-1].always:
                raise section.fail(name, "is empty", "name the highest level that is allowed, or -LEVEL, which is not")
    variables = [name for name in (names[0], *(alias.variable for alias in aliases)) if name]
    for name in variables:
        if variables.count(name) > 1:
            raise top.fail("override", f"{name} is there twice", "name every variable once")
    return names[0], tuple(aliases)


def _check_variable(section: Section, key: str, name: str) -> None:
    if not VARIABLE.match(name):
        raise section.fail(key, f"{name!r} cannot name an environment variable", "use letters, digits and _")


def _allow(audit: Section) -> tuple[Allowance, ...]:
    """Read the functions that the audit allows, each with its reason."""
    found = []
    for entry in audit.tables("allow"):
        allowance = Allowance(symbol=entry.string("symbol"), reason=entry.string("reason"))
        for key, value in (("symbol", allowance.symbol), ("reason", allowance.reason)):
            if not value.strip():
                raise entry.fail(
                    key, "is empty", "name the function that may use unchecked instructions, and why that is safe"
                )
        if not allowance.symbol.strip("*?"):
            raise entry.fail("symbol", f"{allowance.symbol!r} allows everything", "name the functions")
        entry.finish()
        found.append(allowance)
    audit.finish()
    return tuple(found)
