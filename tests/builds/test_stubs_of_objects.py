"""Registrations in compiled objects, and the dispatch source in compilers."""

import shutil
import subprocess
from pathlib import Path

import pytest

from isagen.binary.elf.objects import ElfObject
from isagen.build.registrations import registered_by_kernel
from isagen.configure.dispatch import dispatch_texts
from isagen.model.errors import BuildError
from isagen.model.plan import Verdict
from isagen.model.registrations import Registered, Registrations
from isagen.planning.config import Config
from isagen.planning.plan import Style, make_plan
from isagen.processors.table import load_table
from support.model import build_of, write_dispatch
from support.registrations import plan_for

needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


def compiled(folder: Path, name: str, text: str) -> ElfObject:
    (folder / f"{name}.c").write_text(text)
    subprocess.run(["cc", "-c", f"{name}.c", "-o", f"{name}.o"], cwd=folder, check=True)
    return ElfObject.load(folder / f"{name}.o")


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
    objects = [
        compiled(tmp_path, "meson-generated_.._a.cpp.DEFAULT.cpp", text),
        compiled(tmp_path, "meson-generated_.._b.cpp.DEFAULT.cpp", "int b;\n"),
    ]
    assert registered_by_kernel(plan_for("a", "b"), "DEFAULT", objects) == Registrations(
        level="DEFAULT",
        kernels={
            "a.cpp": Registered(registers=("dot", "my__dot"), without=("sum",)),
            "b.cpp": Registered(registers=(), without=()),
        },
        shared={"counter": "1 (8 bytes)"},
    )


@needs_cc
def test_a_stub_registered_by_two_kernels_at_one_level(tmp_path):
    objects = [
        compiled(tmp_path, f"meson-generated_.._{x}.cpp.DEFAULT.cpp", constants("kernel_DEFAULT__dot")) for x in "ab"
    ]
    with pytest.raises(BuildError, match=r"^dot: is registered twice at DEFAULT: by a\.cpp and by b\.cpp\n"):
        registered_by_kernel(plan_for("a", "b"), "DEFAULT", objects)


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
