#include "relay/accelerator/isa.h"

#include <algorithm>

namespace relay::accelerator {

const char* name(Space s) {
  static constexpr const char* names[] = {"data", "weight", "param", "sum", "out", "memory"};
  return names[static_cast<size_t>(s)];
}

const char* name(Channel c) {
  static constexpr const char* names[] = {"filled", "freed", "ready", "drained"};
  return names[static_cast<size_t>(c)];
}

Module sender(Channel c) {
  return c == Channel::Filled ? Module::Load : c == Channel::Drained ? Module::Store : Module::Compute;
}

Module receiver(Channel c) {
  return c == Channel::Freed ? Module::Load : c == Channel::Ready ? Module::Store : Module::Compute;
}

Module module_of(Opcode opcode) {
  switch (opcode) {
    case Opcode::LoadData:
    case Opcode::LoadWeight:
    case Opcode::LoadParam: return Module::Load;
    case Opcode::Store: return Module::Store;
    default: return Module::Compute;
  }
}

int64_t Instruction::steps() const {
  int64_t steps = 1;
  for (const Loop& l : loop) steps *= l.extent;
  return steps;
}

int64_t Instruction::moved_rows() const { return int64_t{top + lines + bottom} * (left + columns + right); }

// --- encoding --------------------------------------------------------------------------------------------------------

namespace {

// Visits the fields of an instruction with their first bit and their number of bits: the table of docs/accelerator.md.
// `I` is an Instruction, const or not; `visit(member, bit, bits)`.
template <class I, class Visit>
void visit_fields(I& i, Visit visit) {
  visit(i.opcode, 0, 4);
  visit(i.waits, 4, 4);
  visit(i.signals, 8, 4);
  switch (i.opcode) {
    case Opcode::Halt:
    case Opcode::Sync: return;
    case Opcode::LoadData:
    case Opcode::LoadWeight:
    case Opcode::LoadParam:
    case Opcode::Store:
      visit(i.row, 16, 12);
      visit(i.address, 32, 32);
      visit(i.pitch, 64, 32);
      visit(i.lines, 96, 12);
      visit(i.columns, 108, 12);
      visit(i.top, 120, 12);
      visit(i.bottom, 132, 12);
      visit(i.left, 144, 12);
      visit(i.right, 156, 12);
      visit(i.pad, 168, 8);
      return;
    case Opcode::Multiply:
    case Opcode::Vector: break;
  }
  visit(i.clear, 12, 1);
  visit(i.sum, 16, 12);
  visit(i.data, 28, 12);
  visit(i.weight, 40, 12);
  const int count = i.opcode == Opcode::Multiply ? loops : loops - 1;
  for (int k = 0; k < count; ++k) {
    auto& l = i.loop[static_cast<size_t>(k)];
    visit(l.extent, 64 + 48 * k, 12);
    visit(l.sum_step, 76 + 48 * k, 12);
    visit(l.data_step, 88 + 48 * k, 12);
    visit(l.weight_step, 100 + 48 * k, 12);
  }
  if (i.opcode == Opcode::Multiply) return;
  visit(i.immediate, 208, 16);
  visit(i.low, 224, 8);
  visit(i.high, 232, 8);
  visit(i.function, 240, 4);
  visit(i.operand, 244, 2);
  visit(i.to_out, 246, 1);
  visit(i.clip, 247, 1);
}

uint64_t mask(int bits) { return (uint64_t{1} << bits) - 1; }

void put(Word& word, uint64_t value, int bit, int bits) {
  value &= mask(bits);
  const size_t at = static_cast<size_t>(bit / 64);
  const int shift = bit % 64;
  word[at] |= value << shift;
  if (shift + bits > 64) word[at + 1] |= value >> (64 - shift);
}

uint64_t get(const Word& word, int bit, int bits) {
  const size_t at = static_cast<size_t>(bit / 64);
  const int shift = bit % 64;
  uint64_t value = word[at] >> shift;
  if (shift + bits > 64) value |= word[at + 1] << (64 - shift);
  return value & mask(bits);
}

}  // namespace

Word encode(const Instruction& i) {
  Word word{};
  visit_fields(i, [&](const auto& field, int bit, int bits) { put(word, static_cast<uint64_t>(field), bit, bits); });
  return word;
}

Instruction decode(const Word& word) {
  Instruction i;
  i.opcode = static_cast<Opcode>(get(word, 0, 4) % opcodes);
  visit_fields(i, [&](auto& field, int bit, int bits) {
    using Field = std::remove_reference_t<decltype(field)>;
    if (bit != 0) field = static_cast<Field>(get(word, bit, bits));
  });
  return i;
}

// --- faults ----------------------------------------------------------------------------------------------------------

namespace {

// The last row of a buffer that the loops reach.
int64_t last_row(const Instruction& i, int first, int Loop::* step) {
  int64_t row = first;
  for (const Loop& l : i.loop) row += int64_t{l.extent - 1} * (l.*step);
  return row;
}

std::optional<std::string> beyond(Space space, int64_t last) {
  if (last < rows(space)) return std::nullopt;
  return std::string("row ") + std::to_string(last) + " of " + name(space) + ", which has " +
         std::to_string(rows(space));
}

std::optional<std::string> fault_of_channels(const Instruction& i) {
  for (int c = 0; c < channels; ++c) {
    const Channel channel = static_cast<Channel>(c);
    if (i.waits_for(channel) && receiver(channel) != i.module())
      return std::string("its module gets no tokens of ") + name(channel);
    if (i.signals_to(channel) && sender(channel) != i.module())
      return std::string("its module sends no tokens of ") + name(channel);
  }
  return std::nullopt;
}

Space space_of(Opcode opcode) {
  return opcode == Opcode::LoadData     ? Space::Data
         : opcode == Opcode::LoadWeight ? Space::Weight
         : opcode == Opcode::LoadParam  ? Space::Param
                                        : Space::Out;
}

std::optional<std::string> fault_of_move(const Instruction& i, uint64_t memory_bytes) {
  const Space space = space_of(i.opcode);
  if (i.address % 16 != 0 || i.pitch % 16 != 0) return "addresses and pitches are multiples of 16 bytes";
  if (i.opcode != Opcode::LoadData && (i.top | i.bottom | i.left | i.right) != 0) return "only data can be padded";
  if (i.lines < 1 || i.columns < 1) return "it moves nothing";
  const uint64_t line = static_cast<uint64_t>(i.columns) * static_cast<uint64_t>(bytes_of_row(space));
  const uint64_t end = i.address + static_cast<uint64_t>(i.lines - 1) * i.pitch + line;
  if (end > memory_bytes)
    return "it ends at byte " + std::to_string(end) + " of a memory of " + std::to_string(memory_bytes);
  return beyond(space, i.row + i.moved_rows() - 1);
}

std::optional<std::string> fault_of_steps(const Instruction& i) {
  for (const Loop& l : i.loop)
    if (l.extent < 1) return "a loop without iterations";
  constexpr int64_t most_steps = 1 << 20;
  if (i.steps() > most_steps)
    return std::to_string(i.steps()) + " steps, but at most " + std::to_string(most_steps) + " are allowed";
  if (auto out = beyond(Space::Sum, last_row(i, i.sum, &Loop::sum_step))) return out;
  const bool multiply = i.opcode == Opcode::Multiply;
  if (multiply || i.operand == Operand::Data)
    if (auto out = beyond(Space::Data, last_row(i, i.data, &Loop::data_step))) return out;
  if (multiply) return beyond(Space::Weight, last_row(i, i.weight, &Loop::weight_step));
  if (static_cast<int>(i.function) >= functions || static_cast<int>(i.operand) > 2)
    return "an unknown function or operand";
  if (i.operand == Operand::Param || i.function >= Function::Scale)
    return beyond(Space::Param, last_row(i, i.weight, &Loop::weight_step));
  return std::nullopt;
}

}  // namespace

std::optional<std::string> fault(const Instruction& i, uint64_t memory_bytes) {
  if (auto out = fault_of_channels(i)) return out;
  if (i.opcode == Opcode::Halt || i.opcode == Opcode::Sync) return std::nullopt;
  const bool steps = i.opcode == Opcode::Multiply || i.opcode == Opcode::Vector;
  return steps ? fault_of_steps(i) : fault_of_move(i, memory_bytes);
}

// --- text ------------------------------------------------------------------------------------------------------------

static std::string loops_text(const Instruction& i) {
  std::string out;
  for (const Loop& l : i.loop)
    if (l.extent != 1)
      out += " (" + std::to_string(l.extent) + ": " + std::to_string(l.sum_step) + " " + std::to_string(l.data_step) +
             " " + std::to_string(l.weight_step) + ")";
  return out;
}

static std::string row_text(const char* of, int row) { return std::string(" ") + of + "[" + std::to_string(row) + "]"; }

static std::string move_text(const Instruction& i) {
  std::string out = row_text(name(space_of(i.opcode)), i.row) + " at " + std::to_string(i.address) + ", " +
                    std::to_string(i.lines) + " x " + std::to_string(i.columns) + " pitch " + std::to_string(i.pitch);
  if ((i.top | i.bottom | i.left | i.right) != 0)
    out += " pad " + std::to_string(i.top) + " " + std::to_string(i.bottom) + " " + std::to_string(i.left) + " " +
           std::to_string(i.right) + " by " + std::to_string(i.pad);
  return out;
}

static std::string vector_text(const Instruction& i) {
  static constexpr const char* names[] = {"move", "add", "max", "min", "multiply", "shift", "scale", "add_scaled"};
  std::string out =
      std::string(" ") + names[static_cast<size_t>(i.function)] + row_text(i.to_out ? "sum->out" : "sum", i.sum);
  if (i.operand == Operand::Immediate && i.function < Function::Scale) out += " " + std::to_string(i.immediate);
  if (i.operand == Operand::Data) out += row_text("data", i.data);
  if (i.operand == Operand::Param || i.function >= Function::Scale) out += row_text("param", i.weight);
  out += loops_text(i);
  if (i.clip) out += " clip " + std::to_string(i.low) + " " + std::to_string(i.high);
  return out;
}

std::string str(const Instruction& i) {
  static constexpr const char* names[] = {"halt", "sync", "load", "load", "load", "multiply", "vector", "store"};
  std::string out = names[static_cast<size_t>(i.opcode)];
  if (i.opcode == Opcode::Vector)
    out += vector_text(i);
  else if (i.opcode == Opcode::Multiply)
    out += row_text("sum", i.sum) + row_text("data", i.data) + row_text("weight", i.weight) +
           (i.clear ? " clear" : "") + loops_text(i);
  else if (i.opcode != Opcode::Halt && i.opcode != Opcode::Sync)
    out += move_text(i);
  for (int c = 0; c < channels; ++c) {
    if (i.waits_for(static_cast<Channel>(c))) out += std::string(" wait ") + name(static_cast<Channel>(c));
    if (i.signals_to(static_cast<Channel>(c))) out += std::string(" signal ") + name(static_cast<Channel>(c));
  }
  return out;
}

}  // namespace relay::accelerator
