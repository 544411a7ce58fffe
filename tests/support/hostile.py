"""Hostile projects: small kernels that let a level's code out, built by isagen's own steps, and run as they are.

A case is a few lines for a project's header, kernels and ordinary code, in a file of `hostile_cases`. The program
reports every call of a level's code that is made while that level is not selected. The texts use these macros:

    BODY     the body of a function int(int x), which uses what the level's flags turn on, and reports that it runs
    ONLY     a condition for the preprocessor: this is the copy for AVX2
    C_LINKED C linkage in both languages
"""

import functools
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from support.differential.bases import Base, make_base
from support.differential.building import BUILT, FOUND, Built, GeneratorError, Objects, link_objects, make_objects
from support.differential.generator import Random

COMPILERS = ("g++", "clang++-16")
LINKERS = {"bfd": "ld.bfd", "gold": "ld.gold", "lld": "ld.lld", "mold": "mold"}
LEVELS = ("DEFAULT", "AVX2")
# Outcomes besides those of building: sound, a level's code ran where it must not, the program failed, and it does not
# compile. A case that may be broken because documented assumptions exclude it is expected to be `assumed`.
SOUND, BROKEN, DIED, ASSUMED, COMPILER = "sound", "BROKEN", "DIED", "assumed", "refused by the compiler"
TITLE = re.compile(r"^== (.*) ==$", re.MULTILINE)
SECTIONS = ("header", "kernel", "second", "call", "ordinary", "use", "last")
HEADING = re.compile(rf"^// ({'|'.join(SECTIONS)}|extra|script):$", re.MULTILINE)
CASES = Path(__file__).with_name("hostile_cases")
PIC = {"executable": "-fPIE", "library": "-fPIC", "static-pie": "-fPIE"}
SECONDS = 20  # that a program may run

HEADER = """\
#ifndef PROJECT_H
#define PROJECT_H
#include "isa_dispatch.h"
#define NOINLINE __attribute__((noinline))
#ifdef __cplusplus
#define C_LINKED extern "C"
#define NEVER_THROWS noexcept /* as the C library declares it */
#else
#define C_LINKED extern
#define NEVER_THROWS
#endif
#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
$numbers
#define NUMBER_OF_CPU_CAPABILITY 0 /* where it is no macro: in ordinary code */
#define LEVEL_NUMBER PASTE(NUMBER_OF_, CPU_CAPABILITY)
#define ONLY (LEVEL_NUMBER == NUMBER_OF_AVX2)
#define BODY { seen(LEVEL_NUMBER); volatile float f_ = (float)x; f_ = f_ * 3.0f + 1.0f; return (int)f_; }
typedef long (*stub_fn)(long);
typedef int (*fn)(int);
ISA_BEGIN_C
void seen(int level);
extern int shared_ints[16];
extern fn ordinary_hook;
extern void *ordinary_pointer;
int atexit(void (*)(void)) NEVER_THROWS;
int apply(fn f, int x);
void add(fn f);
void add_table(const fn *table);
int ordinary_value(void);
ISA_END_C
ISA_DECLARE_DISPATCH(stub_fn, stub_0)
ISA_DECLARE_DISPATCH(stub_fn, stub_1)
#ifdef __cplusplus
struct worker { virtual int work(int x) = 0; };
int add_worker(worker *w);
#endif
$header
#endif
"""

