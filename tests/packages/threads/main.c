/* Calls the race that is linked in. */
#include "race.h"

int main(void)
{
  return race();
}
