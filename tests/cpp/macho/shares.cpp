// An inline variable of a program and its library: the system keeps one.
inline int shared = 1;
struct Base {
  virtual int number() const { return 1; }
};

#if defined(LIBRARY)
int *address_in_library() { return &shared; }
int number_of(const Base &base) { return base.number(); }
struct Start {
  Start() { shared += 10; }
} start;
#else
#include <stdio.h>
int *address_in_library();
int number_of(const Base &base);
struct Start {
  Start() { shared *= 2; }
} start;
struct Derived : Base {
  int number() const override { return 5; }
};
int main()
{
  printf("%d %d %d\n", shared, &shared == address_in_library(), number_of(Derived()));
}
#endif
