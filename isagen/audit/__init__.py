"""The audit: after the link, no code uses an instruction that the CPU may lack and that no check guards.

What it knows of a file format and of a processor it has from the protocols in `binary.protocol` and
`processors.decoding`. In layers, each on those before:

- `functions`, `variables`, `flow`, `code`: what is in a binary, decoded; `references`, `gaps`: what leads where;
- `states`, `frames`, `lending`, `loading`, `ways`, `values`: the values in registers and stack frames;
- `subject`: one binary under audit; `secrets`: the addresses that are not to leave a level;
- the rules: `reachable` from a root, what is `handed` out there, what is `kept` later, `by_level`, at the `boundaries`
  of levels;
- `built`, `foreign`: which rules a file is judged by; `build_objects`, `sealed_names`, `flags`,
  `records`: what its build says of it;
- `targets`, `builds`, `files`: what an audit is called for; `findings`: its results, and `allow_files`, which of
  them people allow; `report`, `summary`, `data`: the results as text for people and as data for programs.
"""
