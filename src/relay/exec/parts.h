// The parts that segments and functions of a program share.
#pragma once

#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "relay/loop/loop.h"
#include "relay/lower/plan/external_code.h"
#include "relay/runtime/program/program.h"

namespace relay::exec {

// A program under construction: kernels by name, constants without duplicates.
struct Parts {
  runtime::Program program;
  std::vector<loop::Kernel> kernels;                  // of program.kernels
  std::vector<std::vector<int>> lowered_steps;        // by segment written so far
  static constexpr size_t small_bytes = 4096;         // constants up to this size are merged if they have the same
                                                      // elements
  std::set<const void*> prepared_of;                  // the model's constants that preparations read,
  int64_t bytes_prepared_of = 0, bytes_prepared = 0;  // their bytes, and the bytes that preparations produce
  int64_t constant_steps = 0;                         // run here
  double constant_ms = 0;

  uint32_t kernel(const loop::Kernel& kernel);  // kernels of the same name are merged
  uint32_t constant(const Tensor& value);
  uint32_t prepared_constant(const Tensor& type);
  uint32_t external(const lower::ExternalCode& code, uint32_t inputs, uint32_t outputs);  // equal functions are merged

 private:
  std::unordered_map<std::string, uint32_t> kernel_numbers_;
  std::map<std::tuple<std::string, std::string, std::string>, uint32_t> external_numbers_;
  std::unordered_multimap<uint64_t, uint32_t> constant_numbers_;
};

}  // namespace relay::exec
