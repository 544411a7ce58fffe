"""Microsoft's mangled names of C++: what each is."""

import pytest

from isagen.binary import mangling

DYNAMIC = {
    # names of one object, and those of them that belong to variables that code initialises
    "of a namespace": (
        ["??__Edyn@ns@@YAXXZ", "?dyn@ns@@3HA", "?dyn@@3HA", "?dyn@ns@other@@3HA", "?f@@YAXXZ"],
        {"??__Edyn@ns@@YAXXZ", "?dyn@ns@@3HA"},
    ),
    "of a class": (["??__E?q@T@@2HA@@YAXXZ", "?q@T@@2HA", "?q@@3HA"], {"??__E?q@T@@2HA@@YAXXZ", "?q@T@@2HA"}),
    "a template": (
        ["??__E?$vt@UV@@@ns@@YAXXZ", "??$vt@UV@@@ns@@3HA", "??$vt@H@ns@@3HA"],
        {"??__E?$vt@UV@@@ns@@YAXXZ", "??$vt@UV@@@ns@@3HA"},
    ),
    "a member of a template": (
        ["??__E?v@?$H@H@@2UV@@A@@YAXXZ", "?v@?$H@H@@2UV@@A", "?v@?$H@M@@2UV@@A"],
        {"??__E?v@?$H@H@@2UV@@A@@YAXXZ", "?v@?$H@H@@2UV@@A"},
    ),
    "with C linkage": (["??__Ecdyn@@YAXXZ", "cdyn"], {"??__Ecdyn@@YAXXZ", "cdyn"}),
    "of a function, by its block": (
        ["?$TSS0@?1??f@@YAHXZ@4HA", "?a@?1??f@@YAHXZ@4HA", "?b@?2??f@@YAHXZ@4HA", "?a@?1??g@@YAHXZ@4HA"],
        {"?$TSS0@?1??f@@YAHXZ@4HA", "?a@?1??f@@YAHXZ@4HA"},
    ),
    "of a function, without locks": (["??_B?1??f@@YAHXZ@51", "?a@?1??f@@YAHXZ@4HA"], None),
    "of a function and a thread": (["??__J?1??g@@YAAEAHXZ@51", "?q@?1??g@@YAAEAHXZ@4HA"], None),
    "none": (["?f@@YAXXZ", "?calls@@3HA", "??_7V@@6B@"], set()),
}


@pytest.mark.parametrize("case", DYNAMIC)
def test_variables_that_code_initialises(case):
    names, expected = DYNAMIC[case]
    found = set(mangling.initialised_variables(names)).intersection(names)
    assert found == (set(names) if expected is None else expected)


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("?f@@YAXXZ", ()),
        ("??_7A@@6B@", ("is_vtable",)),
        ("??_7exception@std@@6B@", ("is_vtable", "is_standard")),
        ("??_7type_info@@6B@", ("is_vtable", "is_standard")),
        ("??_R0?AVexception@std@@@8", ("is_type", "is_standard")),
        ("??_R0?AUA@@@8", ("is_type",)),
        ("??_R1A@?0A@EA@A@@8", ("is_type",)),
        ("??_R3A@@8", ("is_type",)),
        ("??_R4A@@6B@", ()),
        ("_CT??_R0?AUE@@@8??0E@@QEAA@AEBU0@@Z8", ()),
        ("??_C@_04HBHDLLBA@PATH?$AA@", ("is_literal",)),
        ("__real@40600000", ("is_literal",)),
        ("__xmm@00000000000000000000000000000001", ("is_literal",)),
        ("?$TSS0@?1??f@@YAHXZ@4HA", ("is_guard",)),
        ("??_B?1??f@@YAHXZ@51", ("is_guard",)),
        ("??1A@@UEAA@XZ", ("is_destructor",)),
        ("??_GA@@UEAAPEAXI@Z", ("is_destructor",)),
        ("??__Fone@@YAXXZ", ("is_destructor",)),
        ("?dtor$5@?0?main@4HA", ("is_destructor",)),
    ],
)
def test_kinds_of_names(name, kinds):
    predicates = ("is_type", "is_literal", "is_vtable", "is_guard", "is_standard", "is_destructor")
    assert tuple(one for one in predicates if getattr(mangling, one)(name)) == tuple(
        one for one in predicates if one in kinds
    )
