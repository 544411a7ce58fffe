"""Registrations and the dispatch source that is made of them."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from support.model import build_of, kernel_row, plan_of, registered_at, write_build

from isagen.binary.elf.objects import ElfObject
from isagen.build.registrations import registered_by_kernel, source_of, stubs_of
from isagen.build.stubs import stub_table, write_dispatch_source
from isagen.configure.dispatch import dispatch_texts
from isagen.model.errors import BuildError
from isagen.model.names import STUBS_MARK
from isagen.model.plan import Plan, Verdict
from isagen.model.plan_file import registrations_text
from isagen.model.registrations import Registered, Registrations
from isagen.planning.config import Config
from isagen.planning.plan import Style, make_plan
from isagen.processors.table import load_table

LEVELS = ["DEFAULT", "AVX2", "AVX512_BF16"]
needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


def compiled(folder: Path, name: str, text: str) -> ElfObject:
    (folder / f"{name}.c").write_text(text)
    subprocess.run(["cc", "-c", f"{name}.c", "-o", f"{name}.o"], cwd=folder, check=True)
    return ElfObject.load(folder / f"{name}.o")


def constants(*names: str) -> str:
    return "".join(f"extern const int isa_{n}; const int isa_{n} = 1;\n" for n in names)


def plan_for(*copies: str) -> Plan:
    """A plan whose kernels are called after their copies at DEFAULT."""
    return plan_of(LEVELS, [kernel_row(f"{copy}.cpp", {"DEFAULT": f"{copy}.cpp.DEFAULT.cpp"}) for copy in copies])


# ---- from objects


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
        shared={"counter": 8},
    )


@needs_cc
def test_a_stub_registered_by_two_kernels_at_one_level(tmp_path):
    objects = [
        compiled(tmp_path, f"meson-generated_.._{x}.cpp.DEFAULT.cpp", constants("kernel_DEFAULT__dot")) for x in "ab"
    ]
    with pytest.raises(BuildError, match=r"^dot: is registered twice at DEFAULT: by a\.cpp and by b\.cpp\n"):
        registered_by_kernel(plan_for("a", "b"), "DEFAULT", objects)


def test_an_object_s_name_tells_the_source():
    sources = {"k.cpp.DEFAULT.cpp": "x/k.cpp", "a_k.cpp.DEFAULT.cpp": "a/k.cpp"}
    assert source_of(Path("lib.p/meson-generated_.._a_k.cpp.DEFAULT.cpp.o"), sources) == "a/k.cpp"
    assert source_of(Path("lib.p/meson-generated_.._k.cpp.DEFAULT.cpp.obj"), sources) == "x/k.cpp"
    with pytest.raises(BuildError, match="does not come from a kernel"):
        source_of(Path("lib.p/meson-generated_.._b_k.cpp.DEFAULT.cpp.o"), sources)


def test_shared_data_of_different_sizes():
    levels = [
        registered_at("DEFAULT", {"same": 4, "table": 16, "only": 1}, a="dot"),
        registered_at("AVX2", {"same": 4, "table": 32}, a="dot"),
    ]
    with pytest.raises(BuildError, match=r"^table: this variable .* 16 bytes at DEFAULT and 32 at AVX2\n"):
        stubs_of(levels, "DEFAULT")


def test_not_an_object(tmp_path):
    (tmp_path / "meson-generated_.._a.cpp.DEFAULT.cpp.o").write_text("!<arch> or bitcode")
    with pytest.raises(BuildError, match=r"DEFAULT\.cpp\.o: is not an object file.*\n.*ELF"):
        registered_by_kernel(
            plan_for("a"), "DEFAULT", [ElfObject.load(tmp_path / "meson-generated_.._a.cpp.DEFAULT.cpp.o")]
        )


# ---- across levels


def test_stubs_are_sorted_and_join_levels_and_kernels():
    levels = [
        registered_at("DEFAULT", a="z a", b=""),
        registered_at("AVX2", a="z -a", b=""),
        registered_at("AVX512_BF16", b="z"),
    ]
    with pytest.raises(BuildError, match="b registers it at"):
        stubs_of(levels, "DEFAULT")
    levels = [registered_at("DEFAULT", a="z a"), registered_at("AVX2", a="z -a"), registered_at("AVX512_BF16", b="z")]
    assert list(stubs_of(levels, "DEFAULT").items()) == [
        ("a", ["DEFAULT"]),
        ("z", ["DEFAULT", "AVX2", "AVX512_BF16"]),
    ]


def test_kernels_that_register_nothing():
    with pytest.raises(BuildError, match="no kernel registers itself"):
        stubs_of([registered_at("DEFAULT", a="", b="")], "DEFAULT")


def test_a_stub_without_a_kernel_at_the_lowest_level():
    levels = [registered_at("DEFAULT", a="-dot"), registered_at("AVX2", a="dot"), registered_at("AVX512_BF16", a="dot")]
    with pytest.raises(BuildError, match=r"^dot: a registers it at AVX2, AVX512_BF16, but no kernel does at DEFAULT\n"):
        stubs_of(levels, "DEFAULT")


def test_a_stub_that_its_kernel_forgets_at_a_level():
    levels = [registered_at("DEFAULT", a="dot"), registered_at("AVX2", a="")]
    with pytest.raises(BuildError, match=r"^dot: a registers it at DEFAULT, but not at AVX2, .*\n.*NO_DISPATCH\(dot\)"):
        stubs_of(levels, "DEFAULT")


# ---- the dispatch source


def test_table_has_a_cell_for_every_level():
    text = stub_table({"dot": ["AVX512_BF16", "DEFAULT"]}, LEVELS)
    assert '{"dot", isa_bind_dot, {&isa_kernel_DEFAULT__dot, NULL, &isa_kernel_AVX512_BF16__dot}},' in text
    assert "isa_kernel_AVX2__dot" not in text


def test_the_source_is_written_from_registrations_and_only_when_it_changes(tmp_path):
    plan = write_build(tmp_path, plan_for("a"), {"isa_dispatch.c": f"before\n{STUBS_MARK}\nafter\n"})
    paths = []
    for noted in (registered_at("DEFAULT", a="dot"), registered_at("AVX2", a="dot")):
        paths.append(tmp_path / f"{noted.level}.json")
        paths[-1].write_text(registrations_text(noted))
    output = tmp_path / "isa_dispatch.c"
    write_dispatch_source(plan, paths, output)
    text = output.read_text()
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert STUBS_MARK not in text
    os.utime(output, (1_000_000_000, 1_000_000_000))
    write_dispatch_source(plan, paths, output)
    assert output.stat().st_mtime == 1_000_000_000


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
    headers, source = dispatch_texts(build_of(plan), table)
    (tmp_path / "isa_dispatch.h").write_text(headers["isa_dispatch.h"])
    written = write_build(tmp_path, plan, {"isa_dispatch.c": source})
    (tmp_path / "noted.json").write_text(registrations_text(registered_at("DEFAULT", k=" ".join(stubs))))
    write_dispatch_source(written, [tmp_path / "noted.json"], tmp_path / "out.c")
    standard = "-std=c++17" if language == "c++" else "-std=gnu11"
    words = ["cc", "-x", language, standard, "-Wall", "-Wextra", "-Werror", "-O2", "-c", "out.c", "-o", "out.o"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
