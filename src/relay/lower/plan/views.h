// Arrays that share the memory of others. The inputs of a concatenation are computed inside its result, so that nothing
// is left to copy.
//
//   whole[n, c, y, x] = select(c < 61, a[n, c, y, x], b[n, c - 61, y, x])
//
// a and b become views of the whole (Array::view): kernels that write or read them get their offset in its storage and
// the distance of its rows. An input that cannot be a view, because the function's caller or another concatenation uses
// it, is copied to its place.
//
//   y[n, c] = tanh(x[n, c])
//
// If nothing reads x afterwards, y takes its place: each element is read before it is written, and has no other reader.
// The same holds for a result that begins as a copy of x and is then changed (in_place.h).
#pragma once

#include <optional>

#include "relay/lower/plan/graph.h"

namespace relay::lower {

// A single stage that consists of its inputs, placeholders, one behind the other along dimension `dim`.
struct Concatenation {
  struct Part {
    te::Tensor input;
    int64_t begin = 0;
  };
  size_t dim = 0;
  std::vector<Part> parts;
};
std::optional<Concatenation> concatenation(const te::Tensors& outputs);

// Makes views of the inputs of a plan's concatenations, if storing the whole from the first part on does not raise the
// peak of memory in use, and of results that are computed element by element. Called after orders of dimensions are
// chosen and before halos are. `alignment`: in bytes; devices that copy vectors to shared memory need arrays that begin
// at a multiple of it, and views begin where their bases are cut.
void make_views(FunctionPlan& plan, int64_t alignment = 1);

// The array that stores this one: itself, or the base of the view.
int stored_in(const std::vector<Array>& arrays, int array);
// For a view whose base has a layout: its offset in bytes, and its layout from there on, in which the rest of the base
// is a halo behind it.
Expr offset_of_view(const std::vector<Array>& arrays, int array);
Layout layout_of_view(const std::vector<Array>& arrays, int array);

// Sets the sizes of a lowered function that follow from the rest: the bytes of arrays as stored, the places of views in
// their bases, and the numbers of tasks of kernel calls.
void set_sizes(LoweredFunction& f);

}  // namespace relay::lower
