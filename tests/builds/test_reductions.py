"""A package like pandas' reductions: results at every level, its check without Python, and its Cython front."""

import functools
import json
import sys
from dataclasses import dataclass

import numpy as np
import pytest

from support.projects import Project, need

LEVELS = ["DEFAULT", "AVX2", "AVX512"]
NAN, INF = float("nan"), float("inf")

# Prints, for each array of a file, what each function returns with and without skipna, at the level of the override.
REPORT = """
import json, sys
import numpy as np
import reductions as r

arrays = np.load(sys.argv[1])
results = {}
for name in arrays.files:
    a = arrays[name]
    odd = np.zeros(len(a), np.dtype([("byte", "i1"), ("value", a.dtype)]))
    odd["value"] = a
    apart = np.repeat(a, 3)[::3]
    views = {"": a, " every third": apart, " backwards": np.ascontiguousarray(a[::-1])[::-1], " odd": odd["value"]}
    for kind, view in views.items():
        assert np.array_equal(view, a, equal_nan=True)
        for skipna in (True, False):
            results[f"{name}{kind} {skipna}"] = [
                r.mean(view, skipna), r.var(view, skipna), r.var(view, skipna=skipna, ddof=0), r.skew(view, skipna),
                r.kurt(view, skipna=skipna),
            ]
print(json.dumps({"current": r.isa.current, "levels": r.isa.levels, "results": results}))
"""


def arrays():
    random = np.random.default_rng(3)
    shapes = {
        "empty": np.array([]),
        "none": np.full(7, NAN),
        "one": np.array([NAN, 2.5, NAN]),
        "two": np.array([1.0, NAN, 4.0]),
        "three": np.array([1.0, NAN, 4.0, 5.5]),
        "four": np.array([1.0, -3.0, 4.0, 5.5]),
        "equal": np.full(20_000, 0.1),
        "infinite": np.array([1.0, INF, 3.0, 4.0, 5.0]),
        "both infinite": np.array([1.0, INF, -INF, 4.0, 5.0]),
        "infinite and nan": np.where(np.arange(1000) % 3 == 0, NAN, np.where(np.arange(1000) == 500, -INF, 1.0)),
        "whole block": random.standard_normal(256),
        "far from 0": 1e6 + random.standard_normal(40_000),
        "skewed": random.exponential(size=100_003),
    }
    holes = random.standard_normal(50_001) ** 3
    holes[random.random(50_001) < 0.2] = NAN
    shapes["holes"] = holes
    shapes["nan at the end"] = np.append(random.random(20_000), NAN)
    return {f"{name} {dtype}": a.astype(dtype) for name, a in shapes.items() for dtype in ("f4", "f8")}


def expected(array, skipna):
    """What pandas' formulas give in long double: in float64, the mean's rounding shows in the skewness."""
    x = array.astype(np.longdouble)
    if skipna:
        x = x[~np.isnan(x)]
    n = float(len(x))
    if n == 0 or np.isnan(x).any():
        return [NAN] * 5
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = x.sum() / n
        if np.ptp(x) == 0:  # where rounding of the mean would be all that is left
            mean = x[0]
        d = x - mean
        m2, m3, m4 = (d**2).sum(), (d**3).sum(), (d**4).sum()
        skew = NAN if n < 3 else 0.0 if m2 == 0 else n * (n - 1) ** 0.5 / (n - 2) * (m3 / m2**1.5)
        if n < 4:
            kurt = NAN
        elif m2 == 0:
            kurt = 0.0
        else:
            adjustment = 3 * (n - 1) ** 2 / ((n - 2) * (n - 3))
            kurt = n * (n + 1) * (n - 1) * m4 / ((n - 2) * (n - 3) * m2**2) - adjustment
        return [float(one) for one in (mean, m2 / (n - 1) if n > 1 else NAN, m2 / n, skew, kurt)]


@pytest.mark.parametrize("compilers", [{}, {"CC": "clang-14", "CXX": "clang++-14"}], ids=["gcc", "clang"])
def test_results_at_every_level(new_project, tmp_path, compilers):
    need(*compilers.values())
    project = new_project("reductions")
    project.environment |= compilers
    project.setup("-Dfront=enabled")
    project.ninja()
    given = arrays()
    np.savez(tmp_path / "arrays.npz", **given)
    (tmp_path / "report.py").write_text(REPORT)

    def report(level):
        said = project.run(
            *(sys.executable, "-W", "ignore", str(tmp_path / "report.py"), str(tmp_path / "arrays.npz")),
            REDUCTIONS_ISA=level,
            PYTHONPATH=str(project.folder / project.build),
        )
        return json.loads(said.stdout.splitlines()[-1])

    at = {level: report(level) for level in LEVELS}
    levels = at["DEFAULT"]["levels"]
    assert [level for level, (built, _, _) in levels.items() if built] == LEVELS
    supported = [level for level in LEVELS if levels[level][1]]
    assert [at[level]["current"] for level in supported] == supported
    reference = functools.cache(lambda name, skipna: expected(given[name], skipna))
    for level in supported:
        for name, found in at[level]["results"].items():
            source = next(key for key in given if name.startswith(key))
            single = source.endswith("f4")
            wanted = reference(source, name.endswith("True"))
            np.testing.assert_allclose(
                found, wanted, rtol=1e-6 if single else 1e-10, atol=1e-12, err_msg=f"{level}: {name}"
            )
            np.testing.assert_allclose(
                found, at["DEFAULT"]["results"][name], rtol=2e-7 if single else 1e-12, atol=1e-13
            )


@dataclass(frozen=True)
class Target:
    """A machine that the check program is built for: its compilers' prefix, its cross file's words, what runs it."""

    prefix: str = ""
    system: str = "linux"
    family: str = ""
    runner: tuple[str, ...] = ()
    program: str = "check"
    levels: tuple[str, ...] = ("DEFAULT",)


TARGETS = {
    "native": Target(levels=tuple(LEVELS)),
    "aarch64": Target("aarch64-linux-gnu-", "linux", "aarch64", ("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu")),
}


def said_by_check(project: Project, target: Target) -> list[str]:
    """Build the kernels and their check program for a target, with no Python, run it, and return its lines."""
    options = ["-Dfront=disabled"]
    if target.prefix:
        need(f"{target.prefix}g++", *target.runner[:1])
        (project.folder / "cross.ini").write_text(
            f"[binaries]\nc = '{target.prefix}gcc'\ncpp = '{target.prefix}g++'\nar = '{target.prefix}ar'\n"
            f"[host_machine]\nsystem = '{target.system}'\ncpu_family = '{target.family}'\ncpu = '{target.family}'\n"
            "endian = 'little'\n"
        )
        options += ["--cross-file", "cross.ini"]
    project.setup(*options)
    project.ninja()
    return project.run(*target.runner, project.path(target.program)).stdout.splitlines()


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_the_check_that_needs_no_python(new_project, target):
    said = said_by_check(new_project("reductions"), target)
    assert said == [f"{line.split()[0]} right" for line in said]
    assert [line.split()[0] for line in said] == list(target.levels)[: len(said)]
    assert said


def test_the_check_fails_where_a_kernel_is_wrong(new_project):
    project = new_project("reductions")
    project.edit("kernels/blocks.h", "value = nan;", "value = 0;")
    project.setup("-Dfront=disabled", "-Disa_levels=none")
    project.ninja()
    done = project.run(project.path("check"), check=False)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "DEFAULT wrong"
