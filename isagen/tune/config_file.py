"""Writing levels that are not worth their bytes into isa.toml, with the measurement beside them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..model.errors import ConfigError
from ..model.files import write_if_changed
from .advice import Advice, shown


def write_levels(path: Path, advice: Iterable[Advice], heading: str, several: bool) -> list[str]:
    """Take the levels that are dropped out of a project's isa.toml; return what was written, a line for each kernel.

    Comments and order of the file stay. `heading` says when and where was measured. Raises `ConfigError`.
    """
    try:
        import tomlkit
        from tomlkit.exceptions import TOMLKitError
    except ImportError:
        raise ConfigError(
            "writing isa.toml needs tomlkit", where="--write", remedy='install it: pip install "isagen[tune]"'
        ) from None
    try:
        document: Any = tomlkit.parse(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise ConfigError(
            f"cannot be read: {problem.strerror}", where=str(path), remedy="give the isa.toml of the project"
        ) from None
    except (TOMLKitError, UnicodeDecodeError) as problem:
        raise ConfigError(f"is no TOML: {problem}", where=str(path)) from None
    said = []
    for one in advice:
        if not one.dropped:
            continue
        place = document
        for key in ("kernels", one.source) if one.source else ():
            if key not in place:
                place[key] = tomlkit.table(is_super_table=key == "kernels")
            place = place[key]
        words = place.get("levels", [])
        words = [words] if isinstance(words, str) else [str(word) for word in words]
        new = [word for word in (f"-{level}" for level in one.dropped) if word not in words]
        if not new:
            continue
        place["levels"] = [*words, *new]
        reasons = [
            f"{judged.level}: {'; '.join(shown(found, several) for found in judged.comparisons)}"
            for judged in one.levels
            if not judged.keep
        ]
        place["levels"].comment(f"{heading}: {', '.join(reasons)}")
        said.append(f"{one.source or 'all kernels'}: levels {' '.join(new)}")
    if said:
        write_if_changed(path, tomlkit.dumps(document))
    return said
