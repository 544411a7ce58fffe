// The preloaded part of old_cpus.py: on an illegal instruction, writes the stack to standard error and ends the process.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

enum { FRAMES = 100, STATUS = 132 };

static void show(const char *word, char *address) {
    char line[8192];
    Dl_info found;
    void *extra = NULL;
    int size;
    if (dladdr1(address, &found, &extra, RTLD_DL_LINKMAP) && extra) {
        unsigned long offset = (unsigned long)address - ((struct link_map *)extra)->l_addr;
        size = snprintf(line, sizeof line, "%s %lx %s\n", word, offset, found.dli_fname);
    } else {
        size = snprintf(line, sizeof line, "%s %lx ?\n", word, (unsigned long)address);
    }
    if (write(STDERR_FILENO, line, (size_t)size) < 0) {
        _exit(STATUS);
    }
}

// Runs as if the illegal instruction had called it: the stack of a signal handler cannot be unwound under qemu 7.2.
__attribute__((force_align_arg_pointer, noinline, used)) static void report(void) {
    void *frames[FRAMES];
    int count = backtrace(frames, FRAMES);
    for (int i = 1; i < count; i++) {
        show(i == 1 ? "illegal" : "caller", (char *)frames[i] - 1);
    }
    _exit(STATUS);
}

static void handle(int number, siginfo_t *info, void *context) {
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    (void)number, (void)info;
    // The address that `report` returns to is one byte into the instruction, as unwinding looks one byte before it.
    registers[REG_RSP] -= 8;
    *(greg_t *)registers[REG_RSP] = registers[REG_RIP] + 1;
    registers[REG_RIP] = (greg_t)report;
}

__attribute__((constructor)) static void install(void) {
    void *frames[1];
    struct sigaction action;
    backtrace(frames, 1); // loads the unwinder now, not in the midst of a crash
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGILL, &action, NULL);
}
