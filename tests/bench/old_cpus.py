"""Compares what `isagen audit` says of wheels with the crashes of their libraries under qemu on old CPUs.

usage: python tests/bench/old_cpus.py [--only TEXT] [--cpu NAME]... [--no-import] [--timeout S] [--json FILE] WHEEL...

All wheels are unpacked into one folder. Under each CPU, each library is opened by itself, each top-level package is
imported, and old_cpus.c, which is preloaded, reports where an illegal instruction is and what called it. The audit
judges the files by the baseline that the CPU has. A crash at load, or at exit, is

- listed: the function is a `load` finding;
- bindable: it is a finding of that kind, because another library calls it by name;
- unproven: the function, or a caller on the stack, is an `unproven` finding;
- noted: a caller on the stack called through a pointer; a note of the file counts such functions;
- MISSED: none of these.

The exit status is 1 after a MISSED crash, and if a process ended in a way that tells nothing. Each CPU shows only the
first crash of a library. A crash in code that Python calls after loading (`PyInit_*` and later) is reported as `later`:
the audit does not follow that. Needs Linux on x86-64, qemu-x86_64 7 or newer, a C compiler, and wheels for the Python
that runs this. What an import needs beyond the wheels is missing there: give those wheels too.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

from isagen.audit.findings import Result
from isagen.audit.known_functions import CALLBACK_ARGUMENTS
from isagen.audit.records import Baseline
from isagen.audit.targets import audit_each
from isagen.binary.formats import is_binary, open_binary
from isagen.code.code import Code
from isagen.code.references import References
from isagen.processors.decoding import DIRECT, UNKNOWN
from isagen.processors.features import read_features
from isagen.processors.instruction_sets import InstructionSets
from isagen.processors.registry import audited_processor, decoder_of
from isagen.processors.table import load_table

HANDLER = Path(__file__).with_suffix(".c")
# CPUs of qemu, from old to new, each with the newest baseline that it has. The first has nothing beyond x86-64.
CPUS = {
    "qemu64,-sse3,-cx16,-lahf-lm,-svm": "X86_64",
    "qemu64": "X86_64",
    "core2duo": "X86_64",
    "Penryn": "X86_64",
    "Nehalem": "X86_64_V2",
    "Westmere": "X86_64_V2",
    "SandyBridge": "X86_64_V2",
    "IvyBridge": "X86_64_V2",
    "Haswell-v4": "X86_64_V3",
}
KINDS = ("load", "unproven", "bindable")
LISTED, BINDABLE, UNPROVEN, NOTED, MISSED, LATER = "listed", "bindable", "unproven", "noted", "MISSED", "later"
ILLEGAL, CALLER = "illegal", "caller"  # the words of old_cpus.c

# Runs under qemu, once per CPU: each job in a process of its own, which a fork makes from one that has started.
DRIVER = """
import ctypes, importlib, json, os, signal, sys
folder, limit = sys.argv[1], int(sys.argv[2])
sys.path.insert(0, folder)
for line in sys.stdin:
    how, what = json.loads(line)
    source, sink = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(sink, 2)
        signal.alarm(limit)  # ends it with status -14
        try:
            importlib.import_module(what) if how == "import" else ctypes.CDLL(os.path.join(folder, what), os.RTLD_NOW)
        except BaseException as problem:
            print("error", type(problem).__name__ + ":", *str(problem).split()[:40], file=sys.stderr, flush=True)
        sys.exit(0)
    os.close(sink)
    with os.fdopen(source, errors="replace") as stream:
        text = stream.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(json.dumps([how, what, status, text]), flush=True)
