// Lowered functions as segments of a program, and what the segments and functions of a program share.
#pragma once

#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "relay/exec/build_options.h"
#include "relay/lower/plan/function.h"
#include "relay/runtime/program/program.h"

namespace relay::exec {

// A program in the making: kernels by name, constants once.
struct Parts {
  runtime::Program program;
  std::vector<loop::Kernel> kernels;                  // of program.kernels
  std::vector<std::vector<int>> lowered_steps;        // of each segment that was written
  static constexpr size_t small_bytes = 4096;         // of constants that are one if they have the same elements
  std::set<const void*> prepared_of;                  // the model's constants that preparations read, ...
  int64_t bytes_prepared_of = 0, bytes_prepared = 0;  // ... their bytes, and those that preparations make
  int64_t constant_steps = 0;                         // done here
  double constant_ms = 0;

  uint32_t kernel(const loop::Kernel& kernel);  // kernels of one name are one
  uint32_t constant(const Tensor& value);
  uint32_t prepared_constant(const Tensor& type);
  uint32_t external(const lower::ExternalCode& code, uint32_t inputs, uint32_t outputs);  // equal ones are one

 private:
  std::unordered_map<std::string, uint32_t> kernel_numbers_;
  std::map<std::tuple<std::string, std::string, std::string>, uint32_t> external_numbers_;
  std::unordered_multimap<uint64_t, uint32_t> constant_numbers_;
};

Result<runtime::Segment> write_segment(const lower::LoweredFunction& lowered, const BuildOptions& options,
                                       Parts& parts);

}  // namespace relay::exec
