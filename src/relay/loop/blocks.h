// Blocks of threads: kernels for devices whose threads share memory.
//
//   kernel reversed(x: float32[n, 64] read, y: float32[n, 64]), shape (n), task t < 1 {
//     for i in 0..n block {
//       alloc row: float32[64] in shared
//       for j in 0..64 thread {
//         row[j] = x[i, j]
//         barrier
//         y[i, j] = row[63 - j]
//       }
//     }
//   }
//
// Block and Thread loops are the outermost loops of a task: in front of them are only lets and shared arrays, and
// statements run inside of all Thread loops. Each iteration of the Block loops is run by a block of threads, one for
// each iteration of the Thread loops. A task without Block loops is one block. Blocks are as independent as tasks.
//
// Threads run in any order and at once, but all of a block reach a barrier before one goes on behind it. So a barrier
// must not stand in a branch or loop that only some threads take: verify() refuses one unless all conditions and bounds
// around it are the same for all threads. Two threads of a block must not touch an element between two barriers if one
// writes it, nor two blocks at all, nor two tasks: interpret() reports a race with both statements. An array in shared
// memory is one for the block, keeps its place for the whole kernel, and holds garbage at first. Other local arrays
// belong to one thread.
#pragma once

#include "relay/loop/loop.h"

namespace relay::loop {

// The most threads of a block on any device.
inline constexpr int64_t most_threads = 1024;

// True if the kernel has Block or Thread loops.
bool has_blocks(const Kernel& kernel);
// The threads of a block; 1 without Thread loops. Requires that their extents are constant.
int64_t threads_of(const Kernel& kernel);
// The bytes of all shared arrays, each aligned to 64 bytes.
int64_t shared_bytes(const Kernel& kernel);
// True if shared arrays or barriers are somewhere in the statement.
bool is_for_all_threads(const Stmt& s);

// The Block and Thread loops of a kernel, outermost first.
std::vector<Stmt> bound_loops(const Kernel& kernel);

// A kernel for a launch: without Block and Thread loops. Their variables are computed from the numbers of the block and
// of the thread.
struct BoundKernel {
  Kernel kernel;  // its tasks are the blocks
  Expr per_task;  // blocks for each task of the original, over the shape variables
  Expr thread;    // a variable of the body: the number of the thread, below `threads`
  int64_t threads = 1;
};
// Requires that verify() accepts the kernel. Inner loops count faster.
BoundKernel bind(const Kernel& kernel);

}  // namespace relay::loop