"""


@dataclass(frozen=True)
class Crash:
    """An illegal instruction: where it is, in a file of the wheels, and how the audit takes it.

    `finding` is the function by which the audit tells of it, `callers` are on the stack, the nearest first.
    """

    cpu: str
    how: str
    target: str
    file: str
    address: int
    verdict: str
    finding: str
    path: Sequence[str]
    callers: Sequence[str]


def main() -> int:
    """Compare, print, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheels", nargs="+", type=Path, metavar="WHEEL")
    parser.add_argument("--only", default="", metavar="TEXT", help="only libraries and packages with TEXT in the name")
    parser.add_argument("--cpu", action="append", help="only this CPU of qemu, with its options; may be repeated")
    parser.add_argument("--no-import", action="store_true", help="open libraries, but import no package")
    parser.add_argument("--timeout", type=int, default=120, metavar="SECONDS", help="for each library and package")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the crashes there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="isagen-old-cpus-") as name:
        folder = Path(name).resolve()
        owners = unpack(options.wheels, folder / "site")
        audits = Audits(folder / "site")
        cpus = options.cpu or list(CPUS)
        show_findings(audits, owners, sorted({level_of(cpu) for cpu in cpus}))
        handler = folder / "handler.so"
        command = [os.environ.get("CC", "cc"), "-O1", "-shared", "-fPIC", "-o", handler, HANDLER, "-ldl"]
        subprocess.run(command, check=True)
        packages = [] if options.no_import else sorted(top_level(folder / "site"))
        wanted = [*(("open", file) for file in sorted(owners)), *(("import", package) for package in packages)]
        jobs = [job for job in wanted if options.only in job[1]]
        untold: list[str] = []
        crashes = [crash for cpu in cpus for crash in run(cpu, handler, jobs, options.timeout, audits, untold)]
    show_crashes(crashes, owners)
    if options.json:
        options.json.write_text(json.dumps([asdict(crash) for crash in crashes], indent=1))
    for problem in untold:
        print(f"UNTOLD    {problem}")
    return int(bool(untold) or any(crash.verdict == MISSED for crash in crashes))


def level_of(cpu: str) -> str:
    """Return the newest baseline that a CPU has, or the oldest for CPUs of which that is unknown."""
    return CPUS.get(cpu, next(iter(CPUS.values())))


def unpack(wheels: Sequence[Path], folder: Path) -> dict[str, str]:
    """Unpack wheels into one folder; return the wheel of each binary, by its path in the folder."""
    owners = {}
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
            names = archive.namelist()
        project = " ".join(wheel.name.split("-")[:2])
        owners.update({name: project for name in names if (path := folder / name).is_file() and is_binary(path)})
    return owners


def top_level(folder: Path) -> Iterator[str]:
    """Yield the packages in a folder that can be imported."""
    for path in folder.iterdir():
        if (path / "__init__.py").is_file():
            yield path.name


class Audits:
    """The audits of the files in a folder, and the functions of these files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._table = load_table(audited_processor().baseline_table, folder, "")
        self._files = ExitStack()
        self.result = cache(self._result)
        self._references = cache(self._opened)

    def _result(self, file: str, level: str) -> Result:
        baseline = Baseline(level, self._table.required_features(level), everywhere=level != self._table.lowest.name)
        return next(audit_each([self.folder / file], {"x86": baseline}))

    def _opened(self, file: str) -> References:
        path = self.folder / file
        binary = self._files.enter_context(open_binary(path))
        decoder = decoder_of(binary.architecture, str(path))
        rules = InstructionSets(read_features(decoder.name), decoder).rules
        return References(Code(binary, decoder), CALLBACK_ARGUMENTS, rules.cpu_checks)

    def function(self, file: str, address: int) -> int:
        """Return the number of the function at an address."""
        return self._references(file).code.functions.at(address)

    def through_pointer(self, inner: tuple[str, int], caller: tuple[str, int]) -> int:
        """Return the function by whose pointer control came from the call at `caller` to `inner`; -1 if by none.

        That is the caller, or what it calls by name, if that has left the stack by a jump.
        """
        file, address = caller
        references, number = self._references(file), self.function(file, address)
        places = (one.ip for one in references.code.decode(number) if one.ip <= address < one.next_ip)
        place = next(places, -1)
        for one in references.of(number):
            if one.at == place and one.kind in UNKNOWN:
                return number
            if one.at == place and one.kind in DIRECT:
                called = self.function(file, one.target) if one.target else -1
                return -1 if inner[0] == file and called == self.function(*inner) else called
        return -1

    def found(self, file: str, level: str, kind: str) -> dict[int, tuple[str, Sequence[str]]]:
        """Return the findings of a kind in a file, by the function's number: (symbol, path from the root)."""
        return {
            self.function(file, finding.address): (finding.symbol, finding.path)
            for finding in self.result(file, level).findings
            if finding.kind == kind
        }


