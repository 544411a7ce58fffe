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
