/* loaded LIBRARY: lets 16 threads load a library at once, and calls its race. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

enum { count = 16 };

static const char *name;
static void *libraries[count];

static void *load(void *place)
{
  *(void **)place = dlopen(name, RTLD_NOW);
  return NULL;
}

int main(int arguments, char **argument)
{
  pthread_t threads[count];
  int (*race)(void);
  int i;
  name = arguments > 1 ? argument[1] : "";
  for (i = 0; i < count; i++)
    if (pthread_create(&threads[i], NULL, load, &libraries[i]) != 0)
      return 2;
  for (i = 0; i < count; i++)
    pthread_join(threads[i], NULL);
  if (libraries[0] == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  for (i = 1; i < count; i++)
    if (libraries[i] != libraries[0])
      return 3;
  *(void **)&race = dlsym(libraries[0], "race");
  return race();
}
