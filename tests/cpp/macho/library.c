/* A library: the loader calls its functions. */
#include <stddef.h>
#include <sys/sysctl.h>

static int started;
__attribute__((constructor)) static void start(void)
{
  started = 1;
}

int plus(int a, int b)
{
  return started ? a + b : -1;
}

double half(double a)
{
  return a / 2;
}

const char *greeting(void)
{
  return "hello";
}

int answer(const char *name)
{
  int value = 0;
  size_t size = sizeof value;
  return sysctlbyname(name, &value, &size, NULL, 0) == 0 ? value : -1;
}

int missing(int);
int calls_missing(int a)
{
  return missing(a);
}

int big_frame(int a)
{
  volatile char room[100000];
  room[a] = (char)a;
  return room[a];
}
