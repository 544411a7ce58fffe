// The instructions of AVX512-FP16 that compilers make of matmul_halves.h, as Intel's SDM vol. 2 encodes them: fused
// multiplication and addition, conversion to float, and moves of 16 bits.
#include "emulator.h"
#include "half_fma.h"

#include <string.h>

namespace {

// Bytes of a vector operand: a register's, or memory's, of which one item may be broadcast.
void read_operand(const Machine &machine, const Operand &operand, int rm, bool broadcast, size_t size, uint16_t *to)
{
  if (!operand.in_memory) {
    uint16_t zmm[32];
    machine.read_zmm(rm, zmm);
    memcpy(to, zmm, size);
  } else if (broadcast) {
    for (size_t i = 0; i < size / 2; i++)
      memcpy(to + i, operand.memory, 2);
  } else {
    memcpy(to, operand.memory, size);
  }
}

} // namespace

size_t emulate_fp16(Machine &machine)
{
  // EVEX, map 5 or 6, prefix 66.
  const uint8_t *code = machine.code();
  const int map = code[1] & 7, opcode = code[4];
  if (code[0] != 0x62 || (map != 5 && map != 6) || (code[2] & 3) != 1)
    return 0;
  const bool broadcast = code[3] & 0x10;
  const int length_bits = code[3] >> 5 & 3;
  if (code[3] & 0x07)
    refuse("masks are not emulated");
  const int r = !(code[1] & 0x80), x = !(code[1] & 0x40), b = !(code[1] & 0x20), r2 = !(code[1] & 0x10);
  const int second = (~code[2] >> 3 & 15) + (code[3] & 0x08 ? 0 : 16);

  if (map == 5 && (opcode == 0x6e || opcode == 0x7e)) { // VMOVW
    const Operand operand = decode_operand(machine, code + 5, r, x, b, 2);
    uint16_t zmm[32] = {};
    const int vector = operand.reg + 16 * r2;
    if (opcode == 0x6e) {
      if (operand.in_memory)
        memcpy(zmm, operand.memory, 2);
      else
        zmm[0] = static_cast<uint16_t>(machine.general(operand.rm));
      machine.write_zmm(vector, zmm);
    } else {
      machine.read_zmm(vector, zmm);
      if (operand.in_memory)
        memcpy(operand.memory, zmm, 2);
      else
        machine.set_general(operand.rm, zmm[0]);
    }
    return 5 + operand.length;
  }
  if (map != 6 || length_bits != 2)
    return 0;

  const bool converts = opcode == 0x13, fma = opcode == 0x98 || opcode == 0xa8 || opcode == 0xb8;
  if (!converts && !fma)
    return 0;
  const size_t size = converts ? 32 : 64;
  const Operand operand = decode_operand(machine, code + 5, r, x, b, broadcast ? 2 : static_cast<int>(size));
  const int first = operand.reg + 16 * r2, rm = operand.rm + 16 * x;
  if (broadcast && !operand.in_memory)
    refuse("roundings other than MXCSR's are not emulated");
  uint16_t third_value[32];
  read_operand(machine, operand, rm, broadcast, size, third_value);
  if (converts) { // VCVTPH2PSX
    float wide[16];
    for (int i = 0; i < 16; i++)
      wide[i] = static_cast<float>(half_value(third_value[i]));
    machine.write_zmm(first, wide);
  } else { // VFMADD132PH, 213, 231: the numbers say which operands are factors
    uint16_t first_value[32], second_value[32];
    machine.read_zmm(first, first_value);
    machine.read_zmm(second, second_value);
    for (int i = 0; i < 32; i++) {
      const uint16_t p = first_value[i], q = second_value[i], s = third_value[i];
      first_value[i] = opcode == 0x98 ? half_fma(p, s, q) : opcode == 0xa8 ? half_fma(q, p, s) : half_fma(q, s, p);
    }
    machine.write_zmm(first, first_value);
  }
  return 5 + operand.length;
}
