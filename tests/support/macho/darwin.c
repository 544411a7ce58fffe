/* libSystem as the host's libc, with own versions of what differs on Darwin.

   Sources: the headers of Darwin that zig brings (lib/libc/include/any-darwin-any); dyld's dyldAPIs and threadLocalHelpers.s;
   Apple's "Writing ARM64 code for Apple platforms" for variadic functions; AAPCS64 for the host's va_list. */
#define _GNU_SOURCE
#include "macho.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

/* ---- functions with variable arguments ---- */

#define UNPACK(...) __VA_ARGS__
#define IGNORED __attribute__((unused))
#if defined(__x86_64__)
/* The host's convention: a va_list is passed on. */
typedef va_list list_of_darwin;
#define HOST_LIST(host, list) \
  va_list host;               \
  va_copy(host, list)
#define PLAIN(format) (format)
#define ENTRY(name, count, parameters, arguments)                   \
  static int darwin_##name(UNPACK parameters, ...)                  \
  {                                                                 \
    va_list list;                                                   \
    va_start(list, format);                                         \
    const int result = darwin_v_##name(UNPACK arguments, list);     \
    va_end(list);                                                   \
    return result;                                                  \
  }
#else
/* Apple's arm64 passes all variable arguments on the stack, in slots of 8 bytes, and a va_list is a pointer to them: the entry
   adds the stack's address as a further argument. The host's va_list takes them from there when its registers are used up. */
typedef char *list_of_darwin;
#define HOST_LIST(host, list)                                                   \
  va_list host = { .__stack = (list), .__gr_offs = 0, .__vr_offs = 0 }
