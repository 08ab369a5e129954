// Simplification of int64 data: values modulo 2^64 stay the same, for the numbers at both ends as well.
#include <gtest/gtest.h>

#include <random>

#include "relay/scalar/eval.h"
#include "relay/scalar/simplify.h"

namespace relay::scalar {
namespace {

struct Array : Source {};

Ref<const Source> array(const char* name) {
  Array* a = new Array;
  a->name = name, a->dtype = DType::int64();
  return Ref<const Source>(a);
}

struct DataCase {
  Ref<const Source> a = array("a");
  Expr i = var("i"), n = var("n"), x = load(a, {i}), y = load(array("b"), {i});
  Bounds bounds;
  std::string operator()(const Expr& e) const { return str(simplify(e, bounds)); }
};

TEST(SimplifyData, ComparisonsKeepTheirSides) {
  DataCase c;
  EXPECT_EQ(c(lt(c.x - 1, c.y)), "a[i] - 1 < b[i]");
  EXPECT_EQ(c(lt(unary(UnaryOp::Neg, c.x), c.y)), "a[i] * -1 < b[i]");
  EXPECT_EQ(c(le(c.x + 3, imm(7))), "a[i] + 3 < 8");
  EXPECT_EQ(c(lt(c.x * 4, imm(9))), "a[i] * 4 < 9");
  EXPECT_EQ(c(eq(c.x + 5, c.y + 5)), "b[i] + 5 == a[i] + 5");
  EXPECT_EQ(c(lt(imm(INT64_MAX - 1), c.x)), "9223372036854775807 <= a[i]");
  EXPECT_EQ(c(lt(imm(INT64_MAX), c.x)), "9223372036854775807 < a[i]");
  EXPECT_EQ(c(le(c.x, imm(INT64_MAX))), "a[i] <= 9223372036854775807");
  EXPECT_EQ(c(lt(max(c.x, imm(0)), imm(-3))), "false");
}

TEST(SimplifyData, SumsAreModulo2To64) {
  DataCase c;
  EXPECT_EQ(c(c.x + 3 + c.y - 1), "a[i] + b[i] + 2");
  EXPECT_EQ(c(c.x - c.x), "0");
  EXPECT_EQ(c(floordiv(c.x * 4, imm(4))), "a[i] * 4 // 4");
  EXPECT_EQ(c(floordiv(c.x + 8, imm(4))), "(a[i] + 8) // 4");
  EXPECT_EQ(c(min(c.x + 1, c.x)), "min(a[i] + 1, a[i])");
  EXPECT_EQ(c(unary(UnaryOp::Abs, c.x)), "abs(a[i])");
}

TEST(SimplifyData, NumbersOfKnownRangeDoNotWrap) {
  DataCase c;
  c.bounds.set(c.i, 0, 100);
  Array* narrow = new Array;
  narrow->name = "s", narrow->dtype = DType::int32();
  const Expr s = cast(DType::int64(), load(Ref<const Source>(narrow), {c.i}));
  EXPECT_EQ(c(lt(s - 1, imm(5))), "int64(s[i]) < 6");
  EXPECT_EQ(c(lt(as_data(c.i) * 4 + 1, imm(401))), "true");
  EXPECT_EQ(c(floordiv(as_data(c.i) * 8 + 3, imm(4))), "i * 2");
  EXPECT_EQ(c(lt(as_data(c.n) - 1, imm(5))), "int64(n) - 1 < 5");  // a size of -2^63 says nothing
  EXPECT_EQ(c(lt(as_data(c.i) * (int64_t{1} << 62), imm(0))), "int64(i) * 4611686018427387904 < 0");
}

TEST(SimplifyData, AnIndexOfDataIsIndexArithmetic) {
  DataCase c;
  const Expr at = load(c.a, {c.x})->args[0];
  EXPECT_TRUE(at->index);
  EXPECT_EQ(c(floordiv(at * 8 + 3, imm(4))), "a[i] * 2");
  EXPECT_FALSE(c.x->index);
  EXPECT_FALSE((c.x + c.i)->index);
  EXPECT_FALSE(select(lt(c.x, c.y), c.i, c.x)->args[1]->index) << "the other branch may be replaced";
  EXPECT_TRUE(equal(as_index(as_data(c.i)), c.i));
  EXPECT_FALSE((imm(INT64_MAX) + imm(1))->index) << "a constant that wraps around is data";
}

// Random expressions over data, indices and their mixtures.
class DataGenerator {
 public:
  DataGenerator(uint64_t seed, Exprs data, Exprs indices)
      : rng_(seed), data_(std::move(data)), indices_(std::move(indices)) {}
  int64_t number(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(rng_); }
  int64_t at_an_end() {
    static const int64_t ends[] = {INT64_MIN, INT64_MAX, int64_t{1} << 62, -(int64_t{1} << 62), 0, 1, -1};
    return static_cast<int64_t>(static_cast<uint64_t>(ends[number(0, 6)]) + static_cast<uint64_t>(number(-3, 3)));
  }
  Expr index(int depth) {
    if (depth == 0 || number(0, 3) == 0) return pick(indices_);
    switch (number(0, 3)) {
      case 0: return index(depth - 1) * number(1, 5);
      case 1: return floordiv(index(depth - 1), number(1, 5));
      case 2: return index(depth - 1) + number(-4, 4);
      default: return index(depth - 1) + index(depth - 1);
    }
  }
  Expr integer(int depth) {
    if (depth == 0 || number(0, 9) == 0) {
      switch (number(0, 4)) {
        case 0: return imm(number(0, 1) ? number(-9, 9) : at_an_end());
        case 1: return as_data(index(2));
        default: return pick(data_);
      }
    }
    static const BinaryOp ops[] = {BinaryOp::Add,      BinaryOp::Add,      BinaryOp::Sub,      BinaryOp::Mul,
                                   BinaryOp::FloorDiv, BinaryOp::FloorMod, BinaryOp::TruncDiv, BinaryOp::TruncMod,
                                   BinaryOp::Min,      BinaryOp::Max,      BinaryOp::BitAnd,   BinaryOp::BitXor,
                                   BinaryOp::Shl,      BinaryOp::Shr};
    static const UnaryOp unaries[] = {UnaryOp::Neg, UnaryOp::Abs, UnaryOp::Sign, UnaryOp::BitNot};
    switch (number(0, 9)) {
      case 0: return as_data(unary(unaries[number(0, 3)], integer(depth - 1)));
      case 1: return as_data(select(boolean(depth - 1), integer(depth - 1), integer(depth - 1)));
      case 2: return integer(depth - 1) + at_an_end();
      case 3: return floordiv(integer(depth - 1), number(1, 6));
      case 4: return max(min(integer(depth - 1), imm(number(0, 99))), imm(number(-9, 9)));
      default: return as_data(binary(ops[number(0, 13)], integer(depth - 1), integer(depth - 1)));
    }
  }
  Expr boolean(int depth) {
    static const BinaryOp ops[] = {BinaryOp::Eq, BinaryOp::Ne, BinaryOp::Lt, BinaryOp::Le};
    if (depth > 0 && number(0, 4) == 0) return unary(UnaryOp::Not, boolean(depth - 1));
    return binary(ops[number(0, 3)], integer(std::max(depth - 1, 0)), integer(std::max(depth - 1, 0)));
  }

