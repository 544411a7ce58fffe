#include "../stubs.h"

static inline long product(int a, int b) { return (long)a * b; }
