// The instructions of one layer.
#pragma once

#include "relay/accelerator/tiling.h"
#include "relay/accelerator/tokens.h"

namespace relay::accelerator {

// Places in memory, in bytes.
struct Places {
  uint32_t input = 0, output = 0, addend = 0;
  uint32_t weights = 0;  // (output blocks, input blocks, kernel height, kernel width) of 256 bytes
  uint32_t params = 0;   // a row for each block of the result, for each further scale one row
};

// The two halves of a buffer, and what they hold. The one that was not used for longer is replaced.
class Halves {
 public:
  using Key = std::array<int64_t, 5>;
  explicit Halves(Space space) : rows_(half(space)) {}
  // The first row of the half for `key`; `load(row)` is called if no half holds it.
  template <class Load>
  int get(const Key& key, Load load) {
    const size_t held = key == keys_[0] ? 0 : 1;
    const bool found = key == keys_[held];
    const size_t which = found ? held : 1 - last_;
    last_ = which;
    const int row = static_cast<int>(which) * rows_;
    if (!found) keys_[which] = key, load(row);
    return row;
  }

 private:
  int rows_;
  std::array<Key, 2> keys_{Key{-1}, Key{-1}};
  size_t last_ = 1;
};

class Emitter {
 public:
  Emitter(Sequence& sequence, const Timing& timing) : sequence_(sequence), timing_(timing) {}
  void emit(const Network& network, const Layer& layer, const Places& places);

 private:
  // A tile at its place in the result; sizes at the borders are smaller.
  struct Part {
    int image, images, y, rows, x, columns, output, outputs;
    int results() const { return images * outputs * rows * columns; }
  };
  void convolution(const Network& network, const Layer& layer, const Places& places);
  void sum(const Network& network, const Layer& layer, const Places& places);
  void tile(const Network& network, const Layer& layer, const Places& places, const Part& part, int chunk);
  int load_data(const Array& in, const Layer& layer, const Places& places, const Part& part, int input, int inputs);
  int load_weights(const Array& in, const Layer& layer, const Places& places, const Part& part, int input, int inputs);
  int load_params(const Layer& layer, const Places& places, const Part& part);
  int load_addend(const Array& out, const Places& places, const Part& part);
  void multiply(const Layer& layer, const Part& part, int sum, int data, int weight, int inputs, bool first);
  void finish(const Array& out, const Layer& layer, const Places& places, const Part& part, int sum);
  void finish_wide(const Array& out, const Layer& layer, const Places& places, const Part& part, int sum, int param);
  void store(const Array& out, const Layer& layer, uint32_t place, const Part& part, int row);
  void vector(const Part& part, Instruction i, int sum, int data, int param, bool param_for_all);

  Sequence& sequence_;
  Timing timing_;
  int64_t layer_ = -1;  // its number, for keys
  int next_sum_ = 0;    // the half of the sums for the next tile
  Halves data_{Space::Data}, weight_{Space::Weight}, param_{Space::Param};
};

}  // namespace relay::accelerator
