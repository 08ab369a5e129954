// Random instruction streams with the tokens that they need, and stores at the end that show all sums.
#pragma once

#include <random>

#include "relay/accelerator/tokens.h"

namespace relay::accelerator {

class RandomStream {
 public:
  explicit RandomStream(uint64_t seed) : random_(seed) {}

  static constexpr uint32_t memory_bytes = 1 << 18;
  static constexpr uint32_t data_bytes = 1 << 17;  // that instructions access; the stream is behind them

  std::vector<uint8_t> memory() {
    std::vector<uint8_t> bytes(memory_bytes);
    for (uint32_t k = 0; k < data_bytes; ++k) bytes[k] = static_cast<uint8_t>(random_());
    return bytes;
  }

  Stream stream() {
    Sequence sequence;
    apart_ = chance(20);
    const int count = chance(80) ? pick(1, 60) : pick(100, 300);  // many fill the queues
    for (int k = 0; k < count; ++k) sequence.add(instruction());
    show_sums(sequence);
    return sequence.finish();
  }

 private:
  int pick(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); }
  bool chance(int percent) { return pick(1, 100) <= percent; }

  Instruction instruction() {
    switch (pick(0, 9)) {
      case 0:
      case 1:
      case 2: return load_data();
      case 3: return load_wide(Opcode::LoadWeight);
      case 4: return load_wide(Opcode::LoadParam);
      case 5:
      case 6: return multiply();
      case 7: return store();
      default: return vector();
    }
  }

  // Lines in memory. With a pitch below the length of a line they overlap, which is allowed for loads only.
  void set_memory(Instruction& i, int row_bytes) {
    const int line = i.columns * row_bytes;
    i.pitch = static_cast<uint32_t>(line + 16 * pick(0, 3));
    const int area = apart_ || chance(70) ? 1 << 13 : static_cast<int>(data_bytes);  // mostly the same bytes
    i.address = static_cast<uint32_t>(pick(0, (area - 1) / 16 * 16 - static_cast<int>(i.pitch) * i.lines) / 16 * 16);
    if (apart_ && i.module() == Module::Load) i.address += 1 << 16;
  }
  // Few rows, so that accesses conflict often, and now and then the last ones of the buffer.
  int first_row(Space space, int64_t used, bool is_load = false) {
    const int last = rows(space) - static_cast<int>(used);
    return (apart_ ? !is_load : chance(90)) ? pick(0, std::min(40, last)) : last - pick(0, std::min(3, last));
  }

  Instruction load_data() {
    Instruction i;
    i.opcode = Opcode::LoadData;
    i.lines = pick(1, 5), i.columns = pick(1, 9);
    if (chance(50)) i.top = pick(0, 2), i.bottom = pick(0, 2), i.left = pick(0, 2), i.right = pick(0, 2);
    i.pad = static_cast<int8_t>(pick(-128, 127));
    i.row = first_row(Space::Data, i.moved_rows(), true);
    set_memory(i, 16);
    return i;
  }
  Instruction load_wide(Opcode opcode) {
    Instruction i;
    i.opcode = opcode;
    i.lines = pick(1, 2), i.columns = pick(1, 4);
    i.row = first_row(opcode == Opcode::LoadWeight ? Space::Weight : Space::Param, i.moved_rows(), true);
    set_memory(i, 256);
    return i;
  }
  Instruction store() {
    Instruction i;
    i.opcode = Opcode::Store;
    i.lines = pick(1, 4), i.columns = pick(1, 9);
    i.row = first_row(Space::Out, i.moved_rows());
    set_memory(i, 16);
    return i;
  }

  void set_loops(Instruction& i, int count) {
    for (int k = 0; k < count; ++k) {
      if (chance(25)) continue;
      Loop& l = i.loop[static_cast<size_t>(k)];
      l.extent = pick(1, 5), l.sum_step = pick(0, 3), l.data_step = pick(0, 3), l.weight_step = pick(0, 3);
      if (chance(30)) l.sum_step = 0;
    }
    const auto reach = [&](int Loop::* step) {
      int64_t last = 1;
      for (const Loop& l : i.loop) last += (l.extent - 1) * (l.*step);
      return last;
    };
    i.sum = first_row(Space::Sum, reach(&Loop::sum_step));
    i.data = first_row(Space::Data, reach(&Loop::data_step));
    i.weight = first_row(i.opcode == Opcode::Multiply ? Space::Weight : Space::Param, reach(&Loop::weight_step));
  }
  Instruction multiply() {
    Instruction i;
    i.opcode = Opcode::Multiply;
    i.clear = chance(50);
    set_loops(i, loops);
    return i;
  }
  Instruction vector() {
    Instruction i;
    i.opcode = Opcode::Vector;
    i.function = static_cast<Function>(pick(0, functions - 1));
    i.operand = static_cast<Operand>(pick(0, 2));
    i.to_out = chance(40), i.clip = chance(40);
    i.immediate = static_cast<int16_t>(pick(-32768, 32767));
    i.low = static_cast<int8_t>(pick(-128, 0)), i.high = static_cast<int8_t>(pick(0, 127));
    set_loops(i, loops - 1);
    return i;
  }

  // Stores the four bytes of each sum that the instructions above can reach.
  void show_sums(Sequence& sequence) {
    constexpr int shown = 112;
    for (int first : {0, rows(Space::Sum) - shown})
      for (int byte = 0; byte < 4; ++byte) {
        Instruction move;
        move.opcode = Opcode::Vector, move.function = Function::Shift, move.to_out = true;
        move.immediate = static_cast<int16_t>(8 * byte), move.sum = first;
        move.loop[2] = {shown, 1, 0, 0};
        sequence.add(move);
        Instruction keep;
        keep.opcode = Opcode::Store;
        keep.row = first, keep.lines = 1, keep.columns = shown, keep.pitch = 0;
        keep.address = static_cast<uint32_t>(data_bytes - 16 * shown * (1 + byte + (first == 0 ? 0 : 4)));
        sequence.add(keep);
      }
  }

  std::mt19937_64 random_;
  bool apart_ = false;  // loads access other rows and bytes than the rest, and overtake it
};

}  // namespace relay::accelerator
