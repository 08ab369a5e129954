#include "relay/accelerator/machine.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace relay::accelerator {

// --- streams in memory -----------------------------------------------------------------------------------------------

Stream read_stream(std::span<const uint8_t> memory, uint32_t begin) {
  Stream stream;
  for (uint64_t at = begin; at + instruction_bytes <= memory.size(); at += instruction_bytes) {
    Word word;
    std::memcpy(word.data(), memory.data() + at, instruction_bytes);
    stream.push_back(decode(word));
    if (stream.back().opcode == Opcode::Halt) break;
  }
  return stream;
}

void write_stream(const Stream& stream, std::span<uint8_t> memory, uint32_t begin) {
  for (const Instruction& i : stream) {
    const Word word = encode(i);
    std::memcpy(memory.data() + begin, word.data(), instruction_bytes);
    begin += instruction_bytes;
  }
}

std::optional<std::string> check(const Stream& stream, uint64_t memory_bytes) {
  std::array<int64_t, channels> tokens{};
  for (size_t n = 0; n < stream.size(); ++n) {
    const Instruction& i = stream[n];
    std::optional<std::string> found = fault(i, memory_bytes);
    for (int c = 0; c < channels && !found; ++c) {
      const Channel channel = static_cast<Channel>(c);
      int64_t& count = tokens[static_cast<size_t>(c)];
      if (i.waits_for(channel) && --count < 0)
        found = std::string("it waits for a token of ") + name(channel) + " that no earlier instruction sends";
    }
    for (int c = 0; c < channels; ++c) tokens[static_cast<size_t>(c)] += i.signals_to(static_cast<Channel>(c));
    if (found) return "instruction " + std::to_string(n) + " (" + str(i) + "): " + *found;
  }
  if (stream.empty() || stream.back().opcode != Opcode::Halt) return "the stream has no halt";
  return std::nullopt;
}

// --- execution -------------------------------------------------------------------------------------------------------

void Machine::run(const Stream& stream) {
  for (const Instruction& i : stream) switch (i.opcode) {
      case Opcode::Halt: return;
      case Opcode::Sync: break;
      case Opcode::LoadData:
      case Opcode::LoadWeight:
      case Opcode::LoadParam: load(i); break;
      case Opcode::Multiply: multiply(i); break;
      case Opcode::Vector: vector(i); break;
      case Opcode::Store: store(i); break;
    }
}

void Machine::load(const Instruction& i) {
  const uint8_t* from = memory_.data() + i.address;
  uint8_t* to;
  size_t bytes;
  if (i.opcode == Opcode::LoadData) {
    to = reinterpret_cast<uint8_t*>(data_[i.row]), bytes = 16;
    std::memset(to, static_cast<uint8_t>(i.pad), static_cast<size_t>(i.moved_rows()) * bytes);
  } else if (i.opcode == Opcode::LoadWeight) {
    to = reinterpret_cast<uint8_t*>(weight_[i.row]), bytes = 256;
  } else {
    to = reinterpret_cast<uint8_t*>(param_[i.row]), bytes = 256;
  }
  const size_t width = static_cast<size_t>(i.left + i.columns + i.right);
  to += (static_cast<size_t>(i.top) * width + static_cast<size_t>(i.left)) * bytes;
  for (int line = 0; line < i.lines; ++line, from += i.pitch, to += width * bytes)
    std::memcpy(to, from, static_cast<size_t>(i.columns) * bytes);
}

void Machine::store(const Instruction& i) {
  uint8_t* to = memory_.data() + i.address;
  const size_t bytes = static_cast<size_t>(i.columns) * 16;
  for (int line = 0; line < i.lines; ++line, to += i.pitch)
    std::memcpy(to, out_[i.row + int64_t{line} * i.columns], bytes);
}

