/* The level at which this module is compiled. */
#ifndef LEVEL_H
#define LEVEL_H
const char *level_of_helper(void);
#endif
