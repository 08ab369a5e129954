// The project of a program with functions. Each function becomes a C function over registers. Frames and values are in
// the workspace: values grow from one end of it, frames from the other, so that recursion needs no C stack, and a full
// workspace is a status code. Values are counted, and freed ones are used again.
//
// The methods are in program_source.cpp (NAME.c), program_code.cpp (functions), program_header.cpp (NAME.h) and
// program_main.cpp (main.c and its data); program_runtime.cpp has the C functions that do not depend on the program.
#pragma once

#include "relay/c_project/program_forms.h"
#include "relay/c_project/segment_writer.h"

namespace relay::c_project {

class ProgramWriter : public ProjectWriter {
 public:
  ProgramWriter(const runtime::Program& program, std::span<const loop::Kernel> kernels, const Recording& recording,
                const Options& options)
      : ProjectWriter(program, kernels, recording, options), forms_(program) {}
  Status check_limits() const;  // after write_kernels()
  int64_t segments_bytes() const;

 private:
  // An argument of NAME_run().
  struct Argument {
    std::string name;  // in C
    const runtime::Port* port = nullptr;
    uint32_t form = 0;  // of a tensor
    bool is_tensor() const { return port->is_tensor; }
  };

  void name_interface() override;
  std::string header() const override;
  std::string model_source() const override;
  std::string self_test() const override;
  std::string test_data() const override;
  std::string readme() const override;
  Sizes sizes() const override { return {weight_bytes_, fixed_bytes() + options_.arena_bytes, 0}; }

  void number_forms();
  void name_makers();

  // --- NAME.c
  std::string tables() const;
  std::string constants() const;
  std::string segment_function(uint32_t segment) const;
  std::string function(uint32_t function) const;
  std::string instruction(const runtime::Function& f, uint32_t at) const;
  std::string run_segment(const runtime::Function& f, const runtime::Instruction& in) const;
  std::string call(const runtime::Function& f, const runtime::Instruction& in, uint32_t at) const;
  std::string pointers_block(const std::string& pointers, const std::string& body) const;
  std::string make_object(const runtime::Function& f, const runtime::Instruction& in, uint32_t form) const;
  std::string makers() const;
  std::string run_function() const;
  std::string checks_of_arguments() const;
  std::string filled(std::string text) const;  // @ is the name, % the prefix of constants

  // --- the other files
  std::string signature() const;
  std::string parameter(const Argument& a, bool written) const;
  std::string value_interface() const;
  std::string making(const Recorded& value, const std::string& name, size_t slot, size_t& most, size_t& number) const;
  std::string comparing(const Recorded& value, const std::string& name, size_t slot, size_t& most,
                        size_t& number) const;
  std::string run_in_test() const;
  std::string call_in_test(const std::string& memory) const;
  void add_vectors(const Recorded& value, const std::string& name, size_t& number, std::string& out) const;

  bool has_values() const;  // among the inputs and outputs
  uint32_t form_of(const Recorded& value) const;
  std::string extent(uint32_t form) const { return extent_text(forms_.all()[form].shape); }
  std::string type_of(uint32_t form) const;  // of elements in C
  int64_t control_bytes() const;             // of the struct at the beginning of the workspace
  int64_t fixed_bytes() const { return control_bytes() + segments_bytes(); }

  mutable Forms forms_;  // complete after number_forms()
  std::vector<Argument> inputs_, outputs_;
  std::map<uint32_t, std::string> makers_;  // names of functions that make values, by form
};

// The text of the C functions among `all` that `code` uses, and those that they use.
std::string runtime_functions(const std::string& code);
// The definitions in front of everything else.
extern const char* const runtime_types;

}  // namespace relay::c_project
