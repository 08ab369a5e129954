// Runs PTX on the host, one instruction of one thread at a time: the meaning of the code that Relay generates, without
// a GPU. It knows the instructions that LLVM writes for kernels, and stops with the line of any other.
//
// The threads of a block run one after another up to the next barrier, which all must reach at the same instruction.
// The 32 threads of a warp stop at mma.sync and ldmatrix as well, and run them together.
// Between two barriers, no thread may touch a byte of shared memory that another one writes: a race is an error.
// cp.async copies when its thread waits for it, and a byte that is used before then is an error.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace relay::mock {

struct PtxError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The place of `bytes` bytes at an address of the device's memory; null if they are not in one allocation.
using Translate = std::function<void*(uint64_t address, size_t bytes)>;

struct Grid {
  unsigned blocks = 1, threads = 1;
};

struct Thread;
// An instruction: changes the thread, and its next instruction if it jumps.
using Step = std::function<void(Thread&)>;

struct Entry {
  std::string name;
  size_t registers = 0, parameters = 0, parameter_bytes = 0;  // of registers, of parameters
  unsigned most_threads = 1024;                               // of a block
  bool takes_most = false;                                    // no other number of threads
  bool has_barriers = false;                                  // or instructions of a warp
  size_t local_bytes = 0, shared_bytes = 0;
  std::vector<Step> steps;
  std::vector<int> lines;
};

class PtxModule {
 public:
  // Throws PtxError for text that it does not know.
  explicit PtxModule(const std::string& text);
  const Entry* find(const std::string& name) const;
  // Runs all blocks. Throws PtxError for an access outside of memory, a race, or threads that part at a barrier.
  void run(const Entry& entry, const std::vector<uint8_t>& arguments, Grid grid, const Translate& translate) const;

 private:
  std::map<std::string, std::unique_ptr<Entry>> entries_;
  std::map<std::string, std::pair<uint64_t, size_t>> globals_;  // address and bytes
  mutable std::vector<uint8_t> constants_;                      // the memory of globals
};

}  // namespace relay::mock
