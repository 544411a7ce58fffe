"""The audit: it reports instructions in compiled code that a CPU may lack and that no check at run time covers.

It also reports other ways for a level's code to run without a check of the CPU, such as calls that go past a stub.

A module imports only modules of its own line of this list and of the lines above it.

- `findings`: findings and results; `allowances`: what people allow; `known_functions`: functions of libraries, by name
- `subject`: one binary under audit; `build_objects`: the objects of a build
- rules: `reachable` (code that runs at load or exit), `initialisers` (such code of a level, before it is sealed),
  `by_level` (all code), `boundaries` (references into and out of levels)
- `records`: the features that a file is judged by
- `binaries`: the audit of one binary, with a record or without
- `builds`, `targets`, `files`: the targets of `isagen audit`
- `data`, `report`: results as data for programs and as text for people
"""
