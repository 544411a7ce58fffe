// A program of a set without kernels: the queries work.
#include "isa_dispatch.h"

#include <stdio.h>

int main(void)
{
    printf("%s %u\n", isa_level_name(isa_current_level()), isa_stub_count());
    return 0;
}
