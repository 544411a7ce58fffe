"""x"""
from support.hostile import case, rotated
CASES = rotated([
case("nothing", "sound", """
// call:
x += 1;
"""),
case("nothing c", "sound", """
// call:
x += 1;
""", language="c"),
])
