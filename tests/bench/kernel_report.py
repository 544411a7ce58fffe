"""The text output of bench/kernels.py: the table, the gain of each level, and the targets."""

from pathlib import Path

from isagen_kernels import isa

from isagen.processors.table import load_table

# Ratios to torch at the best level, one thread; case, at least.
TARGETS = (
    ("cumsum 1M", 3.0),
    ("softmax 1024x1024", 1.2),
    ("softmax 512x64", 1.2),
    ("log_softmax 1024x1024", 1.2),
    ("log_softmax 512x64", 1.2),
    ("fp32_to_bf16 1M", 1.0),
    ("sum 1M", 0.95),
    ("channel_shuffle channels first 8x64x56x56 g2", 1.0),
    ("channel_shuffle channels first 8x64x56x56 g4", 1.0),
    ("channel_shuffle channels first 8x64x56x56 g8", 1.0),
    ("channel_shuffle channels last 8x64x56x56 g2", 2.0),
    ("channel_shuffle channels last 8x64x56x56 g4", 2.0),
    ("channel_shuffle channels last 8x64x56x56 g8", 2.0),
    ("matmul_bf16 512 cubed", 0.5),
    ("matmul_u8s8 512 cubed", 0.5),
)
COPY_TARGET = 0.85  # of the copy bandwidth, on arrays beyond the last cache
THREADS_TARGET = 1.6  # times as fast with two threads, on a million elements and more
LEVEL_TARGET = 1.15  # times as fast as at every level that it requires


def machine_text(machine):
    versions = f"Python {machine['python']}, NumPy {machine['numpy']}, torch {machine['torch'] or 'not installed'}"
    lines = [f"{machine['cpu']}, {machine['cpus']} CPUs; {versions}; {machine['rounds']} rounds"]
    for stub, peaks in machine["peaks_gflop_per_s"].items():
        reached = ", ".join(f"{level} {value:.0f}" for level, value in peaks.items())
        lines.append(f"peak of {stub.removesuffix('_stub')}'s instruction on one core, GFLOP/s: {reached}")
    return "\n".join(lines)


def time_text(seconds):
    return f"{seconds * 1e6:.1f} us" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms"


def number(value):
    return "-" if value is None else f"{value:.2f}"


def table(rows, heading):
    lines = []
    if heading:
        lines.append(
            f"\n{'kernel':<32}{'size':<19}{'level':<13}{'threads':>7}{'time':>11}{'':>10}"
            f"{'/ torch':>9}{'/ NumPy':>9}{'/ copy':>8}{'/ peak':>8}{'/ 1 thread':>12}"
        )
    for row in rows:
        bound_by_memory = row["gflop_per_s"] is None
        speed = f"{row['gb_per_s']:.1f} GB/s" if bound_by_memory else f"{row['gflop_per_s']:.0f} GF/s"
        lines.append(
            f"{row['kernel']:<32}{row['size']:<19}{row['level']:<13}{row['threads']:>7}{time_text(row['seconds']):>11}"
            f"{speed:>10}{number(row['to_torch']):>9}{number(row['to_numpy']):>9}"
            f"{number(row['to_copy']):>8}{number(row['to_peak']):>8}{number(row['to_one_thread']):>12}"
        )
    return "\n".join(lines)


def gains(results):
    """For every level, the kernel that gains most over the best of the levels that it requires."""
    lines = [f"\nwhat a level gains over the best of those that it requires (one thread; at least {LEVEL_TARGET}):"]
    levels = load_table("x86", Path())
    for level in list(isa.levels)[1:]:
        required = {lower.name for lower in levels.below(level)}
        found = []
        for row in results:
            ratios = [ratio for name, ratio in row["to_levels"].items() if name in required]
            if row["level"] == level and row["threads"] == 1 and ratios:
                found.append((min(ratios), f"{row['kernel']} {row['size']}"))
        if found:
            ratio, case = max(found)
            verdict = "ok" if ratio >= LEVEL_TARGET else "MISSED"
            lines.append(f"  {level:<13}{ratio:>6.2f}  {verdict:<8}{case}")
        else:
            reason = "no kernel of its own here" if isa.levels[level][1] else "not supported by this CPU or OS"
            lines.append(f"  {level:<13}{'-':>6}  {reason}")
    return "\n".join(lines)


def best_rows(results, threads):
    """The row of the best level of every case."""
    found = {}
    for row in results:
        if row["threads"] == threads:
            found[f"{row['kernel']} {row['size']}"] = row  # levels come lowest first
    return found


def targets(results):
    lines = ["\ntargets at the best level:"]

    def line(text, value, least, copy=None):
        verdict = "ok" if value >= least else "MISSED"
        if verdict == "MISSED" and copy is not None and value >= COPY_TARGET * copy:
            verdict = f"memory's limit: a copy gains {copy:.2f}"
        lines.append(f"  {text:<66}{value:>6.2f}  at least {least:<5}{verdict}")

    single = best_rows(results, 1)
    for name, least in TARGETS:
        if name in single and single[name]["to_torch"] is not None:
            line(f"{name}, / torch", single[name]["to_torch"], least)
    for name, row in single.items():
        if row["to_copy"] is not None and row["gb_per_s"] * row["seconds"] * 1e9 >= 128 << 20:
            line(f"{name}, / copy", row["to_copy"], COPY_TARGET)
    for name, row in best_rows(results, 2).items():
        if row["items"] >= 1 << 20:
            line(f"{name}, two threads / one", row["to_one_thread"], THREADS_TARGET, row["copy_to_one_thread"])
    return "\n".join(lines)
