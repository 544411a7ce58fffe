#include <stdio.h>

const char *first(void);

int main(void)
{
    printf("%s\n", first());
    return 0;
}
