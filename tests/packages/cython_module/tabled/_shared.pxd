cdef class Log:
    cdef public list entries
    cdef void add(self, str entry)

cdef Log log
