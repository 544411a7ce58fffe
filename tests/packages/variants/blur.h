#ifndef BLUR_H
#define BLUR_H

#include "isa_dispatch.h"
#include "operation.h"

typedef const struct operation *blur_fn(void);
ISA_DECLARE_DISPATCH(blur_fn *, blur)

#endif
