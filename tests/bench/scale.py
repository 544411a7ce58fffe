"""What a build costs beside plain static libraries of stock Meson: configuring, building, editing, configuring again.

    python tests/bench/scale.py [--kernels 10,100] [--rounds 3] [--build] [--cross FILE ...] [--json FILE]
                                [--picture FILE.svg]

For each number of kernels, a project of isagen and one with a static library for each level, of the same sources and
flags, take turns. Numbers are medians of wall seconds and of CPU seconds, and the highest memory that one process of
the step had. A step of ninja that does nothing shows `0 steps`, and runs five times in each round. `--build` adds the
first build, which takes minutes for 1000 kernels. `--cross` adds the same two projects, built with each of the cross
files of Meson.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from xml.sax.saxutils import escape

KERNEL = """
#include "stubs.h"
{declare}static float run(float *data, size_t n)
{{
  float sum = 0;
  for (size_t i = 0; i < n; i++)
    sum += data[i] * {number};
  return sum;
}}
{register}
"""
PROJECT = "project('scale', 'c', meson_version: '>=1.0.1', default_options: ['buildtype=release', 'c_std=c11'])\n"
ISAGEN = """
isa_kernels = files({files})
subdir('isagen')
shared_module('scale', 'main.c', dependencies: isa_kernels_dep)
"""
PLAIN = """
libraries = []
foreach level, flags : {flags}
  libraries += static_library(level, files({files}), c_args: flags + ['-DLEVEL=' + level], pic: true)
