#include "relay/accelerator/races.h"

#include <algorithm>
#include <deque>
#include <unordered_map>

namespace relay::accelerator {

namespace {

// Calls access(space, row, writes) for each access of an instruction.
template <class F>
void for_each_access(const Instruction& i, F access) {
  if (i.opcode == Opcode::Halt || i.opcode == Opcode::Sync) return;
  if (i.opcode == Opcode::Multiply || i.opcode == Opcode::Vector) {
    const bool multiplies = i.opcode == Opcode::Multiply;
    const auto& l = i.loop;
    for (int a = 0; a < l[0].extent; ++a)
      for (int b = 0; b < l[1].extent; ++b)
        for (int c = 0; c < l[2].extent; ++c)
          for (int d = 0; d < l[3].extent; ++d) {
            const auto at = [&](int first, int Loop::* step) {
              return int64_t{first} + a * (l[0].*step) + b * (l[1].*step) + c * (l[2].*step) + d * (l[3].*step);
            };
            access(Space::Sum, at(i.sum, &Loop::sum_step), multiplies || !i.to_out);
            if (!multiplies && i.to_out) access(Space::Out, at(i.sum, &Loop::sum_step), true);
            if (multiplies || i.operand == Operand::Data) access(Space::Data, at(i.data, &Loop::data_step), false);
            if (multiplies)
              access(Space::Weight, at(i.weight, &Loop::weight_step), false);
            else if (i.operand == Operand::Param || i.function >= Function::Scale)
              access(Space::Param, at(i.weight, &Loop::weight_step), false);
          }
    return;
  }
  const Space space = i.opcode == Opcode::LoadData     ? Space::Data
                      : i.opcode == Opcode::LoadWeight ? Space::Weight
                      : i.opcode == Opcode::LoadParam  ? Space::Param
                                                       : Space::Out;
  const bool stores = i.opcode == Opcode::Store;
  for (int64_t row = i.row; row < i.row + i.moved_rows(); ++row) access(space, row, !stores);
  const int64_t beats = int64_t{i.columns} * bytes_of_row(space) / 16;
  for (int line = 0; line < i.lines; ++line)
    for (int64_t beat = 0; beat < beats; ++beat)
      access(Space::Memory, (i.address + uint64_t{i.pitch} * static_cast<uint64_t>(line)) / 16 + beat, stores);
}

// Instructions by their number in the stream, from 1; 0 stands for none.
using Clock = std::array<size_t, modules>;  // the last instruction of each module that has certainly ended

struct Row {
  std::array<size_t, modules> reads{}, writes{};  // the last of each module
};

}  // namespace

std::optional<std::string> find_race(const Stream& stream) {
  std::array<Clock, modules> clocks{};
  std::array<std::deque<Clock>, channels> tokens;
  std::array<std::unordered_map<int64_t, Row>, spaces> rows;
  std::optional<std::string> race;
  for (size_t n = 1; n <= stream.size() && !race; ++n) {
    const Instruction& i = stream[n - 1];
    const size_t own = static_cast<size_t>(i.module());
    Clock& clock = clocks[own];
    for (int c = 0; c < channels; ++c)
      if (i.waits_for(static_cast<Channel>(c))) {
        std::deque<Clock>& queue = tokens[static_cast<size_t>(c)];
        for (size_t m = 0; m < modules; ++m) clock[m] = std::max(clock[m], queue.front()[m]);
        queue.pop_front();
      }
    for_each_access(i, [&](Space space, int64_t at, bool writes) {
      Row& row = rows[static_cast<size_t>(space)][at];
      for (size_t m = 0; m < modules && !race; ++m) {
        const size_t other = writes ? std::max(row.reads[m], row.writes[m]) : row.writes[m];
        if (m == own || other <= clock[m]) continue;
        race = "instructions " + std::to_string(other - 1) + " (" + str(stream[other - 1]) + ") and " +
               std::to_string(n - 1) + " (" + str(i) + ") both access row " + std::to_string(at) + " of " +
               name(space) + ", and no tokens order them";
      }
      (writes ? row.writes : row.reads)[own] = n;
    });
    clock[own] = n;
    for (int c = 0; c < channels; ++c)
      if (i.signals_to(static_cast<Channel>(c))) tokens[static_cast<size_t>(c)].push_back(clock);
  }
  return race;
}

}  // namespace relay::accelerator
