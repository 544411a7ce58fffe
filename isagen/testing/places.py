"""Finds where a level can run: on this CPU, or under an emulator with a CPU model that has the level's features."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from ..model.errors import ConfigError, IsagenError
from ..model.matrix import LevelRow, Matrix
from ..model.toml import read_toml
from ..processors.detection import ask_permissions, detect
from ..processors.features import read_features
from ..processors.registry import this_cpu_family, this_machine

EMULATORS = Path(__file__).with_name("emulators.toml")
# The script that an emulator runs, with the name of a features file: it prints what `lacking` returns.
LACKING = "import json, sys; from isagen.testing.places import lacking; print(json.dumps(lacking(sys.argv[1])))"

ELSEWHERE = "`meson test` runs programs of a cross build by the exe_wrapper of its cross file"


@dataclass(frozen=True)
class Place:
    """A machine that runs programs: this one, or an emulator.

    `before` is the emulator's command, which precedes a program's. `lacks` maps each feature that the machine lacks to
    its text for messages. `problem` is the reason why the machine runs no program of the build, "" if it runs some.
    """

    name: str
    before: tuple[str, ...] = ()
    lacks: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""

    def problem_of(self, level: LevelRow) -> str:
        """Return the reason why a level does not run at this place; "" if it does."""
        missing = [self.lacks[name] for name in level.features if name in self.lacks]
        return self.problem or (f"{self.name} lacks {' '.join(missing)}" if missing else "")


def lacking(features: str) -> Mapping[str, str]:
    """Return those features of the features file `features` that cannot be used here, each with a text for messages.

    The text is the feature's name, and the reason if the OS prevents its use. Raises `CpuError` as `this_machine` does.
    """
    known, machine = read_features(features), this_machine(features)
    cpu = ask_permissions(detect(known, machine), machine)
    return {name: cpu.missing([name])[0] for name in known.features if cpu.missing([name])}


def places(matrix: Matrix, emulated: bool) -> Iterator[Place]:
    """Yield places for a build in the order to try them: this CPU, unless `emulated`, then an emulator's models."""
    if matrix.cpu_family != this_cpu_family():
        problem = f"built for {matrix.cpu_family}, and this machine is {this_cpu_family()}: {ELSEWHERE}"
        yield Place("this CPU", problem=problem)
        return
    if not emulated:
        yield _this_cpu(matrix.features)
    emulators = read_toml(EMULATORS, ConfigError)
    if matrix.cpu_family not in emulators:
        if emulated:
            yield Place("emulator", problem=f"no emulator of {matrix.cpu_family} is known")
        return
    emulator = emulators.section(matrix.cpu_family)
    command = emulator.string("command")
    if shutil.which(command) is None:
        yield Place(command, problem=f"{command} is not installed")
        return
    for model in emulator.strings("models"):
        yield _emulated((command, "-cpu", model), matrix.features)


@cache
def _this_cpu(features: str) -> Place:
    try:
        return Place("this CPU", lacks=lacking(features))
    except IsagenError as problem:
        return Place("this CPU", problem=problem.message)


@cache
def _emulated(before: tuple[str, ...], features: str) -> Place:
    """Return the place of the emulator's command `before`: the emulator runs this Python to find what its CPU lacks."""
    name = " ".join(before)
    command = (*before, sys.executable, "-c", LACKING, features)
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        return Place(name, problem=f"{name} cannot run {sys.executable}")
    return Place(name, before, json.loads(done.stdout))


def runnable(command: Sequence[str]) -> list[str]:
    """Return a command as an emulator runs it: the program by its path, and a script after its interpreter.

    Raises `ConfigError` if the program or the interpreter is not found.
    """
    path = shutil.which(command[0])
    if path is None:
        raise ConfigError("is no program", where=command[0], remedy="give the command of the tests after --")
    with Path(path).open("rb") as file:
        start = file.read(256).split(b"\n")[0]
    if not start.startswith(b"#!"):
        return [path, *command[1:]]
    interpreter = start[2:].decode(errors="replace").split()
    if interpreter and Path(interpreter[0]).name == "env":
        interpreter = interpreter[2 if interpreter[1:2] == ["-S"] else 1 :]
    return [*runnable(interpreter), path, *command[1:]] if interpreter else [path, *command[1:]]
