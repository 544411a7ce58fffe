"""Characters that cannot be printed, and their replacements."""

# A terminal obeys control characters, and a binary's notes may hold any.
CONTROLS = {number: f"\\x{number:02x}" for number in (*range(0x20), *range(0x7F, 0xA0))}
# Lone surrogates are no text, but for those by which Python has the bytes of a name that are not UTF-8 (PEP 383).
SURROGATES = dict.fromkeys((*range(0xD800, 0xDC80), *range(0xDD00, 0xE000)), "\N{REPLACEMENT CHARACTER}")
