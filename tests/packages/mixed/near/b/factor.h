#define FACTOR 100
