// A library that only calls a stub: its user links the kernels.
#include "stubs.h"

const char *call(void);
const char *call(void) { return run_stub(); }
