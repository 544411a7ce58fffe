/* Runs a program and records which instructions of one of its files are executed, phase by phase.
 *
 *   stepping OUTPUT FILE fixed|moved MARKER START:END:KIND... -- PROGRAM ARGUMENT...
 *
 * The regions START to END of FILE, the program or a library that it loads, are filled with breakpoints as soon as the
 * file is mapped, so before its relocations, resolvers and initialisers run. A breakpoint that is hit is recorded; its
 * instruction is put back, and runs as a single step. Once its length is known, it stays in place until the phase ends.
 * All other code runs at full speed. MARKER is the address of a function (long phase, long level): its call starts a
 * phase. KIND p records addresses once per phase, KIND o once per run. Addresses are those of the file, in hexadecimal;
 * `fixed` files are not moved when loaded, and need not be mapped as files: wine and the tests' loader of Mach-O files copy
 * them. FILE is then watched as soon as its first region may be executed and no longer written to.
 *
 * OUTPUT gets a line "phase PHASE LEVEL" when one starts, "PHASE LEVEL ADDRESS" per address, and at the end
 * "exit STATUS" or "signal NUMBER".
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LONGEST = 15, MOST_REGIONS = 4096, TIME_LIMIT = 60 };

struct region {
  unsigned long start, end;
  int per_phase;
  unsigned char *bytes; /* as the file has them */
  unsigned char *open;  /* whether a byte is in place, rather than a breakpoint */
  unsigned *seen;       /* the period in which an address was recorded */
};

static struct region regions[MOST_REGIONS];
static int region_count;
static pid_t child;
static int memory = -1;
static FILE *output;
static unsigned long marker, base;
static long phase = 0, level = -1;
static unsigned period = 1;

static void fail(const char *what)
{
  fprintf(stderr, "stepping: %s: %s\n", what, strerror(errno));
  if (child > 0)
    kill(child, SIGKILL);
  exit(3);
}

static void out_of_time(int number)
{
  static const char said[] = "stepping: out of time\n";
  (void)number;
  if (write(2, said, sizeof said - 1) < 0)
    _exit(5);
  kill(child, SIGKILL);
  _exit(4);
}

static void *fresh(size_t count, size_t size)
{
  void *made = calloc(count, size);
  if (made == NULL)
    fail("no memory");
  return made;
}

static struct region *region_of(unsigned long address)
{
  int i;
  for (i = 0; i < region_count; i++)
    if (address >= regions[i].start && address < regions[i].end)
      return &regions[i];
  return NULL;
}

/* Writes the bytes from `start` to `end` as they are to be: in place where they are open, else breakpoints. */
static void put(const struct region *region, unsigned long start, unsigned long end, int all_open)
{
  unsigned char text[4096];
  while (start < end) {
    const size_t size = end - start < sizeof text ? end - start : sizeof text;
    size_t i;
    for (i = 0; i < size; i++) {
      const size_t place = start + i - region->start;
      text[i] = all_open || region->open[place] ? region->bytes[place] : 0xcc;
    }
    if (pwrite(memory, text, size, (off_t)(base + start)) != (ssize_t)size)
      fail("writing the program's memory");
    start += size;
  }
}

/* Returns whether FILE is mapped to be executed, and sets `base`. Of a file that is not moved, the address tells. */
static int is_mapped(const char *file, int moved)
{
  char path[64], line[4352];
  unsigned long lowest = 0;
  int found = 0;
  FILE *maps;
  snprintf(path, sizeof path, "/proc/%d/maps", (int)child);
  maps = fopen(path, "r");
  if (maps == NULL)
    fail(path);
  while (fgets(line, sizeof line, maps) != NULL) {
    unsigned long start, end;
    char rights[8];
    const char *name = strchr(line, '/');
    line[strcspn(line, "\n")] = 0;
    if (sscanf(line, "%lx-%lx %7s", &start, &end, rights) != 3)
      continue;
    if (moved ? name == NULL || strcmp(name, file) != 0 : regions[0].start < start || regions[0].start >= end)
      continue;
    if (lowest == 0)
      lowest = start;
    found = found || (rights[2] == 'x' && (moved || rights[1] != 'w'));
  }
  fclose(maps);
  base = moved ? lowest : 0;
  return found;
}

static void install(void)
{
  char path[64];
  int i;
  snprintf(path, sizeof path, "/proc/%d/mem", (int)child);
  memory = open(path, O_RDWR);
  if (memory < 0)
    fail(path);
  for (i = 0; i < region_count; i++) {
    struct region *region = &regions[i];
    const size_t size = region->end - region->start;
    region->bytes = fresh(size, 1);
    region->open = fresh(size, 1);
    region->seen = fresh(size, sizeof *region->seen);
    if (pread(memory, region->bytes, size, (off_t)(base + region->start)) != (ssize_t)size)
      fail("reading the program's memory");
    put(region, region->start, region->end, 0);
  }
}

static void start_phase(long number, long of_level)
{
  int i;
  phase = number;
  level = of_level;
  period++;
  fprintf(output, "phase %ld %ld\n", phase, level);
  for (i = 0; i < region_count; i++) {
    struct region *region = &regions[i];
    if (region->per_phase && memchr(region->open, 1, region->end - region->start) != NULL) {
      memset(region->open, 0, region->end - region->start);
      put(region, region->start, region->end, 0);
    }
  }
}

