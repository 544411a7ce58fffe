// Beside the kernel that is made from gen/run.c.txt.
#define NEAR "run "