endforeach
shared_module('scale', 'main.c', link_whole: libraries)
"""


@dataclass(frozen=True)
class Cost:
    """One step: seconds of the wall and of CPUs, the highest memory of one process in MB, and the steps of ninja."""

    seconds: float
    cpu: float
    memory: float
    steps: int = 0


def run(*command: str, folder: Path) -> Cost:
    """Run a command; its memory is that of its largest descendant."""
    with tempfile.TemporaryFile("w+") as out:
        start = time.perf_counter()
        process = subprocess.Popen(command, cwd=folder, stdout=out, stderr=out)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        out.seek(0)
        said = out.read()
    if status != 0:
        sys.exit(f"{' '.join(command)} failed:\n{said[-3000:]}")
    steps = sum(line.startswith("[") for line in said.splitlines())
    return Cost(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, steps)


def write_kernels(folder: Path, count: int, stubs: bool) -> str:
    """Write kernels, their header and what uses them; return the names for files()."""
    folder.mkdir()
    names = range(1, count + 1)
    declared = {n: f"ISA_DECLARE_DISPATCH(scale_fn, scale_{n})\n" if stubs else "" for n in names}
    paste = "#define NAME2(a, b) a##b\n#define NAME(a, b) NAME2(a, b)\n"
    head = "#pragma once\n#include <stddef.h>\ntypedef float (*scale_fn)(float *data, size_t n);\n"
    include = '#include "isa_dispatch.h"\n'
    (folder / "stubs.h").write_text(head + (include if stubs else paste))
    defined = "".join(f"{declared[n]}ISA_DEFINE_DISPATCH(scale_{n})\n" for n in names)
    (folder / "main.c").write_text('#include "stubs.h"\n' + (defined if stubs else "extern int scale_unused;\n"))
    for n in names:
        plain = f"scale_fn NAME(LEVEL, _scale_{n}) = &run;"
        register = f"ISA_REGISTER_DISPATCH(scale_{n}, &run)" if stubs else plain
        (folder / f"k{n}.c").write_text(KERNEL.format(number=n, declare=declared[n], register=register))
    return ", ".join(f"'k{n}.c'" for n in names)


def make_projects(folder: Path, count: int, cross: list[str]) -> dict[str, Path]:
    """Write a project of isagen, configure it once for the flags of its levels, and write a plain one with them."""
    folder.mkdir()
    folders = {"isagen": folder / "isagen", "plain": folder / "plain"}
    files = write_kernels(folders["isagen"], count, True)
    (folders["isagen"] / "meson.build").write_text(PROJECT + ISAGEN.format(files=files))
    run(sys.executable, "-m", "isagen", "init", folder=folders["isagen"])
    run("meson", "setup", "flags", *cross, folder=folders["isagen"])
    found = subprocess.run(
        [sys.executable, "-m", "isagen", "matrix", "flags", "--format", "json"],
        cwd=folders["isagen"],
        capture_output=True,
        check=True,
    )
    levels = json.loads(found.stdout)["levels"]
    shutil.rmtree(folders["isagen"] / "flags")
    flags = {one["name"]: one["flags"]["c"] for one in levels if one["verdict"] == "built"}
    files = write_kernels(folders["plain"], count, False)
    (folders["plain"] / "meson.build").write_text(PROJECT + PLAIN.format(files=files, flags=flags))
    return folders


def measure(folder: Path, count: int, cross: list[str], first: bool, number: int) -> dict[str, Cost]:
    """Set a project up, build it, and change it, as its author would."""
    build = str(folder / "build")
    shutil.rmtree(build, ignore_errors=True)
    found = {}
    shutil.rmtree(os.environ["XDG_CACHE_HOME"], ignore_errors=True)
    found["setup, cold"] = run("meson", "setup", build, *cross, folder=folder)
    shutil.rmtree(build)
    found["setup"] = run("meson", "setup", build, *cross, folder=folder)
    if not first:
        return found
    found["build"] = run("ninja", "-C", build, folder=folder)
    found["nothing changed"] = nothing(build, folder)
    kernel = folder / f"k{count // 2 + 1}.c"
    kernel.write_text(re.sub(r"float sum = \d+", f"float sum = {number}", kernel.read_text()))
    found["one kernel edited"] = run("ninja", "-C", build, folder=folder)
    found["reconfigure"] = run("meson", "setup", "--reconfigure", build, folder=folder)
    found["ninja after it"] = run("ninja", "-C", build, folder=folder)
    found["nothing changed since"] = nothing(build, folder)
    return found


def nothing(build: str, folder: Path) -> Cost:
    """Run ninja where nothing changed, which takes too little time to be measured once."""
    return middle([run("ninja", "-C", build, folder=folder) for _ in range(5)])


def middle(found: list[Cost]) -> Cost:
    return Cost(
        statistics.median(one.seconds for one in found),
        statistics.median(one.cpu for one in found),
        max(one.memory for one in found),
        max(one.steps for one in found),
    )


def compare(count: int, rounds: int, first: bool, crosses: Sequence[Path]) -> dict[str, dict[str, dict[str, Cost]]]:
    """Return the costs of each step, of isagen and plain, in turns: natively, and with a cross file."""
    places = {"": [], **{f" with {cross.name}": ["--cross-file", str(cross.resolve())] for cross in crosses}}
    costs: dict[str, dict[str, dict[str, list[Cost]]]] = {place: {} for place in places}
    with tempfile.TemporaryDirectory(prefix="isagen-bench-") as name:
        made = {
            place: make_projects(Path(name, str(number)), count, words)
            for number, (place, words) in enumerate(places.items())
        }
        for number in range(rounds):
            for place, folders in made.items():
                for who, folder in folders.items():
                    for step, cost in measure(folder, count, places[place], first, number + 1).items():
                        costs[place].setdefault(step, {}).setdefault(who, []).append(cost)
    return {
        place: {step: {who: middle(found) for who, found in both.items()} for step, both in steps.items()}
        for place, steps in costs.items()
    }


def report(title: str, costs: dict[str, dict[str, Cost]]) -> str:
    lines = [title, f"{'':<21} {'isagen':>34} {'plain':>34}   ratio  more"]
    for step, both in costs.items():
        mine, plain = both["isagen"], both["plain"]
        cells = [f"{c.seconds:7.2f} s {c.cpu:6.2f} cpu {c.memory:5.0f} MB {c.steps:2} steps" for c in (mine, plain)]
        more = f"{mine.seconds - plain.seconds:+.2f} s"
        lines.append(f"{step:<21} {cells[0]:>34} {cells[1]:>34}   {mine.seconds / plain.seconds:5.2f}  {more}")
    return "\n".join(lines)


def picture(results: dict[str, dict[str, dict[str, Cost]]]) -> str:
    """Return bars of the ratios to plain as SVG; the line is 1."""
    rows = [
        (f"{step}, {title}", both["isagen"].seconds / both["plain"].seconds)
        for title, costs in results.items()
        for step, both in costs.items()
    ]
    scale = 500 / max(ratio for _, ratio in rows)
    parts = ['<text x="10" y="20">Seconds of isagen to those of plain static libraries</text>']
    for place, (name, ratio) in enumerate(rows):
        top = 34 + 18 * place
        parts.append(f'<text x="230" y="{top + 11}" text-anchor="end">{escape(name)}</text>')
        parts.append(f'<rect x="240" y="{top}" width="{ratio * scale:.0f}" height="14" fill="#4c78a8"/>')
        parts.append(f'<text x="{245 + ratio * scale:.0f}" y="{top + 11}">{ratio:.2f}</text>')
    height = 44 + 18 * len(rows)
    parts.append(f'<path d="M{240 + scale:.0f} 30V{height}" stroke="#000"/>')
    size = f'width="800" height="{height}" font-size="12" font-family="sans-serif"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>'
    return "\n".join([head, '<rect width="100%" height="100%" fill="#fff"/>', *parts, "</svg>", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", default="10,100")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--build", action="store_true", help="build too, and edit a kernel")
    parser.add_argument("--cross", type=Path, nargs="+", default=[], help="build with these cross files too")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args()
    for tool in ("meson", "ninja"):
        if shutil.which(tool) is None:
            sys.exit(f"{tool} is not installed")
    results = {}
    with tempfile.TemporaryDirectory(prefix="isagen-bench-cache-") as cache:
        os.environ["XDG_CACHE_HOME"] = f"{cache}/cache"
        os.environ["CCACHE_DISABLE"] = "1"
        os.environ.setdefault("CC", "cc")  # else Meson calls ccache, which takes time even so
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        for count in map(int, options.kernels.split(",")):
            for place, costs in compare(count, options.rounds, options.build, options.cross).items():
                title = f"{count} kernels{place}"
                results[title] = costs
                print(report(title, costs), flush=True)
    if options.json:
        data = {
            title: {step: {w: asdict(c) for w, c in both.items()} for step, both in costs.items()}
            for title, costs in results.items()
        }
        options.json.write_text(json.dumps(data, indent=1) + "\n")
    if options.picture:
        options.picture.write_text(picture(results))


if __name__ == "__main__":
    main()
