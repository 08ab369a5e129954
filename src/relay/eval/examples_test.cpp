// Tests of the messages about invalid examples. test/ops tests the operators with their own examples.
#include "relay/eval/examples.h"

#include <gtest/gtest.h>

namespace relay::eval {
namespace {

// The message to the author of an operator: nn.relu with this example.
std::string told(op::Example example, bool symbolic) {
  op::OpDef def = *op::find("nn.relu");
  def.examples = {std::move(example)};
  Result<ExampleCase> c = symbolic ? symbolic_case(def, 0) : example_case(def, 0);
  if (c) return "nothing";
  for (const Diagnostic& d : c.errors()) EXPECT_FALSE(d.help.empty()) << d.message;
  return render(c.errors());
}

TEST(Examples, WhatIsWrongWithThemIsTold) {
  EXPECT_EQ(told({.inputs = {"(3, 10)"}, .symbolic = {"(n, 10)"}}, true), "nothing");
  EXPECT_EQ(told({.inputs = {"(6, 10)"}, .symbolic = {"(2 * n, m + 3)"}}, true), "nothing");
  const std::tuple<op::Example, bool, const char*> wrong[] = {
      {{.inputs = {"(3, 10) floaat32"}}, false, "nn.relu/0: "},
      {{.inputs = {"(3, 10"}}, false, "nn.relu/0: "},
      {{.inputs = {"(n, 10)"}}, false, "nn.relu/0: the size n of an input is not a number"},
      {{.inputs = {"(3, 10)", "(3, 10)"}}, false, "nn.relu/0: the operator has 1 input, and the example gives 2"},
      {{.inputs = {"[(1, 2), (3, 4)]"}}, false, "must be a tensor"},
      {{.inputs = {"(3, 10)"}, .ranges = {{0, 1}, {0, 1}}}, false, "nn.relu/0: there are 1 tensors, but 2 ranges"},
      {{.inputs = {"(3, 10)"}}, true, "nn.relu/0: the example has no symbolic form"},
      {{.inputs = {"(3, 10)"}, .symbolic = {"(2 * n, 10)"}}, true, "the size 2 * n cannot be 3"},
      {{.inputs = {"(3, 10)"}, .symbolic = {"(n)"}}, true, "input 0 has another rank than in the static form"},
  };
  for (const auto& [example, symbolic, message] : wrong) {
    std::string text = told(example, symbolic);
    EXPECT_NE(text.find(message), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace relay::eval