ORDINARY = """\
#include "project.h"
extern "C" {
int shared_ints[16] = {4, 3, 2, 1};
fn ordinary_hook;
void *ordinary_pointer;
int dprintf(int, const char *, ...);
static fn added[32];
static int added_count, worker_count, phase, selected;
static int was[16], ran[16];
static worker *workers[8];
static volatile int value = 5;
static const char *const names[] = {"load", "ordinary code", "a stub", "exit"};
__attribute__((visibility("default"))) void seen(int level)
{
  if (level == 0)
    return;
  ran[level] += phase == 2 && level == selected;
  if (phase == 0 ? level > 1 : phase == 3 ? level > 1 && !was[level] : phase == 1 || level != selected)
    dprintf(1, "crossing: level %d in %s, selected %d\\n", level, names[phase], selected);
}
int apply(fn f, int x) { return f(x) + 1; }
void add(fn f) { added[added_count++] = f; }
void add_table(const fn *table) { for (; *table; table++) add(*table); }
int ordinary_value(void) { return value; }
void *dlsym(void *, const char *) noexcept;
static fn lookup(const char *name) { return reinterpret_cast<fn>($lookup); }
static void ordinary_code();
}
int add_worker(worker *w) { workers[worker_count++] = w; return 1; }
$definitions
$ordinary
static volatile long sink;
static void ordinary_code()
{
  int x = value;
  (void)lookup;
  for (int i = 0; i < added_count; i++)
    x += added[i](x);
  for (int i = 0; i < worker_count; i++)
    x += workers[i]->work(x);
  if (ordinary_hook)
    x += ordinary_hook(x);
  {
$use
  }
  sink = x;
}
extern "C" __attribute__((visibility("default"))) int $main()
{
  phase = 1;
  ordinary_code();
  for (int level = 0; level < ISA_LEVEL_COUNT; level++) {
    if (isa_use_level(static_cast<isa_level>(level)) != 0)
      continue;
$calls
    ordinary_code();
  }
  isa_use_level(static_cast<isa_level>(0));
  for (int level = 0; level < 16; level++)
    if (ran[level])
      dprintf(1, "ran: level %d\\n", level);
  {
    int x = value;
    (void)x;
$last
  }
  phase = 3;
  return 0;
}
"""
CALL = """\
    selected = 1 + isa_stub_level({0});
    was[selected] = 1;
    phase = 2;
    sink = sink + stub_{0}(sink & 63);
    phase = 1;
"""
KERNEL = """\
static NOINLINE int level_work(int x) BODY
static long kernel_function(long v)
{{
  int x = (int)v;
  {call}
  return x + level_work(x);
}}
ISA_REGISTER_DISPATCH({stub}, &kernel_function)
"""


@dataclass(frozen=True)
class Case:
    """A hostile, or harmless, project: its sections of text, how it is built, and which outcomes are right.

    An outcome is `sound`, `refused`, `refused by the linker`, `assumed`, or the kind of a finding; `says` is a pattern
    over what is said. `broken` is the reason why the case is known to break the rule.
    """

    name: str
    expected: tuple[str, ...]
    sections: dict[str, str]
    says: str = ""
    broken: str = ""
    language: str = "cpp"
    compilers: tuple[str, ...] = COMPILERS
    linkers: tuple[str, ...] = tuple(LINKERS)
    kind: str = "executable"
    opt: str = "-O1"
    levels: tuple[str, ...] = LEVELS
    args: tuple[str, ...] = ()
    kernel_args: tuple[str, ...] = ()
    ordinary_args: tuple[str, ...] = ()
    link_args: tuple[str, ...] = ()
    kernels_first: bool = False  # in the order of the link


WORDS = {"compiler": "compilers", "linker": "linkers"}
LISTS = ("compilers", "linkers", "levels", "args", "kernel_args", "ordinary_args", "link_args")


@functools.cache
def cases(name: str) -> tuple[Case, ...]:
    """Return the cases of a file of `hostile_cases`."""
    _, *parts = TITLE.split((CASES / f"{name}.txt").read_text(encoding="utf-8"))
    return tuple(_case(title, text) for title, text in zip(parts[::2], parts[1::2], strict=True))


def _case(name: str, text: str) -> Case:
    start, *parts = HEADING.split(text)
    values: dict[str, object] = {}
    for line in start.strip().splitlines():
        key, _, value = line.partition(": ")
        key = WORDS.get(key, key)
        values[key] = tuple(value.split()) if key in LISTS else value
    values["expected"] = tuple(str(values["expected"]).split(" | "))
    values["kernels_first"] = values.pop("order", "") == "kernels first"
    return Case(name, sections=dict(zip(parts[::2], parts[1::2], strict=True)), **values)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Seen:
    """What became of a case: its outcome, and what was said, or which calls crossed."""

    outcome: str
    detail: str
    built: Built

    def is_one_of(self, expected: Sequence[str]) -> bool:
        """Return whether the outcome, or the kind of one of the findings, is among those expected."""
        kinds = (
            self.built.kinds if self.built.result == FOUND or self.outcome == SOUND else ()
        )  # warnings of the latter
        return bool({ASSUMED if self.outcome == BROKEN else self.outcome, *kinds} & set(expected))


