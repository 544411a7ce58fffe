"""The audit: after the link, no code uses an instruction that the CPU may lack and that no check guards.

In layers, each on those before; what is in a binary, and what leads where, `code` tells:

- `subject`: one binary under audit; `allowances`: what people allow, by name or by finding; `known_functions`: those of
  libraries that the rules know;
- the rules: what is `reachable` from a root; `initialisers` of levels; each function `by_level`, or behind a
  resolver that has chosen it; the `boundaries` of levels; compile `flags`;
- `records`, `build_objects`: what its build says of a file; `built`, `foreign`: which rules it is judged by;
- `builds`, `targets`, `files`: what an audit is called for; `findings`: its results; `report`, `summary`, `data`: the
  results as text for people and as data for programs.
"""
