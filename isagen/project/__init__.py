"""`isagen init`, `isagen doctor` and `isagen demo`: files of a project that uses isagen."""
