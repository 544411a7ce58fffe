# cython: language_level=3
"""State that both modules share: one log, whatever their levels."""


cdef class Log:
    def __init__(self):
        self.entries = []

    cdef void add(self, str entry):
        self.entries.append(entry)


log = Log()


def entries():
    """Return what was logged."""
    return list(log.entries)
