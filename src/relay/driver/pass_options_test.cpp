#include "relay/driver/pass_options.h"

#include <gtest/gtest.h>

#include "relay/driver/targets.h"

namespace relay::driver {
namespace {

// Bytes have the type that the machine multiplies by int8, if it takes one only.
TEST(PassOptions, bytes_of_the_machine) {
  auto bytes_of = [](const char* target) {
    Options options;
    options.lower.target = *find_target(target);
    return std::get<std::string>(pass_options(options).at("fake_quantization_to_integer.bytes"));
  };
  EXPECT_EQ(bytes_of("zen4"), "uint8");
  EXPECT_EQ(bytes_of("sapphirerapids"), "uint8");  // outside of tiles
  EXPECT_EQ(bytes_of("zen3"), "either");
  EXPECT_EQ(bytes_of("neoverse-n1"), "int8");
  EXPECT_EQ(bytes_of("neoverse-v1"), "either");
}

}  // namespace
}  // namespace relay::driver