/* Returns the length of a branch; 0 for one whose length is not known here, -1 for an instruction that is no branch. */
static int branch_length(const unsigned char *text)
{
  int at = 0;
  while (at < 8 && (text[at] == 0x66 || text[at] == 0x67 || text[at] == 0xf2 || text[at] == 0xf3 ||
                    text[at] == 0x2e || text[at] == 0x36 || text[at] == 0x3e || text[at] == 0x26 ||
                    text[at] == 0x64 || text[at] == 0x65 || (text[at] & 0xf0) == 0x40))
    at++;
  if ((text[at] & 0xf0) == 0x70 || text[at] == 0xeb || (text[at] >= 0xe0 && text[at] <= 0xe3))
    return at + 2;
  if (text[at] == 0xe8 || text[at] == 0xe9)
    return at + 5;
  if (text[at] == 0x0f && (text[at + 1] & 0xf0) == 0x80)
    return at + 6;
  if (text[at] == 0xc3)
    return at + 1;
  return text[at] == 0xff || text[at] == 0xc2 || (text[at] >= 0xc8 && text[at] <= 0xcf) ? 0 : -1;
}

/* Waits for the child; ends this program when the child has ended. */
static int wait_for_stop(void)
{
  int status;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      fail("waiting");
  if (WIFSTOPPED(status))
    return WSTOPSIG(status);
  if (memory < 0) {
    fprintf(stderr, "stepping: the program ended before it was watched (status %#x): tracing may not be permitted\n",
            (unsigned)status);
    exit(3);
  }
  if (WIFSIGNALED(status))
    fprintf(output, "signal %d\n", WTERMSIG(status));
  else
    fprintf(output, "exit %d\n", WEXITSTATUS(status));
  if (fclose(output) != 0)
    fail("writing the output");
  exit(0);
}

/* Runs the instruction at a breakpoint. Returns the signal that stopped the step; 0 if it ran. */
static int step(struct region *region, unsigned long address, struct user_regs_struct *registers)
{
  unsigned char text[LONGEST + 1] = {0};
  const size_t place = address - region->start;
  const unsigned long end = address + LONGEST < region->end ? address + LONGEST : region->end;
  int length, stopped;
  unsigned long gone;
  memcpy(text, region->bytes + place, end - address);
  if (region->seen[place] != (region->per_phase ? period : 1)) {
    region->seen[place] = region->per_phase ? period : 1;
    fprintf(output, "%ld %ld %lx\n", phase, level, address);
  }
  put(region, address, end, 1);
  registers->rip = base + address;
  if (ptrace(PTRACE_SETREGS, child, NULL, registers) < 0 || ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) < 0)
    fail("stepping");
  stopped = wait_for_stop();
  if (ptrace(PTRACE_GETREGS, child, NULL, registers) < 0)
    fail("reading registers");
  gone = registers->rip - base - address;
  length = branch_length(text);
  if (length < 0 && stopped == SIGTRAP && gone >= 1 && gone <= LONGEST)
    length = (int)gone;
  if (length > 0 && address != marker && address + (unsigned long)length <= end)
    memset(region->open + place, 1, (size_t)length);
  put(region, address, end, 0);
  return stopped == SIGTRAP ? 0 : stopped;
}

static void watch(void)
{
  int signal_to_pass = 0;
  for (;;) {
    struct user_regs_struct registers;
    struct region *region;
    unsigned long address;
    if (ptrace(PTRACE_CONT, child, NULL, signal_to_pass) < 0)
      fail("continuing");
    signal_to_pass = wait_for_stop();
    if (signal_to_pass != SIGTRAP)
      continue;
    signal_to_pass = 0;
    if (ptrace(PTRACE_GETREGS, child, NULL, &registers) < 0)
      fail("reading registers");
    address = registers.rip - 1 - base;
    /* After a step into the next breakpoint the loop goes on with it: one stop fewer. */
    while ((region = region_of(address)) != NULL && !region->open[address - region->start]) {
      if (address == marker)
        start_phase((long)registers.rdi, (long)registers.rsi);
      signal_to_pass = step(region, address, &registers);
      if (signal_to_pass != 0)
        break;
      address = registers.rip - base;
    }
  }
}

static void parse_region(const char *word)
{
  struct region *region = &regions[region_count++];
  char kind = 0;
  if (region_count > MOST_REGIONS || sscanf(word, "%lx:%lx:%c", &region->start, &region->end, &kind) != 3) {
    fprintf(stderr, "stepping: %s: is no region\n", word);
    exit(2);
  }
  region->per_phase = kind == 'p';
}

int main(int count, char **words)
{
  int i = 5, moved;
  if (count < 7)
    return 2;
  output = fopen(words[1], "w");
  if (output == NULL)
    fail(words[1]);
  moved = strcmp(words[3], "moved") == 0;
  marker = strtoul(words[4], NULL, 16);
  for (; i < count && strcmp(words[i], "--") != 0; i++)
    parse_region(words[i]);
  if (i + 1 >= count)
    return 2;
  child = fork();
  if (child < 0)
    fail("fork");
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
      _exit(126);
    execv(words[i + 1], words + i + 1);
    _exit(127);
  }
  signal(SIGALRM, out_of_time);
  alarm(TIME_LIMIT);
  wait_for_stop();
  if (ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_EXITKILL) < 0)
    fail("not permitted");
  while (!is_mapped(words[2], moved)) {
    if (ptrace(PTRACE_SYSCALL, child, NULL, NULL) < 0)
      fail("continuing");
    wait_for_stop();
  }
  install();
  watch();
}
