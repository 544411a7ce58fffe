/* The library's interface, and that between its parts. */
#ifndef RACE_H
#define RACE_H

#ifdef __cplusplus
extern "C" {
#endif

const char *level_in_initialiser(void);
const char *level_in_constructor(void);

/* Prints the levels that ran in the initialiser, in the constructor, and in 64 threads, and then the current level. */
__attribute__((visibility("default"))) int race(void);

#ifdef __cplusplus
}
#endif

#endif
