"""`isagen init`, `isagen doctor` and `isagen demo`: write, check and try the files of a project that uses isagen."""
