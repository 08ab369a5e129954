// Decisions of lowering, as text: test/schedules has a file for each small network (test_networks.h), with the
// schedules of all its groups for three processors. A change of a rule shows as a difference of these files.
//
//   RELAY_BLESS=1 build/release/bin/relay_test_driver --gtest_filter=Schedules.*        rewrites them
#include <gtest/gtest.h>

#include <filesystem>

#include "relay/base/test_golden.h"
#include "relay/driver/compile.h"
#include "relay/driver/stages.h"
#include "relay/driver/targets.h"
#include "relay/driver/test_networks.h"

namespace relay::driver {
namespace {

namespace fs = std::filesystem;

const fs::path folder = fs::path(RELAY_SOURCE_DIR) / "test" / "schedules";
// Vectors of 8 and 16 lanes, one and two multiply-adds per cycle.
constexpr const char* processors[] = {"haswell", "zen4", "sapphirerapids"};

std::string schedules_of(const Network& network, const TargetDesc& target) {
  Options options;
  options.lower.target = target;
  options.lower.strict = true;
  Result<ir::Module> module = optimise(module_of(network), options);
  RELAY_CHECK(module, "{}", render(module.errors()));
  Result<build::LoweredProgram> lowered = lower_program(*module, {}, options);
  RELAY_CHECK(lowered, "{}", render(lowered.errors()));
  std::string out;
  for (const exec::LoweredSegment& segment : lowered->segments)
    for (const lower::LoweredGroup& group : segment.lowered.groups)
      out += format("# {}\n{}", group.name, group.schedule);
  return out;
}

std::string file_name(std::string name) {
  std::replace(name.begin(), name.end(), ' ', '_');
  return name + ".txt";
}

TEST(Schedules, AreAsTheyWere) {
  for (const Network& network : networks) {
    SCOPED_TRACE(network.name);
    std::string text = format("%x: {} {}\n{}\n", join(network.input, " x "), "float32", network.body);
    for (const char* processor : processors)
      text += format("\n=== {}\n{}", processor, schedules_of(network, *find_target(processor)));
    test::expect_golden(folder / file_name(network.name), text);
  }
}

// A figure of the machine's description, with a replacement.
struct Figure {
  const char* name;
  void (*scale)(TargetDesc&, double by);
  double by = 0.5, or_by = 2;
};
template <auto field>
void scale(TargetDesc& t, double by) {
  t.*field = static_cast<std::remove_reference_t<decltype(t.*field)>>(static_cast<double>(t.*field) * by);
}
template <size_t instruction>
void scale_rate(TargetDesc& t, double by) {
  t.instructions.at(instruction).per_cycle *= by;
}
constexpr Figure figures[] = {
    {"vector_bytes", scale<&TargetDesc::vector_bytes>, 0.25, 0.5},  // vectors of 128 bytes do not exist
    {"vector_registers", scale<&TargetDesc::vector_registers>},
    {"fma_per_cycle", scale<&TargetDesc::fma_per_cycle>},
    {"fma_latency", scale<&TargetDesc::fma_latency>},
    {"float32_cycles.division", [](TargetDesc& t, double by) { t.float32_cycles.division *= by; }},
    {"float32_cycles.root", [](TargetDesc& t, double by) { t.float32_cycles.root *= by; }},
    {"float32_cycles.exp", [](TargetDesc& t, double by) { t.float32_cycles.exp *= by; }},
    {"float64_cycles.division", [](TargetDesc& t, double by) { t.float64_cycles.division *= by; }},
    {"float64_cycles.root", [](TargetDesc& t, double by) { t.float64_cycles.root *= by; }},
    {"float64_cycles.exp", [](TargetDesc& t, double by) { t.float64_cycles.exp *= by; }},
    // A dot product is four multiply-adds of widened bytes, or two of bfloat16: only factors like these make it slower.
    {"rate of vpdpbusd", scale_rate<0>, 0.125, 4},
    {"rate of vdpbf16ps", scale_rate<1>, 0.25, 4},
    {"ghz", scale<&TargetDesc::ghz>},
    {"line_bytes", scale<&TargetDesc::line_bytes>},
    {"l1_bytes", scale<&TargetDesc::l1_bytes>},
    {"l1_ways", scale<&TargetDesc::l1_ways>},
    {"l2_bytes", scale<&TargetDesc::l2_bytes>},
    {"l3_bytes", scale<&TargetDesc::l3_bytes>},
    {"l2_gbps", scale<&TargetDesc::l2_gbps>},
    {"l3_gbps", scale<&TargetDesc::l3_gbps>},
    {"dram_gbps", scale<&TargetDesc::dram_gbps>},
    {"prefetch_weights", [](TargetDesc& t, double by) { t.prefetch_weights = by > 0; }, 0, 1},
};

// Neighbours along rows of 1024: two read each element of `value`, which is stored or computed for both.
#define RELAY_DIFFERENCES(value, rows)                                      \
  "let %q = " value "; subtract(strided_slice(%q, begin=[0, 1], end=[" rows \
  ", 1024], strides=[1, 1]), strided_slice(%q, begin=[0, 0], end=[" rows ", 1023], strides=[1, 1]))"

// Networks for which two alternatives cost about the same.
const std::vector<Network> near_a_border = {
    {"deep convolution",
     {1, 512, 7, 7},
     {{512, 512, 3, 3}},
     "nn.conv2d(%x, %w0, padding=[1, 1], channels=512, kernel_size=[3, 3])"},
    {"narrow convolution",
     {1, 16, 56, 56},
     {{16, 16, 3, 3}},
     "nn.conv2d(%x, %w0, padding=[1, 1], channels=16, kernel_size=[3, 3])"},
    {"convolution of small maps",
     {1, 64, 10, 10},
     {{64, 64, 3, 3}},
     "nn.conv2d(%x, %w0, padding=[1, 1], channels=64, kernel_size=[3, 3])"},
    {"widening convolution",
     {1, 96, 10, 10},
     {{256, 96, 3, 3}},
     "nn.conv2d(%x, %w0, padding=[1, 1], channels=256, kernel_size=[3, 3])"},
    {"convolution of 512 channels",
     {1, 256, 14, 14},
     {{512, 256, 3, 3}},
     "nn.conv2d(%x, %w0, padding=[1, 1], channels=512, kernel_size=[3, 3])"},
    {"convolution 5 x 5",
     {1, 32, 10, 10},
     {{48, 32, 5, 5}},
     "nn.conv2d(%x, %w0, padding=[2, 2], channels=48, kernel_size=[5, 5])"},
    {"small product", {128, 256}, {{256, 256}}, "nn.dense(%x, %w0)"},
    {"product of bfloat16",
     {20, 256},
     {{64, 256}},
     "nn.dense(cast(%x, dtype=\"bfloat16\"), cast(%w0, dtype=\"bfloat16\"), out_dtype=\"float32\")"},
    {"two rows", {2, 300}, {{200, 300}}, "nn.dense(%x, %w0)"},
    {"rows that meet", {64, 1024}, {{96, 1024}}, "nn.dense(%x, %w0)"},
    {"large maps",
     {1, 24, 160, 160},
     {{144, 24, 1, 1}, {144, 1, 3, 3}, {24, 144, 1, 1}},
     "let %a = nn.relu(nn.conv2d(%x, %w0, channels=144, kernel_size=[1, 1])); let %b = nn.relu(nn.conv2d(%a, %w1, "
     "padding=[1, 1], channels=144, groups=144, kernel_size=[3, 3])); nn.conv2d(%b, %w2, channels=24, kernel_size=[1, "
     "1])"},
    {"small maps",
     {1, 32, 28, 28},
     {{192, 32, 1, 1}, {192, 1, 3, 3}, {32, 192, 1, 1}},
     "let %a = nn.relu(nn.conv2d(%x, %w0, channels=192, kernel_size=[1, 1])); let %b = nn.relu(nn.conv2d(%a, %w1, "
     "padding=[1, 1], channels=192, groups=192, kernel_size=[3, 3])); nn.conv2d(%b, %w2, channels=32, kernel_size=[1, "
     "1])"},
    {"large maps of SiLU",
     {1, 128, 80, 80},
     {{256, 128, 1, 1}, {256, 1, 3, 3}, {24, 256, 1, 1}},
     "let %a = nn.conv2d(%x, %w0, channels=256, kernel_size=[1, 1]); let %s = multiply(%a, sigmoid(%a)); let %b = "
     "nn.relu(nn.conv2d(%s, %w1, padding=[1, 1], channels=256, groups=256, kernel_size=[3, 3])); nn.conv2d(%b, %w2, "
     "channels=24, kernel_size=[1, 1])"},
    {"differences of quotients", {64, 1024}, {{1024}}, RELAY_DIFFERENCES("divide(%x, %w0)", "64")},
    {"differences of roots", {8192, 1024}, {}, RELAY_DIFFERENCES("sqrt(multiply(%x, %x))", "8192")},
    {"differences of exponentials", {8192, 1024}, {}, RELAY_DIFFERENCES("exp(%x)", "8192")},
    {"differences of quotients of doubles",
     {8192, 1024},
     {{1024}},
     RELAY_DIFFERENCES("divide(cast(%x, dtype=\"float64\"), cast(%w0, dtype=\"float64\"))", "8192")},
    {"differences of roots of doubles",
     {8192, 1024},
     {},
     RELAY_DIFFERENCES("sqrt(cast(multiply(%x, %x), dtype=\"float64\"))", "8192")},
    {"differences of exponentials of doubles",
     {8192, 1024},
     {},
     RELAY_DIFFERENCES("exp(cast(%x, dtype=\"float64\"))", "8192")},
};
#undef RELAY_DIFFERENCES

// Rules choose by figures of the machine: counts the networks whose schedules change if a figure is halved or doubled,
// or scaled by the factors next to it.
TEST(Schedules, FollowTheMachine) {
  const TargetDesc machine = *find_target("zen4");
  std::vector<std::pair<const Network*, std::string>> usual;
  for (const std::vector<Network>* all : {&networks, &near_a_border})
    for (const Network& network : *all) usual.emplace_back(&network, schedules_of(network, machine));
  std::string text = "zen4 with one figure changed, and the networks whose schedules change\n\n";
  for (const Figure& figure : figures)
    for (double by : {figure.by, figure.or_by}) {
      TargetDesc other = machine;
      figure.scale(other, by);
      std::vector<std::string> changed;
      for (const auto& [network, schedules] : usual)
        if (schedules_of(*network, other) != schedules) changed.push_back(network->name);
      text += format("{} x {}: {}\n", figure.name, by,
                     join(changed.empty() ? std::vector<std::string>{"-"} : changed, ", "));
    }
  test::expect_golden(folder / "machine.txt", text);
}

}  // namespace
}  // namespace relay::driver
