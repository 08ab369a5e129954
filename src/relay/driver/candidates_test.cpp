// Candidates of the rules, for every small network: the default is the cheapest, every candidate that is built computes
// the same, and a record that does not fit changes nothing.
#include <gtest/gtest.h>

#include "relay/driver/compile.h"
#include "relay/driver/targets.h"
#include "relay/driver/test_networks.h"

namespace relay::driver {
namespace {

// Decisions by group.
using Records = std::map<std::string, std::string>;

Compiled compiled_with(const Network& network, const Records& records) {
  Options options;
  options.lower.target = *find_target("native");
  options.lower.tuned.decisions = records;
  Result<Compiled> compiled = compile(module_of(network), options);
  RELAY_CHECK(compiled, "{}", render(compiled.errors()));
  return *std::move(compiled);
}

Tensor result_of(const Network& network, const Compiled& compiled) {
  Result<std::vector<Tensor>> out = compiled.executable->run(std::vector<Tensor>{values(network.input, 37)});
  RELAY_CHECK(out, "{}", render(out.errors()));
  return (*out)[0];
}

std::map<std::string, std::vector<lower::Candidate>> candidates_of(const Compiled& compiled) {
  std::map<std::string, std::vector<lower::Candidate>> out;
  for (const lower::LoweredFunction& f : compiled.lowered)
    for (const lower::LoweredGroup& group : f.groups) out[group.key] = lower::candidates(group.choices);
  return out;
}

TEST(Candidates, TheDefaultIsTheCheapest) {
  for (const Network& network : networks)
    for (const auto& [key, all] : candidates_of(compiled_with(network, {})))
      for (const lower::Candidate& c : all)
        EXPECT_GE(c.ns, all[0].ns) << network.name << ": " << lower::str(c.decisions);
}

// Every candidate once: in round i, each group has its candidate number i.
TEST(Candidates, EachComputesTheSame) {
  std::set<std::string> families;
  for (const Network& network : networks) {
    const Compiled usual = compiled_with(network, {});
    const Tensor expected = result_of(network, usual);
    const auto all = candidates_of(usual);
    size_t most = 0;
    for (const auto& [key, of_group] : all) most = std::max(most, of_group.size());
    for (size_t i = 1; i < most; ++i) {
      Records records;
      for (const auto& [key, of_group] : all)
        if (i < of_group.size()) records[key] = lower::str(of_group[i].decisions);
      SCOPED_TRACE(format("{}, candidate {}: {}", network.name, i, records.begin()->second));
      const Compiled tuned = compiled_with(network, records);
      // Sums of up to 1024 terms in another order: 1e-5 of the largest result.
      EXPECT_LT(largest_difference(result_of(network, tuned), expected), 1e-5);
      for (const GroupReport& group : tuned.report.groups)
        if (group.tuned) families.insert(all.at(group.key)[i].what);
    }
  }
  for (const char* family : {"tile", "window", "chains", "vectors", "outermost", "panel", "prefetch", "products"})
    EXPECT_TRUE(families.count(family)) << "no network has a candidate of the family " << family;
}

TEST(Candidates, ARecordThatDoesNotFitIsLeftOut) {
  const Network& network = networks[0];
  const Compiled usual = compiled_with(network, {});
  for (const char* text : {"no_stage.tile=12x2", "tile", "prefetch=sometimes"}) {
    Records records;
    for (const auto& [key, all] : candidates_of(usual)) records[key] = text;
    const Compiled tuned = compiled_with(network, records);
    for (size_t i = 0; i < usual.lowered[0].groups.size(); ++i) {
      EXPECT_EQ(tuned.lowered[0].groups[i].schedule, usual.lowered[0].groups[i].schedule) << text;
      EXPECT_FALSE(tuned.lowered[0].groups[i].tuned) << text;
    }
    EXPECT_EQ(largest_difference(result_of(network, tuned), result_of(network, usual)), 0);
  }
}

TEST(Candidates, DecisionsAreText) {
  const lower::Decisions decisions{{"conv2d.tile", "12x2"}, {"prefetch", "off"}};
  EXPECT_EQ(lower::str(decisions), "conv2d.tile=12x2 prefetch=off");
  EXPECT_EQ(*lower::parse_decisions("conv2d.tile=12x2  prefetch=off"), decisions);
  EXPECT_TRUE(lower::parse_decisions("")->empty());
  for (const char* wrong : {"tile", "=12x2", "tile=", "tile=1 tile=2"})
    EXPECT_FALSE(lower::parse_decisions(wrong)) << wrong;
}

}  // namespace
}  // namespace relay::driver
