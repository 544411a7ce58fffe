#define FACTOR 10
