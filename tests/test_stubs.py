import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from isagen.config import Config
from isagen.dispatch import dispatch_texts
from isagen.errors import BuildError
from isagen.plan import Style, make_plan
from isagen.probe import Verdict
from isagen.steps.stubs import MARK, registered, stub_table, write_dispatch_source
from isagen.table import load_table

LEVELS = ["DEFAULT", "AVX2", "AVX512_BF16"]
needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


def compiled(folder: Path, name: str, text: str) -> Path:
    (folder / f"{name}.c").write_text(text)
    subprocess.run(["cc", "-c", f"{name}.c", "-o", f"{name}.o"], cwd=folder, check=True)
    return folder / f"{name}.o"


def kernels(*names: str) -> str:
    return "".join(f"extern const int isa_kernel_{n}; const int isa_kernel_{n} = 1;\n" for n in names)


def write_plan(folder: Path, source: str = f"before\n{MARK}\nafter\n") -> Path:
    path = folder / "plan.json"
    path.write_text(json.dumps({"levels": [{"name": x} for x in LEVELS], "dispatch": {"source": source}}))
    return path


# ---- names


@pytest.mark.parametrize(
    ("symbol", "found"),
    [
        ("isa_kernel_AVX2__dot", {"dot": ["AVX2"]}),
        ("isa_kernel_AVX512_BF16__dot", {"dot": ["AVX512_BF16"]}),
        ("isa_kernel_AVX2__my__dot", {"my__dot": ["AVX2"]}),
        ("isa_kernel_AVX2___dot", {"_dot": ["AVX2"]}),
        ("isa_kernel_AVX2_dot", {}),
        ("_isa_kernel_AVX2__dot", {}),
        ("isa_kern", {}),
    ],
)
def test_registered(symbol, found):
    assert registered([symbol, "main"]) == found


def test_registered_is_sorted_by_stub_and_joins_levels():
    names = ["isa_kernel_DEFAULT__z", "isa_kernel_DEFAULT__a", "isa_kernel_AVX2__z"]
    assert list(registered(names).items()) == [("a", ["DEFAULT"]), ("z", ["DEFAULT", "AVX2"])]


def test_table_has_a_cell_for_every_level():
    text = stub_table({"dot": ["AVX512_BF16", "DEFAULT"]}, LEVELS)
    assert "{isa_bind_dot, {&isa_kernel_DEFAULT__dot, NULL, &isa_kernel_AVX512_BF16__dot}}," in text
    assert "isa_kernel_AVX2__dot" not in text


# ---- from objects


@needs_cc
def test_source_is_made_of_what_the_objects_register(tmp_path):
    objects = [
        compiled(tmp_path, "one", kernels("DEFAULT__dot", "DEFAULT__sum")),
        compiled(tmp_path, "two", kernels("AVX2__dot") + "static int isa_kernel_AVX512_BF16__dot; int *p(void) "
                 "{ return &isa_kernel_AVX512_BF16__dot; }\nextern int isa_kernel_AVX2__sum; "
                 "int q(void) { return isa_kernel_AVX2__sum; }\n"),
    ]  # fmt: skip
    output = tmp_path / "isa_dispatch.c"
    write_dispatch_source(write_plan(tmp_path), objects, output)
    text = output.read_text()
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert MARK not in text
    assert "{isa_bind_dot, {&isa_kernel_DEFAULT__dot, &isa_kernel_AVX2__dot, NULL}}," in text
    assert "{isa_bind_sum, {&isa_kernel_DEFAULT__sum, NULL, NULL}}," in text


@needs_cc
def test_same_text_is_not_rewritten(tmp_path):
    objects = [compiled(tmp_path, x, kernels(f"{x}__b", f"{x}__a")) for x in ("DEFAULT", "AVX2")]
    output = tmp_path / "isa_dispatch.c"
    write_dispatch_source(write_plan(tmp_path), objects, output)
    os.utime(output, (1_000_000_000, 1_000_000_000))
    write_dispatch_source(write_plan(tmp_path), objects, output)
    assert output.stat().st_mtime == 1_000_000_000


@needs_cc
def test_stub_without_a_kernel_at_the_lowest_level(tmp_path):
    objects = [compiled(tmp_path, "one", kernels("DEFAULT__sum", "AVX2__dot", "AVX512_BF16__dot"))]
    with pytest.raises(BuildError, match=r"^dot: no kernel is registered at DEFAULT, only at AVX2, AVX512_BF16\n"):
        write_dispatch_source(write_plan(tmp_path), objects, tmp_path / "isa_dispatch.c")
    assert not (tmp_path / "isa_dispatch.c").exists()


def test_not_an_object(tmp_path):
    (tmp_path / "lto.o").write_text("!<arch> or bitcode")
    with pytest.raises(BuildError, match=r"lto\.o: is not an object file.*\n.*ELF"):
        write_dispatch_source(write_plan(tmp_path), [tmp_path / "lto.o"], tmp_path / "isa_dispatch.c")


@needs_cc
def test_kernels_that_register_nothing(tmp_path):
    objects = [compiled(tmp_path, "k", "int empty;\n")]
    with pytest.raises(BuildError, match="no kernel registers itself"):
        write_dispatch_source(write_plan(tmp_path), objects, tmp_path / "isa_dispatch.c")


@needs_cc
@pytest.mark.parametrize("language", ["c", "c++"])
@pytest.mark.parametrize("stubs", [("dot",), ("dot", "sum")])
@pytest.mark.parametrize("name", ["x86", "generic"])
def test_whole_source_compiles_without_a_warning(tmp_path, name, stubs, language):
    table = load_table(name, Path())
    plan = make_plan(
        config=Config(Path("isa.toml")),
        table=table,
        kernels=["k.c"],
        option_levels="",
        verdicts={(x, "c"): Verdict(True, "", features=table.required_features(x)) for x in table.names()},
        source_root="..",
        style=Style(),
    )
    header, source = dispatch_texts(plan, table)
    (tmp_path / "isa_dispatch.h").write_text(header)
    (tmp_path / "plan.json").write_text(
        json.dumps({"levels": [{"name": x} for x in table.names()], "dispatch": {"source": source}})
    )
    objects = [compiled(tmp_path, "k", kernels(*(f"DEFAULT__{stub}" for stub in stubs)))]
    write_dispatch_source(tmp_path / "plan.json", objects, tmp_path / "out.c")
    standard = "-std=c++17" if language == "c++" else "-std=gnu11"
    words = ["cc", "-x", language, standard, "-Wall", "-Wextra", "-Werror", "-O2", "-c", "out.c", "-o", "out.o"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
