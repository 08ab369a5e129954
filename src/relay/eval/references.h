// The references that a run has made. They can form cycles (a reference to a function that captured the reference),
// which reference counting does not free. At the end of a run, references that are reachable from neither its result
// nor its arguments are emptied.
#pragma once

#include "relay/eval/values.h"

namespace relay::eval {

class References {
 public:
  Value make(Value value);
  // `roots`: the values that outlive the run.
  void end(Values roots);

 private:
  std::vector<Ref<const ReferenceValue>> made_;
  // the number of references at which unused ones are released; afterwards twice the number that remain
  size_t check_at_ = 1024;
};

}  // namespace relay::eval
