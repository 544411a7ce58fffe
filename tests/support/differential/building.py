"""Building a random project with isagen's own steps, in this process: emit, compile, seal, stubs, link and audit."""

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from isagen.audit.findings import KINDS
from isagen.build.emit import emit, rendered_text
from isagen.build.last_run import LastRun
from isagen.build.link import finish
from isagen.build.linker_process import Linking
from isagen.build.seal import seal
from isagen.build.stubs import stubs_of
from isagen.model.errors import IsagenError
from isagen.model.names import TEXTS_FOLDER, TOOL_FOLDER, headers_folder, plan_name, sealed_name
from isagen.model.plan import Build, Sealing
from isagen.model.plan_file import file_text, read_registrations

from .bases import Base, link_template
from .generator import Random

# Results of building.
BUILT, REFUSED, FOUND, LINKER = "built", "refused", "found", "refused by the linker"
OPTIONS = {
    "executable": ("-pie",),
    "fixed": ("-no-pie",),
    "library": ("-shared",),
    "static": ("-static",),
    "static-pie": ("-static-pie",),
}
# Sources of random programs warn, and their arithmetic overflows.
ALWAYS = ("-w", "-fwrapv", "-pipe")
DRIVER = "int project_main(void);\nint main(void) { return project_main(); }\n"


class GeneratorError(Exception):
    """A random project does not compile: the generator is wrong."""


@dataclass(frozen=True)
class Built:
    """What building a project gave: the linked `output`, what was said, the kinds of findings, the program to run.

    `stubs` are the levels at which each stub has a kernel.
    """

    result: str
    output: Path
    program: Path
    said: str = ""
    kinds: tuple[str, ...] = ()
    stubs: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Objects:
    """The objects of a project, in the order of the link, and the levels at which each stub has a kernel."""

    inputs: tuple[Path, ...]
    stubs: tuple[tuple[str, ...], ...]


def build(base: Base, project: Random, folder: Path, audit: str = "error", sealed: bool = True) -> Built:
    """Build a project in `folder`; `audit` is the mode of the link's audit, and `off` links without it."""
    made = make_objects(base, project, folder, sealed, audit)
    return made if isinstance(made, Built) else link_objects(base, project, folder, made, audit)


def make_objects(
    base: Base, project: Random, folder: Path, sealed: bool = True, audit: str = "error"
) -> Objects | Built:
    """Make the objects of a project in `folder`, ready to be linked with any linker; or say why that is refused."""
    folder.mkdir(parents=True, exist_ok=True)
    reduced = base.reduced(folder, project.kernels)
    reduced = replace(reduced, link_audit=replace(reduced.link_audit, mode=audit))
    if not sealed:
        reduced = replace(reduced, sealing=Sealing(reason="the test links levels as they are"))
    plan_path = folder / plan_name()
    plan_path.write_text(file_text(reduced), encoding="utf-8")
    tool = folder / TOOL_FOLDER
    tool.mkdir(exist_ok=True)
    with contextlib.suppress(FileExistsError):
        (tool / TEXTS_FOLDER).symlink_to(base.folder / TOOL_FOLDER / TEXTS_FOLDER)
        (folder / headers_folder()).symlink_to(base.folder / headers_folder())
    for name, text in project.files.items():
        (folder / name).write_text(text, encoding="utf-8")
    output = _output(base, project, folder)
    emit(plan_path, folder)
    objects = _compile(base, project, reduced, folder)
    registrations = [folder / f"isa_{level}.json" for level in objects]
    try:
        seal(plan_path, folder, LastRun(folder / ".sealed"))
    except IsagenError as problem:
        return Built(REFUSED, output, output, str(problem))
    inputs = [folder / "ordinary.o", _dispatch(base, project, folder), _stubs(base, project, folder)]
    if sealed:
        kernels = [folder / sealed_name(cell.copy, cell.level) for _, cell in reduced.plan.copies()]
    else:
        kernels = [path for paths in objects.values() for path in paths]
    if project.shuffled:
        inputs = [path for _, path in sorted(zip(project.shuffled, [*inputs, *kernels], strict=False))]
    else:
        inputs += kernels
    found = stubs_of(map(read_registrations, registrations), base.levels[0])
    return Objects(tuple(inputs), tuple(tuple(levels) for levels in found.values()))


def link_objects(base: Base, project: Random, folder: Path, objects: Objects, audit: str = "error") -> Built:
    """Link the objects of a project, which `make_objects` made in `folder`, and audit what is linked."""
    output = _output(base, project, folder)
    built = _link(base, project, folder, list(objects.inputs), output, audit)
    return replace(built, stubs=objects.stubs)


def _output(base: Base, project: Random, folder: Path) -> Path:
    """Return what the link writes."""
    name, suffixes = "library" if project.kind == "library" else "program", {"library": ".so"}
    return folder / (name + (base.system.suffixes if base.system else suffixes).get(name, ""))


