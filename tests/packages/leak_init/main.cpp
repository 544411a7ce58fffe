#include "stub.h"

#include <cstdio>

ISA_DEFINE_DISPATCH(square_stub)

volatile float scale = 1;

int main(int argc, char **)
{
  std::printf("%.0f\n", static_cast<double>(square_stub(argc + 6)));
}
