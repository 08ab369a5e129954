// The project of a graph: NAME_run() is its segment. The methods are in graph_source.cpp (NAME.c), graph_header.cpp
// (NAME.h) and graph_main.cpp (main.c and its data).
#pragma once

#include "relay/c_project/segment_writer.h"

namespace relay::c_project {

// An argument of NAME_run() or a member of NAME_state.
struct Argument {
  std::string name;    // in C
  std::string origin;  // in the model
  uint32_t array = 0;
  uint32_t port = 0;  // number of the input or output
};

class GraphWriter : public ProjectWriter {
 public:
  using ProjectWriter::ProjectWriter;
  const Memory& memory() const { return memories_[0]; }

 private:
  void name_interface() override;
  std::string header() const override;
  std::string model_source() const override;
  std::string self_test() const override;
  std::string test_data() const override;
  std::string readme() const override;
  Sizes sizes() const override;

  // --- NAME.c
  std::string checks_of_sizes(const SegmentWriter& segment) const;
  std::string checks_of_arguments(const SegmentWriter& segment) const;
  std::string first_copies(const SegmentWriter& segment) const;
  std::string last_copies(const SegmentWriter& segment) const;

  // --- the other files
  std::string signature() const;  // of NAME_run()
  std::string parameter(const Argument& a, bool written) const;
  std::string interface_sizes() const;
  std::string type_of(const Argument& a) const;    // "float32[n, 4]"
  std::string extent_of(const Argument& a) const;  // "2 * 4", at the upper bounds of sizes
  std::string call_in_test(const std::string& workspace, const std::string& bytes, const std::string& first) const;

  const runtime::Segment& f() const { return program_.graph(); }
  bool has_state() const { return !state_.empty(); }
  bool has_constant_shape(const Argument& a) const;
  int64_t bytes_of(const Argument& a) const { return memory().plan.bytes[a.array]; }  // the most
  DType dtype_of(const Argument& a) const { return f().arrays[a.array].dtype; }
  SegmentWriter segment() const { return {*this, f(), memory(), pointers_, variables_}; }

  std::vector<Argument> inputs_, outputs_, state_;
  std::vector<std::string> pointers_;   // by array of the interface
  std::vector<std::string> variables_;  // names of shape variables
  int64_t state_bytes_ = 0;
};

}  // namespace relay::c_project
