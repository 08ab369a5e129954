// Random layers, computed by their instructions and by plain loops.
#include "relay/accelerator/compile.h"

#include <gtest/gtest.h>

#include <random>

#include "relay/accelerator/machine.h"
#include "relay/accelerator/races.h"

namespace relay::accelerator {
namespace {

using Values = std::vector<int8_t>;
using Numbers = std::vector<int32_t>;

class Drawn {
 public:
  explicit Drawn(uint64_t seed) : random_(seed) {}
  int pick(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); }
  Values values(int64_t count) {
    Values out(static_cast<size_t>(count));
    for (int8_t& v : out) v = static_cast<int8_t>(pick(-128, 127));
    return out;
  }
  Scaling scaling(int count, int bits) {
    Scaling s;
    for (int k = 0; k < count; ++k) {
      s.bias.push_back(pick(-1000, 1000)), s.offset.push_back(pick(-20, 20));
      s.multiplier.push_back(pick(1 << 30, 0x7fffffff)), s.shift.push_back(31 + pick(bits - 1, bits + 1));
    }
    return s;
  }

 private:
  std::mt19937_64 random_;
};

int64_t scaled(int64_t x, const Scaling& s, int channel) {
  const size_t k = s.multiplier.size() == 1 ? 0 : static_cast<size_t>(channel);
  const int64_t product = (x + s.bias[k]) * s.multiplier[k];
  return ((product + (int64_t{1} << (s.shift[k] - 1))) >> s.shift[k]) + s.offset[k];
}

int64_t limited(int64_t x, const Limits& l) { return std::clamp<int64_t>(x, l.low, l.high); }

// The result of a layer by its definition (network.h).
Numbers reference(const Network& net, const Layer& l, const Values& input, const Values& addend) {
  const Array &in = net.arrays[l.input], &out = net.arrays[l.output];
  Numbers result;
  for (int n = 0; n < out.images; ++n)
    for (int o = 0; o < out.channels; ++o)
      for (int y = 0; y < out.height; ++y)
        for (int x = 0; x < out.width; ++x) {
          const size_t at = result.size();
          int64_t value;
          if (!l.is_convolution()) {
            value = scaled(input[at], l.scales[0], o) + scaled(addend[at], l.scales[1], o);
          } else {
            int64_t sum = 0;
            for (int c = 0; c < in.channels; ++c)
              for (int ky = 0; ky < l.kernel[0]; ++ky)
                for (int kx = 0; kx < l.kernel[1]; ++kx) {
                  const int iy = y * l.stride[0] - l.padding[0] + ky * l.dilation[0];
                  const int ix = x * l.stride[1] - l.padding[1] + kx * l.dilation[1];
                  const bool inside = iy >= 0 && iy < in.height && ix >= 0 && ix < in.width;
                  const int v =
                      inside ? input[static_cast<size_t>(((n * in.channels + c) * in.height + iy) * in.width + ix)]
                             : l.pad;
                  sum += int64_t{v} *
                         l.weights[static_cast<size_t>(((o * in.channels + c) * l.kernel[0] + ky) * l.kernel[1] + kx)];
                }
            if (out.is_wide) {
              result.push_back(static_cast<int32_t>(sum + l.scales[0].bias[static_cast<size_t>(o)]));
              continue;
            }
            value = scaled(sum, l.scales[0], o);
            if (l.addend) value = scaled(limited(value, l.inner), l.scales[1], o) + scaled(addend[at], l.scales[2], o);
          }
          result.push_back(static_cast<int32_t>(limited(value, l.limits)));
        }
  return result;
}

Layer random_convolution(Drawn& drawn, Array& in, Array& out, bool large) {
  Layer l;
  in = {drawn.pick(1, 3), drawn.pick(1, large ? 90 : 40), drawn.pick(1, large ? 40 : 12),
        drawn.pick(1, large ? 40 : 12)};
  for (size_t d = 0; d < 2; ++d) {
    const int size = d == 0 ? in.height : in.width;
    l.kernel[d] = drawn.pick(1, 3), l.stride[d] = drawn.pick(1, 2), l.dilation[d] = drawn.pick(1, 2);
    int reach = (l.kernel[d] - 1) * l.dilation[d] + 1;
    if (reach > size) l.kernel[d] = reach = 1;
    l.padding[d] = drawn.pick(0, reach - 1);
    const int after = drawn.pick(0, reach - 1);
    (d == 0 ? out.height : out.width) = (size + l.padding[d] + after - reach) / l.stride[d] + 1;
  }
  out.images = in.images, out.channels = drawn.pick(1, large ? 90 : 40);
  l.weights = drawn.values(int64_t{out.channels} * in.channels * l.kernel[0] * l.kernel[1]);
  l.pad = static_cast<int8_t>(drawn.pick(-128, 127));
  l.scales = {drawn.scaling(out.channels, 9)};
  return l;
}

void compare(uint64_t seed, bool large) {
  Drawn drawn(seed);
  Network net;
  net.arrays.resize(3);
  Layer& layer = net.layers.emplace_back();
  const int kind = drawn.pick(0, 4);
  layer = random_convolution(drawn, net.arrays[0], net.arrays[1], large);
  if (kind == 0) {  // a sum instead
    net.arrays[0] = net.arrays[1];
    layer = Layer{.scales = {drawn.scaling(1, 1), drawn.scaling(1, 1)}};
  }
  if (kind <= 1) layer.addend = 2, net.arrays[2] = net.arrays[1];
  if (kind == 1) layer.scales.push_back(drawn.scaling(1, 1)), layer.scales.push_back(drawn.scaling(1, 1));
  if (kind == 2) net.arrays[1].is_wide = true;
  layer.output = 1;
  layer.inner = {-128, 127}, layer.limits = {static_cast<int8_t>(drawn.pick(-128, 0)), 127};

  std::string problem;
  const std::optional<Program> program = compile(net, Timing(), &problem);
  ASSERT_TRUE(program) << problem;
  ASSERT_EQ(check(program->stream, program->memory_bytes), std::nullopt);
  ASSERT_EQ(find_race(program->stream), std::nullopt);

  std::vector<uint8_t> memory(program->memory_bytes);
  std::copy(program->constants.begin(), program->constants.end(), memory.begin());
  std::array<Values, 3> values;
  for (const size_t a : {0, 2}) {
    const Array& array = net.arrays[a];
    values[a] = drawn.values(int64_t{array.images} * array.channels * array.height * array.width);
    pack(array, values[a].data(), memory.data() + program->addresses[a]);
  }
  Machine(memory).run(program->stream);
  const Numbers expected = reference(net, layer, values[0], values[2]);
  Numbers got(expected.size());
  Values narrow(expected.size());
  const bool is_wide = net.arrays[1].is_wide;
  unpack(net.arrays[1], memory.data() + program->addresses[1],
         is_wide ? static_cast<void*>(got.data()) : narrow.data());
  if (!is_wide) got.assign(narrow.begin(), narrow.end());
  EXPECT_EQ(got, expected) << "seed " << seed;
}

TEST(compile, small_layers) {
  for (uint64_t seed = 1; seed <= 60; ++seed) compare(seed, false);
}
TEST(compile, layers_of_several_tiles) {
  for (uint64_t seed = 1; seed <= 12; ++seed) compare(seed, true);
}

// Every token that the compiler adds is needed: without one, a race or a missing token is found.
TEST(compile, each_token_is_needed) {
  Drawn drawn(5);
  Network net;
  net.arrays.resize(2);
  net.layers.push_back(random_convolution(drawn, net.arrays[0], net.arrays[1], true));
  net.layers[0].output = 1;
  std::string problem;
  const Program program = *compile(net, Timing(), &problem);
  int found = 0;
  for (size_t n = 0; n + 1 < program.stream.size(); ++n)  // the waits of Halt only order the end
    for (int c = 0; c < channels; ++c) {
      const uint8_t bit = static_cast<uint8_t>(1 << c);
      if ((program.stream[n].waits & bit) == 0) continue;
      Stream without = program.stream;
      // The wait, and the token that it would have taken.
      int64_t number = 0;
      for (size_t k = 0; k < n; ++k) number += (without[k].waits & bit) != 0;
      without[n].waits = static_cast<uint8_t>(without[n].waits & ~bit);
      for (size_t k = 0; k < n; ++k)
        if ((without[k].signals & bit) != 0 && number-- == 0)
          without[k].signals = static_cast<uint8_t>(without[k].signals & ~bit);
      ASSERT_EQ(check(without, program.memory_bytes), std::nullopt);
      EXPECT_NE(find_race(without), std::nullopt) << "instruction " << n << ": " << str(program.stream[n]);
      ++found;
    }
  EXPECT_GT(found, 10);
}

}  // namespace
}  // namespace relay::accelerator
