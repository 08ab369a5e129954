#include "relay/scalar/simplify.h"

#include <gtest/gtest.h>

#include <random>

namespace relay::scalar {
namespace {

struct Case {
  Expr x = var("x"), y = var("y"), z = var("z"), m = var("m"), n = var("n");
  Bounds bounds;
  std::string operator()(const Expr& e) const { return str(simplify(e, bounds)); }
};

TEST(Simplify, SumsAreCanonical) {
  Case c;
  EXPECT_EQ(c(c.x + c.y), c(c.y + c.x));
  EXPECT_EQ(c(c.x * 3 + c.y - c.x), "x * 2 + y");
  EXPECT_EQ(c((c.x + 1) * (c.y + 2)), c(c.x * c.y + c.x * 2 + c.y + 2));
  EXPECT_EQ(c(c.x - c.x), "0");
  EXPECT_EQ(c(imm(5) - c.x), "5 - x");
  EXPECT_EQ(c(unary(UnaryOp::Neg, c.x)), "x * -1");
  EXPECT_EQ(c(c.m * 224 - c.m * 112 * 2), "0");
}

TEST(Simplify, DivisionAndModulo) {
  Case c;
  c.bounds.set(c.x, 0, 4);
  EXPECT_EQ(c(floordiv(c.y * 8 + c.x + 8, 4)), "y * 2 + 2");
  EXPECT_EQ(c(floormod(c.y * 8 + c.x + 8, 4)), "x");
  EXPECT_EQ(c(floordiv(c.y * 8 + c.x + 9, 4)), "y * 2 + (x + 1) // 4 + 2");
  EXPECT_EQ(c(floordiv(floordiv(c.y, 4), 8)), "y // 32");
  EXPECT_EQ(c(floordiv(c.y * 16 + c.x * 4, 64)), "y // 4");
  EXPECT_EQ(c(floormod(c.y * 16 + c.x * 4 + 3, 64)), "x * 4 + y % 4 * 16 + 3");
  EXPECT_EQ(c(floordiv(c.y, 4) * 4 + floormod(c.y, 4)), "y");
  EXPECT_EQ(c(floordiv(c.y + 5, 4) * 4 + floormod(c.y + 5, 4)), "y + 5");
  EXPECT_EQ(c(floordiv(c.y, 8) * 8 + floormod(floordiv(c.y, 4), 2) * 4 + floormod(c.y, 4)), "y");
  EXPECT_EQ(c(floormod(floormod(c.y, 8) + c.z, 4)), c(floormod(c.y + c.z, 4)));
  EXPECT_EQ(c(floordiv(imm(-7), imm(2))), "-4");
  EXPECT_EQ(c(floordiv(floormod(c.y, 8), 8)), "0");
  EXPECT_EQ(c(floordiv(c.y, imm(0))), "y // 0");
}

TEST(Simplify, SymbolicDivision) {
  Case c;
  EXPECT_EQ(c(floordiv(c.m * c.n, c.n)), "m * n // n");  // n may be 0
  c.bounds.set(c.n, Interval{1, {}});
  EXPECT_EQ(c(floordiv(c.m * c.n, c.n)), "m");
  EXPECT_EQ(c(floormod(c.m * c.n, c.n)), "0");
  EXPECT_EQ(c(floordiv(c.m * c.n * 12, c.n * 4)), "m * 3");
  c.bounds.set_range(c.x, imm(0), c.n);
  EXPECT_EQ(c(floordiv(c.m * c.n + c.x, c.n)), "m");
  EXPECT_EQ(c(floormod(c.m * c.n + c.x, c.n)), "x");
  EXPECT_EQ(c(floordiv(c.z, c.n) * c.n + floormod(c.z, c.n)), "z");
  EXPECT_EQ(c(floordiv(c.n + 1, c.n + 1)), "1");
}

TEST(Simplify, MinMaxAndSelect) {
  Case c;
  c.bounds.set(c.x, 0, 8);
  EXPECT_EQ(c(min(c.x, imm(7))), "x");
  EXPECT_EQ(c(max(c.x, imm(9))), "9");
  EXPECT_EQ(c(min(c.x + c.y + 3, c.x + c.y + 5)), "x + y + 3");
  EXPECT_EQ(c(min(min(c.y, imm(5)), imm(9))), "min(5, y)");
  EXPECT_EQ(c(min(c.y, min(c.z, c.y))), c(min(c.z, c.y)));
  EXPECT_EQ(c(select(lt(c.x, imm(8)), c.y, c.z)), "y");
  EXPECT_EQ(c(select(lt(c.y, imm(8)), c.z, c.z)), "z");
}

TEST(Simplify, Comparisons) {
  Case c;
  c.bounds.set(c.x, 0, 8);
  EXPECT_EQ(c(lt(c.x, imm(8))), "true");
  EXPECT_EQ(c(lt(c.x + 8, imm(8))), "false");
  EXPECT_EQ(c(lt(c.y - 1, c.z + 3)), "y <= z + 3");
  EXPECT_EQ(c(le(imm(0), c.y - 3)), "3 <= y");
  EXPECT_EQ(c(lt(c.y * 4, imm(9))), "y < 3");
  EXPECT_EQ(c(eq(c.y * 4 + 1, c.z * 2)), "false");
  EXPECT_EQ(c(logical_and(lt(c.y, imm(3)), lt(c.x, imm(9)))), "y < 3");
  EXPECT_EQ(c(unary(UnaryOp::Not, lt(c.y, c.z))), "z <= y");
  EXPECT_EQ(c(logical_or(lt(c.y, c.z), unary(UnaryOp::Not, lt(c.y, c.z)))), "true");
}

TEST(Simplify, SymbolicRangesProveGuards) {
  Case c;
  Expr h = var("h"), w = var("w"), yo = var("yo"), yi = var("yi");
  c.bounds.set_range(c.y, imm(0), h);
  c.bounds.set_range(c.x, imm(0), w);
  EXPECT_EQ(prove(lt(c.y, h), c.bounds), true);
  EXPECT_EQ(prove(lt(c.y + 1, h), c.bounds), std::nullopt);
  EXPECT_EQ(prove(lt(c.y * w + c.x, h * w), c.bounds), true);
  EXPECT_EQ(prove(lt(h, c.y), c.bounds), false);
  // Tiles of 8 rows: whole ones are inside, and the last one has a size of at least 1.
  c.bounds.set_range(yo, imm(0), floordiv(h, 8));
  c.bounds.set(yi, 0, 8);
  EXPECT_EQ(prove(lt(yo * 8 + yi, h), c.bounds), true);
  c.bounds.set_range(yo, imm(0), floordiv(h + 7, 8));
  EXPECT_EQ(prove(lt(yo * 8 + yi, h), c.bounds), std::nullopt);
  EXPECT_EQ(prove(le(imm(1), min(imm(8), h - yo * 8)), c.bounds), true);
}

TEST(Simplify, Equality) {
  Case c;
  EXPECT_EQ(prove_equal(c.m * 224, c.m * 14 * 16), true);
  EXPECT_EQ(prove_equal(c.m, c.m + 1), false);
  EXPECT_EQ(prove_equal(c.m, c.n), std::nullopt);
  EXPECT_EQ(prove_equal(any_dim(), any_dim()), std::nullopt);
}

TEST(Simplify, Vectors) {
  Case c;
  Expr lanes = ramp(c.x, 1, 8);
  EXPECT_EQ(c(lanes + broadcast(c.y, 8)), "ramp(x + y, 1, 8)");
  EXPECT_EQ(c(lanes * broadcast(imm(4), 8)), "ramp(x * 4, 4, 8)");
  EXPECT_EQ(c(lanes - lanes), "broadcast(0, 8)");
  EXPECT_EQ(c(lt(ramp(imm(0), 1, 8), broadcast(imm(8), 8))), "broadcast(true, 8)");
  EXPECT_EQ(c(lt(ramp(c.x + 8, 1, 8), broadcast(c.x + 12, 8))), "ramp(x + 8, 1, 8) < broadcast(x + 12, 8)");
  EXPECT_EQ(c(floordiv(ramp(c.x * 16 + 8, 1, 8), broadcast(imm(16), 8))), "broadcast(x, 8)");
  EXPECT_EQ(c(floormod(ramp(c.x * 8, 1, 8), broadcast(imm(16), 8))), "ramp(x % 2 * 8, 1, 8)");
  EXPECT_EQ(c(broadcast(fimm(1), 8) + broadcast(fimm(2), 8)), "broadcast(1f + 2f, 8)");
}

TEST(Simplify, Affine) {
  Case c;
  std::optional<Affine> a = as_affine((c.x + c.y * 3) * 4 + c.m, {c.x, c.y});
  ASSERT_TRUE(a);
  EXPECT_EQ(a->coefficients, (std::vector<int64_t>{4, 12}));
  EXPECT_EQ(str(a->rest), "m");
  EXPECT_FALSE(as_affine(c.x * c.m, {c.x}));
  EXPECT_FALSE(as_affine(floordiv(c.x, 2), {c.x}));
}

TEST(Simplify, Evaluate) {
  Case c;
  EXPECT_EQ(evaluate(floordiv(c.x - 7, 2), {{c.x, 4}}), -2);
  EXPECT_EQ(evaluate(floormod(c.x - 7, 2), {{c.x, 4}}), 1);
  EXPECT_EQ(evaluate(c.x, {}), std::nullopt);
  EXPECT_EQ(evaluate(c.x * c.x, {{c.x, int64_t{1} << 40}}), std::nullopt);
  EXPECT_EQ(evaluate(floordiv(c.x, c.y), {{c.x, 1}, {c.y, 0}}), std::nullopt);
}

TEST(Simplify, ARangeWithoutNumbersHasNoSign) {
  Expr a = var("a"), b = var("b");
  Bounds bounds;
  bounds.set(a, Interval{5, -3});  // as in a branch that is never taken
  Interval range = interval(a * b, bounds);
  EXPECT_FALSE(range.min || range.max);
}

TEST(Simplify, OverflowingConstantsAreLeftAlone) {
  Case c;
  Expr big = c.x * (int64_t{1} << 62);
  EXPECT_EQ(evaluate(simplify(big * 4), {{c.x, 0}}), 0);
  EXPECT_EQ(evaluate(simplify(big * 4), {{c.x, 1}}), std::nullopt);
}

// Random expressions: simplify keeps values and is idempotent; intervals contain the values.
class Generator {
 public:
  Generator(uint64_t seed, Exprs vars) : rng_(seed), vars_(std::move(vars)) {}
  int64_t number(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(rng_); }
  Expr integer(int depth) {
    if (depth == 0 || number(0, 9) == 0)
      return number(0, 2) == 0 ? imm(number(-9, 17))
                               : vars_[static_cast<size_t>(number(0, static_cast<int64_t>(vars_.size()) - 1))];
    static const BinaryOp ops[] = {BinaryOp::Add,      BinaryOp::Add,      BinaryOp::Sub, BinaryOp::Mul,
                                   BinaryOp::FloorDiv, BinaryOp::FloorMod, BinaryOp::Min, BinaryOp::Max,
                                   BinaryOp::TruncDiv, BinaryOp::TruncMod};
    static const int64_t constants[] = {1, 2, 3, 4, 8, 16, -1, -4, 12};
    switch (number(0, 12)) {
      case 0: return unary(number(0, 1) ? UnaryOp::Neg : UnaryOp::Abs, integer(depth - 1));
      case 1: return select(boolean(depth - 1), integer(depth - 1), integer(depth - 1));
      case 2:
      case 3: return integer(depth - 1) * constants[number(0, 8)];
      case 4:
      case 5: return floordiv(integer(depth - 1), constants[number(0, 8)]);
      case 6:
      case 7: return floormod(integer(depth - 1), constants[number(0, 8)]);
      default: return binary(ops[number(0, 9)], integer(depth - 1), integer(depth - 1));
    }
  }
  Expr boolean(int depth) {
    static const BinaryOp ops[] = {BinaryOp::Eq, BinaryOp::Ne, BinaryOp::Lt, BinaryOp::Le};
    if (depth > 0 && number(0, 3) == 0)
      return binary(number(0, 1) ? BinaryOp::And : BinaryOp::Or, boolean(depth - 1), boolean(depth - 1));
    if (depth > 0 && number(0, 5) == 0) return unary(UnaryOp::Not, boolean(depth - 1));
    return binary(ops[number(0, 3)], integer(std::max(depth - 1, 0)), integer(std::max(depth - 1, 0)));
  }

