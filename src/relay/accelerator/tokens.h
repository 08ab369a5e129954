// Tokens for a stream: builds a stream from instructions without tokens, and adds the tokens that order their accesses.
//
//   Sequence sequence;
//   for (...) sequence.add(instruction);
//   Stream stream = sequence.finish();
//
// The result computes what the instructions compute one after the other, and is as parallel as the rows that they
// access allow. Accesses of an instruction are taken as an interval of rows in each space.
#pragma once

#include "relay/accelerator/isa.h"

namespace relay::accelerator {

// Rows [begin, end) of a space that an instruction reads or writes; of memory, beats of 16 bytes.
struct Access {
  Space space;
  bool writes;
  int64_t begin, end;
};
// At most four; the rows of loops are those between the first and the last.
std::vector<Access> accesses(const Instruction& i);

class Sequence {
 public:
  // Adds an instruction; its waits and signals are replaced.
  void add(Instruction i);
  size_t size() const { return stream_.size(); }
  // Adds a Halt after everything.
  Stream finish();

 private:
  // For each module, the number of its instructions that have ended.
  using Clock = std::array<size_t, modules>;
  struct Entry {
    size_t at = 0;  // in the stream
    std::vector<Access> accesses{};
    Clock clock{};  // at its end
  };
  void append(Instruction i);
  // The number of instructions of `m` that must have ended before these accesses.
  size_t needed(Module m, const std::vector<Access>& accesses, size_t known) const;
  // Orders the next instruction of `to`, which is `i`, after the first `count` instructions of `from`.
  void order(Module from, size_t count, Module to, Instruction& i);
  // The number of instructions of compute after which `count` of `from` have ended; adds a Sync if there are none.
  size_t meeting(Module from, size_t count);

  Stream stream_;
  std::array<std::vector<Entry>, modules> done_;
  std::array<Clock, modules> clocks_{};  // of each module's next instruction
};

}  // namespace relay::accelerator
