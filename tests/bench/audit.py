"""How fast `isagen audit` is, and how much memory it takes.

usage: python tests/bench/audit.py [FILE]...

Each file is audited in a separate process. Without files: the largest library among this Python's packages. The output
has megabytes of code (executable sections), seconds of CPU time, megabytes of code per second, and the peak memory in
megabytes. A megabyte is 10**6 bytes.
"""

import json
import resource
import subprocess
import sys
import sysconfig
import time
from pathlib import Path


def largest() -> Path:
    """Return the largest library in site-packages."""
    libraries = [path for path in Path(sysconfig.get_path("platlib")).rglob("*.so*") if path.is_file()]
    return max(libraries, key=lambda path: path.stat().st_size)


def measure(path: Path) -> None:
    """Audit a file and print time and memory as JSON."""
    from isagen.audit.records import Baseline
    from isagen.audit.report import text_of
    from isagen.audit.targets import audit_each
    from isagen.binary.elf.reader import Elf

    start = time.process_time()
    baseline = Baseline("X86_64", ("cmov", "cx8", "fpu", "fxsr", "mmx", "sse", "sse2"))
    results = list(audit_each([path], {"x86": baseline}))
    for result in results:
        text_of(result, every=True)
    seconds = time.process_time() - start
    with Elf(path) as binary:
        code = sum(section.size for section in binary.sections if section.executable)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    found = sum(len(result.findings) for result in results)
    print(json.dumps({"code": code, "seconds": seconds, "memory": memory, "findings": found}))


def main() -> None:
    """Measure each file and print a table."""
    if sys.argv[1:2] == ["--measure"]:
        measure(Path(sys.argv[2]))
        return
    print(f"{'file':40} {'code MB':>8} {'seconds':>8} {'MB/s':>8} {'memory MB':>10} {'findings':>9}")
    for path in [Path(name) for name in sys.argv[1:]] or [largest()]:
        done = subprocess.run([sys.executable, __file__, "--measure", path], stdout=subprocess.PIPE, check=True)
        got = json.loads(done.stdout)
        speed = got["code"] / got["seconds"] / 1e6
        print(
            f"{path.name[-40:]:40} {got['code'] / 1e6:8.1f} {got['seconds']:8.1f} {speed:8.1f} "
            f"{got['memory'] / 1e6:10.0f} {got['findings']:9}"
        )


if __name__ == "__main__":
    main()
