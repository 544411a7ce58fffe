"""Writes the dispatch sources, and a copy of each kernel source for each level at which it is built.

Most copies include their source. Compilers then find headers beside the source, record the source as a dependency, and
name the copy, and so the level, in messages. Others contain the text of the source: in Fortran, because Meson scans the
text for modules; if the source is generated, because it may be deleted; and if no #include can name its path. A copy of
a Fortran source that is not preprocessed contains `# 1 "file"`, the preprocessed form of `#line`. Copies in Fortran do
not include the guard header, because no macro shows which features are on.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ..model.errors import BuildError, KernelError
from ..model.files import AnyPath, read_bytes, write_if_changed
from ..model.languages import language_of, takes_macros
from ..model.names import TEXTS_FOLDER, TOOL_FOLDER, guard_name
from ..model.plan import KernelRow, Plan
from ..model.plan_file import RECONFIGURE, read_plan

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def emit(plan_path: Path, folder: AnyPath, generated: Sequence[str] = ()) -> None:
    """Write the dispatch sources and the copies of a plan into `folder`; unchanged files keep their times.

    `generated` are the paths of the generated sources, in the plan's order. Raises `KernelError` if they do not fit the
    plan or a source cannot be read, and `BuildError` if a file that configuring wrote is missing.
    """
    build = read_plan(plan_path)
    generated_paths = _generated_paths(build.plan, generated)
    for name in build.sources:
        write_if_changed(os.path.join(folder, name), rendered_text(plan_path, name))
    for kernel in build.plan.kernels:
        path = generated_paths.get(kernel.source, kernel.shown_path)
        content = ""
        if not kernel.included:
            try:
                content = read_bytes(path).removeprefix(BYTE_ORDER_MARK).decode(errors="surrogateescape")
            except OSError as problem:
                raise KernelError(f"cannot be read: {problem.strerror}", where=kernel.source) from None
        for name, text in _copies(kernel, path, content, os.fspath(folder)):
            write_if_changed(os.path.join(folder, name), text)


def rendered_text(plan: AnyPath, output: AnyPath) -> str:
    """Return the text of the source `output` that `isagen configure` rendered. Raises `BuildError` if it is missing."""
    name = f"{os.path.splitext(os.path.basename(output))[0]}.c"
    path = os.path.join(os.path.dirname(plan), TOOL_FOLDER, TEXTS_FOLDER, name)
    try:
        return read_bytes(path).decode(errors="surrogateescape")
    except OSError as problem:
        raise BuildError(f"cannot be read: {problem.strerror}", where=path, remedy=RECONFIGURE) from None


def _copies(kernel: KernelRow, path: str, content: str, folder: str) -> Iterator[tuple[str, str]]:
    """Yield the file names and texts of a kernel's copies and shims; `content` is "" if copies include the source."""
    for cell in kernel.cells:
        if cell.copy and kernel.included:
            yield cell.copy, including_copy(kernel, cell.level, folder)
        elif cell.copy:
            head, tail = around_source(path, kernel, cell.level)
            yield cell.copy, head + content + tail
        if cell.shim:
            yield cell.shim, shim_of(kernel, cell.level)


def _generated_paths(plan: Plan, generated: Sequence[str]) -> Mapping[str, str]:
    """Return the path of each generated kernel source. Raises `KernelError` if `generated` does not fit the plan."""
    sources = [kernel.source for kernel in plan.kernels if kernel.generated]
    suffixes, expected = ([os.path.splitext(path)[1] for path in paths] for paths in (generated, sources))
    if suffixes != expected:
        raise KernelError(
            f"the targets that generate kernel sources have the outputs {', '.join(generated)} instead",
            where=f"isa_kernels: {', '.join(sources)}",
            remedy="name one output of each target: target[0]",
        )
    return dict(zip(sources, generated, strict=True))


def including_copy(kernel: KernelRow, level: str, folder: str) -> str:
    """Return the text of a copy that includes the `kernel` source; `folder` is a path from the build folder's root."""
    path = kernel.shown_path
    if not os.path.isabs(path):
        path = os.path.relpath(path, folder).replace(os.sep, "/")
    return f'{_head(kernel, level)}#include "{path}"\n{_registrations(kernel)}'


def around_source(path: str, kernel: KernelRow, level: str) -> tuple[str, str]:
    """Return the parts of a copy around its source's text. Messages, debuggers and coverage then show `path`."""
    quoted = _quoted(path)
    if language_of(kernel.source) == "fortran":
        suffix = os.path.splitext(kernel.source)[1]
        marker = "#line" if suffix.isupper() or suffix == ".fpp" else "#"  # compilers preprocess such sources
        return f'! {_origin(kernel, level)}\n{marker} 1 "{quoted}"\n', ""
    return f'{_head(kernel, level)}#line 1 "{quoted}"\n', _registrations(kernel)


def shim_of(kernel: KernelRow, level: str) -> str:
    """Return the C source that registers the functions of a `kernel` at `level`."""
    functions = {name: stub for stub, name in kernel.registers.items()}
    text = f"/* {level}: written by isagen for {_comment_safe(kernel)}: registers its functions. */\n"
    text += f'#include "{_quoted(kernel.header)}"\n'
    text += "".join(f"extern __typeof__(*({stub}_isa_type)0) {name};\n" for name, stub in functions.items())
    return text + _macros(kernel)


def _head(kernel: KernelRow, level: str) -> str:
    return f'/* {_origin(kernel, level)} */\n#include "{guard_name(level)}"\n'


def _registrations(kernel: KernelRow) -> str:
    """Return the end of a copy in C or C++: the registrations that isa.toml lists for its source."""
    if not kernel.registers or not takes_macros(kernel.source):
        return ""
    include = f'#include "{_quoted(kernel.header)}"\n' if kernel.header else ""
    return f'\n#line 1 "isa.toml: kernels.{_quoted(kernel.source)}.register"\n{include}{_macros(kernel)}'


def _macros(kernel: KernelRow) -> str:
    return "".join(f"ISA_REGISTER_DISPATCH({stub}, &{name})\n" for stub, name in kernel.registers.items())


def _origin(kernel: KernelRow, level: str) -> str:
    end = ", which the build generates." if kernel.generated else ". Edit that file."
    return f"{level}: {'included' if kernel.included else 'copied'} by isagen from {_comment_safe(kernel)}{end}"


def _comment_safe(kernel: KernelRow) -> str:
    return kernel.source.replace("*/", "* /").replace("/*", "/ *")


def _quoted(path: str) -> str:
    return path.replace("\\", "\\\\").replace('"', '\\"')
