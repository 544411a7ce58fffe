#include "../everywhere.h"

#include <arm_neon.h>

const char *row_arm64(const int *data, int size, int *sum)
{
  float32x4_t all = vdupq_n_f32(0);
  int i;
  row_any(data, size % 4, sum);
  for (i = size % 4; i < size; i += 4) {
    float16x8_t four = vcombine_f16(vcvt_f16_f32(vcvtq_f32_s32(vld1q_s32(data + i))), vdup_n_f16(0));
    all = vfmlalq_low_f16(all, four, vdupq_n_f16(1));
  }
  *sum += (int)vaddvq_f32(all);
  return "arm64";
}