def run(
    cpu: str, handler: Path, jobs: Sequence[tuple[str, str]], limit: int, audits: Audits, untold: list[str]
) -> Iterator[Crash]:
    """Run the jobs under a CPU of qemu, and yield the crashes.

    What cannot be opened or imported is printed. What ends in another way, or does not run, is added to `untold`.
    """
    started = time.monotonic()
    machine = ("qemu-x86_64", "-cpu", cpu, "-E", f"LD_PRELOAD={handler}")
    done = subprocess.run(
        [*machine, os.path.realpath(sys.executable), "-I", "-S", "-c", DRIVER, audits.folder, str(limit)],
        input="".join(json.dumps(job) + "\n" for job in jobs),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment(audits.folder),
    )
    ends: Counter[str] = Counter()
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    for how, what, status, text in answers:
        lines = [line for line in text.splitlines() if line]
        stack = list(frames(lines, audits.folder))
        problems = [line for line in lines if line.startswith("error")]
        if stack:
            ends["illegal instruction"] += 1
            yield judged(cpu, how, what, stack, audits)
        elif status:
            ends[f"status {status}"] += 1
            untold.append(f"{cpu}: {how} {what}: status {status} {' '.join(lines[-1:])[:300]}")
        elif problems:
            ends["not loaded"] += 1
            print(f"  {cpu}: {how} {what}: {' '.join(problems)[:300]}", file=sys.stderr)
        else:
            ends["no crash"] += 1
    if len(answers) < len(jobs):
        untold.append(f"{cpu}: qemu ended with status {done.returncode} after {len(answers)} of {len(jobs)} jobs")
    said = ", ".join(f"{count} {end}" for end, count in ends.items())
    print(f"{cpu}: {said} ({time.monotonic() - started:.0f} s)", flush=True)


