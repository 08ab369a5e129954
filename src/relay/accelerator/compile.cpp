#include "relay/accelerator/compile.h"

#include <algorithm>
#include <cstring>

#include "relay/accelerator/emit.h"

namespace relay::accelerator {

namespace {

// Weights as tiles of 16 outputs by 16 inputs.
void append_weights(const Layer& layer, int inputs, int outputs, std::vector<uint8_t>& bytes) {
  const int taps = layer.kernel[0] * layer.kernel[1];
  const int in_blocks = (inputs + lanes - 1) / lanes, out_blocks = (outputs + lanes - 1) / lanes;
  const size_t begin = bytes.size();
  bytes.resize(begin + static_cast<size_t>(out_blocks) * static_cast<size_t>(in_blocks * taps) * 256);
  for (int o = 0; o < outputs; ++o)
    for (int c = 0; c < inputs; ++c)
      for (int t = 0; t < taps; ++t) {
        const size_t tile =
            (static_cast<size_t>(o / lanes) * static_cast<size_t>(in_blocks) + static_cast<size_t>(c / lanes)) *
                static_cast<size_t>(taps) +
            static_cast<size_t>(t);
        const size_t from = (static_cast<size_t>(o) * static_cast<size_t>(inputs) + static_cast<size_t>(c)) *
                                static_cast<size_t>(taps) +
                            static_cast<size_t>(t);
        bytes[begin + tile * 256 + static_cast<size_t>(o % lanes * lanes + c % lanes)] =
            static_cast<uint8_t>(layer.weights[from]);
      }
}

// Rows of parameters: 16 lanes each of bias, multiplier, shift and offset. A single value is that of all lanes.
void append_params(const Scaling& s, std::vector<uint8_t>& bytes) {
  const size_t count = s.bias.size(), blocks = (count + lanes - 1) / lanes;
  for (size_t b = 0; b < blocks; ++b)
    for (const std::vector<int32_t>* values : {&s.bias, &s.multiplier, &s.shift, &s.offset})
      for (size_t lane = 0; lane < lanes; ++lane) {
        const size_t at = count == 1 ? 0 : b * lanes + lane;
        const int32_t value = at < values->size() ? (*values)[at] : 0;
        uint8_t four[4];
        std::memcpy(four, &value, 4);
        bytes.insert(bytes.end(), four, four + 4);
      }
}

int64_t multiply_adds(const Network& network, const Layer& layer) {
  const Array &in = network.arrays[layer.input], &out = network.arrays[layer.output];
  const int64_t results =
      int64_t{layer.results(0, out.height)} * layer.results(1, out.width) * out.images * out.channels;
  return layer.is_convolution() ? results * in.channels * layer.kernel[0] * layer.kernel[1] : 0;
}

}  // namespace

std::optional<Program> compile(const Network& network, const Timing& timing, std::string* problem) {
  Program out;
  std::vector<Places> places;
  for (const Layer& layer : network.layers) {
    Places& p = places.emplace_back();
    if (layer.is_convolution() && !choose_tile(shape_of(network, layer), timing)) {
      *problem = "a convolution's window does not fit into the buffers";
      return std::nullopt;
    }
    p.params = static_cast<uint32_t>(out.constants.size());
    for (const Scaling& s : layer.scales) append_params(s, out.constants);
    p.weights = static_cast<uint32_t>(out.constants.size());
    if (layer.is_convolution())
      append_weights(layer, network.arrays[layer.input].channels, network.arrays[layer.output].channels, out.constants);
    out.multiply_adds += multiply_adds(network, layer);
  }
  uint64_t end = out.constants.size();
  for (const Array& a : network.arrays) {
    out.addresses.push_back(static_cast<uint32_t>(end));
    end += static_cast<uint64_t>(16 * a.beats());
  }
  constexpr uint64_t most = uint64_t{1} << 31;
  if (end > most) {
    *problem = "it needs " + std::to_string(end) + " bytes of memory, but addresses have 32 bits";
    return std::nullopt;
  }
  Sequence sequence;
  Emitter emitter(sequence, timing);
  for (size_t k = 0; k < network.layers.size(); ++k) {
    const Layer& layer = network.layers[k];
    places[k].input = out.addresses[layer.input], places[k].output = out.addresses[layer.output];
    if (layer.addend) places[k].addend = out.addresses[*layer.addend];
    emitter.emit(network, layer, places[k]);
    out.ends.push_back(sequence.size());
  }
  out.stream = sequence.finish();
  out.stream_address = static_cast<uint32_t>((end + 31) / 32 * 32);
  out.memory_bytes = out.stream_address + out.stream.size() * instruction_bytes;
  return out;
}

}  // namespace relay::accelerator
