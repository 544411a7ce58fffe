// Opens a plugin, and prints its name, its level and what it computes.
#include "operation.h"
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char **names)
{
    void *module = count == 2 ? dlopen(names[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    const struct operation *(*get)(void) = NULL;
    if (module != NULL)
        *(void **)&get = dlsym(module, "operation");
    if (get == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    float in[66], out[64], sum = 0;
    for (int i = 0; i < 66; i++)
        in[i] = (float)i;
    get()->prepare(1);
    get()->process(out, in, 64);
    for (int i = 0; i < 64; i++)
        sum += out[i];
    printf("%s %s %.0f\n", get()->name, get()->level, (double)sum);
    return 0;
}
