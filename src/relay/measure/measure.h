// Measurements of this machine, which `relay doctor` compares with the target description.
//
// Takes the best of many short samples: machines are shared, and a slow sample says nothing about the hardware.
#pragma once

#include <cstdint>
#include <vector>

namespace relay::measure {

// Single-precision multiply-adds of one core, two operations each, with vectors of `vector_bytes` (16, 32 or 64).
double measure_fma_gflops(int vector_bytes);
// The same for `threads` cores at once, summed, at this moment: under a millisecond, the best of three samples.
double measure_fma_gflops_now(int vector_bytes, int threads);
// Runs a plain loop on `threads` threads for `seconds`, about `us` microseconds per run: reads `bytes` once, or as much
// as can be read in half of the time, and does multiply-adds for the rest. Returns the time of each run in
// microseconds. Differences between them are caused by the machine.
std::vector<double> measure_machine_runs(int vector_bytes, int threads, double us, int64_t bytes, double seconds);
// Reads `bytes` of memory repeatedly with one core.
double measure_read_gbps(int64_t bytes);
// The same for memory that was last read `seconds` ago, without other memory accesses since.
double measure_read_gbps_after(int64_t bytes, double seconds);

// An empty parallel region with all threads of the pool, inside a run: the time to hand out the ranges and wait for
// them. Infinity if the other threads never came, since the machine is busy.
double measure_region_us();

// The peak resident memory of this process so far, in bytes; 0 if the system does not report it.
int64_t peak_memory_bytes();

// Seconds on a monotonic clock.
double now();

}  // namespace relay::measure