#define PLAIN(format) without_long_double(format, (char[1024]){ 0 }, 1024)
#define ENTRY(name, count, parameters, arguments)                                                              \
  extern void darwin_##name(void);                                                                             \
  __asm__(".text\n.balign 4\n.global darwin_" #name "\n.type darwin_" #name ", %function\ndarwin_" #name ":\n" \
          "  mov x" #count ", sp\n  b darwin_v_" #name "\n");

/* Writes %lf for %Lf: a long double is a double there, and has 16 bytes for the host. */
static const char *without_long_double(const char *format, char *room, size_t size)
{
  bool conversion = false;
  if (strlen(format) >= size)
    fail("a format has more than %zu characters: %s", size, format);
  for (char *to = room; (*to = *format); to++, format++) {
    *to = conversion && *to == 'L' ? 'l' : *to;
    conversion = conversion ? *format == 'L' || strchr("0123456789.*+-# ", *format) : *format == '%';
  }
  return room;
}
#endif

/* Entry, its name with a list, count of named arguments, the host's function, parameters, arguments. */
#define VARIADIC(X)                                                                                               \
  X(printf, vprintf, 1, vprintf, (const char *format), (PLAIN(format)), (format))                                 \
  X(fprintf, vfprintf, 2, vfprintf, (FILE *file, const char *format), (file, PLAIN(format)), (file, format))      \
  X(dprintf, vdprintf, 2, vdprintf, (int file, const char *format), (file, PLAIN(format)), (file, format))        \
  X(sprintf, vsprintf, 2, vsprintf, (char *to, const char *format), (to, PLAIN(format)), (to, format))            \
  X(snprintf, vsnprintf, 3, vsnprintf, (char *to, size_t size, const char *format), (to, size, PLAIN(format)),    \
    (to, size, format))                                                                                           \
  X(asprintf, vasprintf, 2, vasprintf, (char **to, const char *format), (to, PLAIN(format)), (to, format))        \
  X(swprintf, vswprintf, 3, vswprintf, (wchar_t *to, size_t size, const wchar_t *format), (to, size, format),     \
    (to, size, format))                                                                                           \
  X(scanf, vscanf, 1, vscanf, (const char *format), (PLAIN(format)), (format))                                    \
  X(fscanf, vfscanf, 2, vfscanf, (FILE *file, const char *format), (file, PLAIN(format)), (file, format))         \
  X(sscanf, vsscanf, 2, vsscanf, (const char *from, const char *format), (from, PLAIN(format)), (from, format))   \
  X(__sprintf_chk, __vsprintf_chk, 4, __vsprintf_chk, (char *to, int flag, size_t room, const char *format),      \
    (to, flag, room, PLAIN(format)), (to, flag, room, format))                                                    \
  X(__snprintf_chk, __vsnprintf_chk, 5, __vsnprintf_chk,                                                          \
    (char *to, size_t size, int flag, size_t room, const char *format), (to, size, flag, room, PLAIN(format)),    \
    (to, size, flag, room, format))                                                                               \
  X(snprintf_l, vsnprintf_l, 4, vsnprintf, (char *to, size_t size, locale_t where IGNORED, const char *format),           \
    (to, size, PLAIN(format)), (to, size, where, format))                                            \
  X(asprintf_l, vasprintf_l, 3, vasprintf, (char **to, locale_t where IGNORED, const char *format),                       \
    (to, PLAIN(format)), (to, where, format))                                                        \
  X(sscanf_l, vsscanf_l, 3, vsscanf, (const char *from, locale_t where IGNORED, const char *format),                      \
    (from, PLAIN(format)), (from, where, format))

int __vsprintf_chk(char *, int, size_t, const char *, va_list);
int __vsnprintf_chk(char *, size_t, int, size_t, const char *, va_list);

#define DEFINE(name, with_list, count, host, parameters, passed, arguments) \
  int darwin_v_##name(UNPACK parameters, list_of_darwin list);              \
  int darwin_v_##name(UNPACK parameters, list_of_darwin list)               \
  {                                                                         \
    HOST_LIST(values, list);                                                \
    return host(UNPACK passed, values);                                     \
  }                                                                         \
  ENTRY(name, count, parameters, arguments)
VARIADIC(DEFINE)

/* ---- locks: Darwin's objects start with a signature, 8 bytes, and are larger; those of the host are kept behind a pointer ---- */

struct hosted {
  long signature;
  void *host;
};
enum { PTHREAD_RECURSIVE_MUTEX = 0x32AAABA2, DARWIN_RECURSIVE = 2, DARWIN_ETIMEDOUT = 60, DARWIN_EAGAIN = 35 };

static void *host_of(struct hosted *object)
{
  void *found = __atomic_load_n(&object->host, __ATOMIC_ACQUIRE), *made;
  if (found)
    return found;
  made = calloc(1, 128); /* a static initialiser of glibc's mutexes, conditions and locks is zero */
  if ((object->signature & 0xffffffff) == PTHREAD_RECURSIVE_MUTEX) {
    pthread_mutexattr_t attribute;
    pthread_mutexattr_init(&attribute);
    pthread_mutexattr_settype(&attribute, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(made, &attribute);
  }
  return __atomic_compare_exchange_n(&object->host, &found, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ? made : found;
}

struct attribute {
  long signature;
  int type;
};
static int darwin_attribute_init(struct attribute *attribute) { return *attribute = (struct attribute){ 0 }, 0; }
static int darwin_attribute_settype(struct attribute *attribute, int type) { return attribute->type = type, 0; }
static int darwin_init(struct hosted *object, const struct attribute *attribute)
{
  *object = (struct hosted){ attribute && attribute->type == DARWIN_RECURSIVE ? PTHREAD_RECURSIVE_MUTEX : 1, NULL };
  return 0;
}
static int darwin_destroy(struct hosted *object)
{
  free(object->host);
  object->host = NULL;
  return 0;
}
static int darwin_error(int error) { return error == ETIMEDOUT ? DARWIN_ETIMEDOUT : error == EAGAIN ? DARWIN_EAGAIN : error; }

#define HOSTED(X)                                                                                  \
  X(pthread_mutex_lock) X(pthread_mutex_trylock) X(pthread_mutex_unlock) X(pthread_cond_signal)    \
  X(pthread_cond_broadcast) X(pthread_rwlock_rdlock) X(pthread_rwlock_tryrdlock)                 \
  X(pthread_rwlock_wrlock) X(pthread_rwlock_trywrlock) X(pthread_rwlock_unlock)
#define DEFINE_HOSTED(name) \
  static int darwin_##name(struct hosted *object) { return darwin_error(name(host_of(object))); }
HOSTED(DEFINE_HOSTED)

static int darwin_cond_wait(struct hosted *condition, struct hosted *mutex)
{
  return pthread_cond_wait(host_of(condition), host_of(mutex));
}
static int darwin_cond_timedwait(struct hosted *condition, struct hosted *mutex, const struct timespec *until)
{
  return darwin_error(pthread_cond_timedwait(host_of(condition), host_of(mutex), until));
}

/* The state follows the signature: another thread's call waits until it is DONE. */
static int darwin_once(struct hosted *once, void (*function)(void))
{
  enum { DONE = 1, RUNNING = 2 };
  void *none = NULL;
  if (__atomic_compare_exchange_n(&once->host, &none, (void *)RUNNING, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    function();
    __atomic_store_n(&once->host, (void *)DONE, __ATOMIC_RELEASE);
  }
  while (__atomic_load_n(&once->host, __ATOMIC_ACQUIRE) != (void *)DONE)
    sched_yield();
  return 0;
}
static void unfair_lock(unsigned *lock)
{
  while (__atomic_exchange_n(lock, 1u, __ATOMIC_ACQUIRE))
    sched_yield();
}
static void unfair_unlock(unsigned *lock) { __atomic_store_n(lock, 0u, __ATOMIC_RELEASE); }

static int darwin_key_create(unsigned long *key, void (*destroy)(void *))
{
  pthread_key_t made;
  const int error = pthread_key_create(&made, destroy);
  *key = made;
  return darwin_error(error);
}
static int darwin_create(pthread_t *thread, const void *attribute, void *(*start)(void *), void *argument)
{
  if (attribute)
    fail("pthread_create with attributes");
  return darwin_error(pthread_create(thread, NULL, start, argument));
}
static int thread_number(void) { return (int)gettid(); }

/* ---- thread-local variables ---- */

void *thread_local_address(struct tlv *variable);
void *thread_local_address(struct tlv *variable)
{
  const struct image *image = (const struct image *)variable->key;
  char *block = pthread_getspecific(image->thread_key);
  if (block == NULL) {
    const size_t size = image->template_end - image->template;
    if (posix_memalign((void **)&block, 64, size + 1) != 0 || pthread_setspecific(image->thread_key, block) != 0)
      fail("no memory for thread-local variables");
    memcpy(block, image->slide + image->template, size);
  }
  return block + variable->offset;
}

/* The thunk keeps all registers but that of the result (LLVM: CSR_64_TLS_Darwin, CSR_Darwin_AArch64_TLS). */
void darwin_tlv_thunk(void);
#if defined(__x86_64__)
__asm__(".text\n.global darwin_tlv_thunk\n.type darwin_tlv_thunk, @function\ndarwin_tlv_thunk:\n"
        "  .irp r, rdi, rsi, rdx, rcx, r8, r9, r10, r11\n  push %\\r\n  .endr\n  sub $264, %rsp\n"
        "  .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n  movups %xmm\\n, 16*\\n(%rsp)\n  .endr\n"
        "  call thread_local_address\n"
        "  .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n  movups 16*\\n(%rsp), %xmm\\n\n  .endr\n"
        "  add $264, %rsp\n  .irp r, r11, r10, r9, r8, rcx, rdx, rsi, rdi\n  pop %\\r\n  .endr\n  ret\n");
#else
#define NUMBERS "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17"
#define VECTORS "0," NUMBERS ",18,19,20,21,22,23,24,25,26,27,28,29,30,31"
__asm__(".text\n.balign 4\n.global darwin_tlv_thunk\n.type darwin_tlv_thunk, %function\ndarwin_tlv_thunk:\n"
        "  stp x29, x30, [sp, #-16]!\n  mov x29, sp\n  sub sp, sp, #656\n"
        "  .irp n, " VECTORS "\n  str q\\n, [sp, #16*\\n]\n  .endr\n"
        "  .irp n, " NUMBERS "\n  str x\\n, [sp, #504+8*\\n]\n  .endr\n"
        "  bl thread_local_address\n"
        "  .irp n, " NUMBERS "\n  ldr x\\n, [sp, #504+8*\\n]\n  .endr\n"
        "  .irp n, " VECTORS "\n  ldr q\\n, [sp, #16*\\n]\n  .endr\n"
        "  add sp, sp, #656\n  ldp x29, x30, [sp], #16\n  ret\n");
#endif

int __cxa_thread_atexit_impl(void (*)(void *), void *, void *);
int __cxa_atexit(void (*)(void *), void *, void *);
static void tlv_at_exit(void (*function)(void *), void *object)
{
  __cxa_thread_atexit_impl(function, object, images); /* any address of the loader, which stays loaded */
}
static int darwin_cxa_atexit(void (*function)(void *), void *object, void *image)
{
  (void)image;
  return __cxa_atexit(function, object, NULL);
}
static int darwin_atexit(void (*function)(void)) { return atexit(function); }

/* ---- dyld ---- */

struct unwind_sections { /* dyld_unwind_sections of mach-o/dyld_priv.h */
  const struct header *header;
  const void *frames;
  uintptr_t frames_size;
  const void *compact;
  uintptr_t compact_size;
};
static bool find_unwind_sections(const void *address, struct unwind_sections *found)
{
  const struct image *image = image_at(address);
  if (image == NULL)
    return false;
  const struct section *frames = section_of(image, "__eh_frame"), *compact = section_of(image, "__unwind_info");
  *found = (struct unwind_sections){ image->header, NULL, 0, NULL, 0 };
  if (frames)
    found->frames = image->slide + frames->address, found->frames_size = frames->size;
  if (compact)
    found->compact = image->slide + compact->address, found->compact_size = compact->size;
  return true;
}
static uint32_t count_of_images(void) { return (uint32_t)image_count; }
static const struct header *header_of_image(uint32_t number)
{
  return number < (uint32_t)image_count ? images[number].header : NULL;
}
static const char *name_of_image(uint32_t number) { return number < (uint32_t)image_count ? images[number].path : NULL; }
static intptr_t slide_of_image(uint32_t number)
{
  return number < (uint32_t)image_count ? (intptr_t)images[number].slide : 0;
}
static void for_each_image(void (*function)(const struct header *, intptr_t))
{
  for (int i = 0; i < image_count; i++)
    function(images[i].header, (intptr_t)images[i].slide);
}
static void no_image_is_removed(void (*function)(const struct header *, intptr_t)) { (void)function; }
static void *find_symbol(void *library, const char *name)
{
  char symbol[512];
  (void)library;
  snprintf(symbol, sizeof symbol, "_%s", name);
  void *found = exported_by_any(symbol);
  return found ? found : symbol_of_python(name); /* none of the host's libc: it would be another than Darwin's */
}
static void *open_no_library(const char *path, int mode) { return (void)path, (void)mode, NULL; }
static char *say_no_library(void) { return "the loader opens no libraries"; }
static int no_symbol(const void *address, void *found) { return (void)address, (void)found, 0; }
static bool has_version(uint32_t count, const void *versions) { return (void)count, (void)versions, true; }

static char **arguments;
static int argument_count;
extern char **environ;
static char ***address_of_environment(void) { return &environ; }
static char ***address_of_arguments(void) { return &arguments; }
static int *address_of_argument_count(void) { return &argument_count; }
static int executable_path(char *to, uint32_t *size)
{
  return snprintf(to, *size, "%s", images[0].path) < (int)*size ? 0 : -1;
}

/* ---- the machine ---- */

/* Answers from MACHO_SYSCTL: a number as an int, or as 8 bytes where it needs them, anything else as a text. */
static int darwin_sysctl(const char *name, void *to, size_t *size, const void *new, size_t new_size)
{
  const char *all = getenv("MACHO_SYSCTL");
  const size_t length = strlen(name);
  (void)new, (void)new_size;
  for (const char *at = all; at && *at; at += strcspn(at, ","), at += *at == ',') {
    if (strncmp(at, name, length) != 0 || at[length] != '=')
      continue;
    char text[256] = { 0 }, *end;
    at += length + 1;
    strncat(text, at, strcspn(at, ",") < 255 ? strcspn(at, ",") : 255);
    const long long number = strtoll(text, &end, 0);
    const size_t needed = *end ? strlen(text) + 1 : (long long)(int)number == number ? 4 : 8;
    if (to && *size < needed)
      return errno = ENOMEM, -1; /* 12 on Darwin, too */
    if (to)
      memcpy(to, *end ? (const void *)text : &number, needed);
    return *size = needed, 0;
  }
  return errno = ENOENT, -1; /* 2 on Darwin, too */
}
static long darwin_sysconf(int name)
{
  enum { PAGE_SIZE = 29, PROCESSORS = 57, PROCESSORS_ONLINE = 58 };
  if (name != PAGE_SIZE && name != PROCESSORS && name != PROCESSORS_ONLINE)
    fail("sysconf(%d) of Darwin", name);
  return sysconf(name == PAGE_SIZE ? _SC_PAGESIZE : _SC_NPROCESSORS_ONLN);
}
static int darwin_clock(int clock, struct timespec *to) /* 0 is CLOCK_REALTIME, 4 to 9 are kinds of CLOCK_MONOTONIC */
{
  return clock_gettime(clock == 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC, to);
}
static uint64_t nanoseconds(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
static int nanoseconds_per_tick(uint32_t ratio[2]) { return ratio[0] = ratio[1] = 1, 0; }

/* ---- functions that clang calls on Darwin alone ---- */

static void fill_pattern(char *to, const char *pattern, size_t size, size_t unit)
{
  for (size_t i = 0; i < size; i++)
    to[i] = pattern[i % unit];
}
static void pattern4(void *to, const void *pattern, size_t size) { fill_pattern(to, pattern, size, 4); }
static void pattern8(void *to, const void *pattern, size_t size) { fill_pattern(to, pattern, size, 8); }
static void pattern16(void *to, const void *pattern, size_t size) { fill_pattern(to, pattern, size, 16); }
static void zero(void *to, size_t size) { memset(to, 0, size); }
struct both {
  double sine, cosine;
};
struct both_of_float {
  float sine, cosine;
};
static struct both sine_and_cosine(double of) { return (struct both){ sin(of), cos(of) }; }
static struct both_of_float sine_and_cosine_of_float(float of) { return (struct both_of_float){ sinf(of), cosf(of) }; }
static _Noreturn void assertion_failed(const char *function, const char *file, int line, const char *expression)
{
  fflush(stdout);
  fprintf(stderr, "Assertion failed: (%s), function %s, file %s, line %d.\n", expression, function, file, line);
  abort();
}
static _Noreturn void stack_check_failed(void) { fail("a function wrote past its stack frame"); }
static long guard = 0x5bd1e995;

/* ---- characters and locales: only C ---- */

struct runes { /* _RuneLocale of runetype.h, up to the tables of the first 256 characters */
  char magic[8], encoding[32];
  void *functions[2];
  int invalid;
  uint32_t types[256];
  int lower[256], upper[256];
  char rest[128];
};
static struct runes runes = { .magic = "RuneMagA", .encoding = "NONE" };

static void fill_runes(void) /* _CTYPE_ of _ctype.h */
{
  for (int i = 0; i < 256; i++) {
    const bool ascii = i < 128;
    const int digit = isdigit(i) ? i - '0' : isxdigit(i) ? tolower(i) - 'a' + 10 : 0;
    runes.lower[i] = ascii ? tolower(i) : i;
    runes.upper[i] = ascii ? toupper(i) : i;
    runes.types[i] = !ascii ? 0
                            : (uint32_t)((isalpha(i) ? 0x100 : 0) | (iscntrl(i) ? 0x200 : 0) | (isdigit(i) ? 0x400 : 0) |
                                         (isgraph(i) ? 0x800 : 0) | (islower(i) ? 0x1000 : 0) | (ispunct(i) ? 0x2000 : 0) |
                                         (isspace(i) ? 0x4000 : 0) | (isupper(i) ? 0x8000 : 0) | (isxdigit(i) ? 0x10000 : 0) |
                                         (isblank(i) ? 0x20000 : 0) | (isprint(i) ? 0x40000 : 0) | digit);
  }
}
static int rune_has(int rune, unsigned long mask) { return (unsigned)rune < 256 ? (int)(runes.types[rune] & mask) : 0; }
static int rune_lower(int rune) { return (unsigned)rune < 256 ? runes.lower[rune] : rune; }
static int rune_upper(int rune) { return (unsigned)rune < 256 ? runes.upper[rune] : rune; }
static size_t bytes_of_character(locale_t where) { return (void)where, 1; }
static bool is_c(const char *name) { return name == NULL || !*name || !strcmp(name, "C") || !strcmp(name, "POSIX"); }
static locale_t darwin_newlocale(int categories, const char *name, locale_t base)
{
  (void)categories, (void)base;
  return is_c(name) ? newlocale(LC_ALL_MASK, "C", NULL) : NULL;
}
static char *darwin_setlocale(int category, const char *name) { return (void)category, is_c(name) ? "C" : NULL; }
static locale_t darwin_uselocale(locale_t where) { return (void)where, LC_GLOBAL_LOCALE; /* -1 on Darwin, too */ }

/* ---- names ---- */

static FILE *standard[3];
int __xpg_strerror_r(int, char *, size_t);

static const struct {
  const char *name;
  void *address;
} own[] = {
#define NAMED(name, with_list, count, host, parameters, passed, arguments) \
  { #name, darwin_##name }, { #with_list, darwin_v_##name },
  VARIADIC(NAMED)
#define NAMED_HOSTED(name) { #name, darwin_##name },
  HOSTED(NAMED_HOSTED)
  { "pthread_mutex_init", darwin_init }, { "pthread_cond_init", darwin_init }, { "pthread_rwlock_init", darwin_init },
  { "pthread_mutex_destroy", darwin_destroy }, { "pthread_cond_destroy", darwin_destroy },
  { "pthread_rwlock_destroy", darwin_destroy }, { "pthread_cond_wait", darwin_cond_wait },
  { "pthread_cond_timedwait", darwin_cond_timedwait }, { "pthread_mutexattr_init", darwin_attribute_init },
  { "pthread_mutexattr_destroy", darwin_attribute_init }, { "pthread_mutexattr_settype", darwin_attribute_settype },
  { "pthread_once", darwin_once }, { "pthread_key_create", darwin_key_create }, { "pthread_create", darwin_create },
  { "pthread_self", pthread_self }, { "pthread_equal", pthread_equal }, { "pthread_join", pthread_join },
  { "pthread_detach", pthread_detach }, { "pthread_getspecific", pthread_getspecific },
  { "pthread_setspecific", pthread_setspecific }, { "pthread_key_delete", pthread_key_delete },
  { "pthread_mach_thread_np", thread_number }, { "os_unfair_lock_lock", unfair_lock },
  { "os_unfair_lock_unlock", unfair_unlock },
  { "_tlv_bootstrap", darwin_tlv_thunk }, { "_tlv_atexit", tlv_at_exit }, { "__cxa_atexit", darwin_cxa_atexit },
  { "atexit", darwin_atexit },
  { "_dyld_find_unwind_sections", find_unwind_sections }, { "_dyld_image_count", count_of_images },
  { "_dyld_get_image_header", header_of_image }, { "_dyld_get_image_name", name_of_image },
  { "_dyld_get_image_vmaddr_slide", slide_of_image }, { "_dyld_register_func_for_add_image", for_each_image },
  { "_dyld_register_func_for_remove_image", no_image_is_removed }, { "dlsym", find_symbol }, { "dlopen", open_no_library },
  { "dlerror", say_no_library }, { "dladdr", no_symbol }, { "_availability_version_check", has_version },
  { "_NSGetEnviron", address_of_environment }, { "_NSGetArgv", address_of_arguments },
  { "_NSGetArgc", address_of_argument_count }, { "_NSGetExecutablePath", executable_path },
  { "sysctlbyname", darwin_sysctl }, { "sysconf", darwin_sysconf }, { "clock_gettime", darwin_clock },
  { "mach_absolute_time", nanoseconds }, { "mach_timebase_info", nanoseconds_per_tick },
  { "memset_pattern4", pattern4 }, { "memset_pattern8", pattern8 }, { "memset_pattern16", pattern16 }, { "__bzero", zero },
  { "__sincos_stret", sine_and_cosine }, { "__sincosf_stret", sine_and_cosine_of_float }, { "__exp10", exp10 },
  { "__exp10f", exp10f }, { "__assert_rtn", assertion_failed }, { "__stack_chk_fail", stack_check_failed },
  { "__stack_chk_guard", &guard }, { "__error", __errno_location }, { "strerror_r", __xpg_strerror_r },
  { "__stdinp", &standard[0] }, { "__stdoutp", &standard[1] }, { "__stderrp", &standard[2] },
  { "_DefaultRuneLocale", &runes }, { "__maskrune", rune_has }, { "__maskrune_l", rune_has }, { "__tolower", rune_lower },
  { "__tolower_l", rune_lower }, { "__toupper", rune_upper }, { "__toupper_l", rune_upper },
  { "___mb_cur_max_l", bytes_of_character }, { "newlocale", darwin_newlocale }, { "setlocale", darwin_setlocale },
  { "uselocale", darwin_uselocale },
  /* a last argument, the locale, is left aside */
  { "btowc_l", btowc }, { "localeconv_l", localeconv }, { "mbrlen_l", mbrlen }, { "mbrtowc_l", mbrtowc },
  { "mbsnrtowcs_l", mbsnrtowcs }, { "mbsrtowcs_l", mbsrtowcs }, { "mbtowc_l", mbtowc }, { "wcrtomb_l", wcrtomb },
  { "wcsnrtombs_l", wcsnrtombs }, { "wctob_l", wctob },
#if !defined(__x86_64__) /* long double is double */
  { "strtold", strtod }, { "strtold_l", strtod }, { "wcstold", wcstod },
#endif
};

/* What the host has by the same name is another thing: other constants, layouts, an unwinder that reads no Mach-O. */
static const char *const differ[] = {
  "_Unwind_*", "__cxa_*", "__gxx_*", "pthread_*", "sem_*", "sig*", "_setjmp", "setjmp", "stat", "fstat", "lstat", "open",
  "fcntl", "ioctl", "mmap", "mprotect", "getrlimit", "getrusage", "readdir", "uname", "glob", "regcomp", "regexec", "qsort_r",
  "fgetpos", "fsetpos", "select", "poll", "socket", "getaddrinfo", "syscall",
};

void *of_libsystem(const char *name)
{
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    if (strcmp(name, own[i].name) == 0)
      return own[i].address;
  for (size_t i = 0; i < sizeof differ / sizeof *differ; i++) {
    const size_t length = strcspn(differ[i], "*");
    if (strncmp(name, differ[i], length) == 0 && (differ[i][length] == '*' || name[length] == '\0'))
      return NULL;
  }
  return dlsym(RTLD_DEFAULT, name);
}

void start_libsystem(int argc, char **argv)
{
  argument_count = argc;
  arguments = argv;
  standard[0] = stdin, standard[1] = stdout, standard[2] = stderr;
  fill_runes();
}
