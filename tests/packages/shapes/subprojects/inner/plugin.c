// Both modules export a function of this name, which calls a stub of one name.
#include "stub.h"

__attribute__((visibility("default"))) const char *plugin(void);
const char *plugin(void) { return level_stub(); }
