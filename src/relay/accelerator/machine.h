// The meaning of instruction streams: executes them one after the other.
//
// The hardware executes three instructions at a time. It computes the same if the tokens of the stream order all
// accesses to the same rows (races.h) and each token is sent by an earlier instruction than the one that waits for it.
#pragma once

#include <span>

#include "relay/accelerator/isa.h"

namespace relay::accelerator {

// Reads a stream up to its Halt, or to the end of the memory.
Stream read_stream(std::span<const uint8_t> memory, uint32_t begin);
void write_stream(const Stream& stream, std::span<uint8_t> memory, uint32_t begin);
// The first fault: of an instruction, a wait for a token that no earlier instruction sends, a missing Halt.
std::optional<std::string> check(const Stream& stream, uint64_t memory_bytes);

class Machine {
 public:
  explicit Machine(std::span<uint8_t> memory) : memory_(memory) {}
  // A stream that check() accepts.
  void run(const Stream& stream);

 private:
  void load(const Instruction& i);
  void store(const Instruction& i);
  void multiply(const Instruction& i);
  void vector(const Instruction& i);

  // Values before the first load are 0, as after the hardware's reset.
  template <Space space, class T>
  struct Buffer {
    static constexpr int row_elements = bytes_of_row(space) / static_cast<int>(sizeof(T));
    std::vector<T> values = std::vector<T>(static_cast<size_t>(rows(space)) * row_elements);
    T* operator[](int64_t row) { return values.data() + row * row_elements; }
  };
  std::span<uint8_t> memory_;
  Buffer<Space::Data, int8_t> data_;
  Buffer<Space::Weight, int8_t> weight_;
  Buffer<Space::Param, int32_t> param_;  // bias, multiplier, shift and offset: 16 numbers each
  Buffer<Space::Sum, int32_t> sum_;
  Buffer<Space::Out, int8_t> out_;
};

}  // namespace relay::accelerator
