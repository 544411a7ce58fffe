#include "near.h"

#include "../sorted.h"

static const char *sort(int *data, int size)
{
  return sorted(data, size);
}

ISA_REGISTER_DISPATCH(sort_stub, &sort)
