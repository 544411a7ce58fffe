"""A binary's code as numbered functions, and what each refers to: the ground that sealing, matrix and audit stand on.

- `functions`, `variables`: what the symbols name, and where it starts and ends;
- `flow`, `code`: which bytes are instructions, also where no symbol tells a size;
- `references`: what each function calls, jumps to and takes the address of, as linker and loader resolve it;

It reads files through `binary.protocol` and instructions through `processors.decoding`.
"""
