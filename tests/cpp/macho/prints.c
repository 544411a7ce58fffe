/* Prints with all kinds of arguments: the test compares what another system's build says. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

static int by_list(char *to, size_t size, const char *format, ...)
{
  va_list list;
  va_start(list, format);
  const int length = vsnprintf(to, size, format, list);
  va_end(list);
  return length;
}

static int descending(const void *a, const void *b)
{
  return *(const int *)b - *(const int *)a;
}

int main(int argc, char **argv)
{
  char text[128];
  wchar_t wide[32];
  int a, b, numbers[5] = { 3, 1, 4, 1, 5 };
  double c;
  long double d;
  printf("%d %s %c %5.2f %lld %zu %#x %% %hhd %+i %-6s| %06.3e %jd\n", argc, argv[argc - 1], 'c', 3.14159, 1LL << 40,
         sizeof text, 255, (signed char)-3, 7, "left", 12345.678, (intmax_t)-9);
  printf("%d %d %d %d %d %d %d %d %d %g %g %g %g %g %g %g %g %g %g\n", 1, 2, 3, 4, 5, 6, 7, 8, 9, .5, 1.5, 2.5, 3.5, 4.5, 5.5,
         6.5, 7.5, 8.5, 9.5);
  printf("%*d %.*f %d %g %s %Lf %d %.2Le %5.1Lf\n", 6, 42, 2, 2.71828, 1, 2.0, "three", 4.25L, 5, 1234.5L, 0.25L);
  a = by_list(text, 8, "%s-%d-%g", "cut", 100, 2.5);
  printf("%d of %d\n", (int)strlen(text), a);
  fprintf(stdout, "%s %s\n", text, "by fprintf");
  b = sscanf("12 word 2.5 4.5", "%d %127s %lf %Lf", &a, text, &c, &d);
  printf("%d %d %s %g %Lf\n", b, a, text, c, d);
  swprintf(wide, 32, L"%d-%ls-%g", 5, L"wide", 1.25);
  printf("%ls %d\n", wide, (int)wcslen(wide));
  errno = 0;
  b = strtol("99999999999999999999", NULL, 10) == INT64_MAX && errno == ERANGE;
  printf("%d ", b);
  qsort(numbers, 5, sizeof *numbers, descending);
  for (b = 0; b < 5; b++)
    printf("%d ", numbers[b]);
  printf("%.10f %.10f\n", sin(0.5), pow(2.0, 0.5));
  fprintf(stderr, "%d on stderr\n", 3);
  return argc;
}
