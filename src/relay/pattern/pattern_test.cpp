#include "relay/pattern/pattern.h"

#include <gtest/gtest.h>

#include <ctime>

#include "relay/base/sanitizer.h"
#include "relay/ir/rewrite.h"
#include "relay/op/registry.h"

namespace relay::pattern {
namespace {

using ir::Expr;
Expr x() { return ir::var("x", ir::tensor_type({4}, DType::float32())); }
Expr relu(Expr e) { return op::make("nn.relu", {std::move(e)}); }
Expr binary(const char* name, Expr a, Expr b) { return op::make(name, {std::move(a), std::move(b)}); }
Pattern relu_of(Pattern p) { return call(op("nn.relu"), {std::move(p)}); }
Pattern binary_of(const char* name, Pattern a, Pattern b) { return call(op(name), {std::move(a), std::move(b)}); }

bool fits(const Pattern& p, const Expr& e) { return Matcher(p).match(e) != nullptr; }

TEST(Match, each_kind) {
  ir::VarRef v = ir::var("x", ir::tensor_type({4}, DType::float32()));
  Expr one = ir::constant(1), e = relu(v);
  EXPECT_TRUE(fits(wildcard(), e));
  EXPECT_TRUE(fits(var("x"), v) && fits(var(), v));
  EXPECT_FALSE(fits(var("y"), v) || fits(var(), one));
  EXPECT_TRUE(fits(constant(), one));
  EXPECT_FALSE(fits(constant(), v));
  EXPECT_TRUE(fits(expr(ir::constant(1)), one));
  EXPECT_FALSE(fits(expr(ir::constant(2)), one));
  EXPECT_TRUE(fits(relu_of(var()), e));
  EXPECT_FALSE(fits(call(op("exp"), {wildcard()}), e) || fits(call(op("nn.relu"), {wildcard(), wildcard()}), e));
  EXPECT_TRUE(fits(any_call(op("nn.relu")), e));
  EXPECT_TRUE(fits(tuple({var(), constant()}), ir::tuple({v, one})));
  EXPECT_FALSE(fits(tuple({var()}), ir::tuple({v, one})) || fits(tuple({constant(), var()}), ir::tuple({v, one})));
  EXPECT_TRUE(fits(any_tuple(), ir::tuple({v, one})));
  Expr item = ir::get(ir::tuple({v, one}), 1);
  EXPECT_TRUE(fits(get(wildcard()), item) && fits(get(any_tuple(), 1), item));
  EXPECT_FALSE(fits(get(wildcard(), 0), item));
  EXPECT_TRUE(fits(function({var()}, relu_of(wildcard())), ir::function({v}, e)));
  EXPECT_FALSE(fits(function({}, relu_of(wildcard())), ir::function({v}, e)));
  Expr choice = ir::if_(ir::constant(1, DType::boolean()), v, e);
  EXPECT_TRUE(fits(if_(constant(), var(), relu_of(wildcard())), choice));
  EXPECT_FALSE(fits(if_(constant(), relu_of(wildcard()), var()), choice));
  ir::VarRef a = ir::var("a");
  EXPECT_TRUE(fits(let(var("a"), relu_of(wildcard()), var("a")), ir::let(a, e, a)));
  EXPECT_FALSE(fits(let(var("b"), wildcard(), wildcard()), ir::let(a, e, a)));
}

TEST(Match, a_node_used_twice_is_one_expression) {
  Pattern p = wildcard();
  Expr v = x(), w = x();
  EXPECT_TRUE(fits(binary_of("subtract", p, p), binary("subtract", v, v)));
  EXPECT_FALSE(fits(binary_of("subtract", p, p), binary("subtract", v, w)));
  EXPECT_TRUE(fits(binary_of("subtract", p, p), binary("subtract", ir::constant(1), ir::constant(1))));
}

TEST(Match, either_order_and_grouping) {
  Expr v = x(), w = x(), one = ir::constant(1);
  EXPECT_TRUE(fits(binary_of("add", constant(), var()), binary("add", v, one)));
  EXPECT_FALSE(fits(binary_of("subtract", constant(), var()), binary("subtract", v, one)));
  Pattern a = wildcard(), b = relu_of(wildcard()), c = constant();
  Matcher m(binary_of("divide", binary_of("multiply", a, b), c));
  const Match* match = m.match(binary("multiply", v, binary("divide", relu(w), one)));
  ASSERT_TRUE(match);
  EXPECT_EQ(match->at(a), v);
  EXPECT_EQ(match->at(c), one);
  Matcher n(binary_of("multiply", a, binary_of("divide", b, c)));
  match = n.match(binary("divide", binary("multiply", relu(w), v), one));
  ASSERT_TRUE(match);
  EXPECT_EQ(match->at(a), v);
}

// Bindings made before backtracking are dropped.
TEST(Match, goes_back) {
  Pattern p = wildcard();
  Expr v = x(), w = x();
  Pattern both = tuple({either(binary_of("subtract", p, wildcard()), binary_of("subtract", wildcard(), p)), p});
  EXPECT_TRUE(fits(both, ir::tuple({binary("subtract", v, w), w})));
  EXPECT_TRUE(fits(both, ir::tuple({binary("subtract", v, w), v})));
  EXPECT_FALSE(fits(both, ir::tuple({binary("subtract", v, w), x()})));
}

TEST(Match, conditions) {
  Expr v = x(), e = relu(v);
  EXPECT_TRUE(fits(has_dtype(wildcard(), DType::float32()), e));
  EXPECT_FALSE(fits(has_dtype(wildcard(), DType::float64()), e));
  EXPECT_TRUE(fits(has_shape(wildcard(), {scalar::imm(4)}), e));
  EXPECT_FALSE(fits(has_shape(wildcard(), {scalar::imm(5)}), e));
  EXPECT_TRUE(fits(has_type(wildcard(), ir::tensor_type({4}, DType::float32())), e));
  Pattern elementwise = has_attrs(wildcard(), {{"TOpPattern", int64_t{0}}});
  EXPECT_TRUE(fits(call(elementwise, {wildcard()}), e));
  EXPECT_FALSE(fits(any_call(elementwise), op::make("nn.softmax", {v})));
  Expr soft = op::make("nn.softmax", {v}, {{"axis", int64_t{0}}});
  EXPECT_TRUE(fits(has_attrs(wildcard(), {{"axis", int64_t{0}}}), soft));
  EXPECT_FALSE(fits(has_attrs(wildcard(), {{"axis", int64_t{1}}}), soft));
  EXPECT_FALSE(fits(has_attrs(wildcard(), {{"axes", int64_t{0}}}), soft));
  EXPECT_TRUE(fits(where(wildcard(), [&](const Expr& now) { return now == e; }), e));
  EXPECT_FALSE(fits(where(wildcard(), [&](const Expr& now) { return now != e; }), e));
}

Pattern elementwise() { return any_call(has_attrs(wildcard(), {{"TOpPattern", int64_t{0}}})); }

TEST(Match, dominators) {
  Pattern parent = any_call(op("nn.softmax"));
  Pattern p = dominates(parent, elementwise(), binary_of("subtract", wildcard(), wildcard()));
  Expr soft = op::make("nn.softmax", {x()});
  Matcher m(p);
  Expr diamond = binary("subtract", relu(relu(soft)), op::make("exp", {soft}));
  const Match* match = m.match(diamond);
  ASSERT_TRUE(match);
  EXPECT_EQ(match->at(parent), soft);
  EXPECT_FALSE(m.match(binary("subtract", relu(soft), x())));  // a path that misses it
  EXPECT_FALSE(m.match(binary("subtract", soft, op::make("nn.softmax", {x()}))));
}

TEST(Match, redirected_wildcards_repeat) {
  Pattern again = wildcard(), start = any_call(op("nn.softmax"));
  Pattern chain = relu_of(again);
  ASSERT_TRUE(redirect(again, either(chain, start)));
  Expr soft = op::make("nn.softmax", {x()});
  Matcher m(chain);
  const Match* match = m.match(relu(relu(relu(soft))));
  ASSERT_TRUE(match);
  EXPECT_EQ(match->at(start, 3), soft);
  EXPECT_FALSE(m.match(soft));
  EXPECT_FALSE(m.match(relu(relu(op::make("exp", {soft})))));
  // Patterns that would repeat for ever are refused.
  EXPECT_FALSE(redirect(again, has_dtype(either(start, again), DType::float32())));
  EXPECT_FALSE(redirect(again, dominates(chain, again, start)));
  EXPECT_FALSE(redirect(chain, start));
  ASSERT_TRUE(redirect(again, {}));
  EXPECT_TRUE(fits(chain, relu(x())));
}

TEST(Rewrite, matches_do_not_overlap_and_hide_nothing) {
  int count = 0;
  Rule twice{relu_of(relu_of(wildcard())), [&](const Expr&, const Expr& now, const Match&) { return ++count, now; }};
  Expr inner = relu(relu(x())), e = relu(inner);
  ASSERT_TRUE(rewrite({twice}, e));
  EXPECT_EQ(count, 1);
  count = 0;
  ASSERT_TRUE(rewrite({twice}, ir::tuple({e, inner})));  // the first contains `inner`, which the tuple uses
  EXPECT_EQ(count, 1);
}

TEST(Rewrite, to_a_fixed_point) {
  Pattern inner = wildcard();
  Rule twice{relu_of(relu_of(inner)), [&](const Expr&, const Expr&, const Match& m) { return relu(m.at(inner)); }};
  Expr e = x(), v = e;
  for (int i = 0; i < 100; ++i) e = relu(e);
  Result<Expr> r = rewrite({twice}, e);
  ASSERT_TRUE(r);
  EXPECT_TRUE(ir::equal(*r, relu(v)));
}

TEST(Rewrite, that_never_ends_is_an_error) {
  Rule grow{var(), [](const Expr&, const Expr& now, const Match&) { return relu(now); }};
  Result<Expr> r = rewrite({grow}, x());
  ASSERT_FALSE(r);
  EXPECT_NE(r.errors()[0].message.find("100 sweeps"), std::string::npos);
  grow.once = true;
  EXPECT_TRUE(rewrite({grow}, x()));
}

std::vector<const ir::Call*> calls_of_functions(const Expr& e) {
  std::vector<const ir::Call*> found;
  ir::visit(e, [&](const Expr& n) {
    const ir::Call* c = ir::as<ir::Call>(n);
    if (c && ir::as<ir::Function>(c->callee)) found.push_back(c);
  });
  return found;
}

TEST(Partition, matches_become_functions) {
  Pattern p = relu_of(binary_of("add", wildcard(), wildcard()));
  Expr v = x(), w = x();
  Expr e = op::make("exp", {relu(binary("add", v, w))});
  Result<Expr> r = partition(p, e, {{"Composite", std::string("add_relu")}});
  ASSERT_TRUE(r);
  std::vector<const ir::Call*> calls = calls_of_functions(*r);
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0]->args, (ir::Exprs{v, w}));
  const ir::DictAttrs& attrs = ir::as<ir::Function>(calls[0]->callee)->attrs;
  EXPECT_EQ(std::get<std::string>(attrs.at("PartitionedFromPattern")), "add_nn.relu_");
  EXPECT_EQ(std::get<std::string>(attrs.at("Composite")), "add_relu");
  Result<Expr> again = partition(p, *r);
  ASSERT_TRUE(again);
  EXPECT_TRUE(ir::equal(*again, *r));
}

