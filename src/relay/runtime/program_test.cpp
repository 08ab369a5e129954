#include "relay/runtime/program/program.h"

#include <gtest/gtest.h>

#include "relay/runtime/test_programs.h"

namespace relay::runtime {
namespace {

SizeExpr c(int64_t v) { return SizeExpr::constant(v); }

TEST(SizeExpr, EvaluatesAsWritten) {
  SizeExpr m = SizeExpr::variable(0), n = SizeExpr::variable(1);
  SizeExpr e =
      apply(SizeOp::Add, apply(SizeOp::Mul, m, c(224)), apply(SizeOp::FloorDiv, apply(SizeOp::Add, n, c(1)), c(2)));
  ASSERT_TRUE(is_well_formed(e, 2));
  EXPECT_FALSE(is_well_formed(e, 1));
  std::vector<int64_t> values = {3, 4};
  EXPECT_EQ(evaluate(e, values), 674);
  std::vector<std::string> names = {"m", "n"};
  EXPECT_EQ(str(e, names), "m * 224 + (n + 1) / 2");
  EXPECT_EQ(evaluate(apply(SizeOp::FloorDiv, c(-7), c(2)), {}), -4);
  EXPECT_EQ(evaluate(apply(SizeOp::FloorMod, c(-7), c(2)), {}), 1);
  EXPECT_EQ(evaluate({{{SizeOp::Const, 1}, {SizeOp::Const, 5}, {SizeOp::Const, 6}, {SizeOp::Select, 0}}}, {}), 5);
}

TEST(SizeExpr, RefusesWhatHasNoValue) {
  std::vector<int64_t> zero = {0}, most = {INT64_MAX}, least = {INT64_MIN};
  SizeExpr m = SizeExpr::variable(0);
  EXPECT_FALSE(evaluate(apply(SizeOp::FloorDiv, c(1), m), zero));
  EXPECT_FALSE(evaluate(apply(SizeOp::Add, m, c(1)), most));
  EXPECT_FALSE(evaluate(apply(SizeOp::FloorDiv, m, c(-1)), least));
  EXPECT_FALSE(is_well_formed({{{SizeOp::Add, 0}}}, 0));
  EXPECT_FALSE(is_well_formed({{{SizeOp::Const, 0}, {SizeOp::Const, 0}}}, 0));
  SizeExpr deep;
  for (int i = 0; i < 1000; ++i) deep.words.push_back({SizeOp::Const, 1});
  for (int i = 0; i < 999; ++i) deep.words.push_back({SizeOp::Add, 0});
  EXPECT_FALSE(is_well_formed(deep, 0));
}

TEST(Program, BindsVariablesAndChecksTheRest) {
  std::shared_ptr<Program> p = chain_program(1);
  std::vector<Shape> good = {{3, 4}, {3, 4}}, bad = {{3, 4}, {3, 5}}, rank = {{3}, {3, 4}};
  Result<std::vector<int64_t>> bound = bind_variables(p->graph(), good);
  ASSERT_TRUE(bound);
  EXPECT_EQ(*bound, (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(
      render(bind_variables(p->graph(), bad).errors()),
      "error[R0601]: input `y`: dimension 1 is 5, but it must be 4 (n)\n  note: the array has the shape (3, 5), and "
      "the input (m, n)\n  note: `n` is 4, from dimension 1 of input `x`\n"
      "  help: give `y` the shape (m, n), or compile the model for other shapes\n");
  EXPECT_EQ(bind_variables(p->graph(), rank).errors()[0].message, "input `x` has 1 dimension, but it must have 2");
}

TEST(Program, DerivedDimensionsMustDivide) {
  SegmentBuilder b("main");
  SizeExpr m = b.variable("m");
  b.input("x", DType::float32(), {apply(SizeOp::Mul, m, c(224)), c(3)});
  b.bind(0, 0, 0, 224);
  b.check(apply(SizeOp::Le, m, c(4)), "the batch needs `m <= 4`");
  Program p;
  p.segments.push_back(b.finish());
  ASSERT_TRUE(validate(p));
  std::vector<Shape> good = {{448, 3}}, bad = {{450, 3}}, fixed = {{448, 1}}, many = {{2240, 3}};
  EXPECT_EQ(*bind_variables(p.graph(), good), std::vector<int64_t>{2});
  EXPECT_EQ(bind_variables(p.graph(), bad).errors()[0].message,
            "input `x`: dimension 0 is 450, which is not of the form `m * 224`");
  EXPECT_EQ(bind_variables(p.graph(), fixed).errors()[0].message, "input `x`: dimension 1 is 1, but it must be 3");
  EXPECT_EQ(bind_variables(p.graph(), many).errors()[0].message,
            "input `x`: dimension 0 is 2240, but the batch needs `m <= 4`: 4 is less than 10");
}

TEST(Program, ValidateFindsWhatIsWrong) {
  struct Case {
    const char* what;
    void (*spoil)(Program&);
  };
  const Case cases[] = {
      {"no segment", [](Program& p) { p.segments.clear(); }},
      {"kernel", [](Program& p) { p.segments[0].steps[0].kernel = 99; }},
      {"operand range", [](Program& p) { p.segments[0].steps[0].args.begin = 0xffffffff; }},
      {"operand count", [](Program& p) { p.segments[0].steps[0].args.count = 0xffffffff; }},
      {"operand", [](Program& p) { p.segments[0].operands[0] = 99; }},
      {"tasks", [](Program& p) { p.segments[0].steps[0].tasks = 99; }},
      {"size", [](Program& p) { p.segments[0].sizes[0].words.clear(); }},
      {"variable", [](Program& p) { p.segments[0].arrays[0].bytes = SizeExpr::variable(7); }},
      {"unbound variable", [](Program& p) { p.segments[0].bindings.clear(); }},
      {"binding's dimension", [](Program& p) { p.segments[0].bindings[0].dim = 9; }},
      {"binding's factor", [](Program& p) { p.segments[0].bindings[0].factor = 0; }},
      {"input", [](Program& p) { p.segments[0].inputs[0] = 2; }},
      {"output", [](Program& p) { p.segments[0].outputs[0] = 3; }},
      {"rank", [](Program& p) { p.segments[0].arrays[3].shape.resize(100, SizeExpr::constant(1)); }},
      {"scratch", [](Program& p) { p.kernels[0].scratch_bytes = -1; }},
  };
  EXPECT_TRUE(validate(*chain_program(3)));
  EXPECT_TRUE(validate(*loop_program()));
  const Case of_parts[] = {
      {"view of an input", [](Program& p) { p.segments[0].arrays[3].index = 0; }},
      {"part of a part", [](Program& p) { p.segments[0].arrays[4].index = 3; }},
      {"part of nothing", [](Program& p) { p.segments[0].arrays[4].index = 99; }},
      {"place of a part", [](Program& p) { p.segments[0].arrays[4].offset.words.clear(); }},
      {"part as a result", [](Program& p) { p.segments[0].outputs.push_back(4); }},
      {"copy of a part", [](Program& p) { p.segments[0].steps[0].kind = Step::Kind::Copy; }},
  };
  EXPECT_TRUE(validate(*parts_program()));
  const Case of_checks[] = {
      {"check of nothing", [](Program& p) { p.segments[0].index_checks.clear(); }},
      {"check without extents", [](Program& p) { p.segments[0].steps[0].sizes.count = 0; }},
      {"check of a float", [](Program& p) { p.segments[0].arrays[0].dtype = DType::float32(); }},
      {"check of two arrays", [](Program& p) { p.segments[0].steps[0].args.count = 2; }},
      {"axes of a check", [](Program& p) { p.segments[0].index_checks[0].axes = {0}; }},
      {"rows of a check", [](Program& p) { p.segments[0].index_checks[0].rows = static_cast<Rows>(9); }},
      {"rows without a dimension",
       [](Program& p) { p.segments[0].index_checks[0].rows = Rows::Added, p.segments[0].arrays[0].shape.clear(); }},
      {"operator of a check", [](Program& p) { p.segments[0].index_checks[0].op.clear(); }},
  };
  EXPECT_TRUE(validate(*check_program()));
  for (const Case& c : of_checks) {
    std::shared_ptr<Program> p = check_program();
    c.spoil(*p);
    EXPECT_FALSE(validate(*p)) << c.what;
  }
  for (const Case& c : of_parts) {
    std::shared_ptr<Program> p = parts_program();
    c.spoil(*p);
    EXPECT_FALSE(validate(*p)) << c.what;
  }
  for (const Case& c : cases) {
    std::shared_ptr<Program> p = chain_program(3);
    c.spoil(*p);
    EXPECT_FALSE(validate(*p)) << c.what;
  }
}

TEST(Program, ValidateFindsWhatCannotWait) {
  struct Case {
    const char* what;
    void (*spoil)(Segment&);
  };
  const Case cases[] = {
      {"an input without rows", [](Segment& s) { s.arrays[s.inputs[0]].rows = Rows::None; }},
      {"rows of a segment that does not wait", [](Segment& s) { s.batching = Batching::None; }},
      {"rows that are not a dimension", [](Segment& s) { s.arrays[s.inputs[1]].shape.clear(); }},
      {"another size", [](Segment& s) { s.arrays[s.outputs[0]].shape.push_back(SizeExpr::variable(0)); }},
      {"a constant number of rows", [](Segment& s) { s.arrays[s.inputs[1]].shape = {SizeExpr::constant(1)}; }},
      {"a factor", [](Segment& s) { s.bindings[0].factor = 2; }},
      {"a check", [](Segment& s) { s.checks.push_back({SizeExpr::constant(1), "always"}); }},
      {"a condition", [](Segment& s) { s.arrays[s.outputs[0]].dtype = DType::boolean(); }},
      {"a second variable", [](Segment& s) { s.variables.push_back("n"), s.bindings.push_back({1, 1, 0}); }},
  };
  EXPECT_TRUE(validate(*tree_program()));
  for (const Case& c : cases) {
    std::shared_ptr<Program> p = tree_program();
    c.spoil(p->segments[4]);
    EXPECT_FALSE(validate(*p)) << c.what;
  }
  std::shared_ptr<Program> graph = tree_program();
  graph->functions.clear();
  graph->segments = {graph->segments[4]};
  EXPECT_FALSE(validate(*graph));
}

TEST(Program, Text) {
  EXPECT_EQ(str(*chain_program(1)), R"(segment main(x: float32[m, n], y: float32[m, n]) {
  output out: float32[m, n], m * n * 4 bytes
  temporary %3: float32[m, n], m * n * 4 bytes
  temporary %4: float32[m, n], m * n * 4 bytes
  kernel add_one(x, %3) tasks m * n
  kernel reverse_rows(%3, %4) shape (n) tasks m
  kernel add(%4, y, out) tasks m * n
  return (out)
}
)");
}

}  // namespace
}  // namespace relay::runtime
