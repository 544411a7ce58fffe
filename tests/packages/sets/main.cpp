// Prints what each kernel returns: its name and its level.
#include "stubs.h"

#include <cstdio>

int main()
{
    std::printf("%s\n%s\n%s\n%s\n", mean_stub(), conf_stub(), custom_stub(), run_stub());
}
