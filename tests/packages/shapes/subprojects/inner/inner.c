#include "stub.h"

const char *inner(void);
const char *inner(void) { return level_stub(); }
