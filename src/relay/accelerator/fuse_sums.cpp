#include "relay/accelerator/fuse_sums.h"

#include <algorithm>

namespace relay::accelerator {

static int64_t readers(const Network& network, const std::vector<size_t>& outputs, size_t array) {
  int64_t count = std::count(outputs.begin(), outputs.end(), array);
  for (const Layer& l : network.layers) count += (l.input == array) + (l.addend == array);
  return count;
}

void fuse_sums(Network& network, const std::vector<size_t>& outputs) {
  std::vector<Layer>& layers = network.layers;
  for (size_t k = 0; k < layers.size(); ++k) {
    if (layers[k].is_convolution()) continue;
    // The operand that is computed last, so that the other one is there.
    const size_t none = layers.size();
    size_t found = none;
    for (size_t c = 0; c < k; ++c) {
      const Layer& conv = layers[c];
      const bool is_operand = conv.output == layers[k].input || conv.output == *layers[k].addend;
      const bool is_whole = conv.step == std::array{1, 1};
      if (conv.is_convolution() && is_whole && !conv.addend && is_operand &&
          readers(network, outputs, conv.output) == 1)
        found = c;
    }
    if (found == none) continue;
    const Layer sum = layers[k];
    Layer conv = std::move(layers[found]);
    const bool first = conv.output == sum.input;
    conv.addend = first ? *sum.addend : sum.input;
    conv.output = sum.output;
    conv.scales.push_back(sum.scales[first ? 0 : 1]);
    conv.scales.push_back(sum.scales[first ? 1 : 0]);
    conv.inner = conv.limits, conv.limits = sum.limits;
    layers[k] = std::move(conv);
    layers.erase(layers.begin() + static_cast<ptrdiff_t>(found));
    --k;
  }
}

}  // namespace relay::accelerator
