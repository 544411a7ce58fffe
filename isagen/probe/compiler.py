"""One compiler: its identity, its macros, and whether it compiles a source; its output is never run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest
from pathlib import Path

from ..model.errors import CompilerError
from ..model.files import FULL, write_if_changed

# Fortran compilers predefine no macro of a feature, so they are asked in C: gfortran calls the C compiler of its GCC.
SUFFIX = {"c": ".c", "cpp": ".cpp", "fortran": ".c"}
DISPLAY_NAME = {"gcc": "GCC", "clang": "Clang", "msvc": "MSVC", "intel-llvm": "Intel LLVM"}
# Macros of compilers that isagen does not know and that predefine __GNUC__ too, with Meson's names of them.
FOREIGN = {
    "__ARMCOMPILER_VERSION": "armclang",
    "__EMSCRIPTEN__": "emscripten",
    "__INTEL_COMPILER": "intel",
    "__LCC__": "lcc",
    "__NVCOMPILER": "nvidia_hpc",
    "__PGIC__": "pgi",
}
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
    """The result of a compiler run: whether it succeeded, the two streams as text, and headers that were included."""

    ok: bool
    out: str
    err: str
    headers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Compiler:
    """A compiler of one language, as Meson knows it.

    `command` includes wrappers such as ccache; `args` are the project's own arguments (`CFLAGS`, `-Dc_args`), which a
    probe must use too. `dialect` is `gnu` or `msvc`: how its options are spelled. `linker` is what Meson calls the one
    that the project links with: ``ld.lld``.
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
        """Whether it takes the options that tables have for its dialect, and predefines the macros that they name."""
        return self.id in DISPLAY_NAME

    @property
    def machine(self) -> str:
        """The processor of its code, as it prints it: ``aarch64``; nothing if it prints none."""
        return self.run([*self.args, "-dumpmachine"]).out.partition("-")[0].strip() if self.known else ""

    @property
    def quiet_args(self) -> tuple[str, ...]:
        """The project's arguments without its choice of warnings, which is meant for its own code."""
        warning = re.compile(r"-W(?![lap],)|-[Pp]edantic|[-/]W(all|X|[0-4])\b|-fanalyzer")
        if self.language == "fortran":  # of options of Fortran alone, the C compiler warns
            warning = re.compile(r"-(?!m|B|O|-sysroot)")
        return tuple(arg for arg in self.args if not warning.match(arg))

    @property
    def wants_lto(self) -> bool:
        """Whether the project's arguments ask for link-time optimisation."""
        said = [arg for arg in self.args if re.match(r"-f(no-)?lto\b|[-/]GL-?\Z", arg)]
        return bool(said) and not said[-1].startswith("-fno") and not said[-1].endswith("-")

    def run(self, args: Sequence[str]) -> Outcome:
        """Call the compiler with `args`, with messages in English, and return the outcome."""
        command = [*self.command, *args]
        environment = {**os.environ, "LC_ALL": "C", "LANGUAGE": ""}
        try:
            done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, env=environment, check=False)
        except OSError as problem:
            raise CompilerError(
                f"{self.command[0]!r} cannot be run: {problem.strerror}",
                where=f"{self.language} compiler",
                remedy="install it, or name another one in CC and CXX",
            ) from None
        outcome = Outcome(
            done.returncode == 0,
            done.stdout.decode(errors="replace"),
            done.stderr.decode(errors="replace"),
        )
        full = next((said for said in map(os.strerror, FULL) if said in outcome.err and not outcome.ok), "")
        if full:  # no property of the compiler, so it makes no verdict
            raise CompilerError(
                f"{self.name} cannot write: {full}",
                where=tempfile.gettempdir(),
                remedy="free space there, or name another folder in the environment variable TMPDIR",
            )
        return outcome

    def macros(self, flags: Sequence[str]) -> tuple[Mapping[str, str], Outcome]:
        """Return the macros predefined under the project's arguments and `flags` (``-dM -E``)."""
        with tempfile.TemporaryDirectory(prefix="isagen-") as folder:
            source = Path(folder, f"empty{SUFFIX[self.language]}")
            write_if_changed(source, "")
            outcome = self.run([*self.args, *flags, "-dM", "-E", str(source)])
        found = re.findall(r"^#define (\S+?)(?:\([^)]*\))?(?: (.*))?$", outcome.out, re.MULTILINE)
        return dict(found), outcome

    @cached_property
    def bare_macros(self) -> Mapping[str, str]:
        """The macros that it predefines under the project's own arguments; none if it cannot list them."""
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

    def accepts(self, flags: Sequence[str]) -> Outcome:
        """Compile an empty source under `flags`, with warnings as errors."""
        with tempfile.TemporaryDirectory(prefix="isagen-") as folder:
            source = Path(folder, f"empty{SUFFIX[self.language]}")
            write_if_changed(source, "int isagen_empty;\n")
            return self.run([*self.quiet_args, *flags, *self._strict, *self._object(folder), str(source)])

    def compiles(self, args: Sequence[str] = ()) -> bool:
        """Return whether it compiles an empty source, warnings aside, with options that every compiler has."""
        with tempfile.TemporaryDirectory(prefix="isagen-") as folder:
            source = Path(folder, f"empty{SUFFIX[self.language]}")
            write_if_changed(source, "int isagen_empty;\n")
            done = self.run([*self.args, *args, *self._object(folder), str(source)])
            return done.ok and Path(folder, "empty.o").is_file()

    def builds(self, text: str, flags: Sequence[str]) -> Outcome:
        """Compile and assemble the program `text` under `flags`, with warnings as errors, and link it without them.

        A build links without the flags of levels too; and zig would make all of its C++ library anew for each level.
        """
        with tempfile.TemporaryDirectory(prefix="isagen-") as folder:
            source = Path(folder, f"probe{SUFFIX[self.language]}")
            write_if_changed(source, text)
            if self.dialect == "msvc":
                words = [*self.quiet_args, *self._strict, *flags, str(source), *self._program(folder)]
                return self.run(words)
            target = str(Path(folder, "probe.o"))
            listed = str(Path(folder, "probe.d"))
            words = [*self.quiet_args, *flags, *self._strict, "-c", str(source), "-o", target, "-MD", "-MF", listed]
            outcome = self.run(words)
            # Clang warns of arguments that a link does not use.
            link = [*self.quiet_args, "-Wno-error", target, *self._links, *self._program(folder)]
            return replace(self.run(link), headers=_listed(listed)) if outcome.ok else outcome

    @cached_property
    def _links(self) -> tuple[str, ...]:
        """The option that chooses the project's linker, if the compiler finds no `ld`: Meson's own option is not in
        `args`."""
        if self.dialect == "msvc" or not self.linker.startswith("ld.") or self.program("ld"):
            return ()
        return (f"-fuse-ld={self.linker.removeprefix('ld.')}",)

    @property
    def _strict(self) -> tuple[str, ...]:
        return ("/WX",) if self.dialect == "msvc" else ("-Werror",)

    def _object(self, folder: str) -> tuple[str, ...]:
        target = str(Path(folder, "empty.o"))
        return ("/c", f"/Fo{target}") if self.dialect == "msvc" else ("-c", "-o", target)

    def _program(self, folder: str) -> tuple[str, ...]:
        target = str(Path(folder, "probe.exe"))
        return (f"/Fe{target}",) if self.dialect == "msvc" else ("-o", target)

    def program(self, name: str) -> str | None:
        """Return the path of a tool of the compiler's own toolchain (``as``, ``ld``, ``objcopy``), if there is one."""
        if self.dialect == "msvc" or not self.known:
            return None
        said = self.run([f"-print-prog-name={name}"]).out.strip()
        return shutil.which(said) if said else None

    @cached_property
    def identity(self) -> str:
        """A text that changes with the compiler, its assembler and its linker."""
        parts = [self.id, self.version, self.run(["--version"]).out]
        tools = [shutil.which(part) for part in self.command] + [self.program("as"), self.program("ld")]
        parts += self._links
        for tool in tools:
            if tool:
                real = os.path.realpath(tool)
                state = os.stat(real)
                parts.append(f"{real} {state.st_size} {state.st_mtime_ns}")
        parts += [f"{name}={os.environ[name]}" for name in ENVIRONMENT if name in os.environ]
        return "\n".join(parts)


