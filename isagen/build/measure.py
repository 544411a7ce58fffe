"""Measuring compiled copies: sizes, instructions by the feature that they need, and a digest to compare copies."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress

from ..binary.format import AnyObject
from ..binary.formats import architecture_of
from ..model.errors import AuditError
from ..model.files import read_bytes
from ..model.matrix import Code
from ..model.registrations import Registrations
from ..processors.decoding import Decoder
from ..processors.instructions import OR
from ..processors.registry import decoder_of

NeedsOf = Callable[[Decoder], Mapping[int, frozenset[str]]]


def measured(file: AnyObject, marks: Sequence[str], needs_of: NeedsOf) -> Code:
    """Return the measures of an object's code, without counts of instructions if there is no decoder.

    `marks` are prefixes of symbols' names. They differ between levels, so the digest does not depend on their texts.
    `needs_of` returns, for a decoder, a mapping from numbers of instructions (`Instruction.code`) to the features that
    they need. An instruction that needs one of several features counts under the first.
    """
    parts = file.code()
    instructions, widest, by_feature = None, 0, Counter[str]()
    with suppress(ImportError, AuditError):  # there is no decoder, or its library is not installed
        decoder = decoder_of(architecture_of(file.path), "")
        needs = needs_of(decoder)
        counts = Counter(instruction.code for part in parts for instruction in decoder.decode(part, 0))
        instructions, widest = counts.total(), max(map(decoder.width, counts), default=0)
        for code, count in counts.items():
            for feature in needs.get(code, ()):
                by_feature[feature.partition(OR)[0]] += count
    size = sum(map(len, parts))
    return Code(file.loaded_bytes, size, instructions, widest, dict(sorted(by_feature.items())), file.digest(marks))


CONDITION = re.compile(rb"^\s*#\s*if", re.MULTILINE)
LOST = (
    "isagen: warning: {source}: {level} has the same code as {lower}, but {between}, a level between, has other code\n"
    "  {level} lacks the code of {between}: let the #if in the source choose it, or define its macro for {level} in "
    "the table (levels.{level}.defines)"
)


def lost_code(
    levels: Sequence[Registrations], below: Mapping[str, Sequence[str]], paths: Mapping[str, str]
) -> Iterator[str]:
    """Yield a warning for each kernel source with the same code at two levels, and other code at a level between them.

    Such a source chooses its code by macros, and the highest of the three levels does not define the macro of the level
    between. `levels` are ordered, the lowest first. `paths` maps sources to files: a source without #if has no warning,
    because only the compiler can have made the difference.
    """
    digests: dict[str, dict[str, str]] = {}
    for registrations in levels:
        for source, kernel in registrations.kernels.items():
            if kernel.code is not None and kernel.registers:
                digests.setdefault(source, {})[registrations.level] = kernel.code.digest
    for source, by_level in digests.items():
        for level, digest in by_level.items():
            required = [name for name in by_level if name in below[level]]
            same = [name for name in required if by_level[name] == digest]
            between = [name for name in required if same and same[0] in below[name] and by_level[name] != digest]
            if between and CONDITION.search(read_bytes(paths[source])):
                yield LOST.format(source=source, level=level, lower=same[0], between=between[-1])
                break
