// Opens two modules, the first for all to see, and prints what each calls.
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char **names)
{
    for (int i = 1; i < count; i++) {
        void *module = dlopen(names[i], RTLD_NOW | RTLD_GLOBAL);
        void *found = module != NULL ? dlsym(module, "plugin") : NULL;
        if (found == NULL) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        const char *(*plugin)(void);
        *(void **)&plugin = found;
        printf("%s\n", plugin());
    }
    return 0;
}
