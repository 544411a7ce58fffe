"""Two sets of kernels in one target: the audit of one does not take the other's levels for ordinary code."""

import pytest

MESON = """
project('sets', 'c', meson_version: '>=1.0.1', default_options: ['c_std=c11'])
isa_sets = {'one': {'kernels': files('a.c')}, 'two': {'kernels': files('b.c', 'helper.c')}}
subdir('isagen')
one = static_library('one', 'one.c', dependencies: isa_headers_deps['one'])
two = static_library('two', 'two.c', dependencies: isa_headers_deps['two'])
executable('sets', 'main.c', dependencies: [isa_kernels_deps['one'], isa_kernels_deps['two']], link_with: [one, two])
"""
STUB = '#include "isa_dispatch.h"\ntypedef int (*fn)(void);\nISA_DECLARE_DISPATCH(fn, {}_stub)\n'
FILES = {
    "meson.build": MESON,
    "a.c": STUB.format("a") + "static int a(void) { return 1; }\nISA_REGISTER_DISPATCH(a_stub, &a)\n",
    "b.c": STUB.format("b") + "int helper(void);\nstatic int b(void) { return helper(); }\n"
    "ISA_REGISTER_DISPATCH(b_stub, &b)\n",
    "helper.c": "int helper(void);\nint helper(void) { return 2; }\n",
    "one.c": STUB.format("a") + "ISA_DEFINE_DISPATCH(a_stub)\n",
    "two.c": STUB.format("b") + "ISA_DEFINE_DISPATCH(b_stub)\n",
    "main.c": "#include <stdio.h>\nextern int (*a_stub)(void), (*b_stub)(void);\n"
    'int main(void) { printf("%d %d\\n", a_stub(), b_stub()); }\n',
}


@pytest.fixture
def project(new_project):
    project = new_project()
    for name, text in FILES.items():
        (project.folder / name).write_text(text)
    project.isagen("init")
    return project


def test_a_unity_source_cannot_contain_two_sets(project):
    """Meson merges the generated sources of both sets; the error names the remedy."""
    project.setup("-Disa_levels=none", "--unity=on")
    errors = [line for line in project.ninja(check=False).splitlines() if "error" in line]
    assert "isagen: a unity source contains one set of kernels at most: " in errors[0]
    project.edit("meson.build", "link_with: [one, two])", "link_with: [one, two], override_options: ['unity=off'])")
    project.ninja()
    assert project.run(project.path("sets")).stdout == "1 2\n"


def test_kernels_of_a_set_may_call_each_other(project):
    project.setup("-Disa_levels=AVX2")
    project.ninja()
    assert project.run(project.path("sets")).stdout == "1 2\n"
