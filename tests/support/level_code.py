"""Objects and libraries with the code of one level, sealed and with a record, made without a project around them."""

import subprocess
from pathlib import Path

from isagen.audit.binaries import subject_of
from isagen.audit.by_level import level_findings
from isagen.audit.initialisers import Initialisers, LevelObject
from isagen.audit.reachable import at_load
from isagen.audit.records import Baseline
from isagen.binary.formats import format_of, load_object, open_binary
from isagen.binary.notes import note_of
from isagen.build.addresses import LevelAddresses
from isagen.model.record import RECORD_OWNER, Record
from support.compiling import read_object
from support.foreign import audit_targets
from support.model import record_of
from support.projects import need

LEVEL = "AVX2"
BASELINE = ("cmov", "cx8", "fpu", "fxsr", "mmx", "sse", "sse2")
RECORD = record_of(
    project="level",
    baseline=BASELINE,
    levels={"DEFAULT": BASELINE, LEVEL: (*BASELINE, "avx", "avx2", "fma", "f16c")},
)
C_OF = {"g++": "gcc", "clang++-16": "clang-16"}


def assembly_of(record: Record) -> str:
    """The assembly of an object that holds a record alone."""
    return f"""
  .section .note.isagen, "a", @note
  .balign 4
  .byte {", ".join(map(str, note_of(RECORD_OWNER, record.to_json().encode())))}
  .section .note.GNU-stack, "", @progbits
"""


def run(*command: object) -> None:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


class Level:
    """The code of one level, compiled from a kernel's source; `shared` are the flags of the link."""

    def __init__(self, folder: Path, source: str, compiler: str, *flags: str, kind=".cpp", shared=("-shared",)) -> None:
        need(compiler, "gcc")
        self.folder = folder
        language = {".cpp": "c++", ".c": "c", ".s": "assembler"}[kind]
        text = folder / f"kernel{kind}"
        text.write_text(source)
        self.object = folder / "kernel.o"
        run(compiler, "-w", "-x", language, "-fPIC", "-mavx2", *flags, "-c", text, "-o", self.object)
        self._compiler = compiler
        self._shared = shared

    def linked(self, *flags: str, stripped: bool = False) -> Path:
        """Seal and link it, as builds do."""
        private = LevelAddresses(LEVEL, [read_object(self.object, LEVEL)]).private_names()
        file = load_object(self.object)
        sealed = format_of(file).seal(file, LEVEL, "1", dict.fromkeys(private, LEVEL))
        kernel, note, library = (self.folder / name for name in ("sealed.o", "note.s", "library.so"))
        kernel.write_bytes(sealed)
        note.write_text(assembly_of(RECORD))
        run(self._compiler, kernel, note, "-o", library, *self._shared, *flags)
        if stripped:
            run("strip", library)
        return library

    def found(self, *flags: str, stripped: bool = False) -> list:
        """The audit's findings in what is linked."""
        (result,) = audit_targets([self.linked(*flags, stripped=stripped)], Baseline("X86_64", BASELINE))
        return list(result.findings)

    def handed_out(self) -> list:
        """The faults of what its object runs at load or exit, as sealing finds them."""
        file = read_object(self.object, LEVEL)
        with open_binary(self.object) as binary:
            subject = subject_of(binary, RECORD, level=LEVEL)
            defined = {symbol.name: 0 for symbol in file.symbols if symbol.defined}
            private = LevelAddresses(LEVEL, [file]).private_names()
            at_load = [0] if file.runs_at_load else []
            return Initialisers(LEVEL, [LevelObject("kernel", lambda: subject)], defined, private).findings(at_load)

    def found_in_object(self) -> list:
        """The audit's findings in the object, which is not sealed."""
        with open_binary(self.object) as binary:
            subject = subject_of(binary, RECORD, level=LEVEL)
            load = at_load(subject)
            return [*load.findings(), *level_findings(subject, load.offenders)]


def found_in_program(folder: Path, source: str, compiler: str, *flags: str) -> list:
    """The audit's findings in a program with a record, made of one C source that belongs to no level."""
    need(compiler, "gcc")
    text, note, program = (folder / name for name in ("main.c", "note.s", "program"))
    text.write_text(source)
    note.write_text(assembly_of(RECORD))
    run(compiler, "-w", "-x", "c", text, "-x", "none", note, "-o", program, *flags)
    (result,) = audit_targets([program], Baseline("X86_64", BASELINE))
    return list(result.findings)
