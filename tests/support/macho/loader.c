/* Runs a 64-bit Mach-O executable, or calls functions of a dylib or bundle, on Linux, as far as tests need it.

   loader IMAGE ARGUMENT...         runs the executable's main
   loader IMAGE 'TYPE:NAME(1, 2.5, text)'...  calls functions of a library, and prints NAME(...) = RESULT for each;
                                    TYPE of the result: int (if there is none), long, double, string, void
   loader MODULE --python LIBPYTHON CODE  runs Python code, which may import the extension module

   MACHO_SYSCTL     what sysctlbyname answers: hw.optional.avx512f=1,machdep.cpu.brand_string=Apple M1
   MACHO_SLIDE      a hexadecimal number that is added to all addresses of the first image; otherwise the kernel chooses
   MACHO_MAP        if set, each image's path, address and slide go to stderr

   UNWINDER, a macro, is the path of libunwind as a dylib, which is bound in place of libSystem's.

   Sources: mach-o/loader.h for the format; dyld's MachOAnalyzer.cpp and Loader.cpp for the rest. */
#define _GNU_SOURCE
#include "macho.h"

#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct image images[IMAGES];
int image_count;

void fail(const char *format, ...)
{
  va_list list;
  va_start(list, format);
  fflush(stdout);
  fputs("macho loader: ", stderr);
  vfprintf(stderr, format, list);
  fputc('\n', stderr);
  exit(125);
}

struct image *image_at(const void *address)
{
  for (int i = 0; i < image_count; i++)
    if ((uintptr_t)address - (uintptr_t)images[i].header < images[i].size)
      return &images[i];
  return NULL;
}

/* ---- files ---- */

