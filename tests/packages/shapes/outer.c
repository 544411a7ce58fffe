#include <stdio.h>

const char *first(void);
const char *inner(void);

int main(void)
{
    printf("%s\n%s\n", first(), inner());
    return 0;
}
