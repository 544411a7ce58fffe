"""ELF: the objects, programs and libraries of Linux and the BSDs."""

from .format import FORMAT as FORMAT
