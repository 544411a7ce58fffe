"""The parts of many copies, and where the fragment finds the copies of each unit in them."""

import pytest

from isagen.configure.answer import Editor, answer
from isagen.model.frozen import replace
from isagen.model.plan import MANY, OWN, PART, Unit
from support.model import build_of
from support.registrations import plan_for


def plan_of(*sizes):
    units = [Unit(f"u{n}", "L", tuple(f"{n}.{copy}.c" for copy in range(size)), {}) for n, size in enumerate(sizes)]
    return replace(plan_for("kernel"), kernels=(), units=tuple(units))


@pytest.mark.parametrize(
    ("sizes", "parts"),
    [
        ((), []),
        ((20, 20), [40]),
        ((MANY - 10, 10), [MANY]),
        ((MANY, 10), [MANY, 10]),
        ((MANY, MANY, OWN), [MANY, MANY, OWN]),
        ((OWN - 1, MANY, 3, OWN), [MANY, OWN, OWN + 2]),
        ((OWN - 1,) * 9, [PART, PART, 9 * (OWN - 1) - 2 * PART]),
    ],
)
def test_each_copy_is_found_where_the_answer_says(sizes, parts):
    plan = plan_of(*sizes)
    assert [len(part) for part in plan.parts()] == parts
    values = answer(build_of(plan), Editor())
    found = [values[f"part_{number}"] for number in values["parts"]]
    others = [copy for number, part in enumerate(found) if str(number) not in values["whole"] for copy in part]
    for unit in plan.units:
        places = list(map(int, values[f"{unit.name}_copies"]))
        assert (found[places[0]] if len(places) == 1 else tuple(others[slice(*places)])) == unit.copies
