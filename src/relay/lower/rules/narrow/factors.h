// The two factors of a contraction of narrow numbers.
#pragma once

#include "relay/lower/rules/rules.h"

namespace relay::lower {

// A factor: a narrow number, minus a number that is the same for all of them.
struct Narrow {
  Expr load;
  Expr offset = scalar::imm(0, DType::int32());  // int32; a constant, or a zero point that is known at run time
  LoadFact fact{};
};
// Unset for other forms. `loads`: those of the factor.
std::optional<Narrow> narrow_factor(const Expr& e, const std::vector<LoadFact>& loads);

// The dimension whose index is the plain axis; -1 if none.
int plain_dim(const LoadFact& load, const std::string& axis);
// The dimension along which the load moves by one element with the axis, and by whole steps of `products` with all
// other axes, such as a window along a row of pixels; -1 if there is none.
int dim_of_steps(const LoadFact& load, const std::string& axis, int64_t products);

// True if steps of `products` pay. A last step that lacks some costs about two others: a 1 x 1 convolution of 6
// bytes takes 80 us with it and 67 us by multiply-adds, a product of 13 bytes 20 us and 43 us (Zen 4).
inline bool has_enough_steps(int64_t extent, int64_t products) {
  return extent % products == 0 || extent >= 2 * products;
}

// Number `i` of a step of `products` along axis `k`, of which `load` reads one. `step`: the variable that counts steps.
// Beyond the end of the axis it is 0.
Expr number_of_step(const Expr& load, const te::Axis& k, const Expr& step, int64_t products, int64_t i);

// The axis of the steps of tiles, and their number. Usually they are the groups along `k`. If all channels of a pixel
// are one group, they are the neighbours of a window along a row, which follow each other in memory.
struct TileSteps {
  std::string axis;
  int64_t count = 0;
};
TileSteps tile_steps(const ScheduleDraft& draft, const te::TensorNode& sum, const LoadFact& data, const std::string& k,
                     int64_t groups, int64_t products);

// The distance of two lines of the image that `data` reads along y and x, in pixels, if its lines can be joined
// (join_lines.cpp); else 0.
int64_t joined_lines(const ScheduleDraft& draft, const LoadFact& data, const std::string& y, const std::string& x);
// Joins them. Returns the name of the sum's axis for both.
std::string join_lines(ScheduleDraft& draft, const te::Tensor& sum, const LoadFact& data, const std::string& y,
                       const std::string& x);

// Multiplies two computed factors on tile registers (computed.cpp). Returns false if this does not pay.
bool multiply_computed(ScheduleDraft& draft, const te::Tensor& sum, const StageFacts& facts);

// Multiplies pairs of bytes that are widened to 16 bits, or pairs of two computed factors of bfloat16 (widened.cpp).
// Returns false if this does not pay.
bool multiply_widened(ScheduleDraft& draft, const te::Tensor& sum, const StageFacts& facts);

}  // namespace relay::lower
