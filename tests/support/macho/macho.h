/* What the loader reads of Mach-O, by the names of Apple's mach-o/loader.h, and what its two files share. */
#ifndef MACHO_H
#define MACHO_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
#define CPU_TYPE 0x01000007u
#else
#define CPU_TYPE 0x0100000cu
#endif

enum { MH_EXECUTE = 2, MH_DYLIB = 6, MH_BUNDLE = 8 };
enum {
  LC_REQ_DYLD = (int)0x80000000, /* dyld refuses an unknown command that has this bit */
  LC_LOAD_DYLIB = 0xc,
  LC_LOAD_WEAK_DYLIB = LC_REQ_DYLD | 0x18,
  LC_SEGMENT_64 = 0x19,
  LC_RPATH = LC_REQ_DYLD | 0x1c,
  LC_REEXPORT_DYLIB = LC_REQ_DYLD | 0x1f,
  LC_DYLD_INFO_ONLY = LC_REQ_DYLD | 0x22,
  LC_MAIN = LC_REQ_DYLD | 0x28,
  LC_DYLD_CHAINED_FIXUPS = LC_REQ_DYLD | 0x34,
};
enum {
  S_MOD_INIT_FUNC_POINTERS = 0x9,
  S_MOD_TERM_FUNC_POINTERS = 0xa,
  S_THREAD_LOCAL_REGULAR = 0x11,
  S_THREAD_LOCAL_ZEROFILL = 0x12,
  S_THREAD_LOCAL_VARIABLES = 0x13,
  S_THREAD_LOCAL_INIT_FUNCTION_POINTERS = 0x15,
  S_INIT_FUNC_OFFSETS = 0x16,
  SECTION_TYPE = 0xff,
};
enum { SG_READ_ONLY = 0x10 }; /* of a segment: read-only once it is bound */

struct header {
  uint32_t magic, cpu_type, cpu_subtype, file_type, commands, commands_size, flags, reserved;
};
struct command {
  uint32_t kind, size;
};
struct segment {
  struct command command;
  char name[16];
  uint64_t address, size, offset, file_size;
  uint32_t max_protection, protection, sections, flags;
};
struct section {
  char name[16], segment[16];
  uint64_t address, size;
  uint32_t offset, align, relocations, relocation_count, flags, reserved[3];
};
struct dyld_info {
  struct command command;
  uint32_t rebase, rebase_size, bind, bind_size, weak_bind, weak_bind_size, lazy_bind, lazy_bind_size, exports,
      exports_size;
};
struct main_command {
  struct command command;
  uint64_t entry, stack_size;
};
struct text_command { /* LC_LOAD_DYLIB, LC_RPATH: a text at an offset */
  struct command command;
  uint32_t text;
};
struct tlv { /* a thread-local variable: code calls `thunk` with the descriptor's address */
  void *(*thunk)(struct tlv *);
  unsigned long key, offset;
};

enum { IMAGES = 32, SEGMENTS = 16, NEEDS = 16, RPATHS = 8 };
struct image {
  const char *path;
  const char *file; /* as read */
  size_t file_size;
  struct header *header; /* as mapped */
  char *slide;           /* what is added to each address of the file */
  uint64_t size;
  const struct segment *segments[SEGMENTS];
  int segment_count;
  struct image *needs[NEEDS]; /* by ordinal; NULL is a library of the system */
  int need_count;
  const char *rpaths[RPATHS];
  int rpath_count;
  const struct dyld_info *info;
  const struct main_command *entry;
  uint64_t template, template_end; /* initial values of thread-local variables */
  pthread_key_t thread_key;
  bool initialised;
  bool of_system; /* its symbols take the place of the host's */
};
extern struct image images[IMAGES];
extern int image_count;

_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
struct image *image_at(const void *address);
const struct section *section_of(const struct image *image, const char *name);
void *exported(const struct image *image, const char *name, bool *weak);
void *exported_by_any(const char *name);

/* In python.c. */
void open_python(const char *path);
void start_python(const struct image *image);
int run_python(const char *code);
void *symbol_of_python(const char *name); /* NULL if Python is not open or has none */

/* In darwin.c: a function or variable of libSystem called `name`, without the underscore; NULL if there is none. */
void *of_libsystem(const char *name);
void start_libsystem(int argc, char **argv);
#endif
