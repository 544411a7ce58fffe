"""The code of a binary as numbered functions, and the references of each, for the matrix and the audit.

- `functions`, `variables`: the name, start and end of each;
- `flow`, `code`: the bytes that are instructions, also in code of unknown size;
- `references`: what each function calls, jumps to and takes the address of, as linker and loader resolve it.

The package reads files through `binary.reader` and instructions through `processors.decoding`.
"""
