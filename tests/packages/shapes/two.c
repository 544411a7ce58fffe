#include <stdio.h>

const char *first(void);
const char *second(void);

int main(void)
{
    printf("%s\n%s\n", first(), second());
    return 0;
}
