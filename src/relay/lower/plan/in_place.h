// Results that lie in the storage of inputs. A cache that a step reads, changes in one row and gives back is neither
// copied nor allocated again, where the caller gives it away.
//
//   def @main(%cache, %at, %row) { scatter_elements(%cache, %at, %row) }       output 0 updates %cache in place
//   def @main(%w, %g) { subtract(%w, multiply(%g, 0.1f)) }                     output 0 lies in place of %w
//
// A result may lie where an input does if it is made of it element by element, or begins as a copy of it of which some
// elements are then changed, and if nothing reads the input later. Arrays between the two lie there as well. Who runs
// the function decides whether the result does lie there (runtime/program/program.h: InPlace).
#pragma once

#include <optional>

#include "relay/lower/plan/graph.h"

namespace relay::lower {

// A group of one program that copies a parameter and then changes elements of the copy (scatter_elements, scatter_nd).
struct Update {
  size_t param;
  te::Tensor changes;  // without the copy: the result must hold the parameter's elements
};
std::optional<Update> update_of(const GroupTe& group);

// The parameter of which a result of the group has its elements, one for one, and nothing else of it: other results
// read it through that one only.
bool reads_by_elements(const GroupTe& group, size_t param, size_t output = 0);

// Finds such results and notes them in their arrays (Array::in_place); of the other inputs it says why not, in
// FunctionPlan::not_in_place. Before parts are joined.
void take_inputs(FunctionPlan& plan);

}  // namespace relay::lower
