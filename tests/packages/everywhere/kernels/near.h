#include "../everywhere.h"
