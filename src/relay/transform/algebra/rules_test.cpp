// Every rule of simplify_expr on random instances of its pattern: shapes that broadcast, element types, attributes.
// The replacement of a match has its type, and the evaluator computes the same values.
#include "relay/transform/algebra/rules.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "relay/eval/eval.h"
#include "relay/ir/rewrite.h"
#include "relay/op/registry.h"
#include "relay/transform/algebra/computed_rules.h"
#include "relay/transform/pass.h"
#include "relay/transform/test_values.h"
#include "relay/transform/typed.h"
#include "relay/typing/typing.h"

namespace relay::transform {
namespace {

using namespace ir;

// Makes typed expressions that match a term; null if a draw does not fit.
class Instances {
 public:
  explicit Instances(uint64_t seed) : random_(seed) {}

  // `wide`: avoids types that round more than the comparison allows.
  Expr draw(const Term& term, bool wide = false) {
    wide_ = wide;
    letters_.clear(), params.clear();
    shape_.clear();
    for (int64_t rank = in(0, 3); rank > 0; --rank) shape_.push_back(in(1, 3));
    const DType dtypes[] = {DType::float32(), DType::float32(), DType::int32(), DType::int64(), DType::boolean()};
    dtype_ = dtypes[in(0, 4)];
    return made(term);
  }
  std::vector<VarRef> params;

 private:
  int64_t in(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }

  Shape part_of_shape() {
    Shape shape(shape_.begin() + (shape_.empty() || in(0, 2) ? 0 : 1), shape_.end());
    for (int64_t& size : shape)
      if (in(0, 3) == 0) size = 1;
    return in(0, 2) ? shape_ : shape;
  }
  Dims dims(const Shape& shape) {
    Dims out;
    for (int64_t size : shape) out.push_back(scalar::imm(size));
    return out;
  }
  Expr typed_constant(Tensor value) {
    Expr c = constant(std::move(value));
    const Tensor& t = as<Constant>(c)->value;
    c->type = tensor_type(dims(t.shape()), t.dtype());
    return c;
  }

  Expr made(const Term& term) {
    if (term.kind == Term::Number) return typed_constant(Tensor::full(part_of_shape(), dtype_, term.number));
    if (term.kind == Term::Operator) return call_of(term);
    Expr& known = letters_[term.name];
    if (known) return known;
    if (term.name == "P" || term.name == "S")
      return known = typed_scalar(term.name == "P" ? 0.5 : 3, term.name == "P" ? DType::float32() : DType::int32());
    if (term.name == "C" || term.name == "D") {
      Tensor value = Tensor::empty(in(0, 1) ? Shape{} : part_of_shape(), dtype_);
      for (int64_t i = 0; i < value.elements(); ++i) value.set(i, static_cast<double>(in(1, 3)));
      return known = typed_constant(std::move(value));
    }
    const DType dtypes[] = {dtype_, dtype_, dtype_, DType::int8(), DType::float16(), DType::int64()};
    VarRef v = var(term.name, tensor_type(dims(in(0, 3) ? part_of_shape() : Shape{}), dtypes[wide_ ? 0 : in(0, 5)]));
    v->type = v->annotation;
    params.push_back(v);
    return known = v;
  }

  Expr call_of(const Term& term) {
    Exprs args;
    for (const Term& arg : term.args) {
      args.push_back(made(arg));
      if (!args.back()) return nullptr;
    }
    if ((term.name == "add" || term.name == "multiply") && in(0, 1)) std::swap(args[0], args[1]);
    const op::OpDef& def = *op::find(term.name);
    const op::AttrValues values = attributes_of(term.name, args);
    Result<Attrs> attrs = op::attributes(def, values);
    return attrs ? try_call(op::node(def), std::move(args), values.empty() ? Attrs() : *attrs, {}) : nullptr;
  }

