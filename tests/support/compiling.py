"""Objects for tests, compiled from texts, and read as sealing does; and what a compiler lacks here."""

import errno
import functools
import subprocess
import tempfile
from pathlib import Path

import pytest

from isagen.build.compiled import Compiled, compiled_object
from isagen.processors.features import features_of
from support.projects import need


def read_object(path: Path, level: str) -> Compiled:
    """Read an object of a level as sealing does."""
    return compiled_object(path, level, lambda decoder: decoder.needs(features_of("x86").instructions))


def compile_object(path: Path, text: str, level: str, compiler: str, *options: str) -> Compiled:
    """Compile a text, which is written to `path`, and read the object."""
    need(compiler)
    path.write_text(text, encoding="utf-8")
    made = path.with_suffix(".o")
    subprocess.run([compiler, "-std=c++17", *options, "-c", path, "-o", made], check=True)
    return read_object(made, level)


def need_runtime(compiler: str, *flags: str) -> None:
    """Skip the test if `compiler` is missing, or a library that programs of these flags are linked with."""
    need(compiler)
    if error := _link_error(compiler, flags):
        pytest.skip(f"{compiler} links no program with {' '.join(flags)} here: {error}")


@functools.cache
def _link_error(compiler: str, flags: tuple[str, ...]) -> str:
    """Compile and link an empty program, and run it unless it is for another processor.

    Return the first line of the error, or nothing.
    """
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/program"
        for command in ([compiler, *flags, "-xc++", "-", "-o", program], [program]):
            try:
                done = subprocess.run(
                    command, cwd=folder, input="int main() {}", capture_output=True, text=True, check=False
                )
            except OSError as error:
                if error.errno == errno.ENOEXEC:
                    return ""
                raise
            if done.returncode != 0:
                return (done.stderr.splitlines() or [f"exit status {done.returncode}"])[0]
    return ""
