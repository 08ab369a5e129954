#include <gtest/gtest.h>

#include <chrono>

#include "relay/ir/node_map.h"
#include "relay/ir/rewrite.h"

namespace relay::ir {
namespace {

struct TestAttrs {
  int64_t units = 0;
  Ints strides = {1, 1};
  std::string data_layout = "NCHW";
  OptDType out_dtype = {};
  Dims newshape = {};
  double epsilon = 1e-5;
  static constexpr auto fields = std::tuple{required_field("units", &TestAttrs::units, "How many."),
                                            field("strides", &TestAttrs::strides, "Steps."),
                                            field("data_layout", &TestAttrs::data_layout, ""),
                                            field("out_dtype", &TestAttrs::out_dtype, ""),
                                            field("newshape", &TestAttrs::newshape, ""),
                                            field("epsilon", &TestAttrs::epsilon, "")};
};
const AttrsType& test_attrs() {
  static const AttrsType type = detail::describe<TestAttrs>("relay.attrs.TestAttrs");
  return type;
}
Result<Attrs> make_attrs(const std::vector<std::pair<std::string, AttrValue>>& values) {
  return test_attrs().create(test_attrs(), values);
}

Expr op(const std::string& name) {
  static std::map<std::string, Expr> ops;
  Expr& e = ops[name];
  if (!e) e = make<Op>(name, nullptr);
  return e;
}
Expr chain(Expr e, int n) {
  Expr relu = op("nn.relu");
  for (int i = 0; i < n; ++i) e = call(relu, {e});
  return e;
}

TEST(Attrs, from_values) {
  Result<Attrs> a = make_attrs({{"units", int64_t{3}},
                                {"strides", int64_t{2}},
                                {"out_dtype", "int8"},
                                {"newshape", Ints{2, -1}},
                                {"epsilon", int64_t{1}}});
  ASSERT_TRUE(a);
  const TestAttrs& t = static_cast<const AttrsOf<TestAttrs>&>(**a).value;
  EXPECT_EQ(t.units, 3);
  EXPECT_EQ(t.strides, Ints{2});
  EXPECT_EQ(t.out_dtype, DType::int8());
  EXPECT_EQ(t.newshape.size(), 2u);
  EXPECT_EQ(t.epsilon, 1);
  Result<Attrs> b = make_attrs({{"units", int64_t{3}},
                                {"strides", Ints{2}},
                                {"out_dtype", DType::int8()},
                                {"newshape", Ints{2, -1}},
                                {"epsilon", 1.0}});
  EXPECT_TRUE(equal(*a, *b));
  EXPECT_EQ(hash(*a), hash(*b));
  EXPECT_FALSE(equal(*a, *make_attrs({{"units", int64_t{3}}})));
  EXPECT_FALSE(equal(*a, Attrs()));
  EXPECT_TRUE(equal(*make_attrs({{"units", int64_t{0}}}), Attrs()));
  EXPECT_EQ(hash(*make_attrs({{"units", int64_t{0}}})), hash(Attrs()));
}

TEST(Attrs, mistakes_are_named) {
  Result<Attrs> r = make_attrs({{"stride", Ints{1}}, {"strides", std::string("x")}, {"strides", Ints{1}}});
  ASSERT_FALSE(r);
  std::string text = render(r.errors());
  EXPECT_NE(text.find("there is no attribute 'stride'"), std::string::npos) << text;
  EXPECT_NE(text.find("did you mean 'strides'?"), std::string::npos) << text;
  EXPECT_NE(text.find("attribute 'strides' must be a list of ints, not \"x\""), std::string::npos) << text;
  EXPECT_NE(text.find("given twice"), std::string::npos) << text;
  EXPECT_NE(text.find("the attribute 'units' is missing"), std::string::npos) << text;
}

TEST(Attrs, text) {
  EXPECT_EQ(str(AttrValue(1e-5)), "1e-05f");
  EXPECT_EQ(str(AttrValue(Ints{1, -2})), "[1, -2]");
  EXPECT_EQ(str(AttrValue(std::string("a\"b\n"))), "\"a\\\"b\\n\"");
  EXPECT_EQ(str(AttrValue(true)), "True");
  EXPECT_EQ(str(AttrValue()), "None");
  EXPECT_EQ(str(AttrValue(IntLists{{0, 1}, {2}})), "[[0, 1], [2]]");
}

TEST(Type, text_equality_hash) {
  Dim m = scalar::var("m");
  Type t = tensor_type(Dims{scalar::imm(1), m * 2}, DType::float32());
  EXPECT_EQ(str(t), "Tensor[(1, m * 2), float32]");
  EXPECT_EQ(str(func_type({t}, tuple_type({scalar_type(DType::int8())}))),
            "fn (Tensor[(1, m * 2), float32]) -> (int8,)");
  EXPECT_TRUE(equal(t, tensor_type(Dims{scalar::imm(1), m + m}, DType::float32())));
  EXPECT_FALSE(equal(t, tensor_type(Dims{scalar::imm(1), m}, DType::float32())));
  EXPECT_TRUE(
      equal(tensor_type(Dims{scalar::any_dim()}, DType::int8()), tensor_type(Dims{scalar::any_dim()}, DType::int8())));
  Type a = make<TypeVar>("A"), b = make<TypeVar>("B");
  Type fa = func_type({a}, a, {a}), fb = func_type({b}, b, {b});
  EXPECT_TRUE(equal(fa, fb));
  EXPECT_FALSE(equal(func_type({a, b}, a, {a, b}), func_type({a, b}, b, {a, b})));
  EXPECT_EQ(hash(fa), hash(fb));
  EXPECT_FALSE(equal(a, b));
  EXPECT_FALSE(is_complete(tuple_type({t, hole()})));
  EXPECT_TRUE(is_complete(fa));
  EXPECT_EQ(str(substitute(tuple_type({t, a}), {{m, scalar::imm(4)}}, {{a, scalar_type(DType::int8())}})),
            "(Tensor[(1, 8), float32], int8)");
}

TEST(Rewrite, a_million_deep) {
  VarRef x = var("x"), y = var("y");
  Expr a = chain(x, 1'000'000);
  Expr b = rewrite(a, [&](const Expr& e) { return e == x ? Expr(y) : e; });
  EXPECT_FALSE(equal(a, b));
  EXPECT_TRUE(equal(a, b, true));
  EXPECT_TRUE(equal(function({x}, a), function({y}, b)));
  EXPECT_EQ(hash(function({x}, a)), hash(function({y}, b)));
  size_t count = 0;
  visit(b, [&](const Expr&) { ++count; });
  EXPECT_EQ(count, 1'000'002u);
  EXPECT_EQ(free_vars(b).size(), 1u);
  EXPECT_EQ(substitute(b, {{y.get(), x}})->kind, ExprKind::Call);
  EXPECT_EQ(rewrite(a, [](const Expr& e) { return e; }), a);
  EXPECT_EQ(use_counts(a).size(), 1'000'002u);
}

TEST(Rewrite, let_chain_a_million_deep) {
  Expr body = constant(1);
  for (int i = 0; i < 1'000'000; ++i) body = let(var("x"), constant(1), body);
  EXPECT_EQ(bound_vars(body).size(), 1'000'000u);
  EXPECT_TRUE(free_vars(body).empty());
  EXPECT_TRUE(equal(body, rewrite(body, [](const Expr& e) { return e; })));
}

TEST(Rewrite, dag_with_2_to_the_60_paths) {
  Expr e = var("x");
  for (int i = 0; i < 60; ++i) e = call(op("add"), {e, e});
  int count = 0;
  visit(e, [&](const Expr&) { ++count; });
  EXPECT_EQ(count, 62);
  VarRef y = var("y");
  Expr b = rewrite(e, [&](const Expr& n) { return n->kind == ExprKind::Var ? Expr(y) : n; });
  EXPECT_TRUE(equal(e, b, true));
  EXPECT_EQ(use_counts(e)[as<Call>(e)->args[0].get()], 2u);
  hash(e);
}

TEST(Rewrite, keeps_types_only_when_they_hold) {
  Type f32 = scalar_type(DType::float32());
  Expr x = var("x", f32), y = var("y", f32), z = var("z");
  x->type = f32, y->type = scalar_type(DType::float32());
  Expr c = call(op("nn.relu"), {x});
  c->type = f32;
  EXPECT_TRUE(with_children(c, {op("nn.relu"), y})->type);
  EXPECT_FALSE(with_children(c, {op("nn.relu"), z})->type);
}

TEST(Equal, sharing_counts) {
  VarRef x = var("x");
  Expr r = call(op("nn.relu"), {x}), s = call(op("nn.relu"), {x});
  Expr shared = call(op("add"), {r, r}), copied = call(op("add"), {r, s});
  EXPECT_FALSE(equal(shared, copied));
  EXPECT_FALSE(equal(copied, shared));
  EXPECT_TRUE(equal(copied, call(op("add"), {s, r})));
  EXPECT_TRUE(equal(call(op("add"), {constant(1), constant(1)}), call(op("add"), {constant(1), constant(1)})));
}

TEST(Equal, alpha) {
  VarRef x = var("x"), y = var("y"), a = var("a"), b = var("b");
  EXPECT_TRUE(equal(function({x, y}, call(op("add"), {x, y})), function({a, b}, call(op("add"), {a, b}))));
  EXPECT_FALSE(equal(function({x, y}, call(op("add"), {x, y})), function({a, b}, call(op("add"), {b, a}))));
  EXPECT_FALSE(equal(function({x}, y), function({a}, b)));
  EXPECT_FALSE(equal(function({x}, y), function({a}, a)));
  EXPECT_TRUE(equal(let(x, constant(1), x), let(y, constant(1), y)));
  EXPECT_FALSE(equal(let(x, constant(1), x), let(y, constant(2), y)));
  EXPECT_FALSE(equal(call(op("add"), {x, x}), call(op("add"), {a, b}), true));
  EXPECT_EQ(hash(let(x, constant(1), x)), hash(let(y, constant(1), y)));
}

TEST(Equal, shape_variables_are_matched_up) {
  auto make_function = [](const char* name) {
    Dim m = scalar::var(name), n = scalar::var("k");
    VarRef x = var("x", tensor_type(Dims{m, n}, DType::float32()));
    return function({x}, x, tensor_type(Dims{m + n, m * 2}, DType::float32()));
  };
  EXPECT_TRUE(equal(make_function("m"), make_function("z")));
  EXPECT_EQ(hash(make_function("m")), hash(make_function("z")));
}

TEST(Equal, match) {
  auto make_match = [](const char* name, bool complete) {
    Expr cons = make<Constructor>("Cons", Types{}, "List", 0);
    PatternNode* inner = new PatternNode;
    inner->kind = PatternKind::Var, inner->var = var(name);
    PatternNode* outer = new PatternNode;
    outer->kind = PatternKind::Constructor, outer->constructor = cons, outer->patterns = {Pattern(inner)};
    return Expr(make<Match>(constant(1), std::vector<Clause>{{Pattern(outer), inner->var}}, complete));
  };
  EXPECT_TRUE(equal(make_match("x", true), make_match("y", true)));
  EXPECT_FALSE(equal(make_match("x", true), make_match("y", false)));
  EXPECT_EQ(hash(make_match("x", true)), hash(make_match("y", true)));
  EXPECT_TRUE(free_vars(make_match("x", true)).empty());
}

TEST(NodeMap, many) {
  std::vector<int64_t> keys(200'000);
  NodeMap<size_t> map;
  for (size_t i = 0; i < keys.size(); ++i) map[&keys[i]] = i;
  for (size_t i = 0; i < keys.size(); ++i) ASSERT_EQ(*map.find(&keys[i]), i);
  EXPECT_FALSE(map.contains(&map));
}

}  // namespace
}  // namespace relay::ir
