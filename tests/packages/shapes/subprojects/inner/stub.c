#include "stub.h"

ISA_DEFINE_DISPATCH(level_stub)
