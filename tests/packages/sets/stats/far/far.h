#define FAR_NAME "mean "