 private:
  const Expr& pick(const Exprs& from) {
    return from[static_cast<size_t>(number(0, static_cast<int64_t>(from.size()) - 1))];
  }
  std::mt19937_64 rng_;
  Exprs data_, indices_;
};

TEST(SimplifyDataProperty, KeepsValuesAndRanges) {
  const Expr a = data_var("a", DType::int64()), b = data_var("b", DType::int64()), c = data_var("c", DType::int64());
  const Expr s = data_var("s", DType::int8()), i = var("i"), n = var("n");
  Bounds bounds;
  bounds.set(i, 0, 10);
  bounds.set(c, Interval{-5, INT64_MAX});
  DataGenerator g(20261128, {a, b, c, cast(DType::int64(), s)}, {i, n});
  for (int round = 0; round < 20000; ++round) {
    const Expr e = round % 3 == 2 ? g.boolean(3) : g.integer(1 + round % 5);
    const Expr simple = simplify(e, bounds);
    ASSERT_EQ(e->dtype.is_bool() || is_int(simple) || !simple->index, true) << str(e) << "  ->  " << str(simple);
    const Interval range = e->dtype.is_bool() ? Interval{} : interval(e, bounds);
    for (int k = 0; k < 8; ++k) {
      const std::vector<std::pair<Expr, Value>> values{
          {a, int_value(g.at_an_end())},
          {b, int_value(g.number(0, 1) ? g.number(-9, 9) : g.at_an_end())},
          {c, int_value(g.number(0, 1) ? g.number(-5, 9) : INT64_MAX - g.number(0, 5))},
          {s, int_value(g.number(-128, 127), DType::int8())},
          {i, int_value(g.number(0, 9))},
          {n, int_value(g.number(0, 1000))}};
      const int64_t before = eval(e, values).i;
      ASSERT_EQ(eval(simple, values).i, before) << str(e) << "  ->  " << str(simple);
      ASSERT_TRUE((!range.min || *range.min <= before) && (!range.max || before <= *range.max))
          << str(e) << " = " << before;
    }
  }
}

}  // namespace
}  // namespace relay::scalar
