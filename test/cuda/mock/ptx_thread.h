// A thread of the PTX machine, and the memory of its block. Internal to the machine.
#pragma once

#include <cstring>
#include <span>

#include "ptx_machine.h"

namespace relay::mock {

// Addresses of the spaces that are not the device's memory. No allocation of the device has them.
constexpr uint64_t local_base = uint64_t{1} << 56, shared_base = uint64_t{2} << 56, constant_base = uint64_t{3} << 56;

struct SharedByte {
  int writer = -1, reader = -1;  // a thread since the last barrier; -1 if none
  bool several_readers = false;
};

struct Block {
  std::vector<uint8_t> shared;
  std::vector<SharedByte> touched;
  std::vector<uint8_t> under_way;  // by byte of shared memory: 1 if a copy to it has not been waited for
  const std::vector<uint8_t>* arguments = nullptr;
  std::vector<uint8_t>* constants = nullptr;
  const Translate* translate = nullptr;
  unsigned number = 0;
  Grid grid;
};

// A copy of cp.async, which is done as late as it may be: when its thread waits for it.
struct Copy {
  uint64_t to = 0, from = 0;
  size_t bytes = 0;
};

// An instruction that the threads of a warp run together.
using WarpStep = std::function<void(std::span<Thread> warp)>;

struct Thread {
  Block* block = nullptr;
  unsigned lane = 0;
  size_t next = 0;
  bool ended = false, waits = false;
  const WarpStep* together = nullptr;  // it waits for its warp, to run this
  bool carry = false;                  // of add.cc and its like
  std::vector<uint64_t> registers;
  std::vector<uint8_t> local;
  std::vector<std::vector<Copy>> groups{1};  // of copies under way; the last one is not committed

  uint8_t* at(uint64_t address, size_t bytes, bool writes) {
    if (address % bytes != 0) throw PtxError("an access is not aligned");
    const uint64_t space = address >> 56, offset = address & ((uint64_t{1} << 56) - 1);
    auto inside = [&](std::vector<uint8_t>& memory) {
      if (offset > memory.size() || bytes > memory.size() - offset) throw PtxError("an access is outside of its array");
      return memory.data() + offset;
    };
    if (space == 1) return inside(local);
    if (space == 3 && !writes) return inside(*block->constants);
    if (space == 2) {
      uint8_t* found = inside(block->shared);
      for (size_t i = 0; i < bytes; ++i) {
        if (block->under_way[offset + i])
          throw PtxError("a byte of shared memory is used before cp.async is waited for");
        touch(block->touched[offset + i], writes);
      }
      return found;
    }
    void* found = (*block->translate)(address, bytes);
    if (!found) throw PtxError("an access is outside of the device's memory");
    return static_cast<uint8_t*>(found);
  }
  void touch(SharedByte& b, bool writes) const {
    const int me = static_cast<int>(lane);
    const bool other_wrote = b.writer >= 0 && b.writer != me,
               other_read = b.several_readers || (b.reader >= 0 && b.reader != me);
    if (other_wrote || (writes && other_read))
      throw PtxError("a race: threads " + std::to_string(other_wrote ? b.writer : b.reader) + " and " +
                     std::to_string(me) + " use a byte of shared memory, and one writes it");
    if (writes) b.writer = me;
    if (!writes) b.several_readers |= b.reader >= 0 && b.reader != me, b.reader = me;
  }
  void start(const Copy& copy) {
    at(copy.from, copy.bytes, false), at(copy.to, copy.bytes, true);
    if (copy.to >> 56 != shared_base >> 56) throw PtxError("cp.async writes something else than shared memory");
    mark(copy, 1);
    groups.back().push_back(copy);
  }
  void wait(uint64_t most) {  // until at most `most` groups are under way
    while (groups.size() - 1 > most) {
      for (const Copy& copy : groups.front()) {
        mark(copy, 0);
        std::memcpy(at(copy.to, copy.bytes, true), at(copy.from, copy.bytes, false), copy.bytes);
      }
      groups.erase(groups.begin());
    }
  }
  void mark(const Copy& copy, uint8_t under_way) const {
    std::memset(block->under_way.data() + (copy.to - shared_base), under_way, copy.bytes);
  }
  uint64_t load(uint64_t address, size_t bytes) {
    uint64_t value = 0;
    std::memcpy(&value, at(address, bytes, false), bytes);
    return value;
  }
  void store(uint64_t address, size_t bytes, uint64_t value) { std::memcpy(at(address, bytes, true), &value, bytes); }
};

// An operand: a register, or a constant.
struct Operand {
  int reg = -1;
  uint64_t constant = 0;
  uint64_t of(const Thread& t) const { return reg >= 0 ? t.registers[static_cast<size_t>(reg)] + 0 : constant; }
};

// An instruction without its predicate: "add", {"rn", "f32"}, and the text of its operands.
struct Parsed {
  std::string op;
  std::vector<std::string> modifiers;
  std::vector<std::vector<Operand>> operands;  // several: a vector, as in {%r1, %r2}
  std::vector<uint64_t> offsets;               // of addresses, by operand
  bool has(const char* modifier) const {
    for (const std::string& m : modifiers)
      if (m == modifier) return true;
    return false;
  }
  const std::string& type() const { return modifiers.back(); }  // the last
};

// The step of an instruction that only computes (ptx_arithmetic.cpp); empty if it is unknown.
Step arithmetic(const Parsed& p);
// The step of mma.sync or ldmatrix; empty if its types or sizes are unknown.
WarpStep step_of_warp(const Parsed& p);

}  // namespace relay::mock
