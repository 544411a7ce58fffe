// The instructions of AMX-TILE, AMX-INT8 and AMX-BF16, decoded as Intel's SDM vol. 2 encodes them and done by the model
// of tiles_model.h, which tests/kernels/test_tiles.py holds against a reference of its own.
#include "emulator.h"
#include "tiles.h"

#include <string.h>

namespace {

TileRegister tiles[8];
bool configured = false;

void configure(const uint8_t *data)
{
  for (int i = 2; i < 16; i++)
    if (data[i])
      refuse("LDTILECFG #GP: reserved bytes");
  for (int i = 32; i < 64; i++)
    if (data[i] && (i < 48 || i >= 56))
      refuse("LDTILECFG #GP: reserved bytes or tiles beyond the eighth");
  if (data[0] != 1 || data[1] != 0)
    refuse("LDTILECFG: palette 1 from row 0 is what is emulated");
  for (int i = 0; i < 8; i++) {
    uint16_t column_bytes;
    memcpy(&column_bytes, data + 16 + 2 * i, 2);
    tile_configure(tiles[i], {data[48 + i], column_bytes});
  }
  configured = true;
}

} // namespace

bool Emulator::tiles_are_configured()
{
  return configured;
}

size_t emulate_amx(Machine &machine)
{
  // VEX of three bytes, map 0F38, W0, 128 bits.
  const uint8_t *code = machine.code();
  if (code[0] != 0xc4 || (code[1] & 0x1f) != 2 || (code[2] & 0x84) != 0)
    return 0;
  const int r = !(code[1] & 0x80), x = !(code[1] & 0x40), b = !(code[1] & 0x20);
  const int prefix = code[2] & 3, third = ~code[2] >> 3 & 15; // prefix: none, 66, F3, F2
  const int opcode = code[3];
  const Operand operand = decode_operand(machine, code + 4, r, x, b, 1);
  const size_t length = 4 + operand.length;
  try {
    if (opcode == 0x49 && prefix == 0 && operand.in_memory && operand.reg == 0) { // LDTILECFG
      configure(operand.memory);
      return length;
    }
    if (opcode == 0x49 && prefix == 0 && code[4] == 0xc0) { // TILERELEASE
      configured = false;
      return length;
    }
    if (opcode != 0x49 && opcode != 0x4b && opcode != 0x5c && opcode != 0x5e)
      return 0;
    if (!configured)
      refuse("#UD: no tile is configured");
    if (operand.reg > 7)
      refuse("#UD: there are eight tiles");
    TileRegister &first = tiles[operand.reg];
    if (opcode == 0x49) { // TILEZERO
      if (prefix != 3 || operand.in_memory || operand.rm != 0)
        return 0;
      tile_zero(first);
      return length;
    }
    if (opcode == 0x4b) { // base and stride are a SIB byte's base and index; without an index the stride is 0
      if (prefix == 0 || !operand.has_sib)
        return 0;
      const int index = (code[5] >> 3 & 7) + 8 * x, scale = code[5] >> 6;
      const uint64_t stride = index == 4 ? 0 : machine.general(index) << scale;
      uint8_t *base = operand.memory - stride;
      if (prefix == 2)
        tile_store(first, base, static_cast<ptrdiff_t>(stride));
      else
        tile_load(first, base, static_cast<ptrdiff_t>(stride));
      return length;
    }
    if (operand.in_memory || operand.rm > 7 || third > 7)
      refuse("#UD: dot products are of tiles");
    if (operand.reg == operand.rm || operand.rm == third || operand.reg == third)
      refuse("#UD: the tiles of a dot product are different ones");
    if (opcode == 0x5c) {
      if (prefix != 2)
        return 0;
      tile_dot_bf16(first, tiles[operand.rm], tiles[third]);
    } else { // none TDPBUUD, 66 TDPBUSD, F3 TDPBSUD, F2 TDPBSSD
      tile_dot_bytes(first, tiles[operand.rm], prefix >= 2, tiles[third], prefix == 1 || prefix == 3);
    }
    return length;
  } catch (const TileFault &fault) {
    refuse(fault.what());
  }
}
