"""The texts of copies: lines that lead to a kernel source, and the C source that registers one.

A copy includes its source: compilers then find what is beside the source, know when it changes, and say which level a
message is of. A source in Fortran, which Meson reads, and one that is generated are copied whole. Preprocessors turn
`#line` into the marker `# 1 "file"`, from which a Fortran compiler counts lines, whether it preprocesses a source or
not. The guard header is left out of Fortran, where no macro says which features are on.
"""

from __future__ import annotations

import os

from ..model.languages import is_preprocessed, language_of, takes_macros
from ..model.names import guard_name
from ..model.plan import KernelRow

COPIED = "{level}: {how} by isagen from {source}{end}"


def including_copy(kernel: KernelRow, level: str, folder: str) -> str:
    """Return the text of a copy in `folder`, a path from the build folder's root, that includes the `kernel` source."""
    path = os.path.relpath(kernel.line, folder).replace(os.sep, "/") if not os.path.isabs(kernel.line) else kernel.line
    return f'{_head(kernel, level)}#include "{path}"\n{_registrations(kernel)}'


def around_source(line: str, kernel: KernelRow, level: str) -> tuple[str, str]:
    """Return the text of a copy before the text of the `kernel` source, and after it.

    Messages, debuggers and coverage are led back to `line`.
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
