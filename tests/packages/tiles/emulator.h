// Runs code that was compiled for AMX or AVX512_FP16 on a CPU that has neither: their instructions raise SIGILL, and
// the handler emulates them. All other instructions run on the CPU, which must support AVX512_BF16.
#ifndef EMULATOR_H
#define EMULATOR_H

#include <stddef.h>
#include <stdint.h>

// During the life of an object, the instructions are emulated. An instruction that the emulator does not know, or for
// which the CPU would raise an exception, ends the program with status 77 and a line on the standard error.
class Emulator {
public:
  Emulator();
  ~Emulator();
  Emulator(const Emulator &) = delete;
  Emulator &operator=(const Emulator &) = delete;

  static unsigned long instructions; // emulated so far
  static bool tiles_are_configured();
};

// The registers of the interrupted program, and the instruction that it was interrupted at.
class Machine {
public:
  explicit Machine(void *ucontext);

  const uint8_t *code() const;
  void skip(size_t bytes);
  uint64_t general(int number) const;
  void set_general(int number, uint64_t value);
  // The 64 bytes of a ZMM register.
  void read_zmm(int number, void *to) const;
  void write_zmm(int number, const void *from);

private:
  void *ucontext_;
  uint8_t *state_; // XSAVE area
};

// The operand of an instruction behind its ModRM byte: a register, or an address in memory.
struct Operand {
  bool in_memory;
  int reg;         // ModRM.reg with its extension bit
  int rm;          // the register, if not in memory
  uint8_t *memory; // the address, if in memory
  bool has_sib;
  size_t length;   // ModRM, SIB and displacement
};

// `modrm` points at the byte; r, x, b are the extension bits (1: add 8); a byte's displacement counts `scale` bytes.
Operand decode_operand(const Machine &machine, const uint8_t *modrm, int r, int x, int b, int scale);

// Both return the instruction's length, or 0 if it is none of theirs.
size_t emulate_amx(Machine &machine);
size_t emulate_fp16(Machine &machine);

// Ends the program: what the CPU would refuse.
[[noreturn]] void refuse(const char *what);

#endif
