"""The errors that isagen reports. `cli` and, for the build steps, `build.main` turn them into exit statuses."""

from __future__ import annotations

from collections.abc import Iterable


class IsagenError(Exception):
    """A problem that the user can solve.

    `where` names the place, such as a file, a key in a file (``isa.toml: levels``) or a stub. `remedy` says what to do.
    """

    exit_code = 1

    def __init__(self, message: str, *, where: str = "", remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.remedy = remedy

    def __str__(self) -> str:
        head = f"{self.where}: {self.message}" if self.where else self.message
        return f"{head}\n  {self.remedy}" if self.remedy else head


class TableError(IsagenError):
    """An ISA table or features file is wrong."""


class ConfigError(IsagenError):
    """The project's isa.toml, an option or variable of the build, or an argument of a command is wrong."""


class KernelError(IsagenError):
    """The list of kernel sources is wrong, or a kernel source cannot be used."""


class CompilerError(IsagenError):
    """A compiler is missing or fails, or isagen does not support it."""


class BuildError(IsagenError):
    """A build step (emit, seal, link, audit) cannot continue."""


class PlanError(BuildError):
    """A file that configuring or a build step wrote into a build folder is missing, damaged, or of another format."""


class AuditError(IsagenError):
    """An audit cannot be made: a file cannot be read or decoded, or an option is wrong.

    `isagen audit` exits with 2 after this error, and with 1 after findings of the kinds of --fail-on.
    """

    exit_code = 2


class CpuError(IsagenError):
    """The features of this machine's CPU cannot be read."""


class ProjectError(IsagenError):
    """A command cannot use something that its arguments name, such as a build or a binary, or lacks a tool."""


def reported(problem: IsagenError | OSError) -> IsagenError:
    """Return an `OSError` as an `IsagenError` with the same reason and file; return an `IsagenError` unchanged."""
    if isinstance(problem, IsagenError):
        return problem
    return IsagenError(problem.strerror or str(problem), where=str(problem.filename or ""))


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a remedy that suggests the word of `known` nearest to `word`; if none is near, one that lists `known`."""
    import difflib  # only here: every build step imports this module, and hardly any suggests a word

    names = list(known)
    folded = {name.casefold(): name for name in names}
    near = difflib.get_close_matches(word.casefold(), folded, n=1)
    if near:
        return f"did you mean {folded[near[0]]!r}?"
    return f"known: {', '.join(names)}" if names else ""
