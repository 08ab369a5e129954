#include "relay/eval/te.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "relay/scalar/eval.h"
#include "relay/te/merge.h"
#include "relay/te/recurrence.h"

namespace relay::eval {
namespace {

using scalar::Expr;
using scalar::Exprs;
using scalar::fimm;
using scalar::imm;
using te::Combiner;

Exprs dims(std::initializer_list<int64_t> list) {
  Exprs out;
  for (int64_t d : list) out.push_back(imm(d));
  return out;
}

Tensor random_tensor(Shape shape, DType dtype, uint64_t seed, double low = -1, double high = 1) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> draw(low, high);
  Tensor t = Tensor::empty(std::move(shape), dtype);
  for (int64_t i = 0; i < t.elements(); ++i) t.set(i, dtype.is_float() ? draw(random) : std::round(draw(random)));
  return t;
}

te::Tensor matmul(const te::Tensor& a, const te::Tensor& b) {
  return te::reduce("C", {a->shape[0], b->shape[1]}, {a->shape[1]}, Combiner::Sum,
                    [&](const Exprs& i, const Exprs& k) { return (*a)({i[0], k[0]}) * (*b)({k[0], i[1]}); });
}

// Defines the expected result, point by point with scalar::eval: evaluate() must equal it bit for bit in native
// precision.
Tensor obvious(const te::Tensor& stage, const TensorBindings& inputs) {
  Shape shape;
  for (const Expr& e : stage->shape) shape.push_back(e->ivalue);
  Tensor out = Tensor::empty(shape, stage->dtype);
  std::vector<std::pair<Expr, int64_t>> values;
  auto var = [&](const Expr& v, int) {
    for (const auto& [name, value] : values)
      if (name == v) return scalar::int_value(value);
    throw InternalError("unbound");
  };
  auto load = [&](const scalar::Source& source, std::span<const int64_t> at) {
    for (const auto& [placeholder, tensor] : inputs)
      if (placeholder.get() == &source) {
        int64_t flat = 0;
        for (size_t d = 0; d < at.size(); ++d) {
          if (at[d] < 0 || at[d] >= tensor.shape()[d]) throw InternalError("out of range");
          flat = flat * tensor.shape()[d] + at[d];
        }
        return source.dtype.is_float() ? scalar::float_value(tensor.at(flat), source.dtype)
                                       : scalar::int_value(tensor.int_at(flat), source.dtype);
      }
    throw InternalError("unbound tensor");
  };
  scalar::Environment env{var, load};
  auto points = [&](const std::vector<te::Axis>& axes, auto&& body) {
    std::vector<int64_t> at(axes.size());
    for (const te::Axis& a : axes)
      if (a.extent->ivalue == 0) return;
    for (;;) {
      for (size_t d = 0; d < axes.size(); ++d) values.push_back({axes[d].var, at[d]});
      body();
      values.resize(values.size() - axes.size());
      size_t d = axes.size();
      while (d > 0 && ++at[d - 1] == axes[d - 1].extent->ivalue) at[--d] = 0;
      if (d == 0) return;
    }
  };
  int64_t next = 0;
  points(stage->axes, [&] {
    scalar::Value result;
    if (stage->combiner == Combiner::None) {
      result = scalar::eval(stage->body, env);
    } else {
      Expr a = scalar::var("a", stage->dtype), b = scalar::var("b", stage->dtype),
           both = te::combine(stage->combiner, a, b);
      result = scalar::eval(te::identity(stage->combiner, stage->dtype), std::vector<std::pair<Expr, scalar::Value>>{});
      points(stage->reduce_axes,
             [&] { result = scalar::eval(both, {{a, result}, {b, scalar::eval(stage->body, env)}}); });
    }
    if (stage->dtype.is_float())
      out.set(next++, result.f);
    else
      out.set_int(next++, result.i);
  });
  return out;
}

void expect_exact(const te::Tensor& stage, const TensorBindings& inputs) {
  Tensor want = obvious(stage, inputs);
  for (int threads : {1, 3}) {
    Result<std::vector<Tensor>> got = evaluate({stage}, inputs, {}, {.threads = threads});
    ASSERT_TRUE(got);
    EXPECT_TRUE(equal((*got)[0], want)) << te::str(stage) << "\n" << str((*got)[0]) << "\n" << str(want);
  }
}

TEST(EvalTe, ScansAreForSchedules) {
  te::Tensor running = te::scan("running", dims({4}), DType::float32(), [](const Exprs& i, const te::Tensor& self) {
    return scalar::select(scalar::eq(i[0], imm(0)), scalar::fimm(1), (*self)({i[0] - 1}) * scalar::fimm(2));
  });
  Result<std::vector<Tensor>> got = evaluate({running}, {});
  ASSERT_FALSE(got);
  EXPECT_NE(got.errors()[0].message.find("'running' by te::scan"), std::string::npos) << render(got.errors());
}

// Programs run in the loop interpreter; their arithmetic is double if that of all other stages is.
TEST(EvalTe, Programs) {
  te::Tensor x = te::placeholder("x", dims({2, 3}), DType::float32());
  te::Tensor total = te::program("total", x->shape, x->dtype, {0}, [&](const Exprs& b, const loop::BufferRef& result) {
    Expr k = scalar::var("k"), before = scalar::load(result, {b[0], max(k, imm(1)) - 1});
    Expr sum = scalar::select(scalar::eq(k, imm(0)), (*x)({b[0], k}), before + (*x)({b[0], k}));
    return loop::for_(k, imm(0), imm(3), loop::ForKind::Serial, loop::store(result, {b[0], k}, sum));
  });
  const std::vector<double> values{1, 1e-9, 2, 4, 5, 6};
  Tensor data = Tensor::from_doubles({2, 3}, DType::float32(), values);
  Result<std::vector<Tensor>> got = evaluate({total}, {{x, data}}),
                              exact = evaluate({total}, {{x, data}}, {}, {.float64 = true});
  ASSERT_TRUE(got && exact);
  EXPECT_EQ((*got)[0].to_doubles(), (std::vector<double>{1, 1, 3, 4, 9, 15}));
  EXPECT_EQ((*exact)[0].dtype(), DType::float64());
  EXPECT_NEAR((*exact)[0].at(1) - 1, 1e-9, 1e-12);
}

TEST(EvalTe, Matmul) {
  for (DType t : {DType::float32(), DType::float64(), DType::float16(), DType::int8(), DType::int32()}) {
    te::Tensor a = te::placeholder("A", dims({37, 19}), t), b = te::placeholder("B", dims({19, 45}), t);
    double range = t.is_float() ? 1 : 20;
    expect_exact(matmul(a, b), {{a, random_tensor({37, 19}, t, 1, -range, range)},
                                {b, random_tensor({19, 45}, t, 2, -range, range)}});
  }
}

TEST(EvalTe, ProductsWithTheReductionInnermost) {
  DType f = DType::float32();
  te::Tensor a = te::placeholder("A", dims({3, 21, 19}), f), b = te::placeholder("B", dims({3, 45, 19}), f);
  te::Tensor c = te::reduce("C", dims({3, 21, 45}), dims({19}), Combiner::Sum, [&](const Exprs& i, const Exprs& k) {
    return (*a)({i[0], i[1], k[0]}) * (*b)({i[0], i[2], k[0]});
  });
  expect_exact(c, {{a, random_tensor({3, 21, 19}, f, 12)}, {b, random_tensor({3, 45, 19}, f, 13)}});
}

TEST(EvalTe, FewOutputsOfLongReductions) {
  te::Tensor a = te::placeholder("A", dims({2, 3000}), DType::float32());
  Tensor value = random_tensor({2, 3000}, DType::float32(), 3);
  for (Combiner c : {Combiner::Sum, Combiner::Max, Combiner::Min, Combiner::Prod})
    expect_exact(
        te::reduce("R", dims({2}), dims({3000}), c, [&](const Exprs& i, const Exprs& k) { return (*a)({i[0], k[0]}); }),
        {{a, value}});
}

TEST(EvalTe, ConvolutionWithGuard) {
  DType f = DType::float32();
  te::Tensor x = te::placeholder("X", dims({2, 3, 9, 11}), f), w = te::placeholder("W", dims({5, 3, 3, 3}), f);
  TensorBindings inputs{{x, random_tensor({2, 3, 9, 11}, f, 4)}, {w, random_tensor({5, 3, 3, 3}, f, 5)}};
  te::Tensor conv =
      te::reduce("conv", dims({2, 5, 9, 11}), dims({3, 3, 3}), Combiner::Sum, [&](const Exprs& i, const Exprs& r) {
        Expr y = i[2] + r[1] - 1, c = i[3] + r[2] - 1;
        Expr inside =
            logical_and(logical_and(le(imm(0), y), lt(y, imm(9))), logical_and(le(imm(0), c), lt(c, imm(11))));
        return select(inside, (*x)({i[0], r[0], y, c}), fimm(0)) * (*w)({i[1], r[0], r[1], r[2]});
      });
  expect_exact(conv, inputs);
  // The same with the padding as a separate stage, as operators write it; in both precisions.
  te::Tensor padded = te::compute("padded", dims({2, 3, 11, 13}), [&](const Exprs& i) {
    Expr y = i[2] - 1, c = i[3] - 1;
    Expr inside = logical_and(logical_and(le(imm(0), y), lt(y, imm(9))), logical_and(le(imm(0), c), lt(c, imm(11))));
    return select(inside, (*x)({i[0], i[1], y, c}), fimm(0));
  });
  te::Tensor two =
      te::reduce("conv", dims({2, 5, 9, 11}), dims({3, 3, 3}), Combiner::Sum, [&](const Exprs& i, const Exprs& r) {
        return (*padded)({i[0], r[0], i[2] + r[1], i[3] + r[2]}) * (*w)({i[1], r[0], r[1], r[2]});
      });
  Result<std::vector<Tensor>> single = evaluate({two}, inputs), wide = evaluate({two}, inputs, {}, {.float64 = true});
  ASSERT_TRUE(single && wide);
  EXPECT_TRUE(equal((*single)[0], obvious(conv, inputs)));
  EXPECT_EQ((*wide)[0].dtype(), DType::float64());
  for (int64_t i = 0; i < (*wide)[0].elements(); ++i) ASSERT_NEAR((*wide)[0].at(i), (*single)[0].at(i), 1e-5);
}

TEST(EvalTe, StridedGroupedConvolutionAndPooling) {
  DType f = DType::float32();
  te::Tensor x = te::placeholder("X", dims({1, 6, 13, 13}), f), w = te::placeholder("W", dims({8, 3, 3, 3}), f);
  TensorBindings inputs{{x, random_tensor({1, 6, 13, 13}, f, 6)}, {w, random_tensor({8, 3, 3, 3}, f, 7)}};
  expect_exact(te::reduce("grouped", dims({1, 8, 6, 6}), dims({3, 3, 3}), Combiner::Sum,
                          [&](const Exprs& i, const Exprs& r) {
                            return (*x)({i[0], floordiv(i[1], 4) * 3 + r[0], i[2] * 2 + r[1], i[3] * 2 + r[2]}) *
                                   (*w)({i[1], r[0], r[1], r[2]});
                          }),
               inputs);
  expect_exact(
      te::reduce("pool", dims({1, 6, 6, 6}), dims({3, 3}), Combiner::Max,
                 [&](const Exprs& i, const Exprs& r) { return (*x)({i[0], i[1], i[2] * 2 + r[0], i[3] * 2 + r[1]}); }),
      {{x, inputs[0].second}});
}

TEST(EvalTe, GatherChecksIndices) {
  te::Tensor x = te::placeholder("X", dims({5, 4}), DType::float32()),
             ids = te::placeholder("ids", dims({7}), DType::int32());
  te::Tensor gather = te::compute("gather", dims({7, 4}),
                                  [&](const Exprs& i) { return (*x)({cast(DType::int64(), (*ids)({i[0]})), i[1]}); });
  Tensor value = random_tensor({5, 4}, DType::float32(), 8);
  std::vector<int64_t> good{0, 4, 2, 2, 1, 3, 0}, bad{0, 4, 2, 5, 1, 3, 0};
  expect_exact(gather, {{x, value}, {ids, Tensor::from_ints({7}, DType::int32(), good)}});
  try {
    Result<std::vector<Tensor>> r =
        evaluate({gather}, {{x, value}, {ids, Tensor::from_ints({7}, DType::int32(), bad)}});
    FAIL();
  } catch (const InternalError& e) {
    EXPECT_NE(std::string(e.what()).find("stage gather reads X at index 5 of dimension 0"), std::string::npos)
        << e.what();
  }
}

TEST(EvalTe, ArgMaxInTwoStages) {
  te::Tensor x = te::placeholder("X", dims({6, 50}), DType::float32());
  te::Tensor top = te::reduce("top", dims({6}), dims({50}), Combiner::Max,
                              [&](const Exprs& i, const Exprs& k) { return (*x)({i[0], k[0]}); });
  te::Tensor arg = te::reduce("arg", dims({6}), dims({50}), Combiner::Min, [&](const Exprs& i, const Exprs& k) {
    return select(eq((*x)({i[0], k[0]}), (*top)({i[0]})), k[0], imm(INT64_MAX));
  });
  Tensor value = random_tensor({6, 50}, DType::float32(), 9);
  Result<std::vector<Tensor>> r = evaluate({arg, top}, {{x, value}});
  ASSERT_TRUE(r);
  for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(value.at(i * 50 + (*r)[0].int_at(i)), (*r)[1].at(i));
}

TEST(EvalTe, ShapeVariablesAndEmptyExtents) {
  Expr n = scalar::var("n");
  te::Tensor x = te::placeholder("X", {n, imm(3)}, DType::float32());
  te::Tensor sum = te::reduce("sum", {imm(3)}, {n}, Combiner::Sum,
                              [&](const Exprs& i, const Exprs& k) { return (*x)({k[0], i[0]}); });
  Result<std::vector<Tensor>> some = evaluate({sum}, {{x, Tensor::full({4, 3}, DType::float32(), 2)}}, {{n, 4}});
  ASSERT_TRUE(some);
  EXPECT_EQ((*some)[0].to_doubles(), (std::vector<double>{8, 8, 8}));
  Result<std::vector<Tensor>> none = evaluate({sum}, {{x, Tensor::empty({0, 3}, DType::float32())}}, {{n, 0}});
  ASSERT_TRUE(none);
  EXPECT_EQ((*none)[0].to_doubles(), (std::vector<double>{0, 0, 0}));
  EXPECT_FALSE(evaluate({sum}, {{x, Tensor::empty({0, 3}, DType::float32())}}));
}

bool same(const Tensor& a, const Tensor& b) {
  for (int64_t i = 0; i < a.elements(); ++i) {
    if (!a.dtype().is_float() && a.int_at(i) != b.int_at(i)) return false;
    if (a.dtype().is_float() && a.at(i) != b.at(i) && !(std::isnan(a.at(i)) && std::isnan(b.at(i)))) return false;
  }
  return true;
}

// Random bodies over every kind of node: all instructions against scalar::eval.
TEST(EvalTeProperty, RandomBodies) {
  std::mt19937_64 random(11);
  auto pick = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  const DType types[] = {DType::float32(), DType::float64(), DType::float16(), DType::bfloat16(), DType::int8(),
                         DType::uint8(),   DType::int32(),   DType::int64(),   DType::uint64(),   DType::boolean()};
  std::vector<te::Tensor> sources;
  TensorBindings inputs;
  for (DType t : types) {
    sources.push_back(te::placeholder("x_" + t.str(), dims({6, 7}), t));
    inputs.push_back(
        {sources.back(),
         random_tensor({6, 7}, t, random(), t.code == DType::Code::UInt || t.is_bool() ? 0 : -3, t.is_bool() ? 1 : 3)});
  }
  using scalar::BinaryOp;
  using scalar::UnaryOp;
  Exprs axes;
  std::function<Expr(DType, int)> make = [&](DType t, int depth) -> Expr {
    size_t source = static_cast<size_t>(std::find(std::begin(types), std::end(types), t) - std::begin(types));
    if (depth == 0) {
      if (pick(4) == 0) return t.is_float() ? fimm(static_cast<double>(pick(9)) / 4 - 1, t) : imm(pick(3), t);
      if (pick(5) == 0 && t == DType::int64())
        return axes[static_cast<size_t>(pick(static_cast<int64_t>(axes.size())))];
      // A guarded load, sometimes one step out of range.
      Expr row = axes[0] + pick(3) - 1, column = floormod(axes[1] * (1 + pick(3)), 7);
      Expr inside = logical_and(le(imm(0), row), lt(row, imm(6)));
      return select(inside, (*sources[source])({row, column}), imm(1, t));
    }
    switch (pick(8)) {
      case 0: return cast(t, make(types[pick(10)], depth - 1));
      case 1: return select(make(DType::boolean(), depth - 1), make(t, depth - 1), make(t, depth - 1));
      case 2: {
        if (t == DType::float32()) return scalar::reinterpret(t, make(DType::int32(), depth - 1));
        if (t == DType::int32()) return scalar::reinterpret(t, make(DType::float32(), depth - 1));
        break;
      }
      case 3:
        if (t.is_bool()) return scalar::unary(UnaryOp::Not, make(t, depth - 1));
        if (t.is_float()) {
          const UnaryOp ops[] = {UnaryOp::Neg,  UnaryOp::Abs,  UnaryOp::Exp,   UnaryOp::Sqrt, UnaryOp::Floor,
                                 UnaryOp::Tanh, UnaryOp::Sign, UnaryOp::Round, UnaryOp::Sin};
          return scalar::unary(ops[pick(9)], make(t, depth - 1));
        }
        return scalar::unary(pick(2) ? UnaryOp::Neg : UnaryOp::Abs, make(t, depth - 1));
      default: break;
    }
    if (t.is_bool()) {
      DType from = types[pick(9)];
      const BinaryOp ops[] = {BinaryOp::Eq, BinaryOp::Ne, BinaryOp::Lt, BinaryOp::Le};
      if (pick(3) == 0)
        return scalar::binary(pick(2) ? BinaryOp::And : BinaryOp::Or, make(t, depth - 1), make(t, depth - 1));
      return scalar::binary(ops[pick(4)], make(from, depth - 1), make(from, depth - 1));
    }
    const BinaryOp floats[] = {BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul,      BinaryOp::Div,
                               BinaryOp::Min, BinaryOp::Max, BinaryOp::FloorDiv, BinaryOp::Pow};
    const BinaryOp ints[] = {BinaryOp::Add,      BinaryOp::Sub,      BinaryOp::Mul, BinaryOp::FloorDiv,
                             BinaryOp::FloorMod, BinaryOp::TruncDiv, BinaryOp::Min, BinaryOp::Max,
                             BinaryOp::BitAnd,   BinaryOp::Shl,      BinaryOp::Shr};
    return scalar::binary(t.is_float() ? floats[pick(8)] : ints[pick(11)], make(t, depth - 1), make(t, depth - 1));
  };
  for (int round = 0; round < 600; ++round) {
    DType t = types[pick(9)];
    te::Tensor stage;
    if (round % 3) {
      stage = te::compute("s", dims({6, 7}), [&](const Exprs& i) { return axes = i, make(t, 1 + round % 4); });
    } else {
      stage =
          te::reduce("s", dims({6}), dims({7, 2}), t.is_float() ? Combiner::Max : Combiner::Sum,
                     [&](const Exprs& i, const Exprs& k) { return axes = {i[0], k[0], k[1]}, make(t, 1 + round % 4); });
    }
    Result<std::vector<Tensor>> got = evaluate({stage}, inputs);
    ASSERT_TRUE(got);
    Tensor want = obvious(stage, inputs);
    ASSERT_TRUE(same((*got)[0], want)) << te::str(stage) << "\n" << str((*got)[0], 64) << "\n" << str(want, 64);
    ASSERT_TRUE(evaluate({stage}, inputs, {}, {.float64 = true}));
  }
}

TEST(EvalTe, ArgmaxHasThePlaceOfNumbersTiesAndNaN) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  struct Case {
    std::vector<double> row;
    int64_t first, last;  // of the greatest value
  };
  for (DType t : {DType::float32(), DType::float64(), DType::float16()})
    for (const Case& c : {Case{{1, 3, 2, 3, 0}, 1, 3}, Case{{nan, 1, nan, 2, 5}, 0, 2}, Case{{1, 2, nan, 9, 3}, 2, 2},
                          Case{{-inf, -inf, -inf, -inf, -inf}, 0, 4}, Case{{-inf, -5, -inf, -5, -7}, 1, 3},
                          Case{{inf, 1, inf, nan, inf}, 3, 3}})
      for (bool greatest : {true, false})
        for (bool last : {false, true}) {
          std::vector<double> row = c.row;
          if (!greatest)
            for (double& v : row) v = -v;
          const te::Tensor x = te::placeholder("x", {imm(5)}, t);
          const te::Tensor best = te::reduce(
              "best", {}, {imm(5)}, te::extreme(t, greatest, last),
              [&](const Exprs&, const Exprs& k) { return Exprs{(*x)(k), scalar::cast(DType::int32(), k[0])}; });
          const te::Tensors out = {te::compute("place", {}, [&](const Exprs&) { return te::value(best, {}, 1); }),
                                   te::compute("value", {}, [&](const Exprs&) { return te::value(best, {}, 0); })};
          const Result<std::vector<Tensor>> got = evaluate(out, {{x, Tensor::from_doubles({5}, t, row)}});
          ASSERT_TRUE(got);
          const int64_t place = last ? c.last : c.first;
          EXPECT_EQ((*got)[0].int_at(0), place) << t.str();
          const double want = row[static_cast<size_t>(place)], value = (*got)[1].at(0);
          EXPECT_TRUE(value == want || (std::isnan(value) && std::isnan(want))) << value << " " << want;
        }
}

