// The writer of a C project's files. Internal to c_project: writer.cpp decides, model_source.cpp writes NAME.c,
// interface_files.cpp NAME.h and the constants, main_source.cpp main.c and its data, build_files.cpp CMakeLists.txt and
// README.md.
#pragma once

#include "relay/c_project/c_text.h"
#include "relay/c_project/memory.h"
#include "relay/c_project/project.h"
#include "relay/codegen/c/c_source.h"

namespace relay::c_project {

// An argument of NAME_run() or a member of NAME_state.
struct Argument {
  std::string name;    // in C
  std::string origin;  // in the model
  uint32_t array = 0;
  uint32_t port = 0;  // number of the input or output
};

// A constant that a run reads.
struct Weight {
  std::string name;    // of the array
  int64_t offset = 0;  // in the file
};

class Writer {
 public:
  Writer(const runtime::Program& graph, std::span<const loop::Kernel> kernels, const Recording& recording,
         const Options& options);
  Status write_kernels();  // and places the arrays
  const Memory& memory() const { return memory_; }
  std::span<const int64_t> scratch_bytes() const { return scratch_bytes_; }  // by kernel
  Result<Project> write_files();

 private:
  // --- decisions, in this order
  void name_interface();
  void number_weights();
  bool arrays_overlap(uint32_t kernel) const;
  std::vector<codegen::CKernel> used_kernels(bool know_overlap) const;

  // --- NAME.c
  std::string model_source() const;
  std::string checks_of_arguments() const;
  std::string steps() const;
  std::string step(const runtime::Step& step, const std::string& repetition) const;
  std::string index_check(const runtime::Step& step) const;
  std::string first_copies() const;
  std::string last_copies() const;
  std::string memory_map() const;
  std::string pointer(uint32_t array, const std::string& type, bool written) const;
  std::string copy(const std::string& to, const std::string& from, int64_t bytes) const;
  std::string helpers(const std::string& code) const;

  // --- the other files
  std::string header() const;
  std::string signature() const;  // of NAME_run()
  std::string weights_source() const;
  std::string weights_header() const;
  Result<std::string> weights_file() const;
  std::string self_test() const;
  std::string test_data() const;
  std::string cmake_lists() const;
  std::string readme() const;
  std::string call_in_test(const std::string& workspace, const std::string& bytes, const std::string& first) const;

  std::string macro(const std::string& name) const { return prefix_ + "_" + name; }  // MODEL_NAME
  bool has_state() const { return !state_.empty(); }
  bool has_weights_argument() const { return options_.weights_file && !weights_.empty(); }
  int64_t bytes_of(const Argument& a) const { return memory_.plan.bytes[a.array]; }
  DType dtype_of(const Argument& a) const { return f_.arrays[a.array].dtype; }
  std::string parameter(const Argument& a, bool written) const;
  std::string title() const;
  std::vector<std::string> library_functions() const;  // of <math.h> that the model calls

  const runtime::Program& graph_;
  const runtime::Segment& f_;
  std::span<const loop::Kernel> kernels_;
  const Recording& recording_;
  const Options& options_;
  std::string prefix_;  // "MODEL"

  codegen::CFunctions functions_;
  std::vector<int> function_of_;  // by kernel: the index in functions_, or -1
  std::vector<int64_t> scratch_bytes_;
  Memory memory_;
  std::vector<Argument> inputs_, outputs_, state_;
  std::vector<std::string> names_;      // of arrays of the interface
  std::map<uint32_t, Weight> weights_;  // by constant
  int64_t weight_bytes_ = 0, state_bytes_ = 0, weights_file_bytes_ = 0;
};

// Bytes in front of the constants of a weights file: "RELAYWTS", a byte-order mark, a version, the file's size.
constexpr int64_t weights_header_bytes = 64;
constexpr int64_t workspace_alignment = 8;

}  // namespace relay::c_project
