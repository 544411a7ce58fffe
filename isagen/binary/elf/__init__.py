"""ELF: the object files, programs and libraries of Linux and the BSDs."""
