// The types of the CUDA driver's interface that Relay uses, declared here because no header of CUDA is needed to build.
// test/cuda compares them with cuda.h where that is installed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace relay::runtime::cu {

using Result = int;  // an error's number; 0: success
using Device = int;
using Address = uint64_t;  // in the memory of a device
using Context = struct ContextOpaque*;
using Module = struct ModuleOpaque*;
using Function = struct FunctionOpaque*;
using Stream = struct StreamOpaque*;
using Event = struct EventOpaque*;
using Pool = struct PoolOpaque*;
using Graph = struct GraphOpaque*;                // operations in order
using GraphProgram = struct GraphProgramOpaque*;  // a graph that can be launched

constexpr Result success = 0, out_of_memory = 2, no_device = 100, no_code_for_device = 209, wrong_ptx = 218,
                 unsupported_ptx = 222, not_found = 500, not_ready = 600;

enum Attribute : int {
  multiprocessors = 16,
  major_capability = 75,
  minor_capability = 76,
  has_memory_pools = 115,
};
constexpr int most_block_threads = 0;  // an attribute of functions
enum JitOption : int { error_log = 5, error_log_bytes = 6 };
constexpr int pool_release_threshold = 4;                                        // an attribute of a pool
constexpr unsigned without_timing = 2;                                           // a flag of events
constexpr unsigned non_blocking = 1;                                             // a flag of streams
constexpr int of_this_thread = 1;                                                // a mode of capturing a stream
inline void* const end_of_extras = nullptr;                                      // of a launch
inline void* const buffer_of_arguments = reinterpret_cast<void*>(uintptr_t{1});  // the same
inline void* const bytes_of_arguments = reinterpret_cast<void*>(uintptr_t{2});   // the same

}  // namespace relay::runtime::cu
