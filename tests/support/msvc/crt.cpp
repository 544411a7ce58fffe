// What Microsoft's C++ run-time library links into each program, as far as tests need it. Its DLLs are wine's.
typedef void(__cdecl *function)();

class type_info { // whose table the type information of all classes refers to
public:
  virtual ~type_info();
  void *data = nullptr;
  char name[1] = {};
};
type_info::~type_info() {}
extern type_info isa_type;
type_info isa_type;

void operator delete(void *) noexcept {}
void operator delete(void *, decltype(sizeof 0)) noexcept {}
int main();
static void initialise();

#pragma section(".CRT$XCA", read)
#pragma section(".CRT$XCZ", read)
#pragma section(".CRT$XLA", read)
#pragma section(".CRT$XLZ", read)
#pragma section(".tls", read, write)
#pragma section(".tls$ZZZ", read, write)
#pragma comment(linker, "/merge:.CRT=.rdata")
#pragma comment(linker, "/include:_tls_used")

extern "C" {
__declspec(dllimport) void exit(int);

__declspec(allocate(".CRT$XCA")) extern const function isa_first_initialiser = nullptr;
__declspec(allocate(".CRT$XCZ")) extern const function isa_last_initialiser = nullptr;
__declspec(allocate(".CRT$XLA")) extern const function isa_first_callback = nullptr;
__declspec(allocate(".CRT$XLZ")) extern const function isa_last_callback = nullptr;

int _fltused = 1;
unsigned long long __security_cookie = 1;
void __security_check_cookie(unsigned long long) {}

unsigned long _tls_index = 0;
__declspec(allocate(".tls")) char _tls_start = 0;
__declspec(allocate(".tls$ZZZ")) char _tls_end = 0;
extern const struct {
  const void *start, *end, *index, *callbacks;
  unsigned zeros, alignment;
} _tls_used = {&_tls_start, &_tls_end, &_tls_index, &isa_first_callback + 1, 0, 0};

// Guards of static variables: tests have one thread. A guard of 0 is that of a variable which is not initialised.
thread_local int _Init_thread_epoch = -0x7fffffff - 1;
void _Init_thread_header(int *guard) { *guard = *guard == 0 ? -1 : *guard; }
void _Init_thread_footer(int *guard) { *guard = -0x7fffffff; }
void _Init_thread_abort(int *guard) { *guard = 0; }
int atexit(function) { return 0; }

#ifdef LIBRARY
int _DllMainCRTStartup(void *, unsigned long reason, void *)
{
  if (reason == 1) // the library is loaded
    initialise();
  return 1;
}
}
#else
void mainCRTStartup()
{
  initialise();
  exit(main());
}
}
#endif

static void initialise()
{
  const function *volatile place = &isa_first_initialiser;
  for (const function *volatile end = &isa_last_initialiser; place < end; place = place + 1)
    if (*place != nullptr)
      (*place)();
}