def _listed(depfile: str) -> tuple[str, ...]:
    """Return the headers that a file of dependencies lists (``-MD``), after the source itself."""
    try:
        text = Path(depfile).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ()
    words = re.findall(r"(?:\\\n|\\.|[^\s\\])+", text.partition(":")[2].replace("\\\n", " "))
    return tuple(re.sub(r"\\(.)", r"\1", word).replace("$$", "$") for word in words[1:])


def find_compiler(language: str, command: Sequence[str]) -> Compiler:
    """Identify the GNU-like compiler that `command` calls; one that isagen does not know has an id that is not `known`.

    Raises `CompilerError` if it does not exist or compiles nothing.
    """
    program = command[0] if command else ""
    if shutil.which(program) is None:
        raise CompilerError(
            f"there is no compiler {program!r}",
            where=f"{language} compiler",
            remedy="install it, or give the path of another one",
        )
    found = Compiler(language, tuple(command), "gcc", "0")
    macros, outcome = found.macros(())
    foreign = next((name for macro, name in FOREIGN.items() if macro in macros), "")
    if foreign or not outcome.ok or "__GNUC__" not in macros:
        if not found.compiles():
            raise CompilerError(
                f"{command[0]!r} does not answer as GCC or Clang do",
                where=f"{language} compiler",
                remedy=first_error(outcome.err) or "give the path of a C or C++ compiler",
            )
        return replace(found, id=foreign or Path(program).name, version="")
    if "__clang__" in macros:
        names = ("__clang_major__", "__clang_minor__", "__clang_patchlevel__")
        return replace(found, id="clang", version=".".join(macros[n] for n in names))
    names = ("__GNUC__", "__GNUC_MINOR__", "__GNUC_PATCHLEVEL__")
    return replace(found, version=".".join(macros[n] for n in names))


def first_error(text: str) -> str:
    """Return the first error in a compiler's output, without the temporary file's name."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if re.search(r"\b(fatal )?error\b", line, re.IGNORECASE)]
    line = (telling or lines or [""])[0]
    return re.sub(r"^.*?isagen-[^/\\]*[/\\][^:]*:(\d+:)*\s*", "", line)


def older(version: str, minimum: str) -> bool:
    """Return whether `version` is below `minimum`, number by number."""
    pairs = zip_longest(re.findall(r"\d+", version), re.findall(r"\d+", minimum), fillvalue="0")
    return next((int(one) < int(other) for one, other in pairs if int(one) != int(other)), False)
