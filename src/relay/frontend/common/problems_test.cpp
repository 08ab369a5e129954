#include "relay/frontend/common/problems.h"

#include <gtest/gtest.h>

namespace relay::frontend {
namespace {

TEST(Problems, AHundredAreShownAndTheOthersCounted) {
  Problems problems;
  EXPECT_TRUE(problems.empty());
  for (int i = 0; i < 103; ++i) problems.add({DiagnosticKind::bad_model, format("problem {}", i)});
  EXPECT_EQ(problems.count(), 103u);
  ASSERT_EQ(problems.all().size(), 100u);
  EXPECT_EQ(problems.all().back().notes, std::vector<std::string>{"3 problems more are not shown"});
}

TEST(OperatorUses, CountsWithTheFirstPlace) {
  OperatorUses uses;
  int node = 0;
  auto place = [&] {
    Span span;
    span.node = std::make_shared<const std::string>(format("node {}", node));
    return span;
  };
  for (const char* op : {"Add", "Spin", "Add", "Spin", "Spin", "Turn"})
    ++node, uses.add("", op, 13, std::string_view(op) == "Add", place);
  uses.add("my.domain", "Add", 1, false, place);
  std::vector<std::string> said;
  for (const OperatorUse& use : uses.sorted()) said.push_back(format("{} {} {}", use.op, use.count, *use.first.node));
  EXPECT_EQ(said,
            (std::vector<std::string>{"Spin 3 node 2", "Turn 1 node 6", "my.domain.Add 1 node 6", "Add 2 node 1"}));
  Problems problems;
  uses.report_missing(problems, "opset", [](std::string_view domain, std::string_view name, Diagnostic& d) {
    d.help = format("add {}:{}", domain, name);
  });
  ASSERT_EQ(problems.count(), 3u);
  const Diagnostic first = problems.all()[0];
  EXPECT_EQ(first.kind, DiagnosticKind::unsupported_operator);
  EXPECT_EQ(first.message, "operator Spin (opset 13) cannot be imported; the model uses it 3 times");
  EXPECT_EQ(*first.span.node, "node 2");
  EXPECT_EQ(first.help, "add :Spin");
}

}  // namespace
}  // namespace relay::frontend
