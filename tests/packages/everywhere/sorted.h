// A template that leaks as std::sort does: without the seal, a linker keeps one copy of it for all levels.
#ifndef SORTED_H
#define SORTED_H

#ifdef ISA_THIS_LEVEL
#define HERE ISA_THIS_LEVEL
#else
#define HERE "DEFAULT" // ordinary code
#endif

template <class T> __attribute__((noinline)) const char *sorted(T *data, int size)
{
  const char *level = HERE;
  for (int end = size; end > 1; end--)
    for (int i = 1; i < end; i++) {
      const T low = data[i - 1] < data[i] ? data[i - 1] : data[i];
      data[i] = data[i - 1] < data[i] ? data[i] : data[i - 1];
      data[i - 1] = low;
    }
  __asm__ volatile("" : "+r"(level) : "r"(data) : "memory"); // the compiler cannot know the result without this call
  return level;
}

#endif