TEST(Partition, a_value_used_outside_stays) {
  Pattern p = relu_of(binary_of("add", wildcard(), wildcard()));
  Expr sum = binary("add", x(), x());
  Expr e = ir::tuple({relu(sum), sum});
  EXPECT_TRUE(ir::equal(*partition(p, e), e));
  Expr free = relu(binary("add", x(), x()));
  EXPECT_TRUE(ir::equal(*partition(p, free, {}, [](const Expr&) { return false; }), free));
}

TEST(Partition, conditions_of_inputs_and_functions_inside) {
  Expr v = x();
  Pattern input = has_attrs(has_shape(either(constant(), wildcard()), {scalar::imm(4)}), {});
  Result<Expr> r = partition(relu_of(input), relu(op::make("exp", {v})));
  ASSERT_TRUE(r);
  ASSERT_EQ(calls_of_functions(*r).size(), 1u);
  EXPECT_TRUE(ir::equal(calls_of_functions(*r)[0]->args[0], op::make("exp", {v})));
  ir::VarRef a = ir::var("a", ir::tensor_type({4}, DType::float32()));
  Expr f = ir::function({a}, relu(a));
  Pattern called = call(op("exp"), {call(function({var()}, relu_of(wildcard())), {wildcard()})});
  r = partition(called, op::make("exp", {ir::call(f, {v})}));
  ASSERT_TRUE(r);
  const ir::Call* made = ir::as<ir::Call>(*r);
  EXPECT_EQ(made->args, ir::Exprs{v});
  EXPECT_EQ(std::get<std::string>(ir::as<ir::Function>(made->callee)->attrs.at("PartitionedFromPattern")),
            "Function_Call_exp_");
}

