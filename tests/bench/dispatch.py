"""Benchmark: the cost of a call through isagen's stub, beside a bare function pointer and other ways to dispatch.

python tests/bench/dispatch.py [--rounds N] [--json FILE]

Each round measures every variant once, in random order, in one process; figures are medians over the rounds.
"""

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median, quantiles

SOURCES = Path(__file__).parent / "dispatch"
PROGRAMS = {"executable": "as_executable", "shared library (-fPIC), as in an extension": "as_library"}
BARE = "bare pointer"
TARGET = 1.05


def run(*command, cwd, check=True):
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run([str(word) for word in command], cwd=cwd, env=environment, capture_output=True, text=True)
    if check and done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def torch_folder():
    """Return where torch is installed, or None; it is not imported."""
    spec = importlib.util.find_spec("torch")
    return Path(spec.origin).parent if spec and spec.origin else None


def build(folder):
    """Build the programs in `folder`. Returns the arguments that add torch's variant."""
    shutil.copytree(SOURCES, folder, dirs_exist_ok=True)
    run(sys.executable, "-m", "isagen", "init", cwd=folder)
    torch = torch_folder()
    run("meson", "setup", "build", f"-Dtorch={torch or ''}", cwd=folder)
    run("ninja", "-C", "build", cwd=folder)
    if torch is None:
        print("torch DispatchStub: left out, torch is not installed")
        return []
    done = run("ninja", "-C", "build", "torch_variants.so", cwd=folder, check=False)
    if done.returncode != 0:
        errors = [line for line in done.stdout.splitlines() if "error" in line]
        print(f"torch DispatchStub: left out, it does not build here: {'; '.join(errors[:3])}")
        return []
    return ["./torch_variants.so"]


def measure(folder, program, rounds, more):
    """Return, by variant, the figures of each round in nanoseconds per call."""
    done = run(f"./{program}", rounds, *more, cwd=folder / "build")
    print(done.stderr, end="")
    names, *lines = done.stdout.splitlines()
    columns = zip(*(map(float, line.split("\t")) for line in lines), strict=True)
    return dict(zip(names.split("\t"), map(list, columns), strict=True))


def summary(figures):
    """Return, by variant, the median time, and median and middle half of each round's ratio to the bare pointer."""
    found = {}
    for name, times in figures.items():
        ratios = [time / bare for time, bare in zip(times, figures[BARE], strict=True)]
        low, _, high = quantiles(ratios)
        found[name] = {"ns": median(times), "ratio": median(ratios), "middle_half": [low, high]}
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=1000, help="at least 200 (default: %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    arguments = parser.parse_args()
    if arguments.rounds < 200:
        parser.error("--rounds: fewer than 200 tell nothing")
    with tempfile.TemporaryDirectory() as folder:
        more = build(Path(folder))
        found = {kind: measure(Path(folder), p, arguments.rounds, more) for kind, p in PROGRAMS.items()}
    results = {kind: summary(figures) for kind, figures in found.items()}
    for kind, variants in results.items():
        print(f"\n{kind}\n  {'variant':<20}{'ns per call':>12}{'/ bare pointer':>16}{'middle half':>16}")
        for name, figure in variants.items():
            low, high = figure["middle_half"]
            print(f"  {name:<20}{figure['ns']:>12.3f}{figure['ratio']:>16.3f}{low:>10.3f}-{high:.3f}")
    print()
    for kind, variants in results.items():
        ratio = max(figure["ratio"] for name, figure in variants.items() if name.startswith("isagen"))
        print(f"isagen / bare pointer = {ratio:.3f}   ({kind}; target: at most {TARGET})")
    if arguments.json:
        arguments.json.write_text(json.dumps({"rounds": arguments.rounds, "results": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
