// Results that share the storage of inputs. A cache that a step reads, changes in one row and returns is neither copied
// nor allocated anew if the caller donates it.
//
//   def @main(%cache, %at, %row) { scatter_elements(%cache, %at, %row) }       output 0 updates %cache in place
//   def @main(%w, %g) { subtract(%w, multiply(%g, 0.1f)) }                     output 0 takes the place of %w
//
// A result may take an input's storage if it is computed from the input element by element, or begins as a copy of it
// in which some elements are then changed, and if nothing reads the input later. Arrays between the two are stored
// there as well. The caller of the function decides if it donates the input (runtime/program/program.h: InPlace).
#pragma once

#include <optional>

#include "relay/lower/plan/graph.h"

namespace relay::lower {

// A group of one program that copies a parameter and then changes elements of the copy (scatter_elements, scatter_nd).
struct Update {
  size_t param;
  te::Tensor changes;  // without the copy: the result must already hold the parameter's elements
};
std::optional<Update> update_of(const GroupTe& group);

// True if a result of the group reads the parameter only element for element, and other results read it through that
// result only.
bool reads_by_elements(const GroupTe& group, size_t param, size_t output = 0);

// Finds such results and notes them in their arrays (Array::in_place). For other inputs, notes the reason in
// FunctionPlan::not_in_place. Called before parts are joined.
void find_in_place_outputs(FunctionPlan& plan);

}  // namespace relay::lower
