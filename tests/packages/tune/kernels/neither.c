#include "../stubs.h"

#ifdef CPU_CAPABILITY_AVX2
enum { steps = 2000000 };
#else
enum { steps = 2000000 };
#endif

static unsigned run(unsigned seed) { return work(seed, steps); }
ISA_REGISTER_DISPATCH(neither_stub, &run)
