#include "relay/lower/group/operations.h"

#include <gtest/gtest.h>

#include "relay/lower/group/cost.h"

namespace relay::lower {

using scalar::Expr;
namespace {

using scalar::BinaryOp;
using scalar::imm;
using scalar::UnaryOp;

const DType f32 = DType::float32();

Expr element(const char* name) { return (*te::placeholder(name, {imm(8)}, f32))({scalar::var("i")}); }
const Expr a = element("a"), b = element("b");

TargetDesc machine(double fma_per_cycle, double division, double root, double exp) {
  TargetDesc t;
  t.fma_per_cycle = fma_per_cycle, t.float32_cycles = {division, root, exp};
  t.float64_cycles = {division + 2, root + 2, exp + 2};
  return t;
}
const TargetDesc zen4 = machine(1, 6, 10, 12), haswell = machine(2, 14, 14, 10);

TEST(Operations, TakeTheirTimeInAdditions) {
  EXPECT_EQ(count_operations(a * b + scalar::fimm(1, f32), zen4), 2);
  const Expr quotient = scalar::binary(BinaryOp::Div, a, b), root = scalar::unary(UnaryOp::Sqrt, a);
  EXPECT_EQ(count_operations(quotient, zen4), 12);
  EXPECT_EQ(count_operations(quotient, haswell), 56);
  EXPECT_EQ(count_operations(root, zen4), 20);
  EXPECT_EQ(count_operations(root + quotient, haswell), 56 + 56 + 1);
  // Vector units divide integers by way of floats that hold them.
  EXPECT_EQ(count_operations(floordiv(scalar::cast(DType::int32(), a), imm(5, DType::int32())), zen4), 12);
  EXPECT_EQ(count_operations(floordiv(scalar::cast(DType::int64(), a), imm(5)), zen4), 16);
}

// A vector holds fewer wide elements: their operations are counted in additions of such elements.
TEST(Operations, OfDoublesInAdditionsOfDoubles) {
  const Expr x = scalar::cast(DType::float64(), a), y = scalar::cast(DType::float64(), b);
  EXPECT_EQ(count_operations(x * y, zen4), 1);
  EXPECT_EQ(count_operations(scalar::binary(BinaryOp::Div, x, y), zen4), 16);
  EXPECT_EQ(count_operations(scalar::unary(UnaryOp::Sqrt, x), zen4), 24);
  EXPECT_NEAR(count_operations(scalar::unary(UnaryOp::Exp, x), zen4), additions_in(zen4, 14), 1);
}

TEST(Operations, IndicesAndTestsOfThemAreFree) {
  const Expr i = scalar::var("i");
  EXPECT_EQ(count_operations(scalar::select(scalar::lt(i * 2 + 1, imm(7)), a, scalar::fimm(0, f32)), zen4), 0);
}

// A select costs its most expensive branch: only one is evaluated.
TEST(Operations, OfAChoiceTheDearest) {
  const Expr i = scalar::var("i");
  const Expr e = scalar::select(scalar::lt(i, imm(3)), a + b, scalar::binary(BinaryOp::Div, a, b));
  EXPECT_EQ(count_operations(e, zen4), 12);
}

// Other functions relate to exp as their polynomials do; their divisions take a division's time.
TEST(Operations, FunctionsFollowExp) {
  auto of = [](UnaryOp op, const TargetDesc& t) { return count_operations(scalar::unary(op, a), t); };
  EXPECT_NEAR(of(UnaryOp::Exp, zen4), additions_in(zen4, 12), 1);
  EXPECT_NEAR(of(UnaryOp::Exp, haswell), additions_in(haswell, 10), 1);
  TargetDesc slow = zen4;
  slow.float32_cycles.exp *= 2;
  for (UnaryOp op : {UnaryOp::Exp, UnaryOp::Erf, UnaryOp::Log}) EXPECT_NEAR(of(op, slow), 2 * of(op, zen4), 2);
  const double without_division = of(UnaryOp::Tanh, zen4) - 12;
  EXPECT_NEAR(of(UnaryOp::Tanh, slow) - 12, 2 * without_division, 2);
}

// Divisions by constants are multiplications (scalar/math.h): no division.
TEST(Operations, NoDivisionWhereCodeHasNone) {
  const Expr scaled = scalar::binary(BinaryOp::Div, a, scalar::fimm(1.5, f32));
  TargetDesc slow = zen4;
  slow.float32_cycles.division *= 100;
  EXPECT_EQ(count_operations(scalar::unary(UnaryOp::Erf, scaled), slow),
            count_operations(scalar::unary(UnaryOp::Erf, scaled), zen4));
}

// A quotient with two readers is stored if a division takes longer than a round trip through the cache.
TEST(Operations, WhatPaysToBeStored) {
  TargetDesc t = zen4;
  t.vector_bytes = 64, t.ghz = 4, t.l2_gbps = 100, t.dram_gbps = 20;
  const double row = 4096;
  EXPECT_FALSE(pays_to_store(t, 2, 2, 4, row));
  EXPECT_TRUE(pays_to_store(t, 24, 2, 4, row));
  EXPECT_FALSE(pays_to_store(t, 24, 2, 4, 1e9));
  EXPECT_TRUE(pays_to_store(t, 24, 9, 4, row));
  EXPECT_FALSE(pays_to_store(t, 24, 1, 4, row));
  // Twice as many bytes with half as many elements per vector: the same.
  for (double additions : {3.0, 9.0, 24.0})
    EXPECT_EQ(pays_to_store(t, additions, 2, 4, row), pays_to_store(t, additions, 2, 8, row));
}

}  // namespace
}  // namespace relay::lower
