"""The benchmark of the kernels runs, and its outputs agree with each other; speed is not tested."""

import json
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from support.checkout import ROOT

pytest.importorskip("numpy")


def test_kernels(tmp_path):
    figures, picture = tmp_path / "figures.json", tmp_path / "picture.svg"
    command = [sys.executable, ROOT / "tests/bench/kernels.py", "--rounds", "3", "--threads", "1,2", "--largest", "4"]
    done = subprocess.run(
        [*command, "--only", "sum 1M", "matmul_bf16 128", "--json", figures, "--picture", picture],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    measured = json.loads(figures.read_text())
    results = measured["results"]
    assert {row["kernel"] for row in results} == {"cumsum", "sum", "matmul_bf16"}
    for row in results:
        place = f"{row['kernel']:<32}{row['size']:<19}{row['level']:<13}{row['threads']:>7}"
        assert place in done.stdout
        assert row["seconds"] > 0
        assert (row["to_copy"] is None) == (
            row["kernel"] == "matmul_bf16" or row["threads"] > 1
        )  # small: no copy in two
        assert (row["to_one_thread"] is None) == (row["threads"] == 1)
    assert {row["threads"] for row in results} == {1, 2}
    peaks = measured["machine"]["peaks_gflop_per_s"]["matmul_bf16_stub"]
    assert all(row["to_peak"] > 0 for row in results if row["kernel"] == "matmul_bf16" and row["level"] in peaks)
    assert "targets at the best level:" in done.stdout
    ElementTree.parse(picture)


def test_no_such_kernel():
    command = [sys.executable, ROOT / "tests/bench/kernels.py", "--rounds", "3", "--only", "nothing of that name"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "no case is called like nothing of that name\n")
