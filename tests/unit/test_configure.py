"""Configuring writes nothing before all settings are checked."""

import pytest

from isagen.configure.configure import configure
from isagen.configure.request import Request
from isagen.model.errors import ConfigError
from support.probing import fake


@pytest.mark.parametrize(
    ("options", "message"),
    [({"editor": "AVX3"}, "isa_editor: unknown level 'AVX3'"), ({"levels": "AVX3"}, "isa_levels: unknown level")],
)
def test_an_unknown_level_in_an_option(tmp_path, options, message):
    (tmp_path / "isagen").mkdir()
    (tmp_path / "isagen/isa.toml").touch()
    (tmp_path / "one.c").touch()
    request = Request(
        config=tmp_path / "isagen/isa.toml",
        project_root=tmp_path,
        build_root=tmp_path / "build",
        output=tmp_path / "build/isagen",
        cpu_family="x86_64",
        system="linux",
        compilers=(fake(tmp_path, family="unknown"),),
        kernels=("one.c",),
        cache=False,
        **options,
    )
    with pytest.raises(ConfigError, match=message):
        configure(request)
    assert not request.output.exists()


@pytest.mark.parametrize(
    ("text", "is_module"),
    [
        ("PyMODINIT_FUNC PyInit_core(void)", True),
        ('  extern "C" PyMODINIT_FUNC PyInit_core(void)', True),
        ("PYBIND11_MODULE(core, m) {", True),
        ("NB_MODULE(core, m) {", True),
        ("/* such as\nPYBIND11_MODULE(core, m)\n*/ int x;", False),
        ("// PYBIND11_MODULE(core, m)\nint my_NB_MODULE;", False),
    ],
)
def test_the_source_of_a_python_module_among_the_kernels(tmp_path, text, is_module):
    (tmp_path / "isagen").mkdir()
    (tmp_path / "isagen/isa.toml").touch()
    (tmp_path / "core.c").write_text(f"#include <Python.h>\n{text}\n")
    request = Request(
        config=tmp_path / "isagen/isa.toml",
        project_root=tmp_path,
        build_root=tmp_path / "build",
        output=tmp_path / "build/isagen",
        cpu_family="x86_64",
        system="linux",
        compilers=(fake(tmp_path, family="unknown"),),
        kernels=("core.c",),
        cache=False,
    )
    assert ("seems to define a Python module" in configure(request)[0]) == is_module
