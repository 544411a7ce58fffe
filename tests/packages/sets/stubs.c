#include "stubs.h"
ISA_DEFINE_DISPATCH(mean_stub)
ISA_DEFINE_DISPATCH(conf_stub)
ISA_DEFINE_DISPATCH(custom_stub)
ISA_DEFINE_DISPATCH(run_stub)