 private:
  std::mt19937_64 rng_;
  Exprs vars_;
};

TEST(SimplifyProperty, KeepsValuesIsIdempotentAndIntervalsHold) {
  Expr a = var("a"), b = var("b"), c = var("c"), n = var("n");
  Bounds bounds;
  bounds.set(a, 0, 4);
  bounds.set(b, -3, 9);
  bounds.set(n, Interval{1, 6});
  bounds.set_range(c, imm(0), n);
  Generator g(20240501, {a, b, c, n});
  for (int round = 0; round < 20000; ++round) {
    Expr e = round % 4 == 3 ? g.boolean(4) : g.integer(1 + round % 5);
    Expr s = simplify(e, bounds);
    ASSERT_EQ(str(simplify(s, bounds)), str(s)) << "not idempotent: " << str(e);
    Interval range = e->dtype.is_bool() ? Interval{} : interval(e, bounds);
    for (int k = 0; k < 12; ++k) {
      int64_t nv = g.number(1, 6);
      std::vector<std::pair<Expr, int64_t>> values{
          {a, g.number(0, 3)}, {b, g.number(-3, 5)}, {c, g.number(0, nv - 1)}, {n, nv}};
      std::optional<int64_t> before = evaluate(e, values);
      if (!before) continue;  // a division by zero
      ASSERT_EQ(evaluate(s, values), before) << str(e) << "  ->  " << str(s);
      ASSERT_TRUE((!range.min || *range.min <= *before) && (!range.max || *before <= *range.max))
          << str(e) << " = " << *before;
    }
  }
}

}  // namespace
}  // namespace relay::scalar
