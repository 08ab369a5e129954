#include "relay/driver/ready_model.h"

#include <gtest/gtest.h>

namespace relay::driver {
namespace {

// An option that changes an artifact changes the request.
TEST(CacheRequest, DiffersWhereTheArtifactDoes) {
  const std::string plain = cache_request({});
  EXPECT_EQ(cache_request({}), plain);
  using Change = std::function<void(Options&)>;
  const std::vector<std::pair<const char*, Change>> changes = {
      {"shapes", [](Options& o) { o.import.shapes["x"] = {1, 3}; }},
      {"layout", [](Options& o) { o.import.layout = "NCHW"; }},
      {"dtypes", [](Options& o) { o.import.dtypes["x"] = DType::int8(); }},
      {"opset", [](Options& o) { o.import.opset = 13; }},
      {"freeze_params", [](Options& o) { o.import.freeze_params = false; }},
      {"threads", [](Options& o) { o.run.threads = 3; }},
      {"numerics", [](Options& o) { o.lower.numerics = lower::Numerics::Fast; }},
      {"opt_level", [](Options& o) { o.passes.opt_level = 1; }},
      {"executor", [](Options& o) { o.run.executor = runtime::Executor::Aot; }},
      {"batch_calls", [](Options& o) { o.lower.batch_calls = build::BatchCalls::Never; }},
      {"refused_rules", [](Options& o) { o.lower.refused_rules = {lower::Rule{}}; }},
      {"is_optimised", [](Options& o) { o.passes.is_optimised = true; }},
      {"schedules", [](Options& o) { o.lower.schedules["fused_add"] = "x/4"; }},
      {"devices", [](Options& o) { o.passes.devices["nn.conv2d"] = {"cpu", 1}; }},
      {"donate", [](Options& o) { o.run.donate["x"] = 1; }},
      {"output_names", [](Options& o) { o.run.output_names = {"y"}; }},
      {"features", [](Options& o) { o.lower.target.features = {"+avx2"}; }},
      {"l2_bytes", [](Options& o) { o.lower.target.l2_bytes *= 2; }},
      {"dram_gbps", [](Options& o) { o.lower.target.dram_gbps *= 2; }},
  };
  for (const auto& [field, change] : changes) {
    Options options;
    change(options);
    EXPECT_NE(cache_request(options), plain) << field;
  }
}

// Every option is in the request, but for those whose declaration gives a reason.
TEST(CacheRequest, HasEveryOption) {
  const std::string request = cache_request({});
  const Options options;
  std::set<std::string> names;
  for_each_option(options, [&](const auto& one, const auto&) {
    EXPECT_TRUE(names.insert(one.name).second) << one.name << " is told twice";
    EXPECT_EQ(request.find(format("\"{}\":", one.name)) != request.npos, !one.use.not_in_key) << one.name;
  });
}

// Options that affect only the place of a compilation, not its result.
TEST(CacheRequest, IsTheSameWhereTheArtifactIs) {
  Options options;
  options.run.make_executable = false, options.passes.verify = true, options.run.memory_limit = 1 << 20;
  EXPECT_EQ(cache_request(options), cache_request({}));
}

}  // namespace
}  // namespace relay::driver
