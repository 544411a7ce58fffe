/* What the library offers, and what its parts tell each other. */
#ifndef RACE_H
#define RACE_H

#ifdef __cplusplus
extern "C" {
#endif

const char *level_in_initialiser(void);
const char *level_in_constructor(void);

/* Prints the levels that ran: in the initialiser, in the constructor, every one that 64 threads saw; then the current. */
__attribute__((visibility("default"))) int race(void);

#ifdef __cplusplus
}
#endif

#endif
