"""Sources of kernels whose initialisers hand out addresses of code, call through pointers, or do neither."""

from support.level_code import C_OF, Level

COMPILERS = ["g++", "clang++-16"]
OPTIMISED = ["-O0", "-O1", "-O2", "-O3"]
HEAD = "typedef int (*fn)(int);\n"
WORK = HEAD + "__attribute__((noinline)) static int work(int x) { return x * 3; }\n"
CONSTRUCTOR = "__attribute__((constructor)) static void first(void)"
# What hands out an address of the level's code: (language, source, what the finding's detail names).
HANDED_OUT = {
    "a registrar": (
        ".cpp",
        WORK + "extern void add(const char *, fn);\n"
        "struct registrar { registrar(const char *name, fn f) { add(name, f); } };\n"
        'static registrar one("work", &work);',
        "work",
    ),
    "a function that a constructor adds": (".c", f"{WORK}extern void add(fn);\n{CONSTRUCTOR} {{ add(work); }}", "work"),
    "a hook": (".c", f"{WORK}extern fn hook;\n{CONSTRUCTOR} {{ hook = work; }}", "work"),
    "two hooks at once": (
        ".c",
        f"{WORK}static int more(int x) {{ return x * 5; }}\nextern struct {{ fn a, b; }} hooks;\n"
        f"{CONSTRUCTOR} {{ hooks.a = work; hooks.b = more; }}",
        "work",
    ),
    "a std::function whose call operator is elsewhere": (
        ".cpp",
        f"{WORK}namespace std {{ template <class F> struct function {{ fn held; int operator()(int) const; }}; }}\n"
        "static int got = std::function<int(int)>{work}(3);",
        "work",
    ),
    "a table": (
        ".c",
        f"{WORK}static const fn table[] = {{work, work}};\nextern void add(const void *);\n"
        f"{CONSTRUCTOR} {{ add(table); }}",
        "table",
    ),
    "an entry of a list": (
        ".c",
        f"{WORK}struct entry {{ struct entry *next; fn f; }};\nextern struct entry *head;\n"
        f"static struct entry own = {{0, work}};\n{CONSTRUCTOR} {{ own.next = head; head = &own; }}",
        "own",
    ),
    "an entry that is handed over": (
        ".c",
        f"{WORK}struct entry {{ int number; fn f; }};\nextern void add(struct entry *);\n"
        f"static struct entry own = {{1, work}};\n{CONSTRUCTOR} {{ add(&own); }}",
        "own",
    ),
    "what a function returns": (
        ".c",
        f"{WORK}__attribute__((noinline)) static fn get(void) {{ return work; }}\nextern void add(fn);\n"
        f"{CONSTRUCTOR} {{ add(get()); }}",
        "work",
    ),
    "an object with virtual functions": (
        ".cpp",
        "struct base { virtual int f() = 0; };\nextern void add(base *);\nextern int start();\n"
        "struct derived : base { int value; derived(int v) : value(v) { add(this); } int f() override; };\n"
        "int derived::f() { return value; }\nstatic derived one(start());",
        "",
    ),
}
# What stores an address of the level's code in its stack frame, and hands that out.
HANDED_OUT_OF_THE_FRAME = {
    "a struct on the stack": (
        ".c",
        f"{WORK}struct entry {{ int number; fn f; }};\nextern void add(struct entry *);\n"
        f"{CONSTRUCTOR} {{ struct entry own = {{1, work}}; add(&own); }}",
    ),
    "a table that is copied to the stack": (
        ".c",
        f"{WORK}extern void add(fn *);\n{CONSTRUCTOR} {{ fn table[] = {{work, work, work, work, work}}; add(table); }}",
    ),
    "an entry of a table on the stack": (
        ".c",
        f"{WORK}extern void add(fn);\nextern volatile int n;\n"
        f"{CONSTRUCTOR} {{ fn table[] = {{work, work, work}}; add(table[n]); }}",
    ),
    "an address in the frame that is kept in it": (
        ".c",
        f"{WORK}extern void add(fn *);\n{CONSTRUCTOR} {{ fn f = work; fn *p = &f; fn **q = &p; add(*q); }}",
    ),
    "an address in the frame that is stored": (
        ".c",
        f"{WORK}extern fn *volatile hook;\nextern void use(void);\n"
        f"{CONSTRUCTOR} {{ fn f; hook = &f; f = work; use(); }}",
    ),
    "an address in the frame that the level's own code hands on": (
        ".c",
        f"{WORK}extern void add(fn *);\n__attribute__((noinline)) static void on(int n, fn *p) {{ add(p); }}\n"
        f"{CONSTRUCTOR} {{ fn f = work; on(3, &f); }}",
    ),
    "a struct that is passed on the stack": (
        ".c",
        f"{WORK}struct entry {{ fn f; long more[7]; }};\nextern void add(struct entry);\n"
        f"{CONSTRUCTOR} {{ struct entry own = {{work}}; add(own); }}",
    ),
    "the seventh argument": (
        ".c",
        f"{WORK}extern void add(int, int, int, int, int, int, fn);\n"
        f"{CONSTRUCTOR} {{ fn f = work; add(1, 2, 3, 4, 5, 6, f); }}",
    ),
    "a copy in the frame": (
        ".c",
        f"{WORK}extern void add(fn);\n{CONSTRUCTOR} {{ fn f = work, g; g = f; add(g); }}",
    ),
    "a variable that an exception comes to": (
        ".cpp",
        f"{WORK}extern void add(fn);\nextern void risk();\n"
        f"{CONSTRUCTOR} {{ fn f = work; try {{ risk(); }} catch (...) {{ add(f); }} }}",
    ),
    "a variable that a switch comes to": (
        ".c",
        f"{WORK}extern void add(fn);\nextern volatile int n;\n{CONSTRUCTOR} {{ fn f = work;\n  switch (n) {{\n"
        "  case 0: add(0); break;\n  case 1: add(f); break;\n  case 2: n = 4; break;\n  case 3: n = 9; break;\n"
        "  case 4: n = 7; break;\n  case 5: n = 2; } }",
    ),
    "what a function returns, of another": (
        ".c",
        f"{WORK}extern void add(fn);\n__attribute__((noinline)) static fn get(void) {{ fn f = work; return f; }}\n"
        "__attribute__((noinline)) static fn more(void) { fn f = get(); return f; }\n"
        f"{CONSTRUCTOR} {{ fn f = more(); add(f); }}",
    ),
    "an object that a function fills and returns": (
        ".cpp",
        "struct base { virtual int f() = 0; };\nextern void add(base *);\nextern int start();\n"
        "struct derived : base { int value; derived(int v) : value(v) {} int f() override; };\n"
        "int derived::f() { return value; }\nstatic derived one(start());\n"
        "__attribute__((noinline)) static base *get(int n) { one = derived(n); return &one; }\n"
        f"{CONSTRUCTOR} {{ add(get(3)); }}",
    ),
}
# What calls through pointers that the level's code did not make: (language, source).
POINTERS = {
    "a pointer": (".c", f"{HEAD}extern fn f;\nint got;\n{CONSTRUCTOR} {{ got = f(3); }}"),
    "a jump": (".c", f"typedef void (*fn)(void);\nextern fn f;\n{CONSTRUCTOR} {{ f(); }}"),
    "a table": (
        ".c",
        f"{HEAD}extern fn t[];\nextern int n;\nint got;\n"
        f"{CONSTRUCTOR} {{ for (int i = 0; i < n; i++) got += t[i](3); }}",
    ),
    "a virtual function": (
        ".cpp",
        "struct base { virtual int f() = 0; };\nextern base *one;\nint got = one->f();",
    ),
    "a function that it is called with": (
        ".c",
        f"{HEAD}extern fn f;\nint got;\n__attribute__((noinline)) static int run(fn f) {{ return f(2) + 1; }}\n"
        f"{CONSTRUCTOR} {{ got = run(f); }}",
    ),
    "a function in a variable that another function may set": (
        ".c",
        f"{HEAD}int got;\nextern void set(fn *);\n{CONSTRUCTOR} {{ fn f = 0; set(&f); got = f(3); }}",
    ),
    "a function in a variable that the level's own function sets": (
        ".c",
        f"{HEAD}int got;\nextern fn other;\n__attribute__((noinline)) static void set(fn *f) {{ *f = other; }}\n"
        f"{CONSTRUCTOR} {{ fn f = 0; set(&f); got = f(3); }}",
    ),
    "a function in a variable that the level's own function sets through another": (
        ".c",
        f"{HEAD}int got;\nextern fn other;\n__attribute__((noinline)) static void set(fn **p) {{ **p = other; }}\n"
        f"{CONSTRUCTOR} {{ fn f = 0; fn *p = &f; set(&p); got = f(3); }}",
    ),
    "a function in a variable that is set elsewhere": (
        ".c",
        f"{HEAD}int got;\nextern fn *where, other;\nextern void use(fn **);\n"
        f"{CONSTRUCTOR} {{ fn f = 0; fn *p = &f; use(&p); *where = other; got = f(3); }}",
    ),
}
# What calls what is known, and keeps its addresses: (language, source).
SOUND = {
    "iostream": (".cpp", "#include <iostream>\nint say() { std::cout << 1; return 0; }"),
    "atexit": (
        ".c",
        f"#include <stdlib.h>\nint n;\nstatic void last(void) {{ n = 1; }}\n{CONSTRUCTOR} {{ atexit(last); }}",
    ),
    "destructors": (".cpp", "int n;\nstruct held { ~held() { n++; } };\nstatic held a, b, c;\nstatic held more[3];"),
    "a switch": (
        ".c",
        f"extern void a(void);\nextern void b(void);\nextern volatile int n;\n{CONSTRUCTOR}\n{{\n  switch (n) {{\n"
        "  case 0: a(); break;\n  case 1: b(); a(); break;\n  case 2: b(); break;\n  case 3: a(); a(); a(); break;\n"
        "  case 4: b(); b(); b(); break;\n  case 5: a(); b(); a(); break;\n  case 6: a(); a(); b(); b();\n  }\n}",
    ),
    "direct calls": (
        ".c",
        "int n;\n__attribute__((noinline)) static void go(int a) { n += a; }\n" + CONSTRUCTOR + " { go(1); go(2); }",
    ),
    "random numbers": (".cpp", "#include <random>\nstatic std::mt19937 made(42);\nint use() { return made(); }"),
    "a function that is called through a variable of known value": (
        ".c",
        f"{HEAD}int got;\n__attribute__((noinline)) static int work(int x) {{ return x * 3; }}\n"
        f"__attribute__((noinline)) static int run(fn f) {{ return f(got) + 1; }}\n"
        f"{CONSTRUCTOR} {{ got = run(work); }}",
    ),
    "an object with virtual functions": (
        ".cpp",
        "struct base { virtual int g() { return 1; } };\n"
        "struct derived : base { int value; derived(int v) : value(v) {} virtual int f() { return value; } };\n"
        "extern volatile int one_of_many;\nstatic derived one(3);\n"
        "int use(derived *d) { return d->f() + one_of_many; }\nint go() { return use(&one); }",
    ),
    "a map of functions": (
        ".cpp",
        "#include <map>\n#include <string>\nstatic int work(int x) { return x * 3; }\n"
        'static const std::map<std::string, int (*)(int)> all = {{"work", work}};\n'
        'int use() { return all.at("work")(3); }',
    ),
    "a std::function that is set later": (
        ".cpp",
        "#include <functional>\nstatic std::function<int(int)> hook;\nstatic int work(int x) { return x * 3; }\n"
        "int use() { hook = work; return hook(3); }",
    ),
}
# Static objects as ordinary kernels have them, in C++.
OBJECTS = {
    "a number of a string": '#include <string>\nstatic int n = std::stoi("33");\nint use() { return n; }',
    "a sorted table": "#include <algorithm>\nstatic int t[20];\n"
    "static int x = (std::sort(t, t + 20, [](int a, int b) { return a > b; }), t[2]);\nint use() { return x + t[1]; }",
    "a stream": "#include <sstream>\nstatic std::ostringstream s;\nint use() { s << 3; return s.str().size(); }",
    "a string": '#include <string>\nstatic std::string s = "a text of more than sixteen letters";\n'
    "int use() { return s.size(); }",
    "maps": "#include <map>\n#include <string>\n#include <unordered_map>\n"
    'static std::map<std::string, int> m = {{"a", 1}};\nstatic std::unordered_map<int, std::string> u;\n'
    'int use() { u[3] = "b"; return m["a"]; }',
    "vectors": "#include <vector>\nstatic std::vector<int> v(9, 3);\nstatic std::vector<std::vector<double>> w;\n"
    "int use() { w.emplace_back(9); return v[2]; }",
    "locks": "#include <mutex>\n#include <condition_variable>\nstatic std::mutex m;\nstatic std::once_flag f;\n"
    "static std::condition_variable c;\nint use() { std::lock_guard<std::mutex> g(m); c.notify_all(); return 1; }",
    "pointers": "#include <memory>\n#include <vector>\nstatic std::unique_ptr<int[]> p(new int[9]);\n"
    "static auto s = std::make_shared<std::vector<int>>(9);\nint use() { return p[2] + (*s)[1]; }",
    "a table of lambdas": "static int (*const t[])(int) = {[](int x) { return x * 3; }, [](int x) { return -x; }};\n"
    "int use(int n) { return t[n & 1](n); }",
    "threads of the file": "#include <thread>\n#include <vector>\nstatic std::vector<std::thread> pool;\n"
    "static int work(int x) { return x * 3; }\nint use() { pool.emplace_back(work, 3); return 1; }",
    "objects of threads": "#include <string>\nstatic thread_local std::string s = std::to_string(33);\n"
    "int use() { s += 'x'; return s.size(); }",
    "an object of a class with two bases": "struct a { virtual int f() { return 1; } int n = 2; };\n"
    "struct b { virtual int g() { return 2; } int n = 3; };\n"
    "struct c : a, b { c(int v) { n = v; } int n; int g() override { return n; } virtual ~c() {} };\n"
    "static c one(3);\nint use(b *p) { return p->g(); }\nint go() { return use(&one); }",
    "output": "#include <iostream>\nstruct log { log() { std::cerr << std::hex << 3 << std::endl; } } static one;\n"
    "int use() { return 1; }",
    "a number of the environment": "#include <cstdlib>\n#include <thread>\n"
    'static const int n = std::getenv("N") ? std::atoi(std::getenv("N")) : std::thread::hardware_concurrency();\n'
    "int use() { return n; }",
}


def level_of(tmp_path, compiler, kind, source, *flags, **more):
    """The level that a source in C or C++ makes."""
    return Level(tmp_path, source, compiler if kind == ".cpp" else C_OF[compiler], *flags, kind=kind, **more)
