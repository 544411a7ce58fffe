#include "stubs.h"

static const char *custom(void) { return "custom " ISA_THIS_LEVEL; }

ISA_REGISTER_DISPATCH(custom_stub, &custom)
