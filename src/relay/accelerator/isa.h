// The instructions of the accelerator (docs/accelerator.md), their 256-bit encoding and their text.
//
// Three modules work at the same time, each on the instructions of its kind in order: load, compute and store. Tokens
// on four channels order what they do.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace relay::accelerator {

constexpr int lanes = 16;  // of a row: numbers that one step multiplies, adds or stores

enum class Module : uint8_t { Load, Compute, Store };
constexpr int modules = 3;

// Buffers on the chip, and the memory outside.
enum class Space : uint8_t { Data, Weight, Param, Sum, Out, Memory };
constexpr int spaces = 6;

// Rows of each buffer, and the bytes of a row. A row of memory is a beat.
constexpr std::array<int, spaces> rows_of = {2048, 1024, 128, 2048, 2048, 0};
constexpr std::array<int, spaces> row_bytes = {16, 256, 256, 64, 16, 16};
constexpr int rows(Space s) { return rows_of[static_cast<size_t>(s)]; }
constexpr int bytes_of_row(Space s) { return row_bytes[static_cast<size_t>(s)]; }
const char* name(Space s);

// A channel carries tokens from one module to another.
enum class Channel : uint8_t {
  Filled,  // load to compute: rows are loaded
  Freed,   // compute to load: rows may be overwritten
  Ready,   // compute to store: results may be stored
  Drained  // store to compute: results are in memory
};
constexpr int channels = 4;
Module sender(Channel c);
Module receiver(Channel c);
const char* name(Channel c);

enum class Opcode : uint8_t { Halt, Sync, LoadData, LoadWeight, LoadParam, Multiply, Vector, Store };
constexpr int opcodes = 8;
Module module_of(Opcode opcode);

// x is a row of sums, b the operand; both are 16 numbers of int32.
enum class Function : uint8_t {
  Move,      // b
  Add,       // x + b
  Max,       // max(x, b)
  Min,       // min(x, b)
  Multiply,  // x * b, the low 32 bits
  Shift,     // x >> (b & 31)
  Scale,     // scaled(x), by the parameters of the lane
  AddScaled  // x + scaled(b)
};
constexpr int functions = 8;
enum class Operand : uint8_t { Immediate, Param, Data };

// A loop of Multiply and Vector: in each iteration the row of a buffer is `step` further.
struct Loop {
  int extent = 1;
  int sum_step = 0, data_step = 0, weight_step = 0;  // of Vector, weight_step counts rows of parameters
  bool operator==(const Loop&) const = default;
};
constexpr int loops = 4;  // of Multiply; Vector has 3

struct Instruction {
  Opcode opcode = Opcode::Halt;
  uint8_t waits = 0, signals = 0;  // a bit for each channel

  // Load and Store: `lines` lines of `columns` rows in memory, `pitch` bytes apart, from or to consecutive rows from
  // `row` on. LoadData surrounds them by rows of `pad`.
  int row = 0;
  uint32_t address = 0, pitch = 0;  // bytes, multiples of 16
  int lines = 0, columns = 0;
  int top = 0, bottom = 0, left = 0, right = 0;  // lines and columns of padding
  int8_t pad = 0;

  // Multiply and Vector: the first rows, and loops, of which the last is the innermost.
  bool clear =
      false;  // Multiply: a sum begins at 0 when all loops that leave its row unchanged are in their first iteration
  int sum = 0, data = 0, weight = 0;
  std::array<Loop, loops> loop{};

  // Vector.
  Function function = Function::Move;
  Operand operand = Operand::Immediate;
  bool to_out = false;  // the result goes to the row of `out` with the same number as the row of sums
  bool clip = false;    // the result is limited to [low, high]
  int16_t immediate = 0;
  int8_t low = 0, high = 0;

  bool waits_for(Channel c) const { return (waits >> static_cast<int>(c) & 1) != 0; }
  bool signals_to(Channel c) const { return (signals >> static_cast<int>(c) & 1) != 0; }
  void wait_for(Channel c) { waits = static_cast<uint8_t>(waits | 1 << static_cast<int>(c)); }
  void signal(Channel c) { signals = static_cast<uint8_t>(signals | 1 << static_cast<int>(c)); }
  Module module() const { return module_of(opcode); }
  // Iterations of all loops: steps of Multiply and Vector.
  int64_t steps() const;
  // Rows that a load writes, with padding, or that a store reads.
  int64_t moved_rows() const;
  bool operator==(const Instruction&) const = default;
};
using Stream = std::vector<Instruction>;

constexpr int instruction_bytes = 32;
using Word = std::array<uint64_t, 4>;  // bit 0 of the first number is bit 0 of the instruction
Word encode(const Instruction& i);
// Bits that the opcode does not use are ignored.
Instruction decode(const Word& word);

// The fault of an instruction: a row outside of its buffer, a token on a channel of other modules, an address outside
// of `memory_bytes`. Unset if it may run.
std::optional<std::string> fault(const Instruction& i, uint64_t memory_bytes);

// "multiply sum[0] data[64] weight[0] clear (3: 0 10 1) (64: 1 1 0) wait filled"
std::string str(const Instruction& i);

}  // namespace relay::accelerator