def environment(folder: Path) -> dict[str, str]:
    """Return the environment: few threads, nothing that selects code in place of the CPU, bundled libraries found.

    OPENBLAS_CORETYPE is what selects code. Bundled libraries (`NAME.libs`) are found by the extensions that need them,
    but do not always find each other.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENBLAS_", "NPY_", "POLARS_"))}
    libraries = os.pathsep.join(str(path) for path in sorted(folder.glob("*.libs")))
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "POLARS_MAX_THREADS"), "1")
    return kept | threads | {"LD_LIBRARY_PATH": libraries}


def frames(lines: Sequence[str], folder: Path) -> Iterator[tuple[str, int]]:
    """Yield the stack that old_cpus.c wrote, the illegal instruction first: (file, address).

    Files in `folder` are given by their path in it, others by their whole path.
    """
    for line in lines:
        word, _, rest = line.partition(" ")
        if word in (ILLEGAL, CALLER):
            address, _, name = rest.partition(" ")
            path = Path(os.path.normpath(name))
            inside = path.is_relative_to(folder)
            yield path.relative_to(folder).as_posix() if inside else path.as_posix(), int(address, 16)


def judged(cpu: str, how: str, target: str, stack: Sequence[tuple[str, int]], audits: Audits) -> Crash:
    """Return a crash with what the audit says of it."""
    (file, address), callers = stack[0], stack[1:]
    # What is between the illegal instruction and the loader, or the interpreter.
    ours = list(before(callers))
    outer = [Path(name).name for name, _ in callers]
    first = next((name for name in outer if name.startswith(("ld-", "libpython", "python"))), "")
    verdict, finding, path = MISSED, "", ()
    if how == "import" and not first.startswith("ld-"):
        verdict = LATER
    elif not Path(file).is_absolute():
        level = level_of(cpu)
        function = audits.function(file, address)
        for kind, meaning in (("load", LISTED), ("bindable", BINDABLE)):
            if function in (found := audits.found(file, level, kind)):
                verdict, (finding, path) = meaning, found[function]
                break
        else:
            if any(audits.through_pointer(inner, caller) >= 0 for inner, caller in pairwise([stack[0], *ours])):
                verdict = NOTED
            for name, place in ((file, address), *ours):
                found = audits.found(name, level, "unproven")
                if (function := audits.function(name, place)) in found:
                    verdict, (finding, path) = UNPROVEN, found[function]
                    break
    shown = [f"{Path(name).name}+{caller:#x}" for name, caller in ours]
    return Crash(cpu, how, target, file, address, verdict, finding, path, shown)


def before(callers: Sequence[tuple[str, int]]) -> Iterator[tuple[str, int]]:
    """Yield the callers in files of the wheels, up to the loader or the interpreter."""
    for name, address in callers:
        if Path(name).name.startswith(("ld-", "libpython", "python")):
            return
        if not Path(name).is_absolute():
            yield name, address


def show_findings(audits: Audits, owners: dict[str, str], levels: Sequence[str]) -> None:
    """Print how many findings each wheel has, by kind and baseline."""
    print(f"{'wheel':36} {'baseline':10} {'files':>5} {'MB':>6} " + " ".join(f"{kind:>9}" for kind in KINDS))
    for wheel in sorted(set(owners.values())):
        files = sorted(file for file, owner in owners.items() if owner == wheel)
        size = sum((audits.folder / file).stat().st_size for file in files) / 1e6
        for level in levels:
            kinds = Counter(finding.kind for file in files for finding in audits.result(file, level).findings)
            counts = " ".join(f"{kinds[kind]:9}" for kind in KINDS)
            print(f"{wheel:36} {level:10} {len(files):5} {size:6.1f} {counts}", flush=True)


def show_crashes(crashes: Sequence[Crash], owners: dict[str, str]) -> None:
    """Print each crash once, with the oldest and newest CPU and all that leads to it, and the sums."""
    places: dict[tuple[str, int], list[Crash]] = {}
    for crash in crashes:
        places.setdefault((crash.file, crash.address), []).append(crash)
    for (file, address), same in places.items():
        one = min(same, key=lambda crash: (crash.verdict == LATER, crash.verdict != MISSED))
        cpus = list(dict.fromkeys(crash.cpu for crash in same))
        targets = sorted({f"{crash.how} {crash.target}" for crash in same})
        print(f"{one.verdict:9} {owners.get(file, 'of no wheel')}: {file} at {address:#x}")
        print(f"          on     {'; '.join(cpus)}")
        print(f"          by     {'; '.join(targets[:3])}" + (f"; {len(targets) - 3} more" if len(targets) > 3 else ""))
        if one.finding:
            print(f"          found  {' -> '.join(one.path) or one.finding}")
        print(f"          stack  {' <- '.join(one.callers) or 'the loader, or Python'}")
    verdicts = Counter(crash.verdict for crash in crashes)
    distinct = Counter(min((c.verdict for c in same), key=lambda v: v == LATER) for same in places.values())
    print(f"{'':9} {'crashes':>8} {'places':>7}")
    for verdict in (LISTED, BINDABLE, UNPROVEN, NOTED, MISSED, LATER):
        print(f"{verdict:9} {verdicts[verdict]:8} {distinct[verdict]:7}")


if __name__ == "__main__":
    sys.exit(main())
