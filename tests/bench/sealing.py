"""The build time that sealing adds: 20 kernels at 8 levels, built sealed and unsealed in turn.

    python tests/bench/sealing.py [--kernels 20] [--repeat 3] [--trivial]

Times are of `ninja` alone. On a shared machine, compare the CPU seconds of all processes together.
"""

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MESON = """
project('bench', 'cpp', meson_version: '>=1.0.1', default_options: ['buildtype=debugoptimized', 'cpp_std=c++17'])
isa_kernels = files({kernels})
subdir('isagen')
executable('bench', 'main.cpp', dependencies: isa_kernels_dep)
"""
HEADER = """
#include "isa_dispatch.h"
#include <cstddef>
typedef float (*bench_fn)(float *data, std::size_t n);
"""
REALISTIC = """
#include "stubs.h"
#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <vector>
namespace {
struct row { float key; int place; std::string name; };
float run(float *data, std::size_t n)
{
  std::vector<row> rows;
  std::map<int, std::vector<float>> buckets;
  for (std::size_t i = 0; i < n; i++) {
    rows.push_back({data[i], static_cast<int>(i), std::to_string(i)});
    buckets[static_cast<int>(i) % NUMBER].push_back(data[i] * 1.5f);
  }
  std::sort(rows.begin(), rows.end(), [](const row &a, const row &b) { return a.key < b.key; });
  std::stable_sort(data, data + n);
  std::transform(data, data + n, data, [](float x) { return x * NUMBER + 1; });
  float sum = std::accumulate(data, data + n, 0.0f);
  for (auto &bucket : buckets)
    sum += *std::max_element(bucket.second.begin(), bucket.second.end());
  return sum + rows[n / 2].key;
}
} // namespace
ISA_REGISTER_DISPATCH(bench_NUMBER, &run)
"""
TRIVIAL = """
#include "stubs.h"
namespace {
float run(float *data, std::size_t n)
{
  float sum = 0;
  for (std::size_t i = 0; i < n; i++)
    sum += data[i] * NUMBER;
  return sum;
}
} // namespace
ISA_REGISTER_DISPATCH(bench_NUMBER, &run)
"""


def make_project(folder: Path, kernels: int, body: str) -> None:
    """Write a project with that many kernels into `folder`."""
    names = [f"k{number}.cpp" for number in range(1, kernels + 1)]
    declared = "".join(f"ISA_DECLARE_DISPATCH(bench_fn, bench_{i + 1})\n" for i in range(kernels))
    defined = "".join(f"ISA_DEFINE_DISPATCH(bench_{i + 1})\n" for i in range(kernels))
    (folder / "meson.build").write_text(MESON.format(kernels=", ".join(f"'{name}'" for name in names)))
    (folder / "stubs.h").write_text(f"#pragma once\n{HEADER}{declared}")
    (folder / "main.cpp").write_text(f'#include "stubs.h"\n{defined}int main() {{}}\n')
    for number, name in enumerate(names, 1):
        (folder / name).write_text(body.replace("NUMBER", str(number)))
    subprocess.run([sys.executable, "-m", "isagen", "init"], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def build_time(folder: Path, build: str) -> tuple[float, float]:
    """Build from scratch; return wall and CPU seconds."""
    subprocess.run(["ninja", "-C", build, "-t", "clean"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(["ninja", "-C", build], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def seal_time(folder: Path, build: str) -> float:
    """Return the wall seconds that the last build's steps of sealing took together, by ninja's log (milliseconds).

    Each step waits while others run: on a busy machine this is a multiple of its CPU time.
    """
    steps = {}
    for line in (folder / build / ".ninja_log").read_text().splitlines()[1:]:
        start, end, _, output, command = line.split("\t")
        if Path(output).name.startswith("isa_") and output.endswith(".json"):
            steps[command] = int(end) - int(start)
    return sum(steps.values()) / 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", type=int, default=20)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--trivial", action="store_true", help="kernels that compile in no time")
    options = parser.parse_args()
    for tool in ("meson", "ninja"):
        if shutil.which(tool) is None:
            sys.exit(f"{tool} is not installed")
    os.environ["XDG_CACHE_HOME"] = cache = tempfile.mkdtemp()
    with tempfile.TemporaryDirectory(prefix="isagen-bench-") as name:
        folder = Path(name)
        make_project(folder, options.kernels, TRIVIAL if options.trivial else REALISTIC)
        builds = {"sealed": "true", "unsealed": "false"}
        for build, value in builds.items():
            setup = ["meson", "setup", build, f"-Disa_seal={value}", "-Disa_audit=warn"]
            subprocess.run(setup, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        times: dict[str, list[tuple[float, float]]] = {build: [] for build in builds}
        for _ in range(options.repeat):
            for build, found in times.items():
                found.append(build_time(folder, build))
                wall, cpu = found[-1]
                steps = seal_time(folder, build)
                print(f"{build:<9} wall {wall:6.2f} s   CPU {cpu:6.2f} s   seal steps: wall {steps:5.2f} s")
        for place, what in enumerate(("wall", "CPU")):
            middle = {build: statistics.median(t[place] for t in found) for build, found in times.items()}
            print(f"{what}: sealing adds {100 * (middle['sealed'] / middle['unsealed'] - 1):+.1f} % to the median")
    shutil.rmtree(cache)


if __name__ == "__main__":
    main()
