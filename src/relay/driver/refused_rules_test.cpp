// Makes each schedule rule refuse in turn: each program still compiles, computes the same, and reports the loss; in
// strict mode that is an error that names the rule.
#include <gtest/gtest.h>

#include <algorithm>

#include "relay/driver/compile.h"
#include "relay/driver/targets.h"
#include "relay/driver/test_networks.h"
#include "relay/machine/instruction.h"

namespace relay::driver {
namespace {

Options options_for(const char* target, const lower::RuleSet& refused) {
  Options options;
  options.lower.target = *find_target(target);
  options.lower.refused_rules = refused;
  return options;
}

struct Outcome {
  Tensor result;
  std::vector<std::string> refusals;
};

Outcome run(const Network& c, const Options& options) {
  Result<Compiled> compiled = compile(module_of(c), options);
  RELAY_CHECK(compiled, "{}", render(compiled.errors()));
  const Tensor x = values(c.input, 37);
  Result<std::vector<Tensor>> out = compiled->executable->run(std::vector<Tensor>{x});
  RELAY_CHECK(out, "{}", render(out.errors()));
  return {(*out)[0], compiled->report.refusals};
}

TEST(RefusedRules, EveryProgramCompilesIsRightAndSaysWhatItLost) {
  const std::vector<lower::Rule> rules = lower::all_rules();
  std::vector<lower::RuleSet> sets{{rules.begin(), rules.end()}};
  for (lower::Rule rule : rules) sets.push_back({rule});
  for (const Network& c : networks) {
    const Outcome expected = run(c, options_for("native", {}));
    EXPECT_TRUE(expected.refusals.empty()) << c.name << ": " << expected.refusals[0];
    for (const lower::RuleSet& refused : sets) {
      SCOPED_TRACE(format("{} without {}", c.name, refused.size() > 1 ? "any rule" : name(*refused.begin())));
      const Outcome got = run(c, options_for("native", refused));
      // Sums of up to 1024 terms in another order, and Winograd's and Strassen's forms: 1e-5 of the largest result.
      EXPECT_LT(largest_difference(got.result, expected.result), 1e-5);
      if (refused.size() > 1) EXPECT_FALSE(got.refusals.empty());
      for (const std::string& refusal : got.refusals)
        EXPECT_NE(refusal.find("is computed without the schedule rule"), std::string::npos) << refusal;
    }
  }
}

// A target whose schedules use the rule.
const char* target_of(lower::Rule rule) {
  if (name(rule) == "tiles") return "sapphirerapids";
  return name(rule) == "shared_tiles" || name(rule) == "warp_tiles" ? "cuda:sm_80" : "zen4";
}

// True unless the rule needs an instruction that the list lacks (dev/without).
bool can_be_used(lower::Rule rule) {
  const std::string_view needed = name(rule) == "dot_products" ? "vpdpbusd"
                                  : name(rule) == "block_dots" ? "vpdpbusd"
                                  : name(rule) == "tiles"      ? "tdpbssd"
                                  : name(rule) == "warp_tiles" ? "mma.m16n8k32.s8"
                                                               : "";
  return needed.empty() || std::ranges::count(machine::instructions(), needed, &machine::Instruction::name) > 0;
}

// On a named target, so that every rule is used on any machine.
TEST(RefusedRules, EveryRuleCanBeLostAndStrictSaysSo) {
  for (lower::Rule rule : lower::all_rules()) {
    SCOPED_TRACE(name(rule));
    bool lost = false;
    for (const Network& c : networks) {
      Options options = options_for(target_of(rule), {rule});
      Result<ir::Module> module = optimise(module_of(c), options);
      ASSERT_TRUE(module) << render(module.errors());
      Result<build::LoweredProgram> lowered = lower_program(*module, {}, options);
      ASSERT_TRUE(lowered) << render(lowered.errors());
      bool here = false;
      for (const exec::LoweredSegment& s : lowered->segments)
        for (const lower::Refusal& refusal : s.lowered.refusals) here |= refusal.without.count(rule) > 0;
      options.lower.strict = true;
      Result<build::LoweredProgram> strict = lower_program(*module, {}, options);
      EXPECT_EQ(static_cast<bool>(strict), !here) << c.name;
      if (!strict) EXPECT_NE(render(strict.errors()).find("a bug in Relay, not in your program"), std::string::npos);
      lost |= here;
    }
    EXPECT_TRUE(lost || !can_be_used(rule)) << "no program of this test uses the rule";
  }
}

// Code generation refuses register tiles that do not fit, after the nest has accepted them: with fewer registers than
// the rules assume, every tile is replaced by the next simpler schedule.
TEST(RefusedRules, WhatCodeGenerationRefusesGivesWayToo) {
  std::set<std::string> refused;
  for (const Network& c : networks) {
    const Outcome expected = run(c, options_for("native", {}));
    for (int registers : {2, 6}) {
      SCOPED_TRACE(format("{} with {} registers", c.name, registers));
      Options options = options_for("native", {});
      options.lower.codegen_registers = registers;
      const Outcome got = run(c, options);
      EXPECT_LT(largest_difference(got.result, expected.result), 1e-5);
      if (!got.refusals.empty()) refused.insert(c.name);
      for (const std::string& refusal : got.refusals) {
        EXPECT_NE(refusal.find("is computed without the schedule rule"), std::string::npos) << refusal;
        EXPECT_NE(refusal.find("vector registers for its register buffers"), std::string::npos) << refusal;
      }
      options.lower.strict = true;
      Result<Compiled> strict = compile(module_of(c), options);
      EXPECT_EQ(static_cast<bool>(strict), got.refusals.empty());
      if (!strict) EXPECT_NE(render(strict.errors()).find("a bug in Relay, not in your program"), std::string::npos);
    }
  }
  for (const char* name : {"winograd", "strassen", "attention", "silu", "sliding"})
    EXPECT_TRUE(refused.count(name)) << name;
}

}  // namespace
}  // namespace relay::driver
