#include "relay/eval/eval.h"

#include <gtest/gtest.h>

#include <cmath>

#include "relay/op/registry.h"

namespace relay::eval {
namespace {

using ir::Expr;
using ir::VarRef;
using op::make;

Tensor vector(std::initializer_list<double> values) {
  return Tensor::from_doubles({static_cast<int64_t>(values.size())}, DType::float32(), std::vector<double>(values));
}
Expr number(double v) { return ir::constant(v); }
ir::Type scalar_type() { return ir::scalar_type(DType::float32()); }
double as_double(const Value& v) { return v.tensor.at(0); }

TEST(Eval, OperatorsAndSharing) {
  VarRef x = ir::var("x", ir::tensor_type({3}, DType::float32()));
  Expr twice = make("add", {x, x});
  Result<Value> r =
      run(ir::function({x}, ir::tuple({make("multiply", {twice, twice}), ir::get(ir::tuple({x, twice}), 1)})),
          {vector({1, 2, 3})});
  ASSERT_TRUE(r);
  EXPECT_EQ(str(*r), "(Tensor[(3), float32] [4, 16, 36], Tensor[(3), float32] [2, 4, 6])");
}

TEST(Eval, BothPrecisions) {
  VarRef x = ir::var("x", ir::tensor_type({1}, DType::float32()));
  ir::FunctionRef f = ir::function({x}, make("add", {x, ir::constant(Tensor::full({1}, DType::float32(), 1e-9))}));
  Result<Value> single = run(f, {vector({1})}), wide = run(f, {vector({1})}, {.float64 = true});
  ASSERT_TRUE(single && wide);
  EXPECT_EQ(as_double(*single), 1);
  EXPECT_EQ(wide->tensor.dtype(), DType::float64());
  EXPECT_EQ(wide->dtype, DType::float32());
  EXPECT_NEAR(as_double(*wide), 1 + 1e-9, 1e-15);
}

TEST(Eval, ShapeVariables) {
  scalar::Expr n = scalar::var("n");
  VarRef x = ir::var("x", ir::tensor_type(ir::Dims{n, scalar::imm(2)}, DType::float32()));
  VarRef y = ir::var("y", ir::tensor_type(ir::Dims{n * 2}, DType::float32()));
  ir::FunctionRef f = ir::function({x, y}, make("add", {x, x}));
  Value four(Tensor::full({2, 2}, DType::float32(), 2));
  EXPECT_TRUE(run(f, {four, Value(Tensor::full({4}, DType::float32(), 0))}));
  Result<Value> wrong = run(f, {four, Value(Tensor::full({5}, DType::float32(), 0))});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.errors()[0].kind, DiagnosticKind::wrong_input);
}

// let %f = fn (%i, %sum) { if (%i < 1) { %sum } else { %f(%i - 1, %sum + %i) } }; %f(n, 0), as a local and a global
// function.
// Attributes over shape variables have the sizes of the call, in functions inside too.
TEST(Eval, AttributesOverShapeVariables) {
  scalar::Expr n = scalar::var("n");
  VarRef x = ir::var("x", ir::tensor_type(ir::Dims{n, scalar::imm(2)}, DType::float32()));
  Expr flat = make("reshape", {x}, {{"newshape", ir::Dims{n * 2}}});
  Value value(Tensor::full({3, 2}, DType::float32(), 2));
  for (const Expr& body : {flat, ir::call(ir::function({}, flat), {})}) {
    Result<Value> r = run(ir::function({x}, body), {value});
    ASSERT_TRUE(r) << render(r.errors());
    EXPECT_EQ(r->tensor.shape(), Shape{6});
  }
}

TEST(Eval, LoopsByTailCallsRunInOneFrame) {
  VarRef f = ir::var("f"), i = ir::var("i", scalar_type()), sum = ir::var("sum", scalar_type());
  auto body = [&](const Expr& self) {
    return ir::if_(make("less", {i, number(1)}), sum,
                   ir::call(self, {make("subtract", {i, number(1)}), make("add", {sum, i})}));
  };
  ir::FunctionRef local =
      ir::function({}, ir::let(f, ir::function({i, sum}, body(f)), ir::call(f, {number(2000), number(0)})));
  Result<Value> r = run(local, {});
  ASSERT_TRUE(r) << render(r.errors());
  EXPECT_EQ(as_double(*r), 2001000);
  ir::Module m;
  m.functions["loop"] = ir::function({i, sum}, body(ir::global("loop")));
  r = run(m, "loop", {Tensor::scalar(100, DType::float32()), Tensor::scalar(0, DType::float32())});
  ASSERT_TRUE(r) << render(r.errors());
  EXPECT_EQ(as_double(*r), 5050);
}

TEST(Eval, DeepRecursionAndDeepChains) {
  // @count(i) = if (i < 1) { 0 } else { 1 + @count(i - 1) }
  VarRef i = ir::var("i", scalar_type());
  ir::Module m;
  m.functions["count"] = ir::function(
      {i}, ir::if_(make("less", {i, number(1)}), number(0),
                   make("add", {number(1), ir::call(ir::global("count"), {make("subtract", {i, number(1)})})})));
  Result<Value> r = run(m, "count", {Tensor::scalar(5000, DType::float32())});
  ASSERT_TRUE(r);
  EXPECT_EQ(as_double(*r), 5000);
  VarRef x = ir::var("x");
  Expr chain = x, lets = x;
  for (int k = 0; k < 20000; ++k) chain = ir::get(ir::tuple({chain}), 0);
  VarRef last = x;
  std::vector<std::pair<VarRef, Expr>> steps;
  for (int k = 0; k < 50000; ++k) {
    VarRef v = ir::var("v");
    steps.push_back({v, ir::tuple({last})});
    last = v;
  }
  lets = last;
  for (size_t k = steps.size(); k-- > 0;) lets = ir::let(steps[k].first, steps[k].second, lets);
  Value one(Tensor::scalar(1, DType::float32()));
  ASSERT_TRUE(run(ir::function({x}, chain), {one}));
  ASSERT_TRUE(run(ir::function({x}, lets), {one}));
}

TEST(Eval, ClosuresCaptureValues) {
  // let %add = fn (%a) { fn (%b) { %a + %b } }; let %two = %add(2); (%two(1), %two(5))
  VarRef add = ir::var("add"), two = ir::var("two"), a = ir::var("a"), b = ir::var("b");
  Expr e = ir::let(
      add, ir::function({a}, ir::function({b}, make("add", {a, b}))),
      ir::let(two, ir::call(add, {number(2)}), ir::tuple({ir::call(two, {number(1)}), ir::call(two, {number(5)})})));
  Result<Value> r = run(e);
  ASSERT_TRUE(r) << render(r.errors());
  EXPECT_EQ(as_double(as_tuple(*r)->fields[0]), 3);
  EXPECT_EQ(as_double(as_tuple(*r)->fields[1]), 7);
}

TEST(Eval, References) {
  // let %r = ref(1); let %u = ref_write(%r, ref_read(%r) + 2); ref_read(%r)
  VarRef r = ir::var("r"), u = ir::var("u");
  Expr create(new ir::RefCreate(number(1))), read(new ir::RefRead(r)), again(new ir::RefRead(r));
  Expr write(new ir::RefWrite(r, make("add", {read, number(2)})));
  Result<Value> v = run(ir::let(r, create, ir::let(u, write, again)));
  ASSERT_TRUE(v) << render(v.errors());
  EXPECT_EQ(as_double(*v), 3);
}

// r = ref(t); r := a function that captured r and the argument: a cycle, freed at the end of the run.
TEST(Eval, CyclesOfReferencesAreFreed) {
  ir::Type tensor = ir::tensor_type({1}, DType::float32());
  VarRef x = ir::var("x", ir::tuple_type({tensor})), r = ir::var("r"), f = ir::var("f"), done = ir::var("done");
  Expr read(new ir::RefRead(r)), write(new ir::RefWrite(r, f)), create(new ir::RefCreate(x));
  ir::FunctionRef knot = ir::function({}, ir::tuple({read, x}));
  Expr body = ir::let(f, knot, ir::let(done, write, ir::get(x, 0)));
  Value argument = tuple_value({vector({3})});
  ASSERT_EQ(argument.node->use_count(), 1u);
  Result<Value> result = run(ir::function({x}, ir::let(r, create, body)), {argument});
  ASSERT_TRUE(result);
  EXPECT_EQ(as_double(*result), 3);
  EXPECT_EQ(argument.node->use_count(), 1u) << "the cycle still holds it";
}

// %0 = (%x,); (%0.0, fn () { %0 }): the last node that reads %x is also inside of the function.
TEST(Eval, ClosuresKeepWhatSharedNodesRead) {
  VarRef x = ir::var("x");
  Expr shared = ir::tuple({x});
  Expr both = ir::tuple({ir::get(shared, 0), ir::function({}, shared)});
  VarRef pair = ir::var("pair");
  Result<Value> result =
      run(ir::function({x}, ir::let(pair, both, ir::get(ir::call(ir::get(pair, 1), {}), 0))), {vector({3})});
  ASSERT_TRUE(result) << render(result.errors());
  EXPECT_EQ(as_double(*result), 3);
}

TEST(Eval, DataTypesAndMatch) {
  // sum of a list: @sum(l, s) = match (l) { Cons(h, t) => @sum(t, s + h), Nil => s }
  Ref<const ir::Constructor> cons(new ir::Constructor("Cons", {ir::hole(), ir::hole()}, "List", 0)),
      nil(new ir::Constructor("Nil", {}, "List", 1));
  VarRef l = ir::var("l"), s = ir::var("s"), h = ir::var("h"), t = ir::var("t");
  auto variable = [](const VarRef& v) {
    ir::PatternNode* p = new ir::PatternNode;
    p->kind = ir::PatternKind::Var, p->var = v;
    return ir::Pattern(p);
  };
  auto constructor = [](Expr c, std::vector<ir::Pattern> parts) {
    ir::PatternNode* p = new ir::PatternNode;
    p->kind = ir::PatternKind::Constructor, p->constructor = std::move(c), p->patterns = std::move(parts);
    return ir::Pattern(p);
  };
  ir::Module m;
  std::vector<ir::Clause> clauses{
      {constructor(cons, {variable(h), variable(t)}), ir::call(ir::global("sum"), {t, make("add", {s, h})})},
      {constructor(nil, {}), s}};
  m.functions["sum"] = ir::function({l, s}, Expr(new ir::Match(l, clauses, true)));
  Expr list = ir::call(nil, {});
  for (int k = 1; k <= 50; ++k) list = ir::call(cons, {number(k), list});
  m.functions["main"] = ir::function({}, ir::call(ir::global("sum"), {list, number(0)}));
  Result<Value> r = run(m, "main", {});
  ASSERT_TRUE(r) << render(r.errors());
  EXPECT_EQ(as_double(*r), 1275);
}

// Parameters bind sizes in any order: n + m binds m where a later one binds n.
TEST(Eval, SizesOfParametersInAnyOrder) {
  const scalar::Expr n = scalar::var("n"), m = scalar::var("m");
  auto parameter = [](const char* name, const scalar::Expr& size) {
    return ir::var(name, ir::tensor_type({size}, DType::float32()));
  };
  VarRef sum = parameter("sum", n + m), product = parameter("product", n * m), one = parameter("one", n);
  Expr rows = make("broadcast_to", {number(2)}, {{"shape", ir::Dims{m}}});
  for (const std::vector<VarRef>& params : {std::vector{sum, product, one}, {product, one, sum}, {one, sum, product}}) {
    auto run_with = [&](size_t of_sum, size_t of_product, size_t of_one) {
      Values args;
      for (const VarRef& p : params)
        args.push_back(Tensor::full({static_cast<int64_t>(p == sum   ? of_sum
                                                          : p == one ? of_one
                                                                     : of_product)},
                                    DType::float32(), 1));
      return run(ir::function(params, rows), args);
    };
    Result<Value> result = run_with(5, 6, 2);
    ASSERT_TRUE(result) << render(result.errors());
    EXPECT_EQ(result->tensor.shape(), Shape{3});
    EXPECT_FALSE(run_with(5, 7, 2)) << "m would be 3 and 3.5";
    EXPECT_FALSE(run_with(1, 6, 2)) << "m would be negative";
  }
  VarRef other = parameter("other", m + n);
  auto both = [&](int64_t a, int64_t b) {
    const Values args{Tensor::full({a}, DType::float32(), 1), Tensor::full({b}, DType::float32(), 1)};
    return run(ir::function({sum, other}, ir::tuple({sum, other})), args);
  };
  EXPECT_TRUE(both(5, 5));
  EXPECT_FALSE(both(5, 3)) << "both are n + m";
}

TEST(Eval, ErrorsAreDiagnostics) {
  EXPECT_FALSE(run(ir::Module{}, "main", {}));
  VarRef x = ir::var("x", ir::tensor_type({3}, DType::float32()));
  EXPECT_FALSE(run(ir::function({x}, x), {}));
  EXPECT_FALSE(run(ir::function({x}, x), {vector({1, 2})}));
  EXPECT_FALSE(run(make("add", {ir::constant(vector({1, 2})), ir::constant(vector({1, 2, 3}))})));
}

}  // namespace
}  // namespace relay::eval
