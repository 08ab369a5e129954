// The references that a run has made. They can form cycles (a reference to a function that captured the reference),
// which counting does not free: at the end of a run those that neither its result nor its arguments reach are emptied.
#pragma once

#include "relay/eval/values.h"

namespace relay::eval {

class References {
 public:
  Value make(Value value);
  // `roots`: what lives on.
  void end(Values roots);

 private:
  std::vector<Ref<const ReferenceValue>> made_;
  size_t check_at_ = 1024;  // at so many the ones that nothing else holds are let go; then twice what is left
};

}  // namespace relay::eval
