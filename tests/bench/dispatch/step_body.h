/* The callee of every variant: one addition, so that what is measured is the call. */
#define STEP_BODY(x) { return (x) + 1; }
