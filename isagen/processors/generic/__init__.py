"""Every architecture that has no folder of its own: the compiler's baseline, and no features."""

import os

from ..processor import ANY_FAMILY, Processor

PROCESSOR = Processor(
    name="generic",
    home=os.path.dirname(__file__),
    cpu_families=(ANY_FAMILY,),
    default_tables={ANY_FAMILY: "generic"},
)
