// Products on tile registers (AMX) from programs to machine code, which runs under an emulator if this machine has no
// tiles: it computes what the evaluator and the interpreter of loops compute.
#include <gtest/gtest.h>

#if defined(__x86_64__)

#include <cmath>
#include <cstring>
#include <limits>
#include <regex>

#include "relay/codegen/llvm/amx_emulator.h"
#include "relay/driver/compile.h"
#include "relay/driver/stages.h"
#include "relay/driver/targets.h"
#include "relay/driver/test_networks.h"
#include "relay/eval/eval.h"
#include "relay/exec/build.h"

namespace relay::driver {
namespace {

#define RELAY_S8(x) "cast(multiply(" x ", 64f), dtype=\"int8\")"
#define RELAY_U8(x) "cast(multiply(abs(" x "), 280f), dtype=\"uint8\")"
#define RELAY_BF16(x) "cast(" x ", dtype=\"bfloat16\")"

const std::vector<Network> integer_networks = {
    {"s8s8", {32, 256}, {{64, 256}}, "nn.dense(" RELAY_S8("%x") ", " RELAY_S8("%w0") ", out_dtype=\"int32\")"},
    {"u8s8 with an epilogue",
     {64, 128},
     {{48, 128}, {48}},
     "nn.relu(multiply(cast(nn.dense(" RELAY_U8("%x") ", " RELAY_S8(
         "%w0") ", out_dtype=\"int32\"), dtype=\"float32\"), 0.001f) + %w1)"},
    {"u8u8", {32, 64}, {{32, 64}}, "nn.dense(" RELAY_U8("%x") ", " RELAY_U8("%w0") ", out_dtype=\"int32\")"},
    {"s8u8", {32, 64}, {{32, 64}}, "nn.dense(" RELAY_S8("%x") ", " RELAY_U8("%w0") ", out_dtype=\"int32\")"},
    {"partial tiles", {37, 192}, {{41, 192}}, "nn.dense(" RELAY_S8("%x") ", " RELAY_S8("%w0") ", out_dtype=\"int32\")"},
    {"a column of one", {16, 64}, {{33, 64}}, "nn.dense(" RELAY_S8("%x") ", " RELAY_S8("%w0") ", out_dtype=\"int32\")"},
    {"shorter steps", {33, 96}, {{16, 96}}, "nn.dense(" RELAY_S8("%x") ", " RELAY_S8("%w0") ", out_dtype=\"int32\")"},
    {"pointwise convolution",
     {1, 64, 9, 30},
     {{48, 64, 1, 1}},
     "nn.conv2d(" RELAY_U8("%x") ", " RELAY_S8("%w0") ", channels=48, kernel_size=[1, 1], out_dtype=\"int32\")"},
    {"convolution with padding",
     {2, 64, 7, 13},
     {{32, 64, 3, 3}},
     "nn.conv2d(" RELAY_U8("%x") ", " RELAY_S8(
         "%w0") ", padding=[1, 1], channels=32, kernel_size=[3, 3], out_dtype=\"int32\")"},
    {"convolution with strides",
     {1, 64, 19, 21},
     {{24, 64, 3, 3}},
     "nn.conv2d(" RELAY_S8("%x") ", " RELAY_S8(
         "%w0") ", strides=[2, 2], padding=[1, 1], channels=24, kernel_size=[3, 3], out_dtype=\"int32\")"},
    {"four channels",  // pixels of a row are the steps
     {1, 4, 9, 64},
     {{32, 4, 7, 7}},
     "nn.conv2d(" RELAY_U8("%x") ", " RELAY_S8(
         "%w0") ", strides=[2, 2], padding=[3, 3], channels=32, kernel_size=[7, 7], out_dtype=\"int32\")"},
    {"joined lines",  // so that rows go on in the next one
     {2, 64, 8, 8},
     {{128, 64, 3, 3}},
     "nn.relu(nn.conv2d(" RELAY_U8("nn.max_pool2d(%x, pool_size=[2, 2])") ", " RELAY_S8(
         "%w0") ", padding=[1, 1], channels=128, kernel_size=[3, 3], out_dtype=\"int32\"))"},
    {"computed factors",
     {3, 32, 64},
     {},
     "nn.batch_matmul(" RELAY_S8("%x") ", " RELAY_U8("%x") ", transpose_b=True, out_dtype=\"int32\")"},
    {"computed factors with zero points",  // partial tiles
     {2, 21, 64},
     {},
     "qnn.batch_matmul(" RELAY_U8("%x") ", " RELAY_S8("%x") ", 1f, 37, 1f, -5, transpose_b=True, out_dtype=\"int32\")"},
};

const std::vector<Network> float_networks = {
    {"bfloat16",
     {32, 256},
     {{64, 256}},
     "nn.dense(" RELAY_BF16("%x") ", " RELAY_BF16("%w0") ", out_dtype=\"float32\")"},
    {"bfloat16, partial tiles",
     {21, 96},
     {{35, 96}},
     "nn.relu(nn.dense(" RELAY_BF16("%x") ", " RELAY_BF16("%w0") ", out_dtype=\"float32\"))"},
    {"bfloat16, joined lines",  // of an image that the residual reads too
     {1, 128, 8, 8},
     {{128, 128, 3, 3}},
     "%0 = nn.max_pool2d(" RELAY_BF16("%x") ", pool_size=[2, 2]); nn.conv2d(%0, " RELAY_BF16(
         "%w0") ", padding=[1, 1], out_dtype=\"float32\") + cast(%0, dtype=\"float32\")"},
    {"bfloat16, computed factors",
     {2, 48, 32},
     {},
     "nn.batch_matmul(" RELAY_BF16("%x") ", " RELAY_BF16("%x") ", transpose_b=True, out_dtype=\"float32\")"},
};

Options with_tiles() {
  Options options;
  options.lower.target = *find_target("native,+amx-int8,+amx-bf16");
  options.lower.strict = true;
  return options;
}

build::LoweredProgram lowered(const Network& network, const Options& options) {
  Result<ir::Module> module = optimise(module_of(network), options);
  RELAY_CHECK(module, "{}", render(module.errors()));
  Result<build::LoweredProgram> program = lower_program(*module, {}, options);
  RELAY_CHECK(program, "{}", render(program.errors()));
  return *std::move(program);
}

std::string schedules_of(const build::LoweredProgram& program) {
  std::string out;
  for (const exec::LoweredSegment& segment : program.segments)
    for (const lower::LoweredGroup& group : segment.lowered.groups) out += group.schedule;
  return out;
}

Tensor run(const build::LoweredProgram& program, const TargetDesc& target, const Tensor& x, int threads = 1) {
  const exec::BuildOptions build{.target = target, .threads = threads};
  Result<exec::Built> built = exec::build_program(program.segments[0].lowered, build);
  RELAY_CHECK(built, "{}", render(built.errors()));
  Result<std::shared_ptr<runtime::Executable>> executable = exec::build(*built, build);
  RELAY_CHECK(executable, "{}", render(executable.errors()));
  Result<std::vector<Tensor>> results = (*executable)->run({&x, 1});
  RELAY_CHECK(results, "{}", render(results.errors()));
  return (*results)[0];
}

Tensor evaluated(const Network& network, const Tensor& x) {
  Result<eval::Value> value = eval::run(module_of(network), "main", {eval::Value(x)});
  RELAY_CHECK(value, "{}", render(value.errors()));
  return value->tensor;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.bytes() == b.bytes() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

TEST(Tiles, IntegersAreExact) {
  const Options options = with_tiles();
  const codegen::AmxEmulator emulator;
  for (const Network& network : integer_networks) {
    SCOPED_TRACE(network.name);
    const build::LoweredProgram program = lowered(network, options);
    ASSERT_NE(schedules_of(program).find(" tiles\n"), std::string::npos) << schedules_of(program);
    codegen::AmxEmulator::state() = {};
    const Tensor x = values(network.input, 37), got = run(program, options.lower.target, x),
                 expected = evaluated(network, x);
    if (got.dtype() == DType::int32())
      EXPECT_TRUE(same_bits(got, expected));
    else
      EXPECT_LT(largest_difference(got, expected), 1e-6);
    if (emulator.emulates()) {
      EXPECT_GT(codegen::AmxEmulator::state().products, 0);
      EXPECT_FALSE(codegen::AmxEmulator::state().configured) << "tiles must not survive the kernel";
    }
  }
}

// Each thread configures its own tiles.
TEST(Tiles, OnTwoThreads) {
  const Options options = with_tiles();
  const codegen::AmxEmulator emulator;
  const Network& network = integer_networks[0];
  const build::LoweredProgram program = lowered(network, options);
  const Tensor x = values(network.input, 37);
  EXPECT_TRUE(same_bits(run(program, options.lower.target, x, 2), evaluated(network, x)));
}

// Products of bfloat16 are exact in float32, and sums are rounded to the nearest. The emulator adds in the order of the
// machine, the evaluator in the order of K: sums of 256 terms differ by a few roundings.
TEST(Tiles, Bfloat16IsInItsClass) {
  const Options options = with_tiles();
  const codegen::AmxEmulator emulator;
  for (const Network& network : float_networks) {
    SCOPED_TRACE(network.name);
    const build::LoweredProgram program = lowered(network, options);
    ASSERT_NE(schedules_of(program).find(" tiles\n"), std::string::npos) << schedules_of(program);
    const Tensor x = values(network.input, 37), got = run(program, options.lower.target, x);
    EXPECT_LT(largest_difference(got, evaluated(network, x)), 1e-6);
  }
}

// An image of three channels becomes rows of numbers (rows_of_pixels). Infinities stay in the windows that read them.
TEST(Tiles, ImagesOfThreeChannels) {
  Options options = with_tiles();
  options.passes.precision = Precision::BFloat16;
  const codegen::AmxEmulator emulator;
  const Network network{
      "first convolution", {1, 3, 19, 37}, {{16, 3, 7, 7}}, "nn.conv2d(%x, %w0, strides=[2, 2], padding=[3, 2, 1, 3])"};
  const build::LoweredProgram program = lowered(network, options);
  ASSERT_NE(schedules_of(program).find(" tiles\n"), std::string::npos) << schedules_of(program);
  Tensor x = values(network.input, 37);
  const Tensor got = run(program, options.lower.target, x);
  EXPECT_LT(largest_difference(got, evaluated(network, x)), 0.02);  // of bfloat16's 8 bits
  x.mutable_span<float>()[20] = std::numeric_limits<float>::infinity();
  const Tensor beyond = run(program, options.lower.target, x);
  ASSERT_EQ(beyond.shape(), (std::vector<int64_t>{1, 16, 9, 18}));
  for (int64_t i = 0; i < beyond.elements(); ++i) {
    const int64_t row = i / 18 % 9, column = i % 18;
    const bool reads = row * 2 <= 3 && column * 2 - 2 <= 20 && column * 2 + 4 >= 20;
    EXPECT_EQ(!std::isfinite(beyond.at(i)), reads) << i;
    if (!reads) EXPECT_EQ(beyond.at(i), got.at(i)) << i;
  }
}

// float32 products from three bfloat16 parts (split_contractions): as exact as sums of float32, and an infinity stays in
// its row.
TEST(Tiles, Float32FromParts) {
  Options options = with_tiles();
  options.passes.precision = Precision::ThreeParts;
  const codegen::AmxEmulator emulator;
  const std::vector<Network> networks = {
      {"dense", {32, 96}, {{48, 96}}, "nn.dense(%x, %w0)"},
      {"convolution", {1, 32, 5, 16}, {{32, 32, 3, 3}}, "nn.conv2d(%x, %w0, padding=[1, 1])"}};
  for (const Network& network : networks) {
    SCOPED_TRACE(network.name);
    const build::LoweredProgram program = lowered(network, options);
    ASSERT_NE(schedules_of(program).find(" tiles\n"), std::string::npos) << schedules_of(program);
    codegen::AmxEmulator::state() = {};
    const Tensor x = values(network.input, 37);
    EXPECT_LT(largest_difference(run(program, options.lower.target, x), evaluated(network, x)), 1e-6);
    if (emulator.emulates()) EXPECT_GT(codegen::AmxEmulator::state().products, 0);
  }
  Tensor x = values(networks[0].input, 37);
  x.mutable_span<float>()[5] = std::numeric_limits<float>::infinity();
  const Tensor got = run(lowered(networks[0], options), options.lower.target, x), expected = evaluated(networks[0], x);
  for (int64_t i = 0; i < got.elements(); ++i) {
    EXPECT_EQ(std::isfinite(got.at(i)), i >= 48) << i;
    if (i < 48) EXPECT_EQ(got.at(i), expected.at(i)) << i;
  }
}

// Sums of one row waste fifteen sixteenths of a tile: they stay on vectors. So does everything without the features.
TEST(Tiles, AreChosenWhereTheyAreFaster) {
  Options options = with_tiles();
  Network one_row = integer_networks[0];
  one_row.input[0] = 1;
  EXPECT_EQ(schedules_of(lowered(one_row, options)).find(" tiles\n"), std::string::npos);
  options.lower.target = *find_target("sapphirerapids");
  EXPECT_NE(schedules_of(lowered(integer_networks[0], options)).find(" tiles\n"), std::string::npos);
  options.lower.target = *find_target("neoverse-v1");
  EXPECT_NE(schedules_of(lowered(integer_networks[0], options)).find(" tiles\n"), std::string::npos);
  EXPECT_NE(schedules_of(lowered(float_networks[0], options)).find(" tiles\n"), std::string::npos);
  EXPECT_EQ(schedules_of(lowered(one_row, options)).find(" tiles\n"), std::string::npos);
  for (const char* target : {"zen4", "sapphirerapids,-amx", "icelake-server", "neoverse-n1"}) {
    options.lower.target = *find_target(target);
    EXPECT_EQ(schedules_of(lowered(integer_networks[0], options)).find(" tiles\n"), std::string::npos) << target;
  }
}

// Only those of small images: 14 rows of 16 are used without it.
TEST(Tiles, LinesAreJoined) {
  const Options options = with_tiles();
  for (const std::vector<Network>& networks : {integer_networks, float_networks})
    for (const Network& network : networks)
      EXPECT_EQ(schedules_of(lowered(network, options)).find(" yx/32 ") != std::string::npos,
                std::string_view(network.name).ends_with("joined lines"))
          << network.name;
  Network large = *std::ranges::find(integer_networks, std::string_view("joined lines"), &Network::name);
  large.input = {1, 64, 15, 15};
  EXPECT_EQ(schedules_of(lowered(large, options)).find(" yx/"), std::string::npos);
}

int count(const std::string& text, const std::string& word) {
  int found = 0;
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++found;
  return found;
}

// The code of a dense product for a processor with tiles.
Result<std::string> dense_code(int64_t rows, int64_t columns) {
  Options options = with_tiles();
  options.lower.target = *find_target("sapphirerapids");
  const Network dense{"", {rows, 512}, {{columns, 512}}, integer_networks[0].body};
  const build::LoweredProgram program = lowered(dense, options);
  std::vector<lower::LoweredFunction> functions;
  for (const exec::LoweredSegment& s : program.segments) functions.push_back(s.lowered);
  return stage_text(functions, options.lower.target, Stage::Assembly, "");
}

// Blocks of two tiles and of one, at the end of rows and of columns, use the tiles of the block of four.
TEST(Tiles, BlocksOfFewerTilesKeepTheConfiguration) {
  const Result<std::string> all = dense_code(80, 80);
  ASSERT_TRUE(all) << render(all.errors());
  EXPECT_EQ(count(*all, "\ttdpbssd"), 4 + 2 + 2 + 1) << *all;
  EXPECT_EQ(count(*all, "\tldtilecfg"), 1) << *all;
}

// The innermost loop loads each of four tiles once for four products, and keeps everything in registers.
TEST(Tiles, InnermostLoopOfADenseProduct) {
  const Result<std::string> all = dense_code(64, 64);
  ASSERT_TRUE(all) << render(all.errors());
  // From the label before the first product to the jump back to it.
  const size_t product = all->find("\ttdpbssd");
  ASSERT_NE(product, all->npos) << *all;
  const size_t begin = all->rfind("\n.L", product), end = all->find("\tj", product);
  const std::string loop = all->substr(begin, end - begin);
  EXPECT_EQ(count(loop, "\ttdpbssd"), 4) << loop;
  EXPECT_EQ(count(loop, "\ttileloadd"), 4) << loop;
  EXPECT_EQ(count(loop, "\ttilestored"), 0) << loop;
  EXPECT_EQ(count(loop, "(%rsp)"), 0) << loop;
  EXPECT_EQ(count(*all, "\ttilerelease"), 1) << *all;
  EXPECT_EQ(count(*all, "\tldtilecfg"), 1) << *all;
}

}  // namespace
}  // namespace relay::driver

#endif
