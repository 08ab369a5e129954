#include <gtest/gtest.h>

#include "relay/te/merge.h"
#include "relay/te/recurrence.h"

namespace relay::te {
namespace {

using scalar::imm;

Tensor matmul(const Tensor& a, const Tensor& b) {
  return reduce("C", {a->shape[0], b->shape[1]}, {a->shape[1]}, Combiner::Sum,
                [&](const Exprs& i, const Exprs& k) { return (*a)({i[0], k[0]}) * (*b)({k[0], i[1]}); });
}

TEST(Te, TextOfStages) {
  Expr m = scalar::var("m");
  Tensor a = placeholder("A", {m, imm(64)}, DType::float32()),
         b = placeholder("B", {imm(64), imm(8)}, DType::float32());
  Tensor c = matmul(a, b);
  Tensor d = compute("D", c->shape, [&](const Exprs& i) { return max((*c)(i), scalar::fimm(0)); });
  EXPECT_EQ(str(topological({d})),
            "A    : float32[m, 64]\n"
            "B    : float32[64, 8]\n"
            "C[i0, i1] = sum(k0 < 64) A[i0, k0] * B[k0, i1]    : float32[m, 8]\n"
            "D[i0, i1] = max(C[i0, i1], 0f)    : float32[m, 8]\n");
}

TEST(Te, ReplaceKeepsWhatDoesNotChange) {
  Tensor a = placeholder("A", {imm(4), imm(4)}, DType::float32()),
         b = placeholder("B", {imm(4), imm(4)}, DType::float32());
  Tensor x = placeholder("X", {imm(4), imm(4)}, DType::float32());
  Tensor c = matmul(a, b), d = matmul(a, a);
  Tensors out = replace({c, d}, {{b, x}});
  EXPECT_EQ(str(out[0]), "C[i0, i1] = sum(k0 < 4) A[i0, k0] * X[k0, i1]    : float32[4, 4]");
  EXPECT_EQ(out[1], d);
}

TEST(Te, ReductionsOfSeveralValues) {
  const Expr n = scalar::var("n");
  const Tensor a = placeholder("A", {imm(4), n}, DType::float32());
  const Tensor best = reduce(
      "best", {imm(4)}, {n}, extreme(a->dtype, true, false),
      [&](const Exprs& i, const Exprs& k) { return Exprs{(*a)({i[0], k[0]}), scalar::cast(DType::int32(), k[0])}; });
  const Tensor place = compute("place", {imm(4)}, [&](const Exprs& i) { return value(best, i, 1); });
  EXPECT_EQ(str(topological({place})),
            "A    : float32[4, n]\n"
            "best[i0] = argmax(k0 < n) (A[i0, k0], int32(k0))    : (float32, int32)[4]\n"
            "place[i0] = best[i0].1    : int32[4]\n");
  EXPECT_EQ(count_values(*best), 2u);
  EXPECT_EQ(place->dtype, DType::int32());
  // A replaced input; the merge stays.
  const Tensor b = placeholder("B", a->shape, a->dtype);
  const Tensor now = replace({place}, {{a, b}})[0];
  EXPECT_EQ(str(inputs(now)[0]), "best[i0] = argmax(k0 < n) (B[i0, k0], int32(k0))    : (float32, int32)[4]");
  // Over no axes the result is the element, of which a value is taken.
  const Tensor none = reduce("none", {imm(4)}, {}, extreme(a->dtype, true, false), [&](const Exprs& i, const Exprs&) {
    return Exprs{(*a)({i[0], imm(0)}), imm(0, DType::int32())};
  });
  EXPECT_EQ(none->combiner, Combiner::None);
  EXPECT_EQ(scalar::str(values_of(*none, none->body)[0]), "A[i0, 0]");
}

// The running sums of each row, the last one first.
Tensor totals(const Tensor& a) {
  return program("totals", a->shape, a->dtype, {0}, [&](const Exprs& batch, const loop::BufferRef& result) {
    Expr k = scalar::var("k"), n = a->shape[1];
    Expr rest = scalar::select(eq(k, imm(0)), scalar::fimm(0), scalar::load(result, {batch[0], n - max(k, imm(1))}));
    return loop::for_(k, imm(0), n, loop::ForKind::Serial,
                      loop::store(result, {batch[0], n - 1 - k}, (*a)({batch[0], k}) + rest));
  });
}

TEST(Te, TextOfPrograms) {
  Tensor a = placeholder("A", {scalar::var("m"), imm(8)}, DType::float32());
  EXPECT_EQ(str(totals(a)),
            "totals[i0, i1] = program(i0) {\n"
            "  for k in 0..8 {\n"
            "    totals[i0, 7 - k] = A[i0, k] + select(k == 0, 0f, totals[i0, 8 - max(k, 1)])\n"
            "  }\n"
            "}    : float32[m, 8]");
}

TEST(Te, ReplaceChangesWhatProgramsRead) {
  Tensor a = placeholder("A", {imm(4), imm(8)}, DType::float32()), b = placeholder("B", a->shape, a->dtype);
  Tensor t = totals(a);
  EXPECT_EQ(inputs(t), Tensors{a});
  Tensors out = replace({t}, {{a, b}});
  EXPECT_EQ(inputs(out[0]), Tensors{b});
  EXPECT_EQ(replace({t}, {{b, a}})[0], t);
}

// h = tanh(h R^T + x[t]) along x, with 2 * R computed outside of the steps.
Tensors rnn(const Tensor& x, const Tensor& r, const Tensor& first) {
  Tensor twice = compute("twice", r->shape, [&](const Exprs& i) { return (*r)(i) * 2; });
  return recurrence("rnn", x->shape[0], {first}, [&](const Expr& t, const Tensors& before) -> Tensors {
    Tensor product = reduce("product", first->shape, {r->shape[1]}, Combiner::Sum, [&](const Exprs& i, const Exprs& k) {
      return (*before[0])({i[0], k[0]}) * (*twice)({i[1], k[0]});
    });
    return {compute("next", first->shape, [&](const Exprs& i) {
      return scalar::unary(scalar::UnaryOp::Tanh, (*product)(i) + (*x)({t, i[0], i[1]}));
    })};
  });
}

TEST(Te, TextOfRecurrences) {
  const Expr steps = scalar::var("n");
  const DType f32 = DType::float32();
  Tensor x = placeholder("x", {steps, imm(2), imm(3)}, f32), r = placeholder("R", {imm(3), imm(3)}, f32),
         first = placeholder("first", {imm(2), imm(3)}, f32);
  const Tensors all = rnn(x, r, first);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(str(topological(all)),
            "first    : float32[2, 3]\n"
            "R    : float32[3, 3]\n"
            "twice[i0, i1] = R[i0, i1] * 2f    : float32[3, 3]\n"
            "x    : float32[n, 2, 3]\n"
            "rnn = recurrence(t < n) {\n"
            "  product[i0, i1] = sum(k0 < 3) first[i0, k0] * twice[i1, k0]    : float32[2, 3]\n"
            "  next[i0, i1] = tanh(product[i0, i1] + x[t, i0, i1])    : float32[2, 3]\n"
            "  first = first, then next\n"
            "}\n"
            "first[i0, i1, i2] = state 0 of rnn    : float32[n + 1, 2, 3]\n");
}

TEST(Te, ReplaceChangesWhatRecurrencesRead) {
  const DType f32 = DType::float32();
  Tensor x = placeholder("x", {imm(4), imm(2), imm(3)}, f32), r = placeholder("R", {imm(3), imm(3)}, f32),
         first = placeholder("first", {imm(2), imm(3)}, f32), other = placeholder("other", first->shape, f32),
         y = placeholder("y", x->shape, f32);
  const Tensors all = rnn(x, r, first);
  const Tensor loop = inputs(all[0])[0];
  EXPECT_EQ(inputs(loop).size(), 3u);  // first, twice, x: no state, no stage of a step
  const Tensors out = replace(all, {{x, y}, {first, other}});
  const Tensors reads = inputs(inputs(out[0])[0]);
  ASSERT_EQ(reads.size(), 3u);
  EXPECT_EQ(reads[0], other);
  EXPECT_EQ(reads[2], y);
  EXPECT_EQ(replace(all, {{y, x}})[0], all[0]);
}

TEST(Te, DeepChainsNeedNoStack) {
  Tensor t = placeholder("A", {imm(4)}, DType::float32());
  for (int i = 0; i < 20000; ++i) {
    Tensor last = t;
    t = compute("t", last->shape, [&](const Exprs& i) { return (*last)(i) + 1; });
  }
  EXPECT_EQ(topological({t}).size(), 20001u);
}

TEST(Te, Identities) {
  EXPECT_EQ(scalar::str(identity(Combiner::Max, DType::float32())), "-inff");
  EXPECT_EQ(identity(Combiner::Max, DType::int8())->ivalue, -128);
  EXPECT_EQ(identity(Combiner::Min, DType::uint8())->ivalue, 255);
  EXPECT_EQ(identity(Combiner::Min, DType::boolean())->ivalue, 1);
}

}  // namespace
}  // namespace relay::te