TEST(EvalTe, RecurrencesTakeAStateThroughTheirSteps) {
  const DType t = DType::float32();
  const Expr steps = scalar::var("n");
  te::Tensor x = te::placeholder("x", {steps, imm(2)}, t), first = te::placeholder("first", {imm(2)}, t);
  // a = b + x[t], b = 2 * a (the previous one): b of each step is read only by the next step.
  const te::Tensors states =
      te::recurrence("loop", steps, {first, first}, [&](const Expr& step, const te::Tensors& before) {
        te::Tensor a = te::compute("a", {imm(2)}, [&](const Exprs& i) { return (*before[1])(i) + (*x)({step, i[0]}); });
        te::Tensor b = te::compute("b", {imm(2)}, [&](const Exprs& i) { return (*before[0])(i) * 2; });
        return te::Tensors{a, b};
      });
  const std::vector<double> xs = {1, 2, 3, 4, 5, 6}, zeros = {1, -1};
  const TensorBindings inputs = {{x, Tensor::from_doubles({3, 2}, t, xs)},
                                 {first, Tensor::from_doubles({2}, t, zeros)}};
  const Result<std::vector<Tensor>> got = evaluate(states, inputs, {{steps, 3}});
  ASSERT_TRUE(got);
  ASSERT_EQ((*got)[0].shape(), (Shape{4, 2}));
  for (size_t row = 0; row < 2; ++row) {
    double a = zeros[row], b = zeros[row];
    for (int64_t s = 0; s <= 3; ++s) {
      EXPECT_EQ((*got)[0].at(s * 2 + static_cast<int64_t>(row)), a);
      EXPECT_EQ((*got)[1].at(s * 2 + static_cast<int64_t>(row)), b);
      if (s == 3) break;
      const double next = b + xs[static_cast<size_t>(s) * 2 + row];
      b = 2 * a, a = next;
    }
  }
  const Result<std::vector<Tensor>> none =
      evaluate(states, {{x, Tensor::empty({0, 2}, t)}, {first, Tensor::from_doubles({2}, t, zeros)}}, {{steps, 0}});
  ASSERT_TRUE(none);
  EXPECT_EQ((*none)[0].shape(), (Shape{1, 2}));
  EXPECT_EQ((*none)[0].at(1), -1);
}

}  // namespace
}  // namespace relay::eval
