/* Access to an x86 CPU and its OS. Part of every dispatch source; machine.py does the same in Python. */

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#else
#include <cpuid.h>
#endif
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#endif

/* Access to CPU and OS through functions, so that recorded registers can replace a machine. */
struct isa_cpu {
  void (*cpuid)(uint32_t leaf, uint32_t subleaf, uint32_t registers[4]);
  uint64_t (*xgetbv)(uint32_t index);
  int (*grant)(int component);         /* requests an XSAVE component; returns whether this process may use it */
  int (*is_enabled)(const char *name); /* returns whether macOS enables a state on first use */
};

static void isa_cpuid(uint32_t leaf, uint32_t subleaf, uint32_t registers[4])
{
#if defined(_MSC_VER) && !defined(__clang__)
  int values[4];
  __cpuidex(values, (int)leaf, (int)subleaf);
  memcpy(registers, values, sizeof values);
#else
  __cpuid_count(leaf, subleaf, registers[0], registers[1], registers[2], registers[3]);
#endif
}

/* Checks OSXSAVE itself, so that the audit finds the check in a stripped file too, where this function has no name. */
static uint64_t isa_xgetbv(uint32_t index)
{
  uint32_t r[4];
  isa_cpuid(1, 0, r);
  if (!(r[2] >> 27 & 1))
    return 0;
#if defined(_MSC_VER) && !defined(__clang__)
  return _xgetbv(index);
#else
  __asm__ volatile(".byte 0x0f, 0x01, 0xd0" : "=a"(r[0]), "=d"(r[3]) : "c"(index)); /* xgetbv, for old assemblers */
  return (uint64_t)r[3] << 32 | r[0];
#endif
}

/* Linux 5.16 and later require a request for AMX tiles. The permission is read again after the request. */
static int isa_grant(int component)
{
#if defined(__linux__) && defined(__x86_64__) && defined(SYS_arch_prctl)
  enum { isa_get_permission = 0x1022, isa_request_permission = 0x1023 };
  uint64_t mask = 0;
  if (syscall(SYS_arch_prctl, isa_get_permission, &mask) == 0 && (mask >> component & 1))
    return 1;
  if (syscall(SYS_arch_prctl, isa_request_permission, component) != 0)
    return 0;
  mask = 0;
  return syscall(SYS_arch_prctl, isa_get_permission, &mask) == 0 && (mask >> component & 1);
#else
  (void)component;
  return 1;
#endif
}

static int isa_is_enabled(const char *name)
{
#if defined(__APPLE__)
  int value = 0;
  size_t size = sizeof value;
  return sysctlbyname(name, &value, &size, NULL, 0) == 0 && value == 1;
#else
  (void)name;
  return 0;
#endif
}

static const struct isa_cpu isa_this_cpu = {isa_cpuid, isa_xgetbv, isa_grant, isa_is_enabled};
