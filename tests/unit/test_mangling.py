"""ABI tags in mangled names: what demanglers show for them, and that they come off again."""

import random
import subprocess

import pytest

from isagen.audit.allowances import names_of
from isagen.binary.mangling import tagged, untagged
from isagen.binary.private_names import name_in_source, private_name
from support.projects import need

# Mangled names of functions, and what GNU's demangler shows of them with the tag.
FUNCTIONS = {
    "_Z3dotPKfm": "dot[abi:AVX2](float const*, unsigned long)",
    "_ZL3dotPKfm": "dot[abi:AVX2](float const*, unsigned long)",
    "_ZN12_GLOBAL__N_14axpyEPfi": "(anonymous namespace)::axpy[abi:AVX2](float*, int)",
    "_Z5twiceIfET_S0_": "float twice[abi:AVX2]<float>(float)",
    "_ZSt4sortIPfEvT_S1_": "void std::sort[abi:AVX2]<float*>(float*, float*)",
    "_ZNSt6vectorIfSaIfEE5clearEv": "std::vector<float, std::allocator<float> >::clear[abi:AVX2]()",
    "_ZNKSs4sizeEv": "std::basic_string<char, std::char_traits<char>, std::allocator<char> >::size[abi:AVX2]() const",
    "_ZNSt6vectorIfSaIfEED1Ev": "std::vector<float, std::allocator<float> >::~vector[abi:AVX2]()",
    "_ZN1a1bplERKS0_": "a::b::operator+[abi:AVX2](a::b const&)",
    "_ZZN12_GLOBAL__N_14axpyEPfiENKUlfE_clEf": (
        "(anonymous namespace)::axpy(float*, int)::{lambda(float)#1}::operator()[abi:AVX2](float) const"
    ),
    "_Z1fILb1ELm4EJifEEvv": "void f[abi:AVX2]<true, 4ul, int, float>()",
    "_Z5applyIXadL_Z4halffEEEvf": "void apply[abi:AVX2]<&(half(float))>(float)",
    "_Z3sumDv8_f": "sum[abi:AVX2](float __vector(8))",
    "_Z4pickPFfRA4_KfES1_": "pick[abi:AVX2](float (*)(float const (&) [4]), float const (&) [4])",
    "_ZN1a1fB5cxx11Ev": "a::f[abi:cxx11][abi:AVX2]()",
}
# Variables, tables, thunks, C's names, conversions, and what the grammar does not know.
OTHERS = [
    "dot",
    "_ZN1a5tableE",
    "_ZZ4stepvE5calls",
    "_ZTV1a",
    "_ZThn16_N1a1fEv",
    "_ZGVZ4stepvE5calls",
    "_ZNK1acvfEv",
    "_ZN1aC1IiEET_",
    "_Z",
    "_ZN",
    "_Z9dot",
    "_Z99dotv",
    "_Z1fIXsr3std5valueEEvv",
]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_demanglers_show_the_tag(name):
    need("c++filt")
    new = tagged(name, "AVX2")
    assert new != name
    assert untagged(new, "AVX2") == name
    said = subprocess.run(["c++filt", new], capture_output=True, text=True, check=True).stdout.strip()
    assert said == FUNCTIONS[name]


@pytest.mark.parametrize("name", OTHERS)
def test_other_names_have_no_tag(name):
    assert tagged(name, "AVX2") == name
    assert untagged(name, "AVX2") == name


def test_what_compilers_append_stays_behind_the_tag():
    assert tagged("_Z1fv.isra.0", "AVX512_BF16") == "_Z1fB11AVX512_BF16v.isra.0"
    assert private_name("_Z1fv.cold", "AVX2", "7") == "_Z1fB4AVX2v.cold.avx2.7"
    assert private_name("dot.part.0", "AVX2", "7") == "dot.part.0.avx2.7"


@pytest.mark.parametrize("name", [*FUNCTIONS, *OTHERS, "_Z1fv.cold", "dot.part.0"])
def test_the_name_in_the_source_comes_back(name):
    assert name_in_source(private_name(name, "AVX512_VNNI", "375289403")) == name


def test_names_that_are_not_sealed_stay():
    assert name_in_source("_Z1fB4AVX2v") == "_Z1fB4AVX2v"
    assert name_in_source("_GLOBAL__sub_I_x.cpp") == "_GLOBAL__sub_I_x.cpp"


def test_functions_are_allowed_by_their_plain_names():
    names = names_of(private_name("_ZN12_GLOBAL__N_14axpyEPfi", "AVX2", "7"))
    assert {"_ZN12_GLOBAL__N_14axpyEPfi", "(anonymous namespace)::axpy(float*, int)"} <= names
    assert {"my_avx2_copy", "my_avx2_copy.part.0"} <= names_of(private_name("my_avx2_copy.part.0", "AVX2", "7"))


def test_damaged_names_are_left():
    chance = random.Random(3)
    for _ in range(20000):
        name = list(chance.choice(list(FUNCTIONS)))
        for _ in range(chance.choice((1, 2, 5))):
            name[chance.randrange(2, len(name))] = chance.choice("NEZISLTFXBJ_0123456789abcdUlKPR")
        text = "".join(name)
        new = tagged(text, "AVX2")
        assert new == text or untagged(new, "AVX2") == text
