// The function that hosts look up.
#include "blur.h"

ISA_DEFINE_DISPATCH(blur)

__attribute__((visibility("default"))) const struct operation *operation(void);
const struct operation *operation(void) { return blur(); }
