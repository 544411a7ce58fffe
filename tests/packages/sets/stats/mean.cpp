// std::string comes from the precompiled header alone.
#include "beside.h"
#include "far.h"
#include "stubs.h"

namespace {
const char *mean()
{
    static const std::string text = FAR_NAME ISA_THIS_LEVEL;
    return text.c_str() + (BESIDE - 1);
}
} // namespace

ISA_REGISTER_DISPATCH(mean_stub, &mean)
