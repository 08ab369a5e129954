// The parts that the writers of both kinds of project share: kernels as functions, constants, build files. Internal to
// c_project. A graph is written by GraphWriter (graph_writer.h), a program with functions by ProgramWriter
// (program_writer.h). SegmentWriter (segment_writer.h) writes the steps of a segment.
#pragma once

#include "relay/c_project/c_text.h"
#include "relay/c_project/memory.h"
#include "relay/c_project/project.h"
#include "relay/codegen/c/c_source.h"

namespace relay::c_project {

// A constant that a run reads.
struct Weight {
  std::string name;    // of the array
  int64_t offset = 0;  // in the file
};

class ProjectWriter {
 public:
  ProjectWriter(const runtime::Program& program, std::span<const loop::Kernel> kernels, const Recording& recording,
                const Options& options);
  virtual ~ProjectWriter() = default;
  Status write_kernels();  // and places the arrays
  Result<Project> write_files();

  // --- for SegmentWriter
  const runtime::Program& program() const { return program_; }
  const loop::Kernel& kernel(const runtime::Step& step) const { return kernels_[step.kernel]; }
  const codegen::CFunction& function(const runtime::Step& step) const {
    return functions_.functions[static_cast<size_t>(function_of_[step.kernel])];
  }
  const Weight& weight(uint32_t constant) const { return weights_.at(constant); }
  bool has_machine_code() const { return options_.machine_code; }
  bool has_weights_argument() const { return options_.weights_file && !weights_.empty(); }
  std::string macro(const std::string& name) const { return prefix_ + "_" + name; }  // MODEL_NAME
  // A pointer into a memory: the workspace, which is the first, or another.
  std::string in_memory(uint32_t memory, const std::string& type, const std::string& offset) const;
  std::string of_memory(uint32_t memory) const;                              // " in psram"; empty for the workspace
  std::span<const Memory> memories() const { return memories_; }             // by segment
  std::span<const int64_t> scratch_bytes() const { return scratch_bytes_; }  // by kernel

 protected:
  virtual void name_interface() = 0;
  virtual std::string header() const = 0;
  virtual std::string model_source() const = 0;
  virtual std::string self_test() const = 0;
  virtual std::string test_data() const = 0;
  virtual std::string readme() const = 0;
  virtual Sizes sizes() const = 0;

  void use_weight(uint32_t constant);
  void number_weights();
  bool arrays_overlap(uint32_t kernel) const;
  codegen::CFunctions callers_of_machine_code() const;
  std::vector<codegen::CKernel> used_kernels(bool know_overlap) const;
  std::vector<int64_t> most_of(const runtime::Segment& segment) const;  // of its variables

  std::string helpers(const std::string& code) const;  // functions and macros that the steps use
  std::string check_function() const;                  // relay_check()
  std::string check_of_weights() const;                // relay_weights_fit()
  std::string definition_of_loose() const;             // in the self-test, for comparison()
  std::string title() const;
  std::string status_type(const std::string& more) const;
  std::string weights_source() const;
  std::string weights_header() const;
  uint64_t weights_identity() const;
  Result<std::string> weights_file() const;
  std::string cmake_lists() const;
  std::string sizes_script() const;
  std::string readme_beginning() const;
  std::string readme_end() const;
  std::vector<std::string> library_functions() const;  // of <math.h> that the model calls

  const runtime::Program& program_;
  std::span<const loop::Kernel> kernels_;
  const Recording& recording_;
  const Options& options_;
  std::string prefix_;  // "MODEL"

  codegen::CFunctions functions_;
  std::vector<int> function_of_;  // by kernel: the index in functions_, or -1
  std::vector<int64_t> scratch_bytes_;
  std::vector<Memory> memories_;
  std::map<uint32_t, Weight> weights_;  // by constant
  int64_t weight_bytes_ = 0, weights_file_bytes_ = 0;
};

// The text of an array of test_vectors.h.
std::string vector_text(const std::string& name, const Tensor& values);
// A function of the self-test, differences_TYPE(got, want, count). `loose`: differences are allowed if LOOSE is set.
std::string comparison(DType t);

// Bytes in front of the constants of a weights file: "RELAYWTS", a byte-order mark, a version, the file's size, and the
// constants' identity.
constexpr int64_t weights_header_bytes = 64;
constexpr uint32_t byte_order_mark = 0x01020304, weights_version = 2;
constexpr int64_t workspace_alignment = 8;

}  // namespace relay::c_project