/* Reads a file; of a universal one, the part for this processor. */
static void read_file(struct image *image)
{
  const int file = open(image->path, O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (file < 0 || fstat(file, &status) != 0)
    fail("%s: not readable", image->path);
  image->file_size = (size_t)status.st_size;
  const char *start = mmap(NULL, image->file_size + 1, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (start == MAP_FAILED || image->file_size < sizeof(struct header))
    fail("%s: not a Mach-O file", image->path);
  image->file = start;
  const uint32_t *fat = (const uint32_t *)start; /* mach-o/fat.h: big-endian */
  if (__builtin_bswap32(fat[0]) == 0xcafebabe)
    for (uint32_t i = 0; i < __builtin_bswap32(fat[1]); i++)
      if (__builtin_bswap32(fat[2 + 5 * i]) == CPU_TYPE) {
        image->file = start + __builtin_bswap32(fat[4 + 5 * i]);
        image->file_size = __builtin_bswap32(fat[5 + 5 * i]);
      }
  const struct header *header = (const struct header *)image->file;
  if (header->magic != 0xfeedfacf || header->cpu_type != CPU_TYPE)
    fail("%s: not a 64-bit Mach-O file for this processor", image->path);
  if (header->file_type != MH_EXECUTE && header->file_type != MH_DYLIB && header->file_type != MH_BUNDLE)
    fail("%s: Mach-O of type %u, not an executable, dylib or bundle", image->path, header->file_type);
}

static const struct command *next_command(const struct image *image, const struct command *last)
{
  const struct header *header = (const struct header *)image->file;
  const char *next = last ? (const char *)last + last->size : image->file + sizeof *header;
  return next < image->file + sizeof *header + header->commands_size ? (const struct command *)next : NULL;
}

static void read_commands(struct image *image)
{
  for (const struct command *command = NULL; (command = next_command(image, command));) {
    const char *text = (const char *)command + ((const struct text_command *)command)->text;
    switch ((int)command->kind) {
    case LC_SEGMENT_64:
      if (image->segment_count == SEGMENTS)
        fail("%s: more than %d segments", image->path, SEGMENTS);
      image->segments[image->segment_count++] = (const struct segment *)command;
      break;
    case LC_DYLD_INFO_ONLY:
      image->info = (const struct dyld_info *)command;
      break;
    case LC_MAIN:
      image->entry = (const struct main_command *)command;
      break;
    case LC_RPATH:
      if (image->rpath_count < RPATHS)
        image->rpaths[image->rpath_count++] = text;
      break;
    case LC_LOAD_DYLIB:
    case LC_LOAD_WEAK_DYLIB:
    case LC_REEXPORT_DYLIB:
      break; /* see load_needs */
    case LC_DYLD_CHAINED_FIXUPS:
      fail("%s: chained fixups, which zig's linker does not write", image->path);
    default:
      if (command->kind & (uint32_t)LC_REQ_DYLD)
        fail("%s: unknown load command %#x", image->path, command->kind);
    }
  }
}

static void map_segments(struct image *image)
{
  uint64_t low = UINT64_MAX, high = 0;
  for (int i = 0; i < image->segment_count; i++) {
    const struct segment *segment = image->segments[i];
    if (segment->protection == 0) /* __PAGEZERO */
      continue;
    low = segment->address < low ? segment->address : low;
    high = segment->address + segment->size > high ? segment->address + segment->size : high;
  }
  const char *asked = image == images ? getenv("MACHO_SLIDE") : NULL;
  char *wanted = asked ? (char *)low + strtoull(asked, NULL, 16) : NULL;
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (asked ? MAP_FIXED_NOREPLACE : 0);
  char *start = mmap(wanted, high - low, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (start == MAP_FAILED || (asked && start != wanted))
    fail("%s: %#lx bytes cannot be mapped at %p", image->path, (unsigned long)(high - low), (void *)wanted);
  image->slide = start - low;
  image->size = high - low;
  image->header = (struct header *)start; /* __TEXT, the first segment, starts with it */
  for (int i = 0; i < image->segment_count; i++)
    if (image->segments[i]->protection != 0)
      memcpy(image->slide + image->segments[i]->address, image->file + image->segments[i]->offset,
             image->segments[i]->file_size);
  if (getenv("MACHO_MAP"))
    fprintf(stderr, "%s: at %p, slide %#lx\n", image->path, (void *)start, (unsigned long)image->slide);
}

static void protect_segments(const struct image *image)
{
  for (int i = 0; i < image->segment_count; i++) {
    const struct segment *segment = image->segments[i];
    char *start = image->slide + segment->address;
    const int protection = segment->flags & SG_READ_ONLY ? PROT_READ : (int)segment->protection; /* the same bits */
    if (segment->protection == 0)
      continue;
    if (protection & PROT_EXEC)
      __builtin___clear_cache(start, start + segment->size);
    if (mprotect(start, segment->size, protection) != 0)
      fail("%s: segment %.16s cannot be protected", image->path, segment->name);
  }
}

/* Returns the section after `last` of an image, in the order of the file. */
static const struct section *each_section(const struct image *image, const struct section *last)
{
  bool found = last == NULL;
  for (int i = 0; i < image->segment_count; i++) {
    const struct section *sections = (const struct section *)(image->segments[i] + 1);
    for (uint32_t j = 0; j < image->segments[i]->sections; j++) {
      if (found)
        return &sections[j];
      found = &sections[j] == last;
    }
  }
  return NULL;
}

const struct section *section_of(const struct image *image, const char *name)
{
  for (const struct section *section = NULL; (section = each_section(image, section));)
    if (strncmp(section->name, name, sizeof section->name) == 0)
      return section;
  return NULL;
}

/* ---- libraries ---- */

static struct image *load(const char *path)
{
  for (int i = 0; i < image_count; i++)
    if (strcmp(images[i].path, path) == 0)
      return &images[i];
  if (image_count == IMAGES)
    fail("%s: more than %d images", path, IMAGES);
  struct image *image = &images[image_count++];
  image->path = strdup(path);
  read_file(image);
  read_commands(image);
  map_segments(image);
  return image;
}

/* Replaces @loader_path and @executable_path; of dyld's other words, @rpath is left to the caller. */
static const char *expanded(const struct image *image, const char *name, char *room)
{
  static const char *const words[] = { "@loader_path/", "@executable_path/" };
  for (int i = 0; i < 2; i++)
    if (strncmp(name, words[i], strlen(words[i])) == 0) {
      const char *of = i == 0 ? image->path : images[0].path, *slash = strrchr(of, '/');
      snprintf(room, PATH_MAX, "%.*s/%s", slash ? (int)(slash - of) : 1, slash ? of : ".", name + strlen(words[i]));
      return room;
    }
  return name;
}

static struct image *load_need(const struct image *image, const char *name)
{
  char room[PATH_MAX], path[PATH_MAX];
  if (strncmp(name, "/usr/lib/", 9) == 0 || strncmp(name, "/System/", 8) == 0)
    return NULL;
  if (strncmp(name, "@rpath/", 7) != 0)
    return load(expanded(image, name, room));
  for (int i = 0; i < image->rpath_count; i++) {
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s/", image->rpaths[i]); /* "@loader_path" alone, too */
    snprintf(path, sizeof path, "%s/%s", expanded(image, folder, room), name + 7);
    if (access(path, R_OK) == 0)
      return load(path);
  }
  fail("%s: %s is in no folder of its LC_RPATH", image->path, name);
}

static void load_needs(struct image *image)
{
  for (const struct command *command = NULL; (command = next_command(image, command));)
    if ((int)command->kind == LC_LOAD_DYLIB || (int)command->kind == LC_LOAD_WEAK_DYLIB ||
        (int)command->kind == LC_REEXPORT_DYLIB) {
      if (image->need_count == NEEDS)
        fail("%s: needs more than %d libraries", image->path, NEEDS);
      const char *name = (const char *)command + ((const struct text_command *)command)->text;
      image->needs[image->need_count++] = load_need(image, name);
    }
}

/* ---- symbols ---- */

static uint64_t uleb(const uint8_t **at)
{
  uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const uint8_t byte = *(*at)++;
    value |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
    if (byte < 0x80)
      return value;
  }
}

static int64_t sleb(const uint8_t **at)
{
  uint64_t value = 0;
  for (int shift = 0;;) {
    const uint8_t byte = *(*at)++;
    value |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
    shift += 7;
    if (byte < 0x80)
      return (int64_t)(byte & 0x40 && shift < 64 ? value | ~UINT64_C(0) << shift : value);
  }
}

/* Looks a name up in the trie of exports. `weak` says whether another image's definition may take its place. */
void *exported(const struct image *image, const char *name, bool *weak)
{
  enum { KIND_MASK = 3, ABSOLUTE = 2, WEAK_DEFINITION = 4, REEXPORT = 8, STUB_AND_RESOLVER = 0x10 };
  if (image->info == NULL || image->info->exports_size == 0)
    return NULL;
  const uint8_t *trie = (const uint8_t *)image->file + image->info->exports, *node = trie;
  for (const char *rest = name;;) {
    const uint64_t size = uleb(&node);
    const uint8_t *children = node + size;
    if (*rest == '\0') {
      if (size == 0)
        return NULL;
      const uint64_t flags = uleb(&node);
      if ((flags & KIND_MASK) == ABSOLUTE || flags & (REEXPORT | STUB_AND_RESOLVER))
        fail("%s: export of %s has the flags %#lx", image->path, name, (unsigned long)flags);
      *weak = flags & WEAK_DEFINITION;
      return (char *)image->header + uleb(&node);
    }
    const uint8_t *found = NULL;
    for (int left = *children++; left > 0; left--) {
      const char *edge = (const char *)children;
      children += strlen(edge) + 1;
      const uint64_t offset = uleb(&children);
      if (strncmp(rest, edge, strlen(edge)) == 0) {
        rest += strlen(edge);
        found = trie + offset;
        break;
      }
    }
    if (found == NULL)
      return NULL;
    node = found;
  }
}

/* Of several definitions, the first one that is not weak, or else the first: dyld's rule for weak symbols. */
void *exported_by_any(const char *name)
{
  void *first = NULL;
  for (int i = 0; i < image_count; i++) {
    bool weak = false;
    void *found = exported(&images[i], name, &weak);
    if (found && !weak)
      return found;
    first = first ? first : found;
  }
  return first;
}

static _Noreturn void called_unresolved(const char *name)
{
  fail("%s is called, which no image defines and the loader does not have", name);
}

/* Makes a function that ends the program with the name of the symbol that was not found. */
static void *unresolved(const char *name)
{
  static uint8_t *room, *end;
  enum { SIZE = 32, ALL = 1 << 16 };
  if (room == end) {
    room = mmap(NULL, ALL, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
      fail("no memory for stubs");
    end = room + ALL;
  }
  uint8_t *const stub = room;
  const uint64_t values[2] = { (uintptr_t)name, (uintptr_t)called_unresolved };
#if defined(__x86_64__)
  /* mov 0xa(%rip), %rdi; jmp *0xc(%rip) */
  static const uint8_t code[16] = { 0x48, 0x8b, 0x3d, 0x09, 0, 0, 0, 0xff, 0x25, 0x0b, 0, 0, 0 };
#else
  static const uint32_t code[4] = { 0x58000080 /* ldr x0, .+16 */, 0x580000b0 /* ldr x16, .+20 */, 0xd61f0200 /* br x16 */ };
#endif
  memcpy(stub, code, sizeof code);
  memcpy(stub + sizeof code, values, sizeof values);
  room += SIZE;
  __builtin___clear_cache((char *)stub, (char *)room);
  return stub;
}

static void *of_system(const char *name)
{
  for (int i = 0; i < image_count; i++) {
    bool weak;
    void *found = images[i].of_system ? exported(&images[i], name, &weak) : NULL;
    if (found)
      return found;
  }
  return of_libsystem(name[0] == '_' ? name + 1 : name);
}

/* Finds what a bind refers to. Ordinals: 1 is the first library that the image needs, 0 the image itself,
   -1 the executable, -2 any image (flat), -3 any image (weak). */
static void *resolve(const struct image *image, const char *name, int ordinal, bool optional)
{
  bool weak;
  void *found = NULL;
  if (ordinal > image->need_count)
    fail("%s: no library %d, for %s", image->path, ordinal, name);
  if (ordinal > 0)
    found = image->needs[ordinal - 1] ? exported(image->needs[ordinal - 1], name, &weak) : of_system(name);
  else if (ordinal == 0 || ordinal == -1)
    found = exported(ordinal ? images : image, name, &weak);
  else
    found = exported_by_any(name);
  if (!found && ordinal == -2)
    found = of_system(name);
  return found || optional ? found : unresolved(name);
}

/* ---- fixups ---- */

static char *in_segment(const struct image *image, int number, uint64_t offset)
{
  if (number >= image->segment_count || offset + 8 > image->segments[number]->size)
    fail("%s: a fixup is outside segment %d", image->path, number);
  return image->slide + image->segments[number]->address + offset;
}

static void add_slide(const struct image *image, int segment, uint64_t offset)
{
  char *place = in_segment(image, segment, offset);
  uint64_t value;
  memcpy(&value, place, 8);
  value += (uintptr_t)image->slide;
  memcpy(place, &value, 8);
}

static void rebase(const struct image *image)
{
  const uint8_t *at = (const uint8_t *)image->file + image->info->rebase, *end = at + image->info->rebase_size;
  uint64_t offset = 0, count, skip;
  int segment = 0;
  while (at < end) {
    const uint8_t byte = *at++, immediate = byte & 0xf;
    count = 0, skip = 0;
    switch (byte & 0xf0) {
    case 0x00: /* REBASE_OPCODE_DONE */
      return;
    case 0x10: /* SET_TYPE_IMM */
      if (immediate != 1)
        fail("%s: rebase of type %d, not a pointer", image->path, immediate);
      break;
    case 0x20: /* SET_SEGMENT_AND_OFFSET_ULEB */
      segment = immediate, offset = uleb(&at);
      break;
    case 0x30: /* ADD_ADDR_ULEB */
      offset += uleb(&at);
      break;
    case 0x40: /* ADD_ADDR_IMM_SCALED */
      offset += immediate * 8u;
      break;
    case 0x50: /* DO_REBASE_IMM_TIMES */
      count = immediate;
      break;
    case 0x60: /* DO_REBASE_ULEB_TIMES */
      count = uleb(&at);
      break;
    case 0x70: /* DO_REBASE_ADD_ADDR_ULEB */
      count = 1, skip = uleb(&at);
      break;
    case 0x80: /* DO_REBASE_ULEB_TIMES_SKIPPING_ULEB */
      count = uleb(&at), skip = uleb(&at);
      break;
    default:
      fail("%s: unknown rebase opcode %#x", image->path, byte);
    }
    for (; count > 0; count--, offset += 8 + skip)
      add_slide(image, segment, offset);
  }
}

enum binding { EAGER, LAZY, WEAK };

static void bind(const struct image *image, uint32_t start, uint32_t size, enum binding kind)
{
  const uint8_t *at = (const uint8_t *)image->file + start, *end = at + size;
  const char *name = "";
  uint64_t offset = 0, count, skip;
  int64_t addend = 0;
  int ordinal = kind == WEAK ? -3 : 0, segment = 0;
  bool optional = kind == WEAK; /* a weak bind that nothing overrides keeps what rebase or bind wrote */
  while (at < end) {
    const uint8_t byte = *at++, immediate = byte & 0xf;
    count = 0, skip = 0;
    switch (byte & 0xf0) {
    case 0x00: /* BIND_OPCODE_DONE; of lazy binds, one ends each symbol */
      if (kind == LAZY)
        break;
      return;
    case 0x10: /* SET_DYLIB_ORDINAL_IMM */
      ordinal = immediate;
      break;
    case 0x20: /* SET_DYLIB_ORDINAL_ULEB */
      ordinal = (int)uleb(&at);
      break;
    case 0x30: /* SET_DYLIB_SPECIAL_IMM */
      ordinal = immediate ? immediate - 16 : 0;
      break;
    case 0x40: /* SET_SYMBOL_TRAILING_FLAGS_IMM: 1 is BIND_SYMBOL_FLAGS_WEAK_IMPORT */
      name = (const char *)at, at += strlen(name) + 1;
      optional = kind == WEAK || immediate & 1;
      break;
    case 0x50: /* SET_TYPE_IMM */
      if (immediate != 1)
        fail("%s: bind of type %d, not a pointer", image->path, immediate);
      break;
    case 0x60: /* SET_ADDEND_SLEB */
      addend = sleb(&at);
      break;
    case 0x70: /* SET_SEGMENT_AND_OFFSET_ULEB */
      segment = immediate, offset = uleb(&at);
      break;
    case 0x80: /* ADD_ADDR_ULEB */
      offset += uleb(&at);
      break;
    case 0x90: /* DO_BIND */
      count = 1;
      break;
    case 0xa0: /* DO_BIND_ADD_ADDR_ULEB */
      count = 1, skip = uleb(&at);
      break;
    case 0xb0: /* DO_BIND_ADD_ADDR_IMM_SCALED */
      count = 1, skip = immediate * 8u;
      break;
    case 0xc0: /* DO_BIND_ULEB_TIMES_SKIPPING_ULEB */
      count = uleb(&at), skip = uleb(&at);
      break;
    default:
      fail("%s: unknown bind opcode %#x", image->path, byte);
    }
    for (; count > 0; count--, offset += 8 + skip) {
      char *found = resolve(image, name, ordinal, optional);
      char *value = found ? found + addend : NULL;
      if (found || kind != WEAK)
        memcpy(in_segment(image, segment, offset), &value, 8);
    }
  }
}

static void fix_up(const struct image *image)
{
  const struct dyld_info *info = image->info;
  if (info == NULL)
    return;
  rebase(image);
  bind(image, info->bind, info->bind_size, EAGER);
  bind(image, info->lazy_bind, info->lazy_bind_size, LAZY);
  bind(image, info->weak_bind, info->weak_bind_size, WEAK);
}

/* ---- running ---- */

/* Sets up thread-local variables: the range of their initial values, and the image in each descriptor. */
static void prepare_thread_locals(struct image *image)
{
  image->template = UINT64_MAX;
  for (const struct section *section = NULL; (section = each_section(image, section));) {
    const int type = section->flags & SECTION_TYPE;
    if (type == S_THREAD_LOCAL_REGULAR || type == S_THREAD_LOCAL_ZEROFILL) {
      const uint64_t end = section->address + section->size;
      image->template = section->address < image->template ? section->address : image->template;
      image->template_end = end > image->template_end ? end : image->template_end;
    } else if (type == S_THREAD_LOCAL_VARIABLES) {
      struct tlv *variables = (struct tlv *)(image->slide + section->address);
      for (uint64_t i = 0; i < section->size / sizeof *variables; i++)
        variables[i].key = (uintptr_t)image;
    } else if (type == S_THREAD_LOCAL_INIT_FUNCTION_POINTERS || type == S_MOD_TERM_FUNC_POINTERS) {
      fail("%s: section %.16s is of a type that zig does not write", image->path, section->name);
    }
  }
  if (pthread_key_create(&image->thread_key, free) != 0)
    fail("%s: no key for thread-local variables", image->path);
}

typedef void initialiser(int, char **, char **, char **);

/* Runs the initialisers of an image, after those of the libraries that it needs. */
static void initialise(struct image *image, int argc, char **argv)
{
  extern char **environ;
  static char *apple[] = { NULL };
  if (image->initialised)
    return;
  image->initialised = true;
  for (int i = 0; i < image->need_count; i++)
    if (image->needs[i])
      initialise(image->needs[i], argc, argv);
  for (const struct section *section = NULL; (section = each_section(image, section));) {
    const char *start = image->slide + section->address;
    if ((section->flags & SECTION_TYPE) == S_MOD_INIT_FUNC_POINTERS)
      for (uint64_t i = 0; i < section->size / 8; i++)
        ((initialiser *const *)start)[i](argc, argv, environ, apple);
    if ((section->flags & SECTION_TYPE) == S_INIT_FUNC_OFFSETS)
      for (uint64_t i = 0; i < section->size / 4; i++)
        ((initialiser *)((char *)image->header + ((const uint32_t *)start)[i]))(argc, argv, environ, apple);
  }
}

/* Calls TYPE:NAME(ARGUMENT, ...). Integers and texts go into one class of registers, doubles into the other,
   so one call serves all signatures of up to six and eight of these. */
static void call(const struct image *image, const char *said)
{
#define ARGUMENTS w[0], w[1], w[2], w[3], w[4], w[5], d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7]
#define TYPES long, long, long, long, long, long, double, double, double, double, double, double, double, double
  char *text = strdup(said), *name = strchr(text, ':'), symbol[512], *word, *rest = NULL, *end;
  const char *type = name ? text : "int";
  long w[6] = { 0 };
  double d[8] = { 0 };
  int words = 0, doubles = 0;
  bool weak;
  if (name)
    *name++ = '\0';
  else
    name = text;
  const char *shown = strdup(name);
  name = strtok_r(name, "()", &rest);
  snprintf(symbol, sizeof symbol, "_%s", name);
  void *function = exported(image, symbol, &weak);
  if (function == NULL)
    fail("%s: exports no function %s", image->path, symbol);
  while ((word = strtok_r(NULL, ",() ", &rest)) && words < 6 && doubles < 8) {
    const long value = strtol(word, &end, 0);
    if (*end == '\0')
      w[words++] = value;
    else if ((d[doubles] = strtod(word, &end)), *end == '\0')
      doubles++;
    else
      w[words++] = (long)(intptr_t)word;
  }
  if (strcmp(type, "int") == 0)
    printf("%s = %d\n", shown, ((int (*)(TYPES))function)(ARGUMENTS));
  else if (strcmp(type, "long") == 0)
    printf("%s = %ld\n", shown, ((long (*)(TYPES))function)(ARGUMENTS));
  else if (strcmp(type, "double") == 0)
    printf("%s = %g\n", shown, ((double (*)(TYPES))function)(ARGUMENTS));
  else if (strcmp(type, "string") == 0)
    printf("%s = %s\n", shown, ((const char *(*)(TYPES))function)(ARGUMENTS));
  else if (strcmp(type, "void") == 0)
    ((void (*)(TYPES))function)(ARGUMENTS), printf("%s\n", shown);
  else
    fail("%s: the type of a result is int, long, double, string or void", said);
}

int main(int argc, char **argv)
{
  if (argc < 2)
    fail("which image?");
  const bool python = argc == 5 && strcmp(argv[2], "--python") == 0;
  if (python)
    open_python(argv[3]);
  struct image *first = load(argv[1]);
  load(UNWINDER)->of_system = true;
  for (int i = 0; i < image_count; i++)
    load_needs(&images[i]);
  start_libsystem(argc - 1, argv + 1);
  for (int i = 0; i < image_count; i++) {
    fix_up(&images[i]);
    prepare_thread_locals(&images[i]);
    protect_segments(&images[i]);
  }
  if (python) /* which imports a module before the module's initialisers run */
    start_python(first);
  for (int i = image_count - 1; i >= 0; i--) /* the unwinder before the first */
    initialise(&images[i], argc - 1, argv + 1);
  if (first->header->file_type == MH_EXECUTE) {
    extern char **environ;
    if (first->entry == NULL)
      fail("%s: no LC_MAIN", first->path);
    int (*start)(int, char **, char **) = (int (*)(int, char **, char **))((char *)first->header + first->entry->entry);
    exit(start(argc - 1, argv + 1, environ));
  }
  if (python)
    exit(run_python(argv[4]));
  for (int i = 2; i < argc; i++)
    call(first, argv[i]);
  exit(0);
}
