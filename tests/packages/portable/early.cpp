#include "stubs.h"

ISA_DEFINE_DISPATCH(dot_stub)
ISA_DEFINE_DISPATCH(wide_dot_stub)
ISA_DEFINE_DISPATCH(scale_stub)

static const int three[] = {1, 2, 3};
extern const long early;
const long early = dot_stub(three, three, 3);
