"""The facts of a features file and a decoder, kept from one audited link to the next: they take longer than a link."""

from __future__ import annotations

import os

from ..binary.protocol import Architecture
from ..model.kept import are_unchanged, read_kept, states_of, write_kept
from ..model.own_files import own_on_disk
from .instruction_sets import Asked, Facts, InstructionSets
from .processor import FEATURES_FILE, Processor
from .registry import find_processor

# The modules that make the facts of what is read.
MODULES = ("features.py", "instruction_sets.py")


def load_facts(path: str, name: str) -> Facts | None:
    """Return the facts of the processor `name` that the file at `path` holds.

    None where it holds none, or where any of the files that they were made from changed.
    """
    processor = find_processor(name)
    if processor is None or processor.decoder_files is None:
        return None
    kept = read_kept(path)
    if not isinstance(kept, list):
        return None
    states, facts = kept
    if list(states) != _made_from(processor) or not are_unchanged(states):
        return None
    *others, (functions, *asked), implied = facts
    return Facts(name, *others, Asked(frozenset(functions), *asked), implied)  # type: ignore[call-arg]


def kept_sets(path: str, name: str) -> InstructionSets | None:
    """Return the features that instructions need by the facts in the file at `path`; None as in `load_facts`."""
    facts = load_facts(path, name)
    processor = find_processor(name)
    if facts is None or processor is None or processor.decoder is None:
        return None
    return InstructionSets(None, processor.decoder(facts.numbers), facts)


def are_for(sets: InstructionSets, name: str, architecture: Architecture | None) -> bool:
    """Return whether `sets` are those of the processor `name`, and its decoder the one for an architecture."""
    processor = find_processor(name)
    decodable = processor.decodable if processor is not None else None
    known = decodable is not None and architecture is not None and decodable.is_in(architecture)
    return known and sets.facts.processor == name == sets.decoder.name


def save_facts(path: str, facts: Facts) -> None:
    """Keep facts in the file at `path`, if its folder is there."""
    processor = find_processor(facts.processor)
    if processor is None or processor.decoder_files is None or not os.path.isdir(os.path.dirname(path)):
        return
    try:
        states = states_of(_made_from(processor))
    except OSError:
        return
    by = facts.asked
    asked = [tuple(by.functions), by.variables, by.own, by.bits, dict(by.words)]
    first: list[object] = [
        facts.order,
        facts.always,
        facts.checked,
        dict(facts.needs),
        dict(facts.numbers),
        dict(facts.after),
    ]
    plain = [*first, dict(facts.alike), asked, dict(facts.implied)]
    write_kept(path, [states, plain])


def _made_from(processor: Processor) -> list[str]:
    """Return the files that a processor's facts are made from."""
    assert processor.decoder_files is not None
    here = os.path.dirname(__file__)
    own = [os.path.join(here, name) for name in MODULES]
    return own_on_disk([*own, os.path.join(processor.home, FEATURES_FILE), *processor.decoder_files()])
