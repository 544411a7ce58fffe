"""Emitting: a suffixed copy of every kernel source for every level, and the sources of dispatch.

A copy includes its source: compilers then find what is beside the source, know when it changes, and say which level a
message is of. Meson scans Fortran for modules, and a generated source may be gone: both are copied whole. A Fortran
compiler that does not preprocess takes the marker `# 1 "file"`, to which preprocessors turn `#line`. The guard header
is left out of Fortran, where no macro says which features are on.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ..model.errors import KernelError
from ..model.files import write_if_changed
from ..model.languages import is_preprocessed, language_of, takes_macros
from ..model.names import guard_name
from ..model.plan import KernelRow, Plan
from ..model.plan_file import read_plan
from .last_run import LastRun, plan_files, state_of
from .texts import text_for

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
COPIED = "{level}: {how} by isagen from {source}{end}"


def emit(
    plan_path: Path,
    folder: Path,
    generated: Sequence[str] = (),
    last_run: LastRun | None = None,
) -> None:
    """Write the sources of dispatch and the copies of a plan into `folder`; unchanged files keep their times.

    `generated` are the paths of the generated kernel sources, in the plan's order. `last_run` records what this run
    reads and writes. Raises `KernelError` where a source that is copied whole cannot be read.
    """
    read = {str(path): state_of(path) for path in plan_files(plan_path) if path.is_file()}
    build = read_plan(plan_path)
    plan = build.plan
    lines = _lines(plan, generated)
    written = [os.path.join(folder, name) for name in build.sources]
    for path in written:
        write_if_changed(path, text_for(os.fspath(plan_path), path))
    for kernel in plan.kernels:
        line = lines.get(kernel.source, kernel.shown_path)
        content = b""
        if not kernel.included:
            try:
                read[line] = state_of(line)
                with open(line, "rb") as stream:
                    content = stream.read().removeprefix(BYTE_ORDER_MARK)
            except OSError as problem:
                raise KernelError(f"cannot be read: {problem.strerror}", where=kernel.source) from None
        for name, text in _copies(kernel, line, content, os.fspath(folder)):
            path = os.path.join(folder, name)
            write_if_changed(path, text)
            written.append(path)
    if last_run is not None:
        last_run.note(written, read=read)


def _copies(kernel: KernelRow, line: str, content: bytes, folder: str) -> Iterator[tuple[str, bytes]]:
    """Yield the names of copies and shims, each with its bytes; `content` is what is copied whole."""
    for cell in kernel.cells:
        if cell.copy and kernel.included:
            yield cell.copy, _bytes(including_copy(kernel, cell.level, folder))
        elif cell.copy:
            head, tail = around_source(line, kernel, cell.level)
            yield cell.copy, _bytes(head) + content + _bytes(tail)
        if cell.shim:
            yield cell.shim, _bytes(shim_of(kernel, cell.level))


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


def _lines(plan: Plan, generated: Sequence[str]) -> Mapping[str, str]:
    """Return the path of each generated kernel source. Raises `KernelError` where a target has other outputs too."""
    sources = [kernel.source for kernel in plan.kernels if kernel.generated]
    for source, path in zip(sources, generated, strict=False):
        if os.path.splitext(path)[1] != os.path.splitext(source)[1]:
            raise KernelError(
                f"the target that generates it gives {path} in its place",
                where=f"isa_kernels: {source}",
                remedy="name one output of each target: target[0]",
            )
    if len(generated) != len(sources):
        raise KernelError(
            f"the targets that generate kernel sources give {len(generated)} files for {len(sources)}: "
            f"{', '.join(generated)}",
            where=f"isa_kernels: {', '.join(sources)}",
            remedy="name one output of each target: target[0]",
        )
    return dict(zip(sources, generated, strict=True))


def including_copy(kernel: KernelRow, level: str, folder: str) -> str:
    """Return the text of a copy in `folder`, a path from the build folder's root, that includes the `kernel` source."""
    path = kernel.shown_path
    if not os.path.isabs(path):
        path = os.path.relpath(path, folder).replace(os.sep, "/")
    return f'{_head(kernel, level)}#include "{path}"\n{_registrations(kernel)}'


def around_source(line: str, kernel: KernelRow, level: str) -> tuple[str, str]:
    """Return the text of a copy before the text of the `kernel` source, and after it.

    Messages, debuggers and coverage refer to `line`.
    """
    quoted = _quoted(line)
    if language_of(kernel.source) == "fortran":
        marker = "#line" if is_preprocessed(kernel.source) else "#"
        return f'! {_copied(kernel, level)}\n{marker} 1 "{quoted}"\n', ""
    return f'{_head(kernel, level)}#line 1 "{quoted}"\n', _registrations(kernel)


def shim_of(kernel: KernelRow, level: str) -> str:
    """Return the C source that registers the functions of a `kernel` at `level`, which the linker finds by name."""
    functions = dict(zip(kernel.registers.values(), kernel.registers, strict=True))
    text = f"/* {level}: written by isagen for {_commented(kernel)}: registers its functions. */\n"
    text += f'#include "{_quoted(kernel.header)}"\n'
    text += "".join(f"extern __typeof__(*({stub}_isa_type)0) {name};\n" for name, stub in functions.items())
    return text + _macros(kernel)


def _head(kernel: KernelRow, level: str) -> str:
    return f'/* {_copied(kernel, level)} */\n#include "{guard_name(level)}"\n'


def _registrations(kernel: KernelRow) -> str:
    """Return the end of a copy in C or C++ whose functions isa.toml registers."""
    if not kernel.registers or not takes_macros(kernel.source):
        return ""
    include = f'#include "{_quoted(kernel.header)}"\n' if kernel.header else ""
    return f'\n#line 1 "isa.toml: kernels.{_quoted(kernel.source)}.register"\n{include}{_macros(kernel)}'


def _macros(kernel: KernelRow) -> str:
    return "".join(f"ISA_REGISTER_DISPATCH({stub}, &{name})\n" for stub, name in kernel.registers.items())


def _copied(kernel: KernelRow, level: str) -> str:
    end = ", which the build generates." if kernel.generated else ". Edit that file."
    how = "included" if kernel.included else "copied"
    return COPIED.format(level=level, how=how, source=_commented(kernel), end=end)


def _commented(kernel: KernelRow) -> str:
    return kernel.source.replace("*/", "* /").replace("/*", "/ *")


def _quoted(path: str) -> str:
    return path.replace("\\", "\\\\").replace('"', '\\"')
