// TargetDesc: what the compiler knows of a machine, as numbers. Schedule rules and the cost model read only this; how
// to emit code for the machine is in target/. One description a microarchitecture; `relay doctor` measures it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace relay {

// Cycles from one vector of results to the next: of quotients, of square roots, of exp by its polynomial.
struct OperationCycles {
  double division = 0, root = 0, exp = 0;
  bool operator==(const OperationCycles&) const = default;
};

struct TargetDesc {
  std::string name = "generic";       // "zen4", "sapphirerapids", "haswell", ...
  std::string triple;                 // LLVM triple
  std::string cpu;                    // LLVM CPU name
  std::vector<std::string> features;  // LLVM features, as "+avx2", "-avx512f"
  int vector_bytes = 16;              // of the widest register worth using
  int vector_registers = 16;
  bool has_fma = false;
  bool has_masks = false;  // predicate registers: masked loads and stores at full speed
  int line_bytes = 64;     // what caches move
  int l1_ways = 8;         // places in L1 for lines whose addresses are a multiple of l1_bytes / l1_ways apart
  int64_t l1_bytes = 32 << 10, l2_bytes = 256 << 10, l3_bytes = 8 << 20;  // of one core; L3 shared
  double fma_per_cycle = 2;                                               // vector multiply-adds a cycle
  double fma_latency = 4;                                                 // cycles until a sum can be added to again
  // By the width of elements. Integers are divided as the floats that hold them; halves are computed in float32.
  OperationCycles float32_cycles{14, 14, 20}, float64_cycles{28, 28, 36};
  // Vector instructions a cycle that add dot products of narrow numbers to 32-bit lanes; 0: there are none.
  double int8_dots_per_cycle = 0;      // fours of uint8 with int8, to int32
  double bfloat16_dots_per_cycle = 0;  // pairs of bfloat16, to float32
  double ghz = 3;
  double l2_gbps = 60, l3_gbps = 20, dram_gbps = 10;  // read bandwidth of one core
  bool prefetch_weights = true;                       // software prefetch of streamed weights pays
  int cores = 1;
};

}  // namespace relay
