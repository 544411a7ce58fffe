"""`isagen init` and `isagen demo`: files of a project that uses isagen."""
