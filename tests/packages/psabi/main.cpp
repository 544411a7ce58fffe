// Sums pseudo-random floats with the best copy of the kernel, and says which levels there are and what was summed.
#include "sum.h"

#include <charconv>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

ISA_DEFINE_DISPATCH(sum_stub)

namespace {

// xoshiro256++, seeded by splitmix64: https://prng.di.unimi.it (public domain).
class Random {
public:
  explicit Random(uint64_t seed)
  {
    for (uint64_t &word : state_) {
      uint64_t z = seed += 0x9e3779b97f4a7c15u;
      z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
      z = (z ^ z >> 27) * 0x94d049bb133111ebu;
      word = z ^ z >> 31;
    }
  }

  uint64_t next()
  {
    const uint64_t result = rotated(state_[0] + state_[3], 23) + state_[0];
    const uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = rotated(state_[3], 45);
    return result;
  }

  // 0 to `limit`, by scaling the upper half: good enough for a length.
  size_t at_most(uint32_t limit) { return static_cast<size_t>((next() >> 32) * (uint64_t{limit} + 1) >> 32); }

  // [0, 1): the leading zeros choose the exponent, the low bits are the mantissa.
  float fraction()
  {
    const uint64_t word = next();
    uint32_t exponent = 126;
    for (uint64_t bit = uint64_t{1} << 63; exponent > 86 && !(word & bit); bit >>= 1)
      exponent--;
    const uint32_t bits = exponent << 23 | static_cast<uint32_t>(word & 0x7fffff);
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }

private:
  static uint64_t rotated(uint64_t word, int by) { return word << by | word >> (64 - by); }

  uint64_t state_[4];
};

std::string lower(const char *name)
{
  std::string text = name;
  for (char &c : text)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// The shortest digits that read back as `value`.
std::string shortest(float value)
{
  char text[64];
  return std::string(text, std::to_chars(text, text + sizeof text, value).ptr);
}

} // namespace

int main()
{
  std::printf("Build CPU:    %s\n", lower(isa_level_name(static_cast<isa_level>(0))).c_str());
  std::printf("Run CPU:      %s\n", lower(isa_level_name(isa_highest_cpu_level())).c_str());

  Random random(68326650);
  std::vector<float> elements(random.at_most(1024 / sizeof(float)));
  std::printf("Elements[%zu] =", elements.size());
  for (float &element : elements) {
    element = random.fraction() * 100;
    std::printf(" %s", shortest(element).c_str());
  }
  std::printf("\nThe sum is %s\n", shortest(sum_stub(elements.data(), elements.size())).c_str());
}
