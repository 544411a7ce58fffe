#include "objects.h"
#include <stdexcept>

static Noted second("second");

int *address_in_other()
{
  return &shared_value;
}

void throws(int number)
{
  Noted local("local");
  throw std::runtime_error("thrown " + std::to_string(number));
}
