"""Every architecture that has no folder of its own: the compiler's baseline, and no features."""

from pathlib import Path

from ..processor import ANY_FAMILY, Processor

PROCESSOR = Processor(
    name="generic",
    home=Path(__file__).parent,
    cpu_families=(ANY_FAMILY,),
    default_tables={ANY_FAMILY: "generic"},
)
