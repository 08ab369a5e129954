// Groups with several results ("multi-output fusion"): the last step of fuse_ops.
//
//   (relu(%x), sigmoid(%x))                 one kernel that reads %x once and stores both
//   %s = add(%x, %y); layer_norm(%s), ..    the sum is stored and normalised in one kernel; %s has other uses
#pragma once

#include "relay/ir/expr.h"

namespace relay::transform {

// `f`: its calls of operators are groups. Merges groups that read the same array, or of which one reads the other, if
// they compute results of one shape element by element, or one of them along rows (normalisation, softmax), and if
// nothing between them has to be computed outside. A group has at most `max_group` calls and `max_results` results.
ir::FunctionRef fuse_results(const ir::FunctionRef& f, int max_group, int max_results);

}  // namespace relay::transform
