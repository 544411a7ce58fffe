"""Objects for tests, compiled from texts."""

import subprocess
from pathlib import Path

from isagen.binary.elf.objects import ElfObject
from support.projects import need


def compile_object(path: Path, text: str, compiler: str, *options: str) -> ElfObject:
    """Compile a text, which is written to `path`, and read the object."""
    need(compiler)
    path.write_text(text, encoding="utf-8")
    made = path.with_suffix(".o")
    subprocess.run([compiler, "-std=c++17", *options, "-c", path, "-o", made], check=True)
    return ElfObject.load(made)
