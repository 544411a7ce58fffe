/* Runs the detection of a dispatch source on recorded CPUs, with every override: tests/builds/test_detection.py makes
 * the headers, and reads what is printed. */
#define ISA_NOT_ON_LOAD 1
struct isa_kernel { int level; };
#include "isa_dispatch.c"

struct row { uint32_t leaf, subleaf, registers[4]; };
struct recording {
  const char *name;
  const struct row *rows;
  int row_count;
  uint32_t otherwise[4];
  int has_xgetbv;
  uint64_t xcr0;
  int grants;
  const char *sysctl;
};

#include "recordings.h"

static const struct recording *now;
static int asked;

static void recorded_cpuid(uint32_t leaf, uint32_t subleaf, uint32_t registers[4])
{
  int i, known = 0;
  for (i = 0; i < now->row_count; i++) {
    known |= now->rows[i].leaf == leaf;
    if (now->rows[i].leaf == leaf && now->rows[i].subleaf == subleaf) {
      memcpy(registers, now->rows[i].registers, sizeof now->rows[i].registers);
      return;
    }
  }
  memset(registers, 0, sizeof now->otherwise);
  if (!known)
    memcpy(registers, now->otherwise, sizeof now->otherwise);
}

static uint64_t recorded_xgetbv(uint32_t index)
{
  if (index != 0 || !now->has_xgetbv) {
    fprintf(stderr, "%s: XGETBV without OSXSAVE\n", now->name);
    abort();
  }
  return now->xcr0;
}

static int recorded_grant(int component)
{
  asked++;
  return component == 18 && now->grants;
}

static int recorded_is_enabled(const char *name)
{
  return strcmp(now->sysctl, name) == 0;
}

int main(void)
{
  static const struct isa_cpu cpu = {recorded_cpuid, recorded_xgetbv, recorded_grant, recorded_is_enabled};
  static const struct isa_machine machine = {&cpu};
  char text[4096];
  size_t f, o;
  int i;
  (void)isa_this_machine;
  for (f = 0; f < sizeof recordings / sizeof *recordings; f++)
    for (o = 0; o < sizeof overrides / sizeof *overrides; o++) {
      now = &recordings[f];
      asked = 0;
      isa_current = (isa_level)0;
      isa_allowed = ~(uint64_t)0;
      isa_warning[0] = 0;
      memset(isa_in_cpu, 0xff, sizeof isa_in_cpu); /* an earlier run must leave no trace */
      memset(isa_refused, 0xff, sizeof isa_refused);
      memset(isa_usable, 0xff, sizeof isa_usable);
      memset(isa_supported, 1, sizeof isa_supported);
      for (i = 0; i < (int)isa_stub_total; i++)
        bound[i] = -1;
      isa_select(&machine, overrides[o]);
      printf("%s\t%d\t%d\t%d\t%s\t", now->name, (int)o, isa_allowed ? (int)isa_current_level() : -1, asked,
             isa_warning);
      for (i = 0; i < (int)isa_stub_total; i++)
        printf("%d:%d,", isa_stub_level((unsigned)i), bound[i]);
      for (i = 0; i < ISA_LEVEL_COUNT; i++)
        printf("\t%d:%s", isa_level_is_supported((isa_level)i), isa_level_missing((isa_level)i, text, sizeof text));
      printf("\n");
    }
  return 0;
}
