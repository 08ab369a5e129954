// Arrays that lie in others. What a concatenation reads is computed where the result lies, and nothing is left to copy.
//
//   whole[n, c, y, x] = select(c < 61, a[n, c, y, x], b[n, c - 61, y, x])
//
// a and b become views of the whole (Array::view): kernels that write or read them get their offset in its storage and
// the distance of its rows. What cannot be a view, because the function's caller or another
// concatenation has it, is copied to its place.
//
//   y[n, c] = tanh(x[n, c])
//
// Where nothing reads x afterwards, y lies in its place: each element is read before it is written, and by nobody else.
// So does what would begin as a copy of x and then be changed (in_place.h).
#pragma once

#include <optional>

#include "relay/lower/plan/graph.h"

namespace relay::lower {

// One stage that has its inputs, placeholders, one behind the other along dimension `dim`, and nothing else.
struct Concatenation {
  struct Part {
    te::Tensor input;
    int64_t begin = 0;
  };
  size_t dim = 0;
  std::vector<Part> parts;
};
std::optional<Concatenation> concatenation(const te::Tensors& outputs);

// Does so with the concatenations of a plan where the whole may be stored from the first part on without more being
// alive at one time than at most now, and with results that are made element by element. After orders of dimensions are
// chosen and before halos are.
void make_views(FunctionPlan& plan);

// The array that stores this one: itself, or the base of the view.
int stored_in(const std::vector<Array>& arrays, int array);
// Of a view whose base has a layout: its offset in bytes, and its layout from there on, in which the rest of the base
// is a halo behind it.
Expr offset_of_view(const std::vector<Array>& arrays, int array);
Layout layout_of_view(const std::vector<Array>& arrays, int array);

}  // namespace relay::lower
