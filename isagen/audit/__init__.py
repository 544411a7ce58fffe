"""The audit: proving, after the link, that no CPU meets an instruction that it was not asked about.

`elf` reads a binary, `code` finds its functions and what they call, `instructions` says which features an instruction
needs, `record` is what a build notes about itself inside its binaries, `rules` turns all that into `findings`.
"""
