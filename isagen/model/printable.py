"""Replacements of characters that cannot be printed."""

# A terminal executes control characters, and the notes of a binary may contain any: texts show their numbers instead.
CONTROLS = {number: f"\\x{number:02x}" for number in (*range(0x20), *range(0x7F, 0xA0))}
# Lone surrogates, which cannot be encoded. U+DC80 to U+DCFF are not among them: they stand for bytes that are not UTF-8
# (PEP 383), and are encoded as these bytes.
SURROGATES = dict.fromkeys((*range(0xD800, 0xDC80), *range(0xDD00, 0xE000)), "\N{REPLACEMENT CHARACTER}")
