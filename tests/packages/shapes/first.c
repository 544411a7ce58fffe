#include "stub.h"

const char *first(void);
const char *first(void) { return level_stub(); }
