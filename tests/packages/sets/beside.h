// Beside meson.build: targets find it without an include folder, and so do kernels.
#define BESIDE 1
