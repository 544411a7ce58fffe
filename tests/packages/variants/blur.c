// The whole plugin: its state, its functions, and the table by which the host reaches them.
#include "blur.h"

static float weight = 1;

static void prepare(float radius) { weight = 1 / (1 + 2 * radius); }

static void process(float *out, const float *in, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = weight * (in[i] + in[i + 1] + in[i + 2]);
}

static const struct operation operation = {"blur", ISA_THIS_LEVEL, prepare, process};

static const struct operation *get(void) { return &operation; }

ISA_REGISTER_DISPATCH(blur, &get)