// Calls step(sum row, data row, weight row, begins) for all iterations. `begins`: the loops that leave the sum's row
// unchanged are at their begin.
template <class Step>
static void for_each_step(const Instruction& i, Step step) {
  const auto& [l0, l1, l2, l3] = i.loop;
  for (int a = 0; a < l0.extent; ++a)
    for (int b = 0; b < l1.extent; ++b)
      for (int c = 0; c < l2.extent; ++c)
        for (int d = 0; d < l3.extent; ++d) {
          const auto at = [&](int first, int Loop::* by) {
            return first + a * (l0.*by) + b * (l1.*by) + c * (l2.*by) + d * (l3.*by);
          };
          const bool begins = (a == 0 || l0.sum_step != 0) && (b == 0 || l1.sum_step != 0) &&
                              (c == 0 || l2.sum_step != 0) && (d == 0 || l3.sum_step != 0);
          step(at(i.sum, &Loop::sum_step), at(i.data, &Loop::data_step), at(i.weight, &Loop::weight_step), begins);
        }
}

void Machine::multiply(const Instruction& i) {
  for_each_step(i, [&](int sum_row, int data_row, int weight_row, bool begins) {
    int32_t* sum = sum_[sum_row];
    const int8_t *data = data_[data_row], *weight = weight_[weight_row];
    for (int o = 0; o < lanes; ++o) {
      int32_t dot = 0;
      for (int k = 0; k < lanes; ++k) dot += int32_t{data[k]} * weight[o * lanes + k];
      const uint32_t before = i.clear && begins ? 0 : static_cast<uint32_t>(sum[o]);
      sum[o] = static_cast<int32_t>(before + static_cast<uint32_t>(dot));
    }
  });
}

// A number times a factor, rounded to nearest with halves up, plus an offset, as the nearest int32.
static int32_t scaled(int32_t value, int32_t bias, int32_t multiplier, int32_t shift, int32_t offset) {
  const int64_t x = static_cast<int32_t>(static_cast<uint32_t>(value) + static_cast<uint32_t>(bias));
  const int64_t half = static_cast<int64_t>((uint64_t{1} << (shift & 63)) >> 1);
  const int64_t rounded = static_cast<int64_t>(static_cast<uint64_t>(x * multiplier) + static_cast<uint64_t>(half));
  const int64_t result = (rounded >> (shift & 63)) + offset;
  return static_cast<int32_t>(
      std::clamp<int64_t>(result, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()));
}

static int32_t apply(Function function, int32_t x, int32_t b, const int32_t* param) {
  const uint32_t ux = static_cast<uint32_t>(x), ub = static_cast<uint32_t>(b);
  const auto scale = [&](int32_t v) { return scaled(v, param[0], param[lanes], param[2 * lanes], param[3 * lanes]); };
  switch (function) {
    case Function::Move: return b;
    case Function::Add: return static_cast<int32_t>(ux + ub);
    case Function::Max: return std::max(x, b);
    case Function::Min: return std::min(x, b);
    case Function::Multiply: return static_cast<int32_t>(ux * ub);
    case Function::Shift: return x >> (b & 31);
    case Function::Scale: return scale(x);
    case Function::AddScaled: return static_cast<int32_t>(ux + static_cast<uint32_t>(scale(b)));
  }
  return 0;
}

void Machine::vector(const Instruction& i) {
  const bool scales = i.function >= Function::Scale;
  for_each_step(i, [&](int sum_row, int data_row, int param_row, bool) {
    int32_t* sum = sum_[sum_row];
    const int8_t* data = i.operand == Operand::Data ? data_[data_row] : nullptr;
    const int32_t* param = scales || i.operand == Operand::Param ? param_[param_row] : nullptr;
    int8_t* out = i.to_out ? out_[sum_row] : nullptr;
    for (int k = 0; k < lanes; ++k) {
      const int32_t b = i.operand == Operand::Data ? data[k] : i.operand == Operand::Param ? param[k] : i.immediate;
      int32_t y = apply(i.function, sum[k], b, param + k);
      if (i.clip) y = std::min(std::max(y, int32_t{i.low}), int32_t{i.high});
      if (out)
        out[k] = static_cast<int8_t>(y);
      else
        sum[k] = y;
    }
  });
}

}  // namespace relay::accelerator
