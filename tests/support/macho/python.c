/* Runs Python code with a Mach-O extension module: the host's libpython, whose module the file is as if built in. */
#include "macho.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void *library;

void *symbol_of_python(const char *name)
{
  return library ? dlsym(library, name) : NULL;
}

static void *of_python(const char *name)
{
  void *found = symbol_of_python(name);
  if (found == NULL)
    fail("%s: no %s", "libpython", name);
  return found;
}

/* Opens libpython, so that images can be bound to it. */
void open_python(const char *path)
{
  library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (library == NULL)
    fail("%s", dlerror());
}

/* Starts Python, with the module of an image by the name before the first dot of the file's. */
void start_python(const struct image *image)
{
  static char name[256], symbol[300];
  const char *slash = strrchr(image->path, '/');
  bool weak;
  snprintf(name, sizeof name, "%.*s", (int)strcspn(slash ? slash + 1 : image->path, "."), slash ? slash + 1 : image->path);
  snprintf(symbol, sizeof symbol, "_PyInit_%s", name);
  void *initialise = exported(image, symbol, &weak);
  if (initialise == NULL)
    fail("%s: exports no function %s", image->path, symbol);
  ((int (*)(const char *, void *))of_python("PyImport_AppendInittab"))(name, initialise);
  ((void (*)(void))of_python("Py_Initialize"))();
}

/* Runs code that may import the module; returns whether it failed. */
int run_python(const char *code)
{
  const int failed = ((int (*)(const char *, void *))of_python("PyRun_SimpleStringFlags"))(code, NULL);
  return ((int (*)(void))of_python("Py_FinalizeEx"))() || failed;
}
