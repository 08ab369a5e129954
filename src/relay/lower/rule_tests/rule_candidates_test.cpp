// The choice between the candidates of a rule, and the schedules that equal groups share.
#include <gtest/gtest.h>

#include <ctime>
#include <limits>

#include "relay/lower/schedule_group.h"

namespace relay::lower {
namespace {

// Family by family: each option counts as its best candidate, and the first of equal ones is chosen.
TEST(RuleCandidates, TheCheapestIsChosenUnlessAnotherIsDecided) {
  const RuleCandidates all{{{{"tile", "8x2"}, {"panel", "packed"}}, 30},
                           {{{"tile", "14x2"}, {"panel", "packed"}}, 22},
                           {{{"tile", "14x2"}, {"panel", "in_place"}}, 20},
                           {{{"tile", "12x2"}, {"panel", "in_place"}}, 20}};
  Choices usual;
  EXPECT_EQ(&usual.choose("dense", all), &all[2]);
  ASSERT_EQ(usual.all.size(), 2u);
  std::vector<std::string> listed;
  for (const Candidate& c : candidates(usual.all)) listed.push_back(format("{} {}", str(c.decisions), c.ns));
  EXPECT_EQ(listed,
            (std::vector<std::string>{" 20", "dense.tile=12x2 20", "dense.panel=packed 22", "dense.tile=8x2 30"}));
  Choices decided{{{"dense.tile", "8x2"}, {"dense.panel", "in_place"}}};
  EXPECT_EQ(&decided.choose("dense", all), &all[0]);  // that tile is never in place
  EXPECT_EQ(decided.obeyed, std::set<std::string>{"dense.tile"});
}

TEST(RuleCandidates, OnlyThePatchOfTheChosenOneIsRun) {
  ScheduleDraft draft;
  auto note = [](const char* text) { return [text](ScheduleDraft& of) { of.note(text); }; };
  EXPECT_TRUE(apply(draft, "s", {{{{"tile", "1"}}, 2, note("slow")}, {{{"tile", "2"}}, 1, note("fast")}}));
  EXPECT_EQ(draft.schedule.rule, "fast");
  EXPECT_FALSE(apply(draft, "s", {{{{"lanes", "1"}}, 2, note("slow")}, {{{"lanes", "2"}}, 1}}));  // the next rule's
  EXPECT_FALSE(apply(draft, "s", {}));
  EXPECT_EQ(draft.schedule.rule, "fast");
}

// Squares of squares: each tenth stage or so is stored, since written out they would be too long. The time to schedule
// them grows with their number: by 8 here, where a walk over the group for each would take 64 times as long.
TEST(Rules, TakeTimeInProportionToTheLengthOfAChain) {
  TargetDesc target;
  target.vector_bytes = 64, target.vector_registers = 32;
  auto seconds = [&](int64_t length) {
    te::Tensor t = te::placeholder("x", {scalar::imm(1000)}, DType::float32());
    for (int64_t i = 0; i < length; ++i)
      t = te::compute(format("s{}", i), t->shape, [&](const Exprs& at) { return (*t)(at) * (*t)(at); });
    ScheduleDraft draft;
    draft.target = &target, draft.set_outputs({t});
    const std::clock_t begin = std::clock();
    apply_rules(draft);
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  const double some = std::min(seconds(1000), seconds(1000));
  EXPECT_LT(seconds(8000), 24 * some);
}

// Equal groups share a schedule, whatever their weights are.
TEST(KnownSchedules, AreFoundForEqualGroups) {
  auto draft = [](float weight) {
    const te::Tensor x = te::placeholder("x", {scalar::imm(16)}, DType::float32()),
                     w = te::placeholder("w", {scalar::imm(16)}, DType::float32());
    ScheduleDraft d;
    d.set_outputs({te::compute("y", {scalar::imm(16)}, [&](const scalar::Exprs& i) { return (*x)(i) * (*w)(i); })});
    d.constants = {"w"}, d.values["w"] = relay::Tensor::full({16}, DType::float32(), weight);
    d.layouts["x"] = d.layouts["y"] = Layout::row_major(1);
    return d;
  };
  const std::vector<OutputLayout> outputs = {{1, Layout::row_major(1)}};
  KnownSchedules known;
  EXPECT_EQ(known.find("key", draft(1), outputs), nullptr);
  ScheduledGroup made;
  made.key = "key";
  known.add("key", draft(1), outputs, made);
  ASSERT_NE(known.find("key", draft(2), outputs), nullptr) << "other weights";
  EXPECT_EQ(known.find("key", draft(2), outputs)->key, "key");
  EXPECT_EQ(known.find("other", draft(2), outputs), nullptr);
  EXPECT_EQ(known.find("key", draft(std::numeric_limits<float>::infinity()), outputs), nullptr)
      << "zero times an infinite weight is not zero";
  EXPECT_EQ(known.find("key", draft(2), {{1, Layout{{{0, 8}, {0, 8, true}}}}}), nullptr) << "another layout";
  ScheduleDraft other = draft(2);
  other.constants.clear();
  EXPECT_EQ(known.find("key", other, outputs), nullptr);
  other = draft(2), other.form.reads_halo.insert("y");
  EXPECT_EQ(known.find("key", other, outputs), nullptr);
}

}  // namespace
}  // namespace relay::lower
