"""All architectures that have no folder of their own: they have no features, only the compiler's baseline."""

from pathlib import Path

from ..processor import Processor

PROCESSOR = Processor(name="generic", home=Path(__file__).parent)