// Expressions that are evaluated only in a branch, or that depend on inner bindings, cannot become arguments.
TEST(Partition, of_branches_and_lets) {
  ir::VarRef c = ir::var("c", ir::tensor_type({}, DType::boolean())), a = ir::var("a");
  Expr v = x();
  Pattern branch = if_(wildcard(), relu_of(wildcard()), wildcard());
  EXPECT_EQ(calls_of_functions(*partition(branch, ir::if_(c, relu(v), v))).size(), 1u);
  Expr late = ir::if_(c, relu(op::make("exp", {v})), v);
  EXPECT_EQ(*partition(branch, late), late);
  Pattern bound = let(var(), relu_of(wildcard()), relu_of(wildcard()));
  Expr depends = ir::let(a, relu(v), relu(a)), free = ir::let(a, relu(v), relu(v));
  EXPECT_EQ(*partition(bound, depends), depends);
  EXPECT_EQ(calls_of_functions(*partition(bound, free)).size(), 1u);
}

TEST(Partition, of_a_diamond) {
  Expr soft = op::make("nn.softmax", {x()});
  Pattern p =
      dominates(call(op("nn.softmax"), {wildcard()}), elementwise(), binary_of("subtract", wildcard(), wildcard()));
  Result<Expr> r = partition(p, binary("subtract", relu(soft), op::make("exp", {soft})));
  ASSERT_TRUE(r);
  std::vector<const ir::Call*> calls = calls_of_functions(*r);
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0]->args.size(), 1u);
}

