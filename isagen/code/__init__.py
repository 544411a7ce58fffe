"""The code of a binary as numbered functions, and the references of each, for the matrix and the audit.

- `functions`, `variables`: the name, start and end of each;
- `flow`, `code`: the bytes that are instructions, also in code of unknown size;
- `references`: the functions and variables that each function refers to, directly or through PLT, GOT and relocations.
"""
