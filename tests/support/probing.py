"""A table of two levels, a compiler of the tests' own, and the verdict of a compiler on one of the levels."""

from pathlib import Path

from isagen.model.plan import Verdict
from isagen.probe.cache import NO_CACHE, Cache
from isagen.probe.compiler import Compiler
from isagen.probe.probe import probe_all
from isagen.processors.table import Table, load_table

# Imitates GCC: `-mavx2` and `-mnovel` turn on their macros, and flags that end in -bad are unknown.
FAKE = r"""#!/bin/sh
echo "$*" >> "$0.log"
macros='#define __x86_64__ 1'
if [ -e "${0%/*}/tuned" ]; then macros="$macros
#define __SSE3__ 1"; fi
for word; do
  case $word in
    -mavx2) macros="$macros
#define __AVX2__ 1" ;;
    -mnovel) macros="$macros
#define __NOVEL__ 1
#define __tune_novel__ 1" ;;
    *-bad) echo "cc1: error: unrecognized command-line option '$word'" >&2; exit 1 ;;
    --version) echo fake 12; exit ;;
    -print-prog-name=*) echo "${word#*=}"; exit ;;
    -dM) preprocess=yes ;;
    -c) if [ -e "${0%/*}/unreachable" ]; then echo "wrapper: error: no host" >&2; exit 1; fi ;;
    *probe.c) program=$word ;;
  esac
done
if [ "$preprocess" ]; then echo "$macros"; exit; fi
if [ "$program" ]; then
  case $(cat "$program") in
    *bad_instruction*) printf '/tmp/cc1x2y.s: Assembler messages:\n/tmp/cc1x2y.s:7: Error: no such instruction: `%s'"'"'\n' vnovel >&2; exit 1 ;;
    *bad_symbol*) printf '/usr/bin/ld: /tmp/cc1x2y.o: in function `main'"'"':\nprobe.c:(.text+0x10): undefined reference to `%s'"'"'\ncollect2: error: ld returned 1 exit status\n' novel_run >&2; exit 1 ;;
    *bad_silent*) exit 1 ;;
    *bad_warning*) echo "$program:5:3: error: unused variable 'x' [-Werror=unused-variable]" >&2; echo 'cc1: all warnings being treated as errors' >&2; exit 1 ;;
  esac
fi
"""  # noqa: E501


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
    given = [line for line in ('flags.gnu = ["-mavx2"]',) if not any(x.startswith("flags.") for x in lines)]
    (folder / "own.toml").write_text("\n".join([text, *given, *lines, tail]))
    return load_table("own.toml", folder)


def ask(tab: Table, compiler: Compiler, cache: Cache = NO_CACHE, level: str = "FAST") -> Verdict:
    return probe_all(tab, [compiler], cache)[level, compiler.language]


def fake(folder: Path, *args: str, version: str = "12.2.0", family: str = "gcc") -> Compiler:
    script = folder / "fakecc"
    if not script.exists():
        script.write_text(FAKE)
        script.chmod(0o755)
    return Compiler("c", (str(script),), family, version, "gnu", args)


def calls(folder: Path, part: str) -> int:
    log = folder / "fakecc.log"
    return sum(part in line for line in log.read_text().splitlines()) if log.exists() else 0
