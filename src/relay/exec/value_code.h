// A function of the language as a function of the program: code over values in registers.
//
//   def @sum(%l: List[int32], %acc: int32) -> int32 {          fn sum(2 parameters, 4 registers) {
//     match (%l) {                                               0: switch List %0 [Cons: 2, Nil: 1]
//       Cons(%h, %t) => {                                        1: return %1!
//         let %a = fn (.., Segment=1) { .. }(%acc, %h);          2: %2 = field 0 of %0
//         @sum(%t, %a)                                           3: %3 = field 1 of %0!
//       },                                                       4: %1 = segment 0(%1!, %2!)
//       Nil => %acc } }                                          5: tail call sum(%3!, %1!)
//
// Calls in tail position replace the frame; values are moved at their last use and dropped as soon as no path uses them
// any more (code.h); a match becomes a decision tree (match.h).
#pragma once

#include <unordered_map>

#include "relay/exec/lowered_segment.h"
#include "relay/exec/match.h"
#include "relay/exec/segment.h"

namespace relay::exec {

// Numbers of the entities that code refers to. Functions: @main, then by name. Segments: in the order passed. Constants
// and types: in order of first use.
class Numbers {
 public:
  Numbers(const ir::Module& module, const std::vector<LoweredSegment>& segments, Parts& parts);

  uint32_t function(const std::string& name) const { return functions_.at(name); }
  uint32_t segment(const ir::ExprNode* segment) const { return segments_.at(segment); }
  uint32_t constant(const Tensor& value) { return parts_.constant(value); }
  uint32_t type(const std::string& name);
  const ir::Module& module() const { return module_; }

 private:
  const ir::Module& module_;
  Parts& parts_;
  std::map<std::string, uint32_t> functions_, type_numbers_;
  std::unordered_map<const ir::ExprNode*, uint32_t> segments_;
};

// `function`: as the passes of driver/pipeline.h leave it: in a-normal form, lambda-lifted, with its kernel calls in
// segments.
Result<runtime::Function> value_code(const std::string& name, const ir::FunctionRef& function, Numbers& numbers);

}  // namespace relay::exec
