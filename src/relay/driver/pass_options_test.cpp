#include "relay/driver/pass_options.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "relay/driver/targets.h"
#include "relay/machine/instruction.h"

namespace relay::driver {
namespace {

// Says which of these instructions the list lacks, as in a tree that dev/without makes; empty if it has all.
std::string missing_of(std::initializer_list<std::string_view> names) {
  for (std::string_view name : names)
    if (std::ranges::none_of(machine::instructions(), [&](const auto& i) { return name == i.name; }))
      return format("the list of instructions lacks {}", name);
  return "";
}

// Bytes have the type that the machine multiplies by int8, if it takes one only.
TEST(PassOptions, bytes_of_the_machine) {
  const std::string missing =
      missing_of({"vpdpbusd", "vpmaddubsw", "tdpbusd", "tdpbssd", "sdot", "usdot", "smmla", "usmmla"});
  if (!missing.empty()) GTEST_SKIP() << missing;
  auto bytes_of = [](const char* target) {
    Options options;
    options.lower.target = *find_target(target);
    return std::get<std::string>(pass_options(options).at("fake_quantization_to_integer.bytes"));
  };
  EXPECT_EQ(bytes_of("zen4"), "uint8");
  EXPECT_EQ(bytes_of("sapphirerapids"), "uint8");  // outside of tiles
  EXPECT_EQ(bytes_of("zen3"), "uint8");            // vpmaddubsw
  EXPECT_EQ(bytes_of("neoverse-n1"), "int8");
  EXPECT_EQ(bytes_of("neoverse-v1"), "either");
}

// Data of 8 bits are converted in the kernels of products if the machine adds products of bytes; else a note says so.
TEST(PassOptions, blocks_of_integers) {
  if (const std::string missing = missing_of({"vpdpbusd", "vpmaddubsw", "sdot"}); !missing.empty())
    GTEST_SKIP() << missing;
  for (const char* target : {"zen4", "zen3", "haswell", "neoverse-n1", "rv64gcv", "cortex-m4", "cuda:sm_80"}) {
    Options options;
    options.lower.target = *find_target(target), options.passes.precision = Precision::ShortInputs;
    const bool adds = std::get<int64_t>(pass_options(options).at("fuse_ops.integer_blocks")) != 0;
    EXPECT_EQ(adds, std::string_view("zen4 zen3 haswell neoverse-n1").find(target) != std::string_view::npos) << target;
    EXPECT_EQ(precision_note(options).empty(), adds) << target;
  }
}

// bfloat16 that is slower than float32 is announced.
TEST(PassOptions, slow_precision) {
  if (const std::string missing = missing_of({"vdpbf16ps", "tdpbf16ps", "bfmmla"}); !missing.empty())
    GTEST_SKIP() << missing;
  auto is_slow = [](const char* target, Precision precision) {
    Options options;
    options.lower.target = *find_target(target), options.passes.precision = precision;
    return !precision_note(options).empty();
  };
  for (const char* target : {"haswell", "zen3", "icelake-server", "cortex-a72"}) {
    EXPECT_TRUE(is_slow(target, Precision::BFloat16)) << target;
    EXPECT_FALSE(is_slow(target, Precision::Auto)) << target;
    EXPECT_FALSE(is_slow(target, Precision::AsWritten)) << target;
  }
  for (const char* target : {"zen4", "sapphirerapids", "neoverse-v1"})
    EXPECT_FALSE(is_slow(target, Precision::BFloat16)) << target;
}

}  // namespace
}  // namespace relay::driver
