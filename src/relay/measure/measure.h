// What this machine does, measured: `relay doctor` compares it with the target description.
//
// Many short samples, the best counts: machines are shared, and a slow sample says nothing about the hardware.
#pragma once

#include <cstdint>
#include <vector>

namespace relay::measure {

// Single-precision multiply-adds of one core, two operations each, with vectors of `vector_bytes` (16, 32 or 64).
double measure_fma_gflops(int vector_bytes);
// The same of `threads` cores at the same time, summed, at this moment: under a millisecond, the best of three samples.
double measure_fma_gflops_now(int vector_bytes, int threads);
// Runs of a plain loop on as many threads, each about `us` long, for so many seconds: reading `bytes` once, or what can
// be read in half of the time, and multiply-adds in the rest of it. How long each took, in microseconds: what differs
// between them is the machine's doing.
std::vector<double> measure_machine_runs(int vector_bytes, int threads, double us, int64_t bytes, double seconds);
// Reading `bytes` of memory again and again with one core.
double measure_read_gbps(int64_t bytes);
// The same of what was last read so long ago, nothing else having been done with memory since.
double measure_read_gbps_after(int64_t bytes, double seconds);

// A parallel region in which nothing is done, by all threads of the pool, inside a run: handing out the ranges and
// waiting for them. Infinity if the other threads never came, since the machine is busy.
double measure_region_us();

// The most memory that this process has had resident until now; 0 where the system does not say.
int64_t peak_memory_bytes();

// Seconds on a clock that never goes back.
double now();

}  // namespace relay::measure
