// The division of a convolution into tiles that fit into halves of the buffers. While compute works on one half, load
// fills the other.
#pragma once

#include "relay/accelerator/cycles.h"
#include "relay/accelerator/network.h"

namespace relay::accelerator {

// Rows of half a buffer.
constexpr int half(Space s) { return rows(s) / 2; }

// The sizes of a convolution, channels in blocks.
struct Shape {
  int images, inputs, outputs, height, width;  // of the result
  std::array<int, 2> kernel, stride, dilation;
  int passes;       // of the vector unit for each row of the result
  int stores;       // of each row of the result
  bool has_addend;  // which is loaded like data
  // Rows of data that some rows of the result need.
  int input_height(int rows) const { return (rows - 1) * stride[0] + (kernel[0] - 1) * dilation[0] + 1; }
  int input_width(int columns) const { return (columns - 1) * stride[1] + (kernel[1] - 1) * dilation[1] + 1; }
  int taps() const { return kernel[0] * kernel[1]; }
};

// A tile of results is summed up in chunks of input channels.
struct Tile {
  int images = 1, rows = 1, columns = 1, outputs = 1;
  int inputs = 1;             // blocks of channels in a chunk
  bool pixels_outer = false;  // the loop over images and pixels is around that over output channels
};

Shape shape_of(const Network& network, const Layer& layer);
// The tile with the least estimated time. A single result always fits, if the kernel has at most 512 taps and its
// window at most 1024 rows of data.
std::optional<Tile> choose_tile(const Shape& shape, const Timing& timing);

}  // namespace relay::accelerator
