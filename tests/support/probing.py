"""A table of two levels, and the verdict of a compiler on one of them."""

from pathlib import Path

from isagen.model.plan import Verdict
from isagen.probe.cache import NO_CACHE, Cache
from isagen.probe.compiler import Compiler
from isagen.probe.probe import probe_all
from isagen.processors.table import Table, load_table


def table(folder: Path, *lines: str, probe: str = "return argc;", tail: str = "") -> Table:
    """Return a table with the levels BASE, and FAST as `lines` say."""
    text = f"""
features = "x86"
[levels.BASE]
rank = 0
vector_bits = 128
flags.gnu = []
probe = "return 0;"
[levels.FAST]
rank = 1
vector_bits = 256
probe = {probe!r}
"""
    given = [line for line in ('flags.gnu = ["-mavx2"]',) if not any("flags.gnu" in x[:9] for x in lines)]
    (folder / "own.toml").write_text("\n".join([text, *given, *lines, tail]))
    return load_table("own.toml", folder)


def ask(tab: Table, compiler: Compiler, cache: Cache = NO_CACHE, level: str = "FAST") -> Verdict:
    return probe_all(tab, [compiler], cache)[level, compiler.language]
