// A program ready to run: its kernels have addresses, its constants are values, and its types and functions have
// numbers in this process.
#pragma once

#include <map>

#include "relay/runtime/devices/device_memory.h"
#include "relay/runtime/external.h"
#include "relay/runtime/functions/value.h"
#include "relay/runtime/kernel_code.h"
#include "relay/runtime/program/planner.h"
#include "relay/runtime/program/program.h"

namespace relay::runtime {

// A device of a program other than the host, with the kernels and constants that the program has there.
struct LinkedDevice {
  std::vector<std::shared_ptr<const DeviceKernel>> kernels;  // by index of Program::kernels; null if not run there
  std::map<uint32_t, DeviceBuffer> constants;                // by index of Program::constants
};

struct LinkedProgram {
  std::shared_ptr<const Program> program;
  std::shared_ptr<const KernelLibrary> library;  // the first one: of the functions, and of other devices
  std::shared_ptr<KernelCode> code;              // of the kernels that the host runs
  std::vector<uint32_t> device_numbers;          // by index of Program::devices: their numbers in this process
  std::vector<LinkedDevice> devices;             // by index of Program::devices; empty if there is only the host
  std::vector<std::shared_ptr<const External>> externals;  // by index of Program::externals
  std::vector<Value> constants;  // by index of Program::constants; only for programs with functions
  std::vector<TypeId> types;     // by index of Program::types
  // A closure's Object::id is this plus the index of its function. The ranges of programs are disjoint, so a closure
  // that is passed to another program is detected.
  uint32_t first_function = 0;
  // The sites that run segments, numbered through all functions in order: executors keep state for each.
  std::vector<uint32_t> sites;                 // the segment of each
  std::vector<std::vector<uint32_t>> site_of;  // by function and instruction
  std::vector<std::vector<bool>> site_moves;   // of each, by argument: true if it is the last use of its register
  std::vector<uint32_t> scratch;               // by function: the most operands and results of an instruction
  bool uses_references = false;
  const relay_functions* native = nullptr;  // the functions, if the library has them as machine code
  int64_t constant_bytes = 0;
  int64_t memory_limit = 0;  // bytes, as in ExecutableOptions
};

// `program` is valid. corrupt_file if the library lacks a kernel, not_supported if a device is not there,
// incompatible_artifact if its functions are for another version of native.h.
Result<LinkedProgram> link(std::shared_ptr<const Program> program, std::shared_ptr<const KernelLibrary> library,
                           Tier tier = Tier::Full);

// The plan of a segment; out_of_memory, with the largest consumers, if it needs more than the limit.
Result<Plan> plan_within_limit(const LinkedProgram& linked, const Segment& segment, std::vector<int64_t> variables);

}  // namespace relay::runtime
