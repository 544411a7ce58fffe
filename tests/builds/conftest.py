"""The fixtures that tests of builds share."""

import pytest

from support.foreign import LINKERS, run
from support.prepared import Prepared
from support.projects import need


@pytest.fixture(scope="session")
def prepared(tmp_path_factory):
    """Projects that each process of the run builds once; see `Prepared`."""
    return Prepared(tmp_path_factory.mktemp("prepared"))


@pytest.fixture
def link(tmp_path):
    """Compile C (or what `kind` says) and link it into a library, or what the flags say."""

    def link(source, *flags, compiler="g++", linker=None, name="foreign.so", kind=".c"):
        need(compiler)
        if linker is not None:
            need(LINKERS[linker])
            flags = (*flags, f"-fuse-ld={linker}")
        text = tmp_path / f"source{kind}"
        text.write_text(source)
        output = tmp_path / name
        shared = () if {"-c", "-static", "-static-pie", "-no-pie"} & set(flags) else ("-shared",)
        language = {".c": "c", ".cpp": "c++", ".s": "assembler"}[kind]
        run(compiler, "-x", language, text, "-x", "none", "-O2", "-fPIC", *shared, "-o", output, *flags)
        return output

    return link
