// The emulator's frame: the signal handler, the interrupted program's registers, and operands.
#include "emulator.h"

#include <cpuid.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

unsigned long Emulator::instructions = 0;

void refuse(const char *what)
{
  fprintf(stderr, "emulator: %s\n", what);
  fflush(stderr);
  _exit(77);
}

namespace {

struct sigaction before;

void on_illegal_instruction(int, siginfo_t *, void *context)
{
  Machine machine(context);
  size_t length = emulate_amx(machine);
  if (length == 0)
    length = emulate_fp16(machine);
  if (length == 0) {
    const uint8_t *code = machine.code();
    char text[100];
    snprintf(text, sizeof text, "unknown instruction %02x %02x %02x %02x %02x %02x %02x", code[0], code[1], code[2],
             code[3], code[4], code[5], code[6]);
    refuse(text);
  }
  machine.skip(length);
  Emulator::instructions++;
}

// Where a state component lies in an XSAVE area of standard form (Intel SDM vol. 1, 13.4.3; CPUID leaf 0DH).
unsigned offset_of(unsigned component)
{
  unsigned a, offset, c, d;
  __cpuid_count(13, component, a, offset, c, d);
  return offset;
}

gregset_t &registers(void *context)
{
  return static_cast<ucontext_t *>(context)->uc_mcontext.gregs;
}

// Instructions' numbers of the general registers.
constexpr int general_registers[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                       REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

} // namespace

Emulator::Emulator()
{
  struct sigaction action = {};
  action.sa_sigaction = on_illegal_instruction;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGILL, &action, &before);
}

Emulator::~Emulator()
{
  sigaction(SIGILL, &before, nullptr);
}

Machine::Machine(void *ucontext)
  : ucontext_(ucontext), state_(reinterpret_cast<uint8_t *>(static_cast<ucontext_t *>(ucontext)->uc_mcontext.fpregs))
{}

const uint8_t *Machine::code() const
{
  return reinterpret_cast<const uint8_t *>(registers(ucontext_)[REG_RIP]);
}

void Machine::skip(size_t bytes)
{
  registers(ucontext_)[REG_RIP] += static_cast<greg_t>(bytes);
}

uint64_t Machine::general(int number) const
{
  return static_cast<uint64_t>(registers(ucontext_)[general_registers[number]]);
}

void Machine::set_general(int number, uint64_t value)
{
  registers(ucontext_)[general_registers[number]] = static_cast<greg_t>(value);
}

namespace {

// A ZMM register's parts, each in a state component of its own: bytes 0 to 15, 16 to 31 and 32 to 63 of the first
// sixteen registers, and all of the others.
struct Part {
  unsigned component;
  size_t begin, size;
  int first, last; // registers
};
constexpr Part parts[] = {{1, 0, 16, 0, 15}, {2, 16, 16, 0, 15}, {6, 32, 32, 0, 15}, {7, 0, 64, 16, 31}};

uint8_t *component_of(uint8_t *state, const Part &part)
{
  // Asked for once: a virtual machine's CPUID is slow.
  static const unsigned offsets[] = {160, offset_of(2), offset_of(6), offset_of(7)};
  return state + offsets[&part - parts];
}

uint64_t &components_in_use(uint8_t *state)
{
  return *reinterpret_cast<uint64_t *>(state + 512);
}

} // namespace

// A component that is not in use is zero, regardless of its memory.
void Machine::read_zmm(int number, void *to) const
{
  for (const Part &part : parts) {
    if (number < part.first || number > part.last)
      continue;
    uint8_t *bytes = static_cast<uint8_t *>(to) + part.begin;
    if (components_in_use(state_) >> part.component & 1)
      memcpy(bytes, component_of(state_, part) + part.size * static_cast<size_t>(number - part.first), part.size);
    else
      memset(bytes, 0, part.size);
  }
}

void Machine::write_zmm(int number, const void *from)
{
  for (const Part &part : parts) {
    if (number < part.first || number > part.last)
      continue;
    uint8_t *component = component_of(state_, part);
    if (!(components_in_use(state_) >> part.component & 1)) {
      components_in_use(state_) |= uint64_t(1) << part.component;
      memset(component, 0, part.size * 16);
    }
    memcpy(component + part.size * static_cast<size_t>(number - part.first),
           static_cast<const uint8_t *>(from) + part.begin, part.size);
  }
}

Operand decode_operand(const Machine &machine, const uint8_t *modrm, int r, int x, int b, int scale)
{
  const int mod = *modrm >> 6, rm = *modrm & 7;
  Operand operand = {mod != 3, (*modrm >> 3 & 7) + 8 * r, rm + 8 * b, nullptr, false, 1};
  if (mod == 3)
    return operand;
  uint64_t address = 0;
  int32_t displacement = 0;
  const uint8_t *next = modrm + 1;
  bool wide = mod == 2, of_rip = false;
  if (rm == 4) {
    const int sib = *next++, index = (sib >> 3 & 7) + 8 * x, base = (sib & 7) + 8 * b;
    operand.has_sib = true;
    if (index != 4)
      address += machine.general(index) << (sib >> 6);
    if ((sib & 7) == 5 && mod == 0)
      wide = true;
    else
      address += machine.general(base);
  } else if (rm == 5 && mod == 0) {
    wide = of_rip = true;
  } else {
    address += machine.general(rm + 8 * b);
  }
  if (wide) {
    memcpy(&displacement, next, 4);
    next += 4;
  } else if (mod == 1) {
    displacement = static_cast<int8_t>(*next++) * scale;
  }
  operand.length = static_cast<size_t>(next - modrm);
  if (of_rip) // counts from the end of the instruction, which has no immediate
    address = reinterpret_cast<uint64_t>(next);
  operand.memory = reinterpret_cast<uint8_t *>(address + static_cast<uint64_t>(static_cast<int64_t>(displacement)));
  return operand;
}
