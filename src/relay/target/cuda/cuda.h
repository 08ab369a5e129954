// GPUs of NVIDIA. The processors are the names of their instruction sets, as sm_80, and code for one runs on all newer
// ones, except sm_90a. `cuda` is the first GPU of this machine; the others need not be here.
#pragma once

#include "relay/codegen/codegen.h"

namespace relay::target {

codegen::TargetDef cuda();

// The multiprocessors of a GPU.
struct GpuFigures {
  int multiprocessors;
  int warp;                      // threads that run in step
  int block_threads, threads;    // limits of a block, of a multiprocessor
  int blocks;                    // limit of a multiprocessor
  int thread_registers;          // of 32 bits: limit of a thread
  int registers;                 // of a multiprocessor
  int64_t block_shared, shared;  // bytes of shared memory: limit of a block; of a multiprocessor
  double memory_gbps;            // read bandwidth of the device
};
// The figures of a target that cuda() describes; null for others.
const GpuFigures* gpu_figures(const TargetDesc& target);

// The blocks that a multiprocessor runs at once, and their threads as a part of all it could run.
struct Occupancy {
  int blocks = 0;
  double part = 0;
};
// Occupancy by a kernel with blocks of `threads` threads, `registers` for each, and `shared` bytes of shared memory.
Occupancy occupancy(const GpuFigures& gpu, int threads, int registers, int64_t shared);

}  // namespace relay::target
