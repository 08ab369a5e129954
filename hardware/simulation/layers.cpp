// Whole layers on the three models: one of each shape of ResNet-18, with random numbers.
//
//   layers          prints cycles and utilisation of each
#include <cstdio>
#include <random>

#include "relay/accelerator/compile.h"
#include "relay/accelerator/machine.h"
#include "rtl.h"

using namespace relay::accelerator;

namespace {

struct Case {
  int inputs, size, outputs, kernel, stride;
  bool has_addend, is_wide = false;
};
constexpr Case cases[] = {
    {64, 56, 64, 3, 1, false},         {64, 56, 64, 3, 1, true},    {64, 56, 128, 3, 2, false},
    {128, 28, 128, 3, 1, false},       {128, 28, 128, 3, 1, true},  {64, 56, 128, 1, 2, false},
    {128, 28, 256, 3, 2, false},       {256, 14, 256, 3, 1, false}, {256, 14, 256, 3, 1, true},
    {128, 28, 256, 1, 2, false},       {256, 14, 512, 3, 2, false}, {512, 7, 512, 3, 1, false},
    {512, 7, 512, 3, 1, true},         {256, 14, 512, 1, 2, false}, {512, 7, 512, 3, 1, false, true},
    {512, 1, 1000, 1, 1, false, true},
};

Network network_of(const Case& c, std::mt19937& random) {
  const int size = (c.size - 1) / c.stride + 1;
  Network net;
  net.arrays = {{1, c.inputs, c.size, c.size}, {1, c.outputs, size, size, c.is_wide}};
  Layer& l = net.layers.emplace_back();
  l.output = 1;
  if (c.has_addend) l.addend = 2, net.arrays.push_back(net.arrays[1]);
  l.kernel = {c.kernel, c.kernel}, l.stride = {c.stride, c.stride};
  l.padding = {c.kernel / 2, c.kernel / 2};
  l.pad = -128;
  l.weights.resize(static_cast<size_t>(c.outputs) * static_cast<size_t>(c.inputs * c.kernel * c.kernel));
  for (int8_t& w : l.weights) w = static_cast<int8_t>(random());
  for (int k = 0; k < (c.has_addend ? 3 : 1); ++k) {
    Scaling& s = l.scales.emplace_back();
    for (int o = 0; o < (k == 0 ? c.outputs : 1); ++o) {
      s.bias.push_back(static_cast<int32_t>(random() % 2000) - 1000),
          s.offset.push_back(static_cast<int32_t>(random() % 20));
      s.multiplier.push_back(static_cast<int32_t>(random() % (1 << 30)) + (1 << 30)),
          s.shift.push_back(k == 0 ? 43 : 31);
    }
  }
  return net;
}

bool compare(const Case& c) {
  std::mt19937 random(7);
  const Network net = network_of(c, random);
  const Timing timing;
  std::string problem;
  const std::optional<Program> program = compile(net, timing, &problem);
  std::vector<uint8_t> memory(program->memory_bytes);
  std::copy(program->constants.begin(), program->constants.end(), memory.begin());
  for (size_t k = program->constants.size(); k < program->stream_address; ++k)
    memory[k] = static_cast<uint8_t>(random());
  write_stream(program->stream, memory, program->stream_address);
  std::vector<uint8_t> expected = memory;
  Machine(expected).run(program->stream);
  const Cycles cycles = count_cycles(program->stream, timing);
  const int64_t rtl = relay_accelerator_rtl(memory.data(), memory.size(), program->stream_address, timing.latency,
                                            timing.interval, 2 * cycles.total);
  const bool equal = memory == expected && rtl == cycles.total;
  std::printf("%4d x %2d x %2d to %4d, %d x %d / %d%s %9lld cycles, %5.1f %% utilised, %8lld bytes loaded: %s\n",
              c.inputs, c.size, c.size, c.outputs, c.kernel, c.kernel, c.stride,
              c.has_addend ? " + addend"
              : c.is_wide  ? " in int32"
                           : "         ",
              static_cast<long long>(rtl), 100 * cycles.utilisation(), static_cast<long long>(cycles.load_bytes),
              equal ? "equal on all models" : "DIFFERENT");
  return equal;
}

}  // namespace

int main() {
  bool equal = true;
  for (const Case& c : cases) equal &= compare(c);
  return equal ? 0 : 1;
}
