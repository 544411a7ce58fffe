"""One compiler: its identity, its macros, and whether it builds a source. The programs that it builds never run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from ..model.errors import CompilerError
from ..model.files import FULL
from ..model.versions import in_range

# The suffixes of probes by language. Fortran compilers predefine no macros of features, so the probes of Fortran are in
# C: gfortran compiles them with the C compiler of its GCC.
SUFFIX = {"c": ".c", "cpp": ".cpp", "fortran": ".c"}
# The environment variables in which Meson finds compilers.
VARIABLE = {"c": "CC", "cpp": "CXX", "fortran": "FC"}
DISPLAY_NAME = {"gcc": "GCC", "clang": "Clang", "clang-cl": "clang-cl", "msvc": "MSVC", "intel-llvm": "Intel LLVM"}
CLANG_CL = "clang-cl"
# Environment variables that change the outcome of a compilation.
ENVIRONMENT = (
    "COMPILER_PATH",
    "CPATH",
    "CPLUS_INCLUDE_PATH",
    "C_INCLUDE_PATH",
    "GCC_EXEC_PREFIX",
    "INCLUDE",
    "LIB",
    "LIBRARY_PATH",
    "SDKROOT",
)


@dataclass(frozen=True)
class Outcome:
    """The result of a compiler run: whether it succeeded, and its standard output and error as text."""

    ok: bool
    out: str
    err: str


@dataclass(frozen=True)
class Compiler:
    """A compiler of one language. `language` and `id` are Meson's names, such as cpp and gcc.

    `command` includes wrappers such as ccache. `args` are the project's own arguments (`CFLAGS`, `-Dc_args`), which
    probes use too. `dialect` is how the compiler's options are written: `gnu`, also for clang-cl (see `spelled`), or
    `msvc`. `linker` is Meson's name of the project's linker, such as ``ld.lld``.
    """

    language: str
    command: tuple[str, ...]
    id: str
    version: str
    dialect: str = "gnu"
    args: tuple[str, ...] = ()
    linker: str = ""

    @property
    def name(self) -> str:
        """The compiler's name in messages: ``GCC 12.2.0``."""
        return f"{DISPLAY_NAME.get(self.id, self.id)} {self.version}".rstrip()

    @property
    def known(self) -> bool:
        """Whether isagen knows this compiler's options."""
        return self.id in DISPLAY_NAME

    def spelled(self, words: Iterable[str]) -> tuple[str, ...]:
        """Return options of GCC and Clang as this compiler accepts them: clang-cl ignores many without ``/clang:``."""
        return tuple(f"/clang:{word}" for word in words) if self.id == CLANG_CL else tuple(words)

    @property
    def quiet_args(self) -> tuple[str, ...]:
        """The project's arguments without those about warnings, which are meant for the project's code, not probes.

        Clang from version 14 is told not to warn about arguments that have no effect on a probe: an option for a
        sanitizer, for example, has none without Meson's b_sanitize, which probes do not use.
        """
        warning = re.compile(r"-W(?![lap],)|-[Pp]edantic|[-/]W(all|X|[0-4])\b|-fanalyzer")
        args = tuple(arg for arg in self.args if not warning.match(arg))
        if self.language == "fortran":  # only options that C has too, because these probes are in C
            kept = re.compile(r"-(m|B|O|-sysroot)")
            pairs = pairwise(("", *self.args))
            args = tuple(arg for before, arg in pairs if kept.match(arg) or before in ("-B", "--sysroot"))
        if args and self.id == "clang" and in_range(self.version, ">=14"):
            return "--start-no-unused-arguments", *args, "--end-no-unused-arguments"
        return args

    @property
    def wants_lto(self) -> bool:
        """Whether the project's arguments turn on link-time optimisation."""
        lto_args = [arg for arg in self.args if re.match(r"-f(no-)?lto\b|[-/]GL-?\Z", arg)]
        return bool(lto_args) and not lto_args[-1].startswith("-fno") and not lto_args[-1].endswith("-")

    def run(self, args: Sequence[str]) -> Outcome:
        """Call the compiler with `args`, with messages in English, and return the outcome.

        Raises `CompilerError` if the compiler cannot be started, or finds no space to write.
        """
        command = [*self.command, *args]
        environment = {**os.environ, "LC_ALL": "C", "LANGUAGE": ""}
        try:
            done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, env=environment, check=False)
        except OSError as problem:
            raise CompilerError(
                f"{self.command[0]!r} cannot be run: {problem.strerror}",
                where=f"{self.language} compiler",
                remedy=f"install it, or name another one in {VARIABLE[self.language]}",
            ) from None
        outcome = Outcome(
            done.returncode == 0,
            done.stdout.decode(errors="replace"),
            done.stderr.decode(errors="replace"),
        )
        full = next((error for error in map(os.strerror, FULL) if error in outcome.err and not outcome.ok), "")
        if full:  # a failed run would be taken for a fault of the compiler
            raise CompilerError(
                f"{self.name} cannot write: {full}",
                where=tempfile.gettempdir(),
                remedy="free space there, or name another folder in the environment variable TMPDIR",
            )
        return outcome

    def macros(self, flags: Sequence[str]) -> tuple[Mapping[str, str], Outcome]:
        """Return the macros predefined under the project's arguments and `flags` (``-dM -E``), and the outcome."""
        with self._source("empty", "") as source:
            outcome = self.run([*self.args, *flags, *self.spelled(["-dM", "-E"]), *self._input(source)])
        macros = dict(re.findall(r"^#define (\S+?)(?:\([^)]*\))?(?: (.*))?$", outcome.out, re.MULTILINE))
        return macros, outcome

    @cached_property
    def baseline_macros(self) -> Mapping[str, str]:
        """The macros that the compiler predefines under the project's arguments, without flags of levels.

        They are empty for MSVC, for a Fortran compiler that is not GCC's or lacks a C compiler, and for an unknown
        compiler that cannot list its macros. Raises `CompilerError` if another compiler cannot list its macros.
        """
        if self.dialect == "msvc":
            return {}
        macros, outcome = self.macros(())
        if self.language == "fortran" and not (outcome.ok and self.id == "gcc"):
            return {}
        if not outcome.ok and not self.known:
            return {}
        if not outcome.ok:
            raise CompilerError(
                f"{self.name} cannot preprocess an empty file: {first_error(outcome.err)}",
                where=f"{self.language} compiler",
                remedy="check the project's compiler arguments: " + " ".join(self.args),
            )
        return macros

    def with_own_version(self) -> Compiler:
        """Return the compiler with the version that it prints, if it is GCC.

        Debian's GCC for Windows prints "12-posix", while by Meson and by GCC's macros the version is 12.0.0.
        """
        printed = self.run(["-dumpfullversion"]).out.strip() if self.id == "gcc" and self.dialect == "gnu" else ""
        return replace(self, version=printed) if re.fullmatch(r"\d+[\w.+-]*", printed) else self

    def accepts(self, flags: Sequence[str]) -> Outcome:
        """Compile an empty source under `flags`, with warnings as errors."""
        with self._source("empty", "int isagen_empty;\n") as source:
            strict = "/WX" if self.dialect == "msvc" else "-Werror"
            return self.run([*self.quiet_args, *flags, strict, *self._object(source.parent), *self._input(source)])

    def compiles(self, args: Sequence[str] = ()) -> bool:
        """Return whether the compiler compiles an empty source with the project's arguments and `args`.

        The other options, such as -c, are known to every compiler of the `dialect`.
        """
        with self._source("empty", "int isagen_empty;\n") as source:
            outcome = self.run([*self.args, *args, *self._object(source.parent), *self._input(source)])
            return outcome.ok and source.with_suffix(".o").is_file()

    def build(self, text: str, flags: Sequence[str]) -> Outcome:
        """Compile and assemble the program `text` under `flags`, with warnings as errors; link it without `flags`.

        Builds link without the flags of levels too. With these flags, zig would compile its C++ library for each level.
        clang-cl only compiles: in its builds, Meson calls the linker, not the compiler, to link. This is never
        called for MSVC, with which isagen builds only the lowest level.
        """
        with self._source("probe", text) as source:
            program = str(source.with_suffix(".exe"))
            target = str(source.with_suffix(".o"))
            outcome = self.run([*self.quiet_args, *flags, "-Werror", "-c", "-o", target, *self._input(source)])
            if self.id == CLANG_CL or not outcome.ok:
                return outcome
            # -Wno-error: Clang warns about arguments that a link does not use.
            return self.run([*self.quiet_args, "-Wno-error", target, *self._linker_option, "-o", program])

    @contextmanager
    def _source(self, name: str, text: str) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(prefix="isagen-") as folder:
            source = Path(folder, f"{name}{SUFFIX[self.language]}")
            source.write_text(text, encoding="utf-8")
            yield source

    @cached_property
    def _linker_option(self) -> tuple[str, ...]:
        """The option that selects the project's linker, such as -fuse-ld=lld; empty if the compiler finds `ld`.

        Meson adds such an option to links, but `args` do not contain it.
        """
        if not self.linker.startswith("ld.") or self.program("ld"):
            return ()
        return (f"-fuse-ld={self.linker.removeprefix('ld.')}",)

    def _input(self, source: Path) -> tuple[str, ...]:
        """Return the arguments for a source: without `--`, clang-cl reads a path such as /Users/me as an option."""
        return ("--", str(source)) if self.id == CLANG_CL else (str(source),)

    def _object(self, folder: Path) -> tuple[str, ...]:
        target = str(folder / "empty.o")
        return ("/c", f"/Fo{target}") if self.dialect == "msvc" else ("-c", "-o", target)

    def program(self, name: str) -> str | None:
        """Return the path of a program of the compiler's toolchain (``as``, ``ld``, ``objcopy``), or None."""
        if not self.known:
            return None
        path = self.run(self.spelled([f"-print-prog-name={name}"])).out.strip()
        return shutil.which(path) if path else None

    @cached_property
    def identity(self) -> str:
        """A text that changes with the compiler, its assembler, its linker, and the variables of `ENVIRONMENT`."""
        parts = [self.id, self.version, self.run(["--version"]).out]
        tools = [shutil.which(part) for part in self.command] + [self.program("as"), self.program("ld")]
        parts += self._linker_option
        for tool in tools:
            if tool:
                path = os.path.realpath(tool)
                status = os.stat(path)
                parts.append(f"{path} {status.st_size} {status.st_mtime_ns}")
        parts += [f"{name}={os.environ[name]}" for name in ENVIRONMENT if name in os.environ]
        return "\n".join(parts)


