"""All architectures that have no folder of their own: they have no features, only the compiler's baseline."""

from ..processor import Processor

PROCESSOR = Processor(name="generic")