// Sanitizers slow every access down; the test detects quadratic time, thousands of times as much.
constexpr double slower = has_address_sanitizer || has_thread_sanitizer ? 8 : 1;

TEST(Patterns, take_linear_time) {
  std::clock_t begin = std::clock();
  Expr e = x(), v = e;
  for (int i = 0; i < 100'000; ++i) e = i % 2 ? relu(e) : binary("add", e, v);
  Pattern sum = binary_of("add", wildcard(), wildcard());
  ASSERT_TRUE(partition(relu_of(sum), e));
  ASSERT_TRUE(partition(dominates(any_call(op("nn.softmax")), elementwise(), relu_of(wildcard())), e));
  Pattern deep = wildcard();
  for (int i = 0; i < 100'000; ++i) deep = i % 2 ? relu_of(deep) : binary_of("add", deep, wildcard());
  EXPECT_TRUE(fits(deep, e));
  Pattern inner = wildcard();
  Rule rule{relu_of(inner), [&](const Expr&, const Expr&, const Match& m) { return m.at(inner); }};
  ASSERT_TRUE(rewrite({rule}, e));
  rule.pattern = has_dtype(relu_of(inner), DType::float32());
  ASSERT_TRUE(rewrite({rule}, e));
  Pattern again = wildcard(), repeated = either(relu_of(again), binary_of("add", again, wildcard()));
  ASSERT_TRUE(redirect(again, either(repeated, var())));
  EXPECT_TRUE(fits(repeated, e));
  ASSERT_TRUE(redirect(again, either(repeated, constant())));  // fails at the end, from any start
  Result<Expr> same = partition(repeated, e);
  ASSERT_TRUE(same);
  EXPECT_EQ(*same, e);
  ASSERT_TRUE(redirect(again, {}));
  double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  EXPECT_LT(seconds, 10 * slower);
}

}  // namespace
}  // namespace relay::pattern
