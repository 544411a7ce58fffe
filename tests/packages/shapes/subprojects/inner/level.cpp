// The level, and a weak symbol that the project does not export.
#include "stub.h"

template <class T>
const char *kept(T value)
{
    return value;
}
template const char *kept(const char *);

namespace {
const char *level() { return kept("inner " ISA_THIS_LEVEL); }
} // namespace

ISA_REGISTER_DISPATCH(level_stub, &level)
