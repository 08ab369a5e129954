#include "relay/accelerator/tiling.h"

#include <algorithm>

namespace relay::accelerator {

static int64_t parts(int64_t all, int64_t each) { return (all + each - 1) / each; }

Shape shape_of(const Network& network, const Layer& layer) {
  const Array &in = network.arrays[layer.input], &out = network.arrays[layer.output];
  const int passes = layer.addend ? 3 : out.is_wide ? 5 : 1;
  return {out.images,
          in.blocks(),
          out.blocks(),
          layer.results(0, out.height),
          layer.results(1, out.width),
          layer.kernel,
          layer.stride,
          layer.dilation,
          passes,
          out.is_wide ? 4 : 1,
          layer.addend.has_value()};
}

static bool fits(const Shape& s, const Tile& t) {
  const int64_t window = int64_t{t.images} * t.inputs * s.input_height(t.rows) * s.input_width(t.columns);
  const int64_t results = int64_t{t.images} * t.outputs * t.rows * t.columns;
  return window <= half(Space::Data) && results <= half(Space::Sum) && t.outputs + 2 <= half(Space::Param) &&
         int64_t{t.outputs} * t.inputs * s.taps() <= half(Space::Weight);
}

// Cycles. Each half remembers what it holds, so two chunks that follow one another again and again are loaded once.
static int64_t estimate(const Shape& s, const Tile& t, const Timing& timing) {
  const int64_t pixels = parts(s.images, t.images) * parts(s.height, t.rows) * parts(s.width, t.columns);
  const int64_t outputs = parts(s.outputs, t.outputs), chunks = parts(s.inputs, t.inputs);
  const int64_t weights = int64_t{s.outputs} * s.inputs * s.taps() * 16;
  const int64_t data = pixels * t.images * s.inputs * s.input_height(t.rows) * s.input_width(t.columns);
  const bool keeps_weights = t.pixels_outer ? outputs * chunks <= 2 : chunks <= 2;
  const bool keeps_data = t.pixels_outer ? chunks <= 2 : pixels * chunks <= 2;
  const int64_t rows = int64_t{s.images} * s.outputs * s.height * s.width;
  const int64_t loads =
      weights * (keeps_weights ? 1 : pixels) + data * (keeps_data ? 1 : outputs) + (s.has_addend ? rows : 0);
  const int64_t steps = rows * s.inputs * s.taps() + rows * s.passes;
  // Before the first step and after the last one, nothing overlaps.
  const int64_t first = int64_t{t.outputs} * t.inputs * s.taps() * 16 +
                        int64_t{t.images} * t.inputs * s.input_height(t.rows) * s.input_width(t.columns);
  const int64_t last = int64_t{t.images} * t.outputs * t.rows * t.columns * s.passes;
  return std::max({steps, loads * timing.interval, rows * s.stores * timing.interval}) + first * timing.interval +
         last + 4 * pixels * outputs * chunks;
}

// Sizes of parts, each the least of those that divide `all` into the same number of parts.
static std::vector<int> sizes(int all) {
  std::vector<int> out;
  for (int each = 1; each <= all; ++each)
    if (each == 1 || parts(all, each) != parts(all, each - 1)) out.push_back(each);
  return out;
}

std::optional<Tile> choose_tile(const Shape& s, const Timing& timing) {
  std::optional<Tile> best;
  int64_t least = 0;
  for (const int images : sizes(s.images))
    for (const int rows : sizes(s.height))
      for (const int columns : sizes(s.width)) {
        if (!fits(s, {images, rows, columns, 1, 1})) break;
        for (const int outputs : sizes(s.outputs))
          for (const int inputs : sizes(s.inputs))
            for (const bool pixels_outer : {false, true}) {
              const Tile tile{images, rows, columns, outputs, inputs, pixels_outer};
              if (!fits(s, tile)) continue;
              const int64_t time = estimate(s, tile, timing);
              if (best && time >= least) continue;
              best = tile, least = time;
            }
      }
  return best;
}

}  // namespace relay::accelerator