def find_compiler(language: str, command: Sequence[str]) -> Compiler:
    """Return the compiler that `command` calls, with its id and version.

    A compiler that is neither GCC nor Clang gets the program's file name as id, and "" as version. Raises
    `CompilerError` if there is no such program, or if the compiler is neither GCC nor Clang and compiles nothing when
    called with GCC's options.
    """
    program = command[0] if command else ""
    if shutil.which(program) is None:
        raise CompilerError(
            f"there is no compiler {program!r}",
            where=f"{language} compiler",
            remedy="install it, or give the path of another one",
        )
    is_clang_cl = re.match(CLANG_CL + r"\b", Path(program).name) is not None
    compiler = Compiler(language, tuple(command), CLANG_CL if is_clang_cl else "gcc", "0")
    macros, outcome = compiler.macros(())
    if not outcome.ok or not macros.keys() & {"__GNUC__", "__clang__"}:
        if not compiler.compiles():
            raise CompilerError(
                f"{command[0]!r} does not answer as GCC or Clang do",
                where=f"{language} compiler",
                remedy=first_error(outcome.err) or "give the path of a C or C++ compiler",
            )
        return replace(compiler, id=Path(program).name, version="")
    if "__clang__" in macros:
        names = ("__clang_major__", "__clang_minor__", "__clang_patchlevel__")
        id = compiler.id if is_clang_cl else "clang"
        return replace(compiler, id=id, version=".".join(macros[n] for n in names))
    names = ("__GNUC__", "__GNUC_MINOR__", "__GNUC_PATCHLEVEL__")
    return replace(compiler, version=".".join(macros[n] for n in names)).with_own_version()


def first_error(text: str) -> str:
    """Return the first error in a compiler's output, or else its first line, without the temporary source's name."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if re.search(r"\berror\b", line, re.IGNORECASE)]
    line = (errors or lines or [""])[0]
    return re.sub(r"^.*?isagen-[^/\\]*[/\\][^:]*:(\d+:)*\s*", "", line)
