// Defines the stubs.
#include "stubs.h"

ISA_DEFINE_DISPATCH(mean_float_stub)
ISA_DEFINE_DISPATCH(mean_double_stub)
ISA_DEFINE_DISPATCH(variance_float_stub)
ISA_DEFINE_DISPATCH(variance_double_stub)
ISA_DEFINE_DISPATCH(skew_float_stub)
ISA_DEFINE_DISPATCH(skew_double_stub)
ISA_DEFINE_DISPATCH(kurtosis_float_stub)
ISA_DEFINE_DISPATCH(kurtosis_double_stub)