  op::AttrValues attributes_of(const std::string& name, const Exprs& args) {
    const TensorType* first = args.empty() ? nullptr : as<TensorType>(args[0]->type);
    const int64_t rank = first ? static_cast<int64_t>(first->shape.size()) : 0;
    int64_t elements = 1;
    for (int64_t i = 0; i < rank; ++i) elements *= first->shape[static_cast<size_t>(i)]->ivalue;
    if (name == "reshape" || name == "contrib_reverse_reshape") {
      if (in(0, 1)) return {{"newshape", first->shape}};
      Shape shape;
      for (int64_t left = elements; left > 1;) {
        int64_t size = in(1, left);
        while (left % size) --size;
        shape.push_back(size), left /= size;
      }
      return {{"newshape", dims(shape)}};
    }
    const DType dtypes[] = {dtype_,           DType::float32(), DType::int8(),    DType::int32(),
                            DType::float16(), DType::uint8(),   DType::float64(), DType::boolean()};
    if (name == "cast") return {{"dtype", dtypes[in(0, 7)]}};
    if (name == "broadcast_to") return {{"shape", in(0, 1) ? first->shape : dims(shape_)}};
    if (name == "full" || name == "zeros" || name == "ones") return {{"shape", dims(shape_)}, {"dtype", dtype_}};
    if (name == "expand_dims") return {{"axis", in(0, rank)}};
    if (name == "argmax" || name == "argmin") return {{"axis", Ints{in(0, std::max<int64_t>(rank - 1, 0))}}};
    if (name == "argsort") return {{"axis", in(0, std::max<int64_t>(rank - 1, 0))}};
    if (name == "transpose") {
      Ints axes;
      for (int64_t i = 0; i < rank; ++i) axes.push_back(i);
      std::shuffle(axes.begin(), axes.end(), random_);
      return {{"axes", axes}};
    }
    if (name == "layout_transform") {
      const char* layouts[] = {"NHW", "NWH", "HNW", "WHN"};
      return {{"src_layout", std::string(layouts[in(0, 3)])}, {"dst_layout", std::string(layouts[in(0, 3)])}};
    }
    if (name == "clip") {
      const double bounds[] = {-1e6, -128, -2, -0.5, 0, 1, 1.5, 3, 127, 255, 1e6};
      const int64_t low = in(0, 9);
      return {{"a_min", bounds[low]}, {"a_max", bounds[in(low, 10)]}};
    }
    return {};
  }

  std::mt19937_64 random_;
  std::map<std::string, Expr> letters_;
  Shape shape_;
  DType dtype_;
  bool wide_ = false;
};

// The difference between the two, as functions of `params`; empty if there is none.
std::string compared(const std::vector<VarRef>& params, const Expr& before, const Expr& after) {
  Module a, b;
  a.functions["main"] = function(params, before), b.functions["main"] = function(params, after);
  Result<Module> x = typing::infer(a), y = typing::infer(b);
  if (!x || !y) return render((x ? y : x).errors());
  return difference(*x, *y);
}

TEST(Rules, every_rule_computes_the_same) {
  for (const Rule& rule : all_rules()) {
    Instances instances(7);
    pattern::Matcher matcher(rule.matched);
    int applied = 0;
    for (int i = 0; i < 20000 && applied < 25; ++i) {
      Expr e = instances.draw(rule.pattern, rule.rounds);
      const pattern::Match* match = e ? matcher.match(e) : nullptr;
      Expr simpler = match ? replacement(rule, *match, e->type, {}) : nullptr;
      if (!simpler) continue;
      ++applied;
      EXPECT_TRUE(equal(simpler->type, e->type)) << rule.name;
      EXPECT_EQ(compared(instances.params, e, simpler), "") << rule.name;
    }
    EXPECT_GE(applied, 5) << rule.name << " is hardly ever applied";
  }
}

TEST(Rules, names_are_different) {
  std::set<std::string> names;
  for (const Rule& rule : all_rules()) EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
}

TEST(Rules, computed_rules_compute_the_same) {
  const char* terms[] = {
      "transpose(x)",
      "transpose(transpose(x))",
      "layout_transform(layout_transform(x))",
      "cast(cast(x))",
      "cast(clip(cast(x)))",
      "clip(clip(x))",
      "clip(cast(x))",
      "clip(x)",
      "collapse_sum_like(x, y)",
      "add(add(multiply(x, x), multiply(x, y)), multiply(0, multiply(y, y)))",
      "add(add(multiply(2, multiply(x, x)), multiply(multiply(5, x), y)), multiply(y, multiply(2, y)))"};
  std::map<std::string, int> applied;
  for (const char* text : terms) {
    const Term term = parse_term(text);
    Instances instances(11);
    for (int i = 0; i < 3000; ++i) {
      Expr e = instances.draw(term, term.name == "add");
      if (!e) continue;
      for (const ComputedRule& rule : computed_rules()) {
        if (term.name != rule.op) continue;
        Expr simpler = rule.replace(*as<Call>(e), e->type);
        if (!simpler || !equal(simpler->type, e->type)) continue;
        ++applied[text];
        EXPECT_EQ(compared(instances.params, e, simpler), "") << text;
      }
    }
  }
  for (const char* text : terms) EXPECT_GE(applied[text], 10) << text;
}

}  // namespace
}  // namespace relay::transform
