"""Rows of encodings against llvm-mc 16, which may know fewer features."""

import random
import re
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from isagen.processors.instructions import OR
from isagen.processors.row_decoder import INVALID, Encodings


@dataclass(frozen=True)
class LlvmMc:
    """llvm-mc for a `triple`.

    Every CPU has the features `always`. `names` are LLVM 16's names of features with others in LLVM 22. `more` are
    features that LLVM 16 wants in addition to one. `as_bytes` returns a word's bytes. Without their feature, LLVM still
    decodes the instructions that are not `regular`. `free` returns the bits of the word that has a row's value.
    """

    triple: str
    always: Sequence[str]
    as_bytes: Callable[[int], bytes]
    more: Mapping[str, Sequence[str]] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    regular: Callable[[int], bool] = lambda word: True
    free: Callable[[int], int] = lambda value: (1 << 32) - 1

    def invalid(self, words: Sequence[int], features: Iterable[str], left_out: str = "") -> set[int]:
        """The words that are no instruction with these features, without one that is left out."""
        lines = "\n".join(" ".join(f"{byte:#04x}" for byte in self.as_bytes(word)) for word in words)
        attributes = ",".join([*(f"+{feature}" for feature in features), *([f"-{left_out}"] if left_out else [])])
        command = ["llvm-mc-16", "--disassemble", f"-triple={self.triple}", f"-mattr={attributes}"]
        done = subprocess.run(command, input=lines, capture_output=True, text=True, check=False)
        return {words[int(line) - 1] for line in re.findall(r"<stdin>:(\d+):\d+: warning: invalid", done.stderr)}

    def features(self) -> set[str]:
        command = ["llvm-mc-16", f"-triple={self.triple}", "-mattr=help"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return set(re.findall(r"^  (\S+) +- ", done.stdout + done.stderr, re.MULTILINE))

    def check_rows(self, encodings: Encodings, every: Sequence[str]) -> tuple[int, int]:
        """Compare what words of each row need; return how many are compared, and how many are known to LLVM 16 if it
        has the features `every`.
        """
        known, words = self.features(), self.sampled(encodings, 2)
        newer = self.invalid(words, every)
        by_needs: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for word in words:
            if word not in newer:
                by_needs[encodings.forms[encodings[word]].needs].append(word)
        compared = 0
        for named, group in by_needs.items():
            first = [feature.split(OR)[0].replace("_", "-") for feature in named]
            features = [self.names.get(feature, feature) for feature in first]
            if not known.issuperset(features):
                continue
            more = [one for feature in features for one in self.more.get(feature, ())]
            regular = [word for word in group if self.regular(word)]
            assert not self.invalid(group, [*self.always, *features, *more]), named
            for left_out in set(features) - set(self.always):
                assert self.invalid(regular, [*self.always, *features, *more], left_out) == set(regular), (
                    named,
                    left_out,
                )
            compared += len(group)
        return compared, len(words) - len(newer)

    def valid(self, encodings: Encodings, words: Sequence[int], every: Sequence[str]) -> tuple[int, set[int]]:
        """Return how many words are no instruction by the rows, and those of them that LLVM 16 knows."""
        unknown = [word for word in words if encodings[word] == INVALID]
        return len(unknown), set(unknown) - self.invalid(unknown, every)

    def sampled(self, encodings: Encodings, count: int) -> list[int]:
        """Words of every row of the table, with random bits where the mask has none."""
        chance = random.Random(1)
        rows = sorted({(mask, value) for listed in encodings.rows.values() for mask, value, _ in listed})
        return [chance.getrandbits(64) & self.free(value) & ~mask | value for mask, value in rows for _ in range(count)]
