"""Registrations in compiled objects, and the dispatch source in compilers."""

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from isagen.build.addresses import LevelAddresses
from isagen.build.registrations import registered_by, registrations_of
from isagen.configure.dispatch import dispatch_texts
from isagen.model.errors import BuildError
from isagen.model.plan import Verdict
from isagen.model.registrations import Registrations
from isagen.planning.config import Config
from isagen.planning.plan import CopyOptions, make_plan
from isagen.processors.table import load_table
from support.compiling import read_object
from support.model import build_of, write_dispatch

needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


def registered(folder: Path, texts: Mapping[str, str]) -> Registrations:
    """What objects of the level DEFAULT register, which are compiled of the texts of kernel sources."""
    for name, text in texts.items():
        (folder / name).write_text(text)
        subprocess.run(["cc", "-c", name, "-o", f"{name}.o"], cwd=folder, check=True)
    files = {name: read_object(folder / f"{name}.o", "DEFAULT") for name in texts}
    addresses = LevelAddresses("DEFAULT", list(files.values()))
    variables = (symbol for file in files.values() for symbol in addresses.shared_variables(file))
    shared = {symbol.name: symbol.initial_value for symbol in variables}
    return registrations_of("DEFAULT", [(name, registered_by(file, "DEFAULT")) for name, file in files.items()], shared)


def constants(*names: str) -> str:
    return "".join(f"extern const int isa_{n}; const int isa_{n} = 1;\n" for n in names)


@needs_cc
def test_registrations_are_read_from_objects(tmp_path):
    text = constants("kernel_DEFAULT__dot", "kernel_DEFAULT__my__dot", "without_DEFAULT__sum", "kernel_AVX2__other")
    text += "static int isa_kernel_DEFAULT__hidden; int *p(void) { return &isa_kernel_DEFAULT__hidden; }\n"
    text += "extern int isa_kernel_DEFAULT__lacking; int q(void) { return isa_kernel_DEFAULT__lacking; }\n"
    text += (
        "__attribute__((weak)) long counter = 1; __attribute__((weak)) extern const long limit; const long limit = 1;\n"
    )
    found = registered(tmp_path, {"a.c": text, "b.c": "int b;\n"})
    kernels = {name: (kernel.registers, kernel.without) for name, kernel in found.kernels.items()}
    assert kernels == {"a.c": (("dot", "my__dot"), ("sum",)), "b.c": ((), ())}
    assert found.shared == {"counter": "1 (8 bytes)"}


@needs_cc
def test_a_stub_registered_by_two_kernels_at_one_level(tmp_path):
    with pytest.raises(BuildError, match=r"^dot: is registered twice at DEFAULT: by a\.c and by b\.c\n"):
        registered(tmp_path, dict.fromkeys(("a.c", "b.c"), constants("kernel_DEFAULT__dot")))


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
        copy_options=CopyOptions(),
    )
    texts = dispatch_texts(build_of(plan), table)
    write_dispatch(tmp_path, texts, {stub: ["DEFAULT"] for stub in stubs}, table.names())
    standard = "-std=c++17" if language == "c++" else "-std=gnu11"
    words = [
        "cc",
        "-x",
        language,
        standard,
        "-Wall",
        "-Wextra",
        "-Werror",
        "-O2",
        "-c",
        "isa_dispatch.c",
        "-o",
        "out.o",
    ]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