def _compile(base: Base, project: Random, reduced: Build, folder: Path) -> dict[str, list[Path]]:
    """Compile the copies and the ordinary source; return the levels' objects."""
    found: dict[str, list[Path]] = {}
    for unit in reduced.plan.units:
        place = folder / f"lib{unit.name}.a.p"
        place.mkdir(exist_ok=True)
        for copy in unit.copies:
            language = "c" if copy.endswith(".c") else "cpp"
            made = place / f"meson-generated_.._{copy}.o"
            standard = "-std=gnu11" if language == "c" else "-std=c++17"
            args = [
                standard,
                "-fPIC",
                *ALWAYS,
                *project.kernel_args,
                *unit.args[language],
                f"-I{folder}",
                f"-I{folder / headers_folder()}",
            ]
            _run([base.compiler(language), *args, "-c", str(folder / copy), "-o", str(made)])
            found.setdefault(unit.level, []).append(made)
    args = ["-std=c++17", *ALWAYS, *project.ordinary_args, f"-I{folder}", f"-I{folder / headers_folder()}"]
    _run([base.cxx, *args, "-c", str(folder / "ordinary.cpp"), "-o", str(folder / "ordinary.o")])
    return found


def _dispatch(base: Base, project: Random, folder: Path) -> Path:
    """Compile the dispatch source, or take the object of one that has the same text."""
    source = folder / "isa_dispatch.c"
    text = rendered_text(str(folder / plan_name()), source.name).encode()
    source.write_bytes(text)
    key = hashlib.sha256(text + repr((base.cc, project.kind == "fixed")).encode()).hexdigest()[:20]
    known = base.folder / f"dispatch-{key}.o"
    if not known.exists():
        os.replace(_compile_c(base, project, source), known)
    shutil.copy(known, folder / "isa_dispatch.o")
    return folder / "isa_dispatch.o"


def _stubs(base: Base, project: Random, folder: Path) -> Path:
    """Compile the table of stubs, which sealing wrote."""
    (source,) = folder.glob("isa_stubs.c*")
    return _compile_c(base, project, source)


def _compile_c(base: Base, project: Random, source: Path) -> Path:
    """Compile a generated source, which is valid in both languages, as C, which takes less time."""
    made, folder = source.with_suffix(".o"), source.parent
    pic = "-fno-pie" if project.kind == "fixed" else "-fPIC"
    args = ["-x", "c", "-std=c11", "-O1", "-w", pic, f"-I{folder}", f"-I{folder / headers_folder()}"]
    _run([base.cc, *args, "-c", str(source), "-o", str(made)])
    return made


def _link(base: Base, project: Random, folder: Path, inputs: list[Path], output: Path, audit: str) -> Built:
    if base.system is not None:  # its links are not audited
        if base.system.last:
            source, last = folder / "last.c", folder / "zz_last.o"  # zig sorts objects by name
            source.write_text(base.system.last)
            _run([base.cc, "-O2", "-fomit-frame-pointer", "-c", str(source), "-o", str(last)])
            inputs = [*inputs, last]
        _run([base.cxx, *base.system.links[project.kind], *map(str, inputs), *project.link_args, "-o", str(output)])
        return Built(BUILT, output, _program(base, project, folder, output))
    words: list[str] = []
    for word in link_template(base.cxx, project.linker, OPTIONS[project.kind]):
        if word == "INPUTS.o":
            words += [*map(str, inputs), *project.link_args]
        else:
            words.append(str(output) if word == "OUTPUT" else word)
    linker = base.build.link_audit.linkers[f"ld.{project.linker}"]
    with _captured() as said:
        if audit == "off":
            status = subprocess.run([linker, *words], check=False).returncode
        else:
            try:
                linking = Linking(linker, words)
                status = finish(linking, folder / plan_name(), audit)
            except IsagenError as problem:
                return Built(REFUSED, output, output, str(problem))
    text = said.text
    kinds = tuple(kind for kind, (meaning, _) in KINDS.items() if f"  {meaning}" in text)
    if status != 0:
        return Built(FOUND if kinds else LINKER, output, output, text, kinds)
    try:
        program = _program(base, project, folder, output)
    except GeneratorError as problem:  # a library may have undefined symbols: no program can use it then
        return Built(LINKER, output, output, str(problem))
    return Built(BUILT, output, program, text, kinds)


def _program(base: Base, project: Random, folder: Path, output: Path) -> Path:
    """Return the program that runs what was linked."""
    if project.kind != "library" or output.suffix == ".dylib":  # the loader calls its functions
        return output
    driver = base.folder / "driver.c"
    program = output.with_name("program.exe" if output.suffix == ".dll" else "program")
    driver.write_text(DRIVER)
    _run([base.cc, str(driver), "-o", str(program), str(output), "-Wl,-rpath,$ORIGIN"])
    return program


def _run(command: list[str]) -> None:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise GeneratorError(" ".join(command) + "\n" + done.stdout[-4000:])


class _Said:
    text = ""


@contextlib.contextmanager
def _captured() -> Iterator[_Said]:
    """Capture what this process and those that it starts write to the standard streams."""
    said = _Said()
    with tempfile.TemporaryFile("w+", errors="replace") as file:
        sys.stderr.flush()
        kept = os.dup(1), os.dup(2)
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        try:
            with contextlib.redirect_stderr(file):
                yield said
        finally:
            for number, descriptor in enumerate(kept, 1):
                os.dup2(descriptor, number)
                os.close(descriptor)
            file.seek(0)
            said.text = file.read()
