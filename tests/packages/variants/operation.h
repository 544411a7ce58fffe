// What the host asks of a plugin.
#ifndef OPERATION_H
#define OPERATION_H

#include <stddef.h>

struct operation {
    const char *name, *level;
    void (*prepare)(float radius);
    void (*process)(float *out, const float *in, size_t n);
};

#endif