class Workshop:
    """Builds and runs cases in folders of their own below `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._bases: dict[str, Base] = {}

    def base(self, compiler: str) -> Base:
        """Return the configured build of a compiler."""
        if compiler not in self._bases:
            self._bases[compiler] = make_base(self.folder, compiler)
        return self._bases[compiler]

    def outcomes(
        self, one: Case, compiler: str, folder: Path, linkers: Sequence[str], audit: str = "error"
    ) -> dict[str, Seen]:
        """Return what became of a case with each of the linkers; its objects are made once."""
        base = self.base(compiler)
        folder.mkdir(parents=True, exist_ok=True)
        project = _project(base, one, folder)
        try:
            objects = make_objects(base, project, folder, audit=audit)
        except GeneratorError as problem:
            output = folder / "program"
            objects = Built(COMPILER, output, output, str(problem))
        found = {}
        for linker in linkers:
            built = objects
            if isinstance(built, Objects):
                built = link_objects(base, replace(project, linker=linker), folder, built, audit)
            found[linker] = _judged(base, built)
        return found


def _project(base: Base, one: Case, folder: Path) -> Random:
    """Return the project of a case."""
    kernels = {f"one.{one.language}": one.levels}
    if "second" in one.sections:
        kernels[f"two.{one.language}"] = one.levels
    if "script" in one.sections:
        (folder / "script").write_text(one.sections["script"])
    link_args = tuple(word.replace("$SCRIPT", str(folder / "script")) for word in one.link_args)
    return Random(
        seed=0,
        ingredients=(),
        files=_files(base, one, kernels),
        kernels=kernels,
        compiler=base.cxx,
        linker="",
        kind=one.kind,
        kernel_args=(one.opt, *one.args, *one.kernel_args),
        ordinary_args=(one.opt, PIC.get(one.kind, "-fno-pie"), *one.args, *one.ordinary_args),
        link_args=(*link_args, *_extra(base, one, folder)),
        shuffled=tuple(range(40, 0, -1)) if one.kernels_first else (),
        lowest="DEFAULT",
    )


def _files(base: Base, one: Case, kernels: dict[str, tuple[str, ...]]) -> dict[str, str]:
    """Return the texts of a project's files."""
    text = {section: one.sections.get(section, "") for section in SECTIONS}
    numbers = "\n".join(f"#define NUMBER_OF_{level.name} {i + 1}" for i, level in enumerate(base.build.plan.levels))
    files = {"project.h": HEADER.replace("$numbers", numbers).replace("$header", text["header"])}
    for number, (name, section) in enumerate(zip(kernels, ("kernel", "second"), strict=False)):
        own = text[section]
        if "ISA_REGISTER" not in own:
            own += KERNEL.format(call=text["call"] if number == 0 else "", stub=f"stub_{number}")
        files[name] = '#include "project.h"\n' + own
    ordinary = ORDINARY.replace(
        "$definitions", "\n".join(f"ISA_DEFINE_DISPATCH(stub_{n})" for n in range(len(kernels)))
    )
    ordinary = ordinary.replace("$calls", "\n".join(CALL.format(number) for number in range(len(kernels))))
    for section in ("ordinary", "use", "last"):
        ordinary = ordinary.replace(f"${section}", text[section])
    ordinary = ordinary.replace("$main", "project_main" if one.kind == "library" else "main")
    static = one.kind.startswith("static")
    files["ordinary.cpp"] = ordinary.replace("$lookup", "0ul" if static else "dlsym(nullptr, name)")
    return files


def _extra(base: Base, one: Case, folder: Path) -> tuple[str, ...]:
    """Compile the other object of a case, and return the linker's argument for it."""
    if "extra" not in one.sections:
        return ()
    source, made = folder / "extra.c", folder / "extra.o"
    source.write_text(one.sections["extra"])
    subprocess.run([base.cc, "-w", one.opt, "-fPIC", "-c", source, "-o", made], check=True)
    return (str(made),)


def _judged(base: Base, built: Built) -> Seen:
    """Run what was built, and judge it."""
    if built.result != BUILT:
        outcome = built.result
        if built.result == FOUND:
            outcome = " + ".join(built.kinds)
        return Seen(outcome, built.said, built)
    try:
        done = subprocess.run([built.program], capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return Seen(DIED, "it did not end", built)
    if "crossing" in done.stdout:
        return Seen(BROKEN, done.stdout, built)
    ran = {int(line.rpartition(" ")[2]) for line in done.stdout.splitlines() if line.startswith("ran: ")}
    names = [level.name for level in base.build.plan.levels]
    wanted = {1 + names.index(level) for levels in built.stubs for level in levels}
    if done.returncode != 0 or ran != wanted:
        return Seen(DIED, f"exit status {done.returncode}\n{done.stdout}{done.stderr}", built)
    return Seen(SOUND, done.stdout, built)


def available(names: Iterable[str]) -> tuple[str, ...]:
    """Return those of the compilers or linkers that are installed."""
    return tuple(name for name in names if shutil.which(LINKERS.get(name, name)))
