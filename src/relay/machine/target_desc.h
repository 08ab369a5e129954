// TargetDesc: the compiler's model of a machine, as numbers. Schedule rules and the cost model read only this; code
// emission for the machine is in target/. There is one description per microarchitecture; `relay doctor` measures it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace relay {

// Reciprocal throughput in cycles per vector of results: quotients, square roots, and exp by its polynomial.
struct OperationCycles {
  double division = 0, root = 0, exp = 0;
  bool operator==(const OperationCycles&) const = default;
};

// An instruction by its name in machine/instructions.def, and its number per cycle at the widest vector.
struct InstructionRate {
  std::string name;
  double per_cycle = 0;
  bool operator==(const InstructionRate&) const = default;
};

// A device that runs blocks of threads with shared memory (loop/blocks.h). Its multiprocessors, TargetDesc::cores, run
// several blocks at once, as their registers and memory allow. All zero for other machines.
struct BlockFigures {
  int warp = 0;                      // threads that run in step
  int threads = 0;                   // the most of a block
  int threads_at_once = 0;           // the most of a multiprocessor
  int registers = 0;                 // of 32 bits, of a multiprocessor
  int64_t shared_bytes = 0;          // of shared memory that a block can have
  int64_t shared_bytes_at_once = 0;  // of a multiprocessor
  bool operator==(const BlockFigures&) const = default;
};

struct TargetDesc {
  std::string name = "generic";       // "zen4", "sapphirerapids", "haswell", ...
  std::string triple;                 // LLVM triple
  std::string cpu;                    // LLVM CPU name
  std::vector<std::string> features;  // LLVM features, as "+avx2", "-avx512f"
  int vector_bytes = 16;              // width of the widest register worth using
  int vector_registers = 16;
  bool has_fma = false;
  bool has_masks = false;  // predicate registers: masked loads and stores at full speed
  int line_bytes = 64;     // cache line
  // associativity of L1: lines whose addresses differ by a multiple of l1_bytes / l1_ways compete for these ways
  int l1_ways = 8;
  int64_t l1_bytes = 32 << 10, l2_bytes = 256 << 10, l3_bytes = 8 << 20;  // per core; L3 shared
  double fma_per_cycle = 2;                                               // vector multiply-adds per cycle
  // cycles until the next addition to the same sum
  double fma_latency = 4;
  // By element type. Integers are divided in the floating-point type that holds them; halves are computed in float32.
  OperationCycles float32_cycles{14, 14, 20}, float64_cycles{28, 28, 36};
  // The instructions of machine/instructions.def that the machine has, with their rates.
  std::vector<InstructionRate> instructions;
  double ghz = 3;
  double l2_gbps = 60, l3_gbps = 20, dram_gbps = 10;  // read bandwidth of one core
  bool prefetch_weights = true;                       // software prefetch of streamed weights pays
  int cores = 1;
  BlockFigures blocks;
};

}  // namespace relay
