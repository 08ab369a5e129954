// A network of integers for the accelerator: arrays, and layers in the order of their computation.
//
// In memory, an array of (images, channels, height, width) is stored as (images, blocks of 16 channels, height, width,
// 16), with channels up to a multiple of 16. An array of int32 is four such arrays: the lowest bytes of all numbers,
// then the next ones.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "relay/accelerator/isa.h"

namespace relay::accelerator {

struct Array {
  int images = 1, channels = 0, height = 1, width = 1;
  bool is_wide = false;  // int32 instead of int8
  int blocks() const { return (channels + lanes - 1) / lanes; }
  int64_t elements() const { return int64_t{images} * channels * height * width; }
  int64_t plane_beats() const { return int64_t{images} * blocks() * height * width; }
  int64_t beats() const { return plane_beats() * (is_wide ? 4 : 1); }
};

// The parameters of Scale: a number for each channel, or one for all.
struct Scaling {
  std::vector<int32_t> bias, multiplier, shift, offset;
};
struct Limits {
  int8_t low = -128, high = 127;
};

// A convolution, or without weights the sum of two arrays:
//
//   sums = conv(input, weights)        output = limit(scale[0](sums))
//   to an array of int32               output = sums + scale[0].bias
//   with an addend                     output = limit(scale[1](limit[0](scale[0](sums))) + scale[2](addend))
//   a sum                              output = limit(scale[0](input) + scale[1](addend))
struct Layer {
  size_t input = 0, output = 0;  // arrays
  std::optional<size_t> addend{};
  std::vector<int8_t> weights{};  // (output channels, input channels, kernel height, kernel width)
  std::array<int, 2> kernel{1, 1}, stride{1, 1}, dilation{1, 1};
  std::array<int, 2> padding{};  // top and left; at the other sides, what windows read beyond the input
  int8_t pad = 0;
  std::vector<Scaling> scales{};
  Limits inner{}, limits{};
  // A convolution computes every `step`-th row and column of its output, from `phase` on. Several of them, one for each
  // phase, are a transposed convolution.
  std::array<int, 2> step{1, 1}, phase{0, 0};
  int results(size_t axis, int size) const { return (size - phase[axis] + step[axis] - 1) / step[axis]; }
  bool is_convolution() const { return !weights.empty(); }
};

struct Network {
  std::vector<Array> arrays;
  std::vector<Layer> layers;
};

// Copies between an array's order in a program, (images, channels, height, width), and the one in memory. Channels that
// fill up a block become 0. Only arrays of int8 are packed; `to` of unpack() is of the array's type.
void pack(const Array& a, const int8_t* from, uint8_t* to);
void unpack(const Array& a, const uint8_t* from, void* to);

}  // namespace relay::accelerator
