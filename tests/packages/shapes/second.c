#include "stub.h"

const char *second(void);
const char *second(void) { return level_stub(); }
