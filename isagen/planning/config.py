"""A project's isa.toml: which table, which levels, and what is special about single kernels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..model.errors import ConfigError, did_you_mean
from ..model.record import Allowance
from ..model.toml import Section, read_toml
from ..processors.flags import reject_host_flag, reject_lto_flag

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
FUNCTION = re.compile(r"[A-Za-z_]\w*(::[A-Za-z_]\w*)*\Z", re.ASCII)


@dataclass(frozen=True)
class KernelConfig:
    """The settings of one kernel in isa.toml: its levels (None: the project's), and extra compiler arguments.

    `register` gives functions by stub, which isagen registers after it includes `header`.
    """

    levels: tuple[str, ...] | None = None
    args: tuple[str, ...] = ()
    header: str = ""
    register: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SetConfig:
    """What isa.toml says of one set of kernels; None: what it says of the project."""

    levels: tuple[str, ...] | None = None
    override: str | None = None


@dataclass(frozen=True)
class Config:
    """A project's isa.toml. `override` is None where the table's own variable is to be used."""

    path: Path
    table: str = DEFAULT_TABLE
    levels: tuple[str, ...] = ()
    override: str | None = None
    compat: tuple[str, ...] = ()
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
        return replace(
            self,
            levels=self.levels if own.levels is None else own.levels,
            override=self.override if own.override is None else own.override,
        )

    @property
    def shown(self) -> str:
        """How messages name the file."""
        return self.path.name


def load_config(path: Path) -> Config:
    """Read the isa.toml at `path`. Raises `ConfigError`, which names the key."""
    top = read_toml(path, ConfigError, path.name)
    kernels = {}
    for source, section in top.sections("kernels"):
        args = section.strings("args", ())
        for arg in args:
            reject_host_flag(arg, section.where("args"), ConfigError)
            reject_lto_flag(arg, section.where("args"), ConfigError)
            if re.search(r"[\r\n]", arg):
                raise section.fail("args", f"{arg!r} holds a line break", "give every argument as a string of its own")
        kernels[source] = KernelConfig(
            levels=section.strings("levels", None) if "levels" in section else None,
            args=args,
            header=section.string("header", ""),
            register=_register(section),
        )
        section.finish()
    config = Config(
        path=path,
        table=top.string("table", DEFAULT_TABLE),
        levels=top.strings("levels", ()),
        override=top.string("override", None),
        compat=tuple(dict.fromkeys(top.strings("compat", ()))),
        allow=_allow(top.section("audit")),
        kernels=kernels,
        sets=dict(_sets(top)),
    )
    _check_override(top, config.override)
    for name in config.compat:
        if name not in COMPAT:
            raise top.fail("compat", f"{name!r} is nothing that isagen stands in for", did_you_mean(name, COMPAT))
    top.finish()
    return config


def _register(kernel: Section) -> Mapping[str, str]:
    """Read the functions that isagen registers, by stub."""
    section = kernel.section("register")
    found = {stub: section.string(stub) for stub in section.names()}
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
        override = section.string("override", None)
        _check_override(section, override)
        yield name, SetConfig(section.strings("levels", None) if "levels" in section else None, override)
        section.finish()


def _check_override(section: Section, override: str | None) -> None:
    if override and not VARIABLE.match(override):
        raise section.fail("override", f"{override!r} cannot name an environment variable", "use letters, digits and _")


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
