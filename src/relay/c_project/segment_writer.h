// A segment's steps as C statements.
#pragma once

#include "relay/c_project/project_writer.h"

namespace relay::c_project {

class SegmentWriter {
 public:
  // `names`: pointers in C, by array, for those that are not in the workspace and not constants. `variables`: names of
  // the shape variables, which are of type int64_t.
  SegmentWriter(const ProjectWriter& project, const runtime::Segment& segment, const Memory& memory,
                std::span<const std::string> names, std::span<const std::string> variables)
      : project_(project), f_(segment), memory_(memory), names_(names), variables_(variables) {}

  // Copies inputs to outputs of which steps write only a part. `in_place`: they may be the same memory already.
  std::string updates(bool in_place) const;
  std::string steps() const;
  // A pointer to an array's first element. `type`: of the elements.
  std::string pointer(uint32_t array, const std::string& type, bool written) const;
  std::string pointer(uint32_t array, bool written) const;  // of its own type
  std::string copy(const std::string& to, const std::string& from, uint32_t array) const;
  std::string memory_map() const;  // lines of a comment

  std::string size(const runtime::SizeExpr& e) const { return c_size(e, variables_); }
  std::string bytes(uint32_t array) const;        // as a size_t
  std::string elements_of(uint32_t array) const;  // as an int64_t
  bool has_constant_shape(uint32_t array) const;

 private:
  std::string step(const runtime::Step& step, const std::string& repetition) const;
  std::string index_check(const runtime::Step& step) const;

  const ProjectWriter& project_;
  const runtime::Segment& f_;
  const Memory& memory_;
  std::span<const std::string> names_, variables_;
};

}  // namespace relay::c_project
