#include "relay/driver/ready_model.h"

#include <gtest/gtest.h>

namespace relay::driver {
namespace {

// Every field that changes an artifact changes the request. The compiler checks completeness: the lists in ready_model.cpp
// name each field.
TEST(CacheRequest, DiffersWhereTheArtifactDoes) {
  const std::string plain = cache_request({}, {});
  EXPECT_EQ(cache_request({}, {}), plain);
  using Change = std::function<void(LoadOptions&, CompileOptions&)>;
  const std::vector<std::pair<const char*, Change>> changes = {
      {"shapes", [](LoadOptions& l, CompileOptions&) { l.shapes["x"] = {1, 3}; }},
      {"dtypes", [](LoadOptions& l, CompileOptions&) { l.dtypes["x"] = DType::int8(); }},
      {"opset", [](LoadOptions& l, CompileOptions&) { l.opset = 13; }},
      {"freeze_params", [](LoadOptions& l, CompileOptions&) { l.freeze_params = false; }},
      {"threads", [](LoadOptions&, CompileOptions& c) { c.threads = 3; }},
      {"numerics", [](LoadOptions&, CompileOptions& c) { c.numerics = lower::Numerics::Fast; }},
      {"opt_level", [](LoadOptions&, CompileOptions& c) { c.opt_level = 1; }},
      {"executor", [](LoadOptions&, CompileOptions& c) { c.executor = runtime::Executor::Aot; }},
      {"batch_calls", [](LoadOptions&, CompileOptions& c) { c.batch_calls = build::BatchCalls::Never; }},
      {"refused_rules", [](LoadOptions&, CompileOptions& c) { c.refused_rules = {lower::Rule{}}; }},
      {"is_optimised", [](LoadOptions&, CompileOptions& c) { c.is_optimised = true; }},
      {"schedules", [](LoadOptions&, CompileOptions& c) { c.schedules["fused_add"] = "x/4"; }},
      {"donate", [](LoadOptions&, CompileOptions& c) { c.donate["x"] = 1; }},
      {"output_names", [](LoadOptions&, CompileOptions& c) { c.output_names = {"y"}; }},
      {"features", [](LoadOptions&, CompileOptions& c) { c.target.features = {"+avx2"}; }},
      {"l2_bytes", [](LoadOptions&, CompileOptions& c) { c.target.l2_bytes *= 2; }},
      {"dram_gbps", [](LoadOptions&, CompileOptions& c) { c.target.dram_gbps *= 2; }},
  };
  for (const auto& [field, change] : changes) {
    LoadOptions load;
    CompileOptions options;
    change(load, options);
    EXPECT_NE(cache_request(load, options), plain) << field;
  }
}

// Options that affect only the place of a compilation, not its result.
TEST(CacheRequest, IsTheSameWhereTheArtifactIs) {
  CompileOptions options;
  options.make_executable = false, options.verify = true, options.memory_limit = 1 << 20;
  LoadOptions load;
  load.run.threads = 2;
  EXPECT_EQ(cache_request(load, options), cache_request({}, {}));
}

}  // namespace
}  // namespace relay::driver
