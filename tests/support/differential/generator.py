"""Writing random projects: which ingredients, in which kernels, for which levels, with which compiler and linker."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .benign import BENIGN
from .benign_library import HEAVY, SHARING
from .hostile_code import HOSTILE_CODE
from .hostile_data import HOSTILE_DATA
from .hostile_handed import HOSTILE_HANDED
from .hostile_load import HOSTILE_LOAD
from .ingredients import SECTIONS, Ingredient

HOSTILE_INGREDIENTS: list[Ingredient] = HOSTILE_DATA + HOSTILE_CODE + HOSTILE_HANDED + HOSTILE_LOAD
KERNELS = ("one", "two", "three")
TYPES = ("int", "float", "double", "short", "long")
# Arguments of kernels and of links, besides the levels' own.
KERNEL_ARGS: tuple[tuple[str, ...], ...] = (
    *((),) * 6,
    ("-ffunction-sections", "-fdata-sections"),
    ("-fno-inline",),
    ("-fno-plt",),
    ("-g",),
    ("-fcf-protection=full",),
    ("-fvisibility=hidden",),
    ("-fno-threadsafe-statics",),
    ("-fmerge-all-constants",),
    ("-fno-jump-tables", "-fstack-protector-all"),
    ("-fno-asynchronous-unwind-tables",),
)
LINK_ARGS: tuple[tuple[str, ...], ...] = (*((),) * 4, ("--gc-sections",), ("-z", "now"), ("-O1",), ("--emit-relocs",))
# bfd does not fold; mold folds equal functions of different levels, too.
FOLDING: tuple[tuple[str, ...], ...] = (("--icf=safe",),)

HEADER = """\
#ifndef PROJECT_H
#define PROJECT_H
#include "isa_dispatch.h"
#define NOINLINE __attribute__((noinline))
#define MAYBE_UNUSED __attribute__((unused))
#define LINKED
#define LINKED_OUT extern
#ifdef __cplusplus
#define LINKED_FUNCTION extern "C"
#ifdef __linux__
#define NEVER_THROWS noexcept /* as the C library declares it */
#else
#define NEVER_THROWS
#endif
#else
#define NEVER_THROWS
#define LINKED_FUNCTION
#endif
#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define LEVEL_NUMBER PASTE(NUMBER_OF_, CPU_CAPABILITY) /* 0 in ordinary code */
$numbers
typedef long (*stub_fn)(long);
typedef int (*fn)(int);
typedef int (*compare_fn)(const void *, const void *);
ISA_BEGIN_C
extern float shared_data[64];
extern int shared_ints[16];
extern fn ordinary_hook;
void qsort(void *, __SIZE_TYPE__, __SIZE_TYPE__, compare_fn);
int atexit(void (*)(void)) NEVER_THROWS;
int apply(fn f, int x);
void add(fn f);
int ordinary_value(void);
void *outside_lookup(const char *name);
ISA_END_C
static inline int mix(int x) { return x * 31 + 7; }
$stubs
#ifdef __cplusplus
struct worker { virtual int work(int x) = 0; };
int add_worker(worker *w);
$header
#else
$c_header
#endif
#endif
"""

ORDINARY = """\
#include "project.h"
extern "C" {
float shared_data[64] = {1, 2, 3};
int shared_ints[16] = {4, 3, 2, 1};
fn ordinary_hook;
static fn added[32];
static int added_count;
static worker *workers[8];
static int worker_count;
static volatile int value = 5;
int apply(fn f, int x) { return f(x) + 1; }
void add(fn f) { added[added_count++] = f; }
int ordinary_value(void) { return value; }
#ifdef _WIN32
#define dlsym(where, name) 0
#else
void *dlsym(void *, const char *);
#endif
void *outside_lookup(const char *name) { return $lookup; }
#ifdef __clang__
#define AS_WRITTEN __attribute__((noinline, used, visibility("default")))
#else
#define AS_WRITTEN __attribute__((noipa, used, visibility("default")))
#endif
#ifdef __x86_64__
#define AS_TRACED __attribute__((sysv_abi)) // in registers where the tracer reads them
#else
#define AS_TRACED
#endif
AS_WRITTEN AS_TRACED void mark_phase(long long phase, long long level)
{
#ifdef __aarch64__ // qemu logs a system call and its arguments: dup3, which fails
  __asm__ volatile("mov x0, %0\\n\\tmov x1, %1\\n\\tmov x2, -1\\n\\tmov x8, 24\\n\\tsvc 0"
                   : : "r"(phase + 1000), "r"(level + 1000) : "x0", "x1", "x2", "x8", "memory");
#elif defined __riscv
  __asm__ volatile("mv a0, %0\\n\\tmv a1, %1\\n\\tli a2, -1\\n\\tli a7, 24\\n\\tecall"
                   : : "r"(phase + 1000), "r"(level + 1000) : "a0", "a1", "a2", "a7", "memory");
#elif defined __s390x__
  __asm__ volatile("lgr %%r2, %0\\n\\tlgr %%r3, %1\\n\\tlghi %%r4, -1\\n\\tlghi %%r1, 326\\n\\tsvc 0"
                   : : "r"(phase + 1000), "r"(level + 1000) : "r1", "r2", "r3", "r4", "memory");
#else
  __asm__ volatile("" : : "r"(phase), "r"(level) : "memory");
#endif
}
}
int add_worker(worker *w) { workers[worker_count++] = w; return 1; }
$definitions
$ordinary
static volatile long sink;
NOINLINE static void ordinary_code()
{
  int x = value;
  for (int i = 0; i < added_count; i++)
    x += added[i](x);
  for (int i = 0; i < worker_count; i++)
    x += workers[i]->work(x);
  if (ordinary_hook)
    x += ordinary_hook(x);
$uses
  sink = x;
}
$early
extern "C" __attribute__((visibility("default"))) int $main()
{
  mark_phase(1, -1);
  ordinary_code();
  for (int level = 0; level < ISA_LEVEL_COUNT; level++) {
    if (isa_use_level(static_cast<isa_level>(level)) != 0)
      continue;
$calls
    ordinary_code();
  }
  mark_phase(2, sink & 0xffff);
  return 0;
}
"""


@dataclass(frozen=True)
class Random:
    """A random project: its files and how it is built. `kernels` are kernel sources with the levels of each."""

    seed: int
    ingredients: tuple[Ingredient, ...]
    files: dict[str, str]
    kernels: dict[str, tuple[str, ...]]
    compiler: str
    linker: str
    kind: str
    kernel_args: tuple[str, ...]
    ordinary_args: tuple[str, ...]
    link_args: tuple[str, ...]
    shuffled: tuple[float, ...] = ()

    lowest: str = ""

    @property
    def described(self) -> str:
        """The project in a line."""
        names = " + ".join(one.name for one in self.ingredients if one.expected != "sound") or "benign"
        args = " ".join((*self.kernel_args, "|", *self.ordinary_args, "|", *self.link_args))
        levels = "; ".join(f"{name}: {' '.join(levels)}" for name, levels in self.kernels.items())
        return f"seed {self.seed}: {names}; {self.compiler}, {self.linker}, {self.kind}, {args}; {levels}"


@dataclass(frozen=True)
class Choices:
    """What a machine offers: compilers, linkers, and the levels that it builds and runs, lowest first.

    `replaced` maps arguments that its compilers do not know to others, `kinds` are those of targets, and `always` are
    arguments of all sources.
    """

    compilers: tuple[str, ...]
    linkers: tuple[str, ...]
    levels: tuple[str, ...]
    replaced: Mapping[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict)
    kinds: frozenset[str] = frozenset({"executable", "fixed", "library"})
    always: tuple[str, ...] = ()


def random_project(
    seed: int, choices: Choices, hostile: Sequence[Ingredient] | None = None, *, benign: bool = False
) -> Random:
    """Return the project of a seed; with the `hostile` ingredients given, or with random ones, or `benign`."""
    rng = random.Random(seed)
    if hostile is None:
        count = 0 if benign else rng.choices((0, 1, 2), (3, 6, 1))[0]
        hostile = rng.sample(HOSTILE_INGREDIENTS, count)
    heavy = rng.sample(HEAVY, 1) if rng.random() < 0.08 else []  # takes long to compile
    chosen = [*rng.sample(BENIGN + SHARING, rng.randint(1, 5)), *heavy, *hostile]
    rng.shuffle(chosen)
    kinds = choices.kinds.intersection(*(one.kinds for one in chosen))
    kind = rng.choice(sorted(kinds))
    kernels = _kernels(rng, choices.levels, chosen)
    pic = {"executable": ("-fPIE",), "fixed": ("-fno-pie",), "library": ("-fPIC",)}[kind]
    compiler = rng.choice(choices.compilers)
    opt = rng.choice(("-O0", "-O1", "-O2", "-O2", "-O3"))
    extra = rng.choice(KERNEL_ARGS)
    extra = choices.replaced.get(extra, extra)
    if kind == "fixed" and rng.random() < 0.3:
        extra = (*extra, "-fno-pic")  # the last such argument holds
    linker = rng.choice(choices.linkers)
    link_args = rng.choice(LINK_ARGS + (FOLDING if linker in ("gold", "lld") else ()))
    link_args = choices.replaced.get(link_args, link_args)
    return Random(
        seed=seed,
        ingredients=tuple(chosen),
        files=_Writer(rng, chosen, kernels, choices.levels, kind).files(),
        kernels=kernels,
        compiler=compiler,
        linker=linker,
        kind=kind,
        kernel_args=(opt, *extra, *choices.always),
        ordinary_args=(opt, *pic, *choices.always),
        link_args=link_args,
        lowest=choices.levels[0],
        shuffled=tuple(rng.random() for _ in range(40)) if rng.random() < 0.2 else (),
    )


def _kernels(rng: random.Random, levels: Sequence[str], chosen: Sequence[Ingredient]) -> dict[str, tuple[str, ...]]:
    """Return random kernel sources with random levels; one of them is in a language that each ingredient takes."""
    found = {}
    higher = levels[1:]
    for number in range(rng.choices((1, 2, 3), (6, 3, 1))[0]):
        in_c = (number > 0 or all("c" in one.languages for one in chosen)) and rng.random() < 0.4
        own = rng.sample(higher, min(len(higher), rng.randint(1, 3)))
        found[f"{KERNELS[number]}.{'c' if in_c else 'cpp'}"] = tuple(
            name for name in levels if name in (levels[0], *own)
        )
    return found


class _Writer:
    """Writes the files of one project."""

    def __init__(
        self,
        rng: random.Random,
        chosen: Sequence[Ingredient],
        kernels: dict[str, tuple[str, ...]],
        levels: Sequence[str],
        kind: str,
    ) -> None:
        self.rng, self.chosen, self.kernels, self.levels, self.kind = rng, chosen, kernels, levels, kind
        self.homes = [self._home(one) for one in chosen]
        self.texts = [self._texts(number) for number in range(len(chosen))]

    def _home(self, one: Ingredient) -> set[str]:
        """Return the kernel sources that have an ingredient."""
        able = [name for name in self.kernels if name.rpartition(".")[2] in one.languages]
        if one.single:
            return {self.rng.choice(able)}
        return set(self.rng.sample(able, self.rng.randint(1, len(able))))

    def _texts(self, number: int) -> dict[str, str]:
        rng, one = self.rng, self.chosen[number]
        built = sorted({level for home in self.homes[number] for level in self.kernels[home]}, key=self.levels.index)
        kind = rng.choice(TYPES)
        only = rng.choice(built[1:] if len(built) > 1 and rng.random() < 0.9 else built)
        pieces = {
            "n": str(number),
            "T": kind,
            "body": self._body(rng.choice(TYPES)),
            "body2": self._body(rng.choice(TYPES)),
            "tbody": self._body("T"),
            "tbody2": self._body("T"),
            "guard": f"LEVEL_NUMBER >= {1 + self.levels.index(rng.choice(built))}",
            "only": f"LEVEL_NUMBER == {1 + self.levels.index(only)}",
            "flag": str(rng.randint(0, 1)),
        }
        texts = {section: one.text(section, pieces) for section in SECTIONS}
        if texts["call"]:
            text = "{\n" + texts["call"] + "\n}"
            texts["call"] = f"#if {pieces['guard']}\n{text}\n#endif" if rng.random() < 0.2 else text
        return texts

    def _body(self, kind: str) -> str:
        """Return random statements of a function int(int x)."""
        rng, number = self.rng, self.rng.randint(2, 9)
        return rng.choice(
            (
                f"{kind} s = ({kind})x; for (int i = 0; i < {number}; i++) s += ({kind})shared_data[i] * ({kind})3; "
                "return (int)s;",
                "for (int i = 0; i < 16; i++) shared_data[i] = shared_data[i] * 0.5f + (float)(x & 63); "
                "return x + (int)shared_data[3];",
                f"{kind} s[8]; for (int i = 0; i < 8; i++) s[i] = ({kind})(x + i * {number}); "
                "for (int i = 0; i < 8; i++) shared_ints[i] ^= (int)s[7 - i]; return shared_ints[2];",
                f"if (x & 1) return mix(x) + {number}; for (int i = 0; i < 16; i++) shared_ints[i] += i * x; "
                f"return (int)(({kind})(x & 1023) * ({kind}){number});",
                f"double d = x & 4095; for (int i = 0; i < {number}; i++) d = d * 0.75 + shared_data[i & 7]; "
                "return (int)d + mix(x);",
            )
        )

    def files(self) -> dict[str, str]:
        """Return the texts of the project's files by name."""
        stubs = [f"stub_{number}" for number in range(len(self.kernels))]
        headers, c_headers = self._headers()
        numbers = "\n".join(f"#define NUMBER_OF_{level} {i + 1}" for i, level in enumerate(self.levels))
        declared = "\n".join(f"ISA_DECLARE_DISPATCH(stub_fn, {stub})" for stub in stubs)
        header = HEADER.replace("$numbers", numbers).replace("$stubs", declared)
        files = {"project.h": header.replace("$header", headers).replace("$c_header", c_headers)}
        for number, name in enumerate(self.kernels):
            files[name] = self._kernel(name, stubs[number])
        calls = "\n".join(
            f"    mark_phase({10 + number}, isa_stub_level({number}));\n    sink = sink + {stub}(sink & 63);\n"
            "    mark_phase(1, -1);"
            for number, stub in enumerate(stubs)
        )
        early = ""
        if self.rng.random() < 0.2:
            early = (
                "static long early_call() { mark_phase(10, isa_stub_level(0)); long got = stub_0(3); "
                "mark_phase(0, -1); return got; }\nstatic long early = early_call();"
            )
        uses = "\n".join("{\n" + texts["use"] + "\n}" for texts in self.texts if texts["use"])
        ordinary = "\n".join(texts["ordinary"] for texts in self.texts)
        text = ORDINARY.replace("$definitions", "\n".join(f"ISA_DEFINE_DISPATCH({stub})" for stub in stubs))
        text = text.replace("$ordinary", ordinary).replace("$uses", uses).replace("$early", early)
        text = text.replace("$calls", calls).replace("$main", "project_main" if self.kind == "library" else "main")
        files["ordinary.cpp"] = text.replace("$lookup", "dlsym(0, name)" if self.kind == "library" else "0")
        return files

    def _headers(self) -> tuple[str, str]:
        texts = [(one, texts["header"]) for one, texts in zip(self.chosen, self.texts, strict=True)]
        everything = "\n".join(text for _, text in texts)
        return everything, "\n".join(text for one, text in texts if "c" in one.languages)

    def _kernel(self, name: str, stub: str) -> str:
        rng = self.rng
        mine = [texts for texts, home in zip(self.texts, self.homes, strict=True) if name in home]
        lines = ['#include "project.h"', *(texts["kernel"] for texts in mine)]
        lines += ["static long kernel_function(long v)", "{", "int x = (int)v;"]
        lines += [*(texts["call"] for texts in mine), "return x;", "}"]
        register = f"ISA_REGISTER_DISPATCH({stub}, &kernel_function)"
        higher = self.kernels[name][1:]
        if higher and rng.random() < 0.15:
            without = 1 + self.levels.index(rng.choice(higher))
            lines += [f"#if LEVEL_NUMBER == {without}"]
            lines += [f"ISA_REGISTER_NO_DISPATCH({stub})", "#else", register, "#endif"]
        else:
            lines.append(register)
        return "\n".join(line for line in lines if line) + "\n"
