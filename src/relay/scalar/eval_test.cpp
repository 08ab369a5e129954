#include "relay/scalar/eval.h"

#include <gtest/gtest.h>

#include <cmath>

namespace relay::scalar {
namespace {

TEST(Eval, IntegersWrapAndDivideAsStated) {
  auto i8 = [](int64_t v) { return int_value(v, DType::int8()); };
  EXPECT_EQ(apply(BinaryOp::Add, i8(127), i8(1)).i, -128);
  EXPECT_EQ(apply(BinaryOp::FloorDiv, i8(-7), i8(2)).i, -4);
  EXPECT_EQ(apply(BinaryOp::FloorMod, i8(-7), i8(2)).i, 1);
  EXPECT_EQ(apply(BinaryOp::TruncMod, i8(-7), i8(2)).i, -1);
  EXPECT_EQ(apply(BinaryOp::FloorDiv, i8(-128), i8(-1)).i, -128);
  EXPECT_EQ(apply(BinaryOp::FloorDiv, i8(5), i8(0)).i, 0);
  EXPECT_EQ(apply(BinaryOp::Shr, i8(-128), i8(9)).i, -1);
  EXPECT_EQ(apply(BinaryOp::Lt, int_value(-1, DType::uint64()), int_value(1, DType::uint64())).i, 0);
}

TEST(Eval, ConversionsSaturate) {
  EXPECT_EQ(convert(DType::int8(), float_value(300, DType::float32())).i, 127);
  EXPECT_EQ(convert(DType::uint8(), float_value(-3, DType::float32())).i, 0);
  EXPECT_EQ(convert(DType::int32(), float_value(NAN, DType::float32())).i, 0);
  EXPECT_EQ(convert(DType::int64(), float_value(1e30, DType::float64())).i, INT64_MAX);
  EXPECT_EQ(convert(DType::uint64(), float_value(1e30, DType::float64())).i, -1);
}

TEST(Eval, SmallFloatsRoundHalfToEven) {
  for (uint32_t bits = 0; bits < 0x7C00; ++bits) {  // every finite half, and the midpoints between them
    double v = reinterpret(DType::float16(), int_value(bits, DType::uint16())).f;
    double next = bits + 1 == 0x7C00 ? 65536 : reinterpret(DType::float16(), int_value(bits + 1, DType::uint16())).f;
    ASSERT_EQ(round_to(DType::float16(), v), v);
    double even = bits % 2 == 0 ? v : bits + 1 == 0x7C00 ? INFINITY : next;
    ASSERT_EQ(round_to(DType::float16(), (v + next) / 2), even) << bits;
  }
  EXPECT_EQ(round_to(DType::bfloat16(), 1 + 1.0 / 256), 1);
  EXPECT_EQ(round_to(DType::bfloat16(), 1 + 3.0 / 256), 1 + 1.0 / 64);
  EXPECT_EQ(round_to(DType::bfloat16(), 3.4e38), INFINITY);
}

TEST(Eval, LanesAndGuards) {
  Expr x = var("x"), zero = imm(0);
  Expr lanes = ramp(x, 3, 4) + broadcast(imm(1), 4);
  auto five = [](const Expr&, int) { return int_value(5); };
  auto none = [](const Source&, std::span<const int64_t>) -> Value { throw 1; };
  EXPECT_EQ(eval(lanes, Environment{five, none}, 2).i, 12);
  Source* s = new Source;
  s->name = "a", s->dtype = DType::float32();
  Expr guarded = select(lt(x, zero), load(Ref<const Source>(s), {x}), fimm(2));
  EXPECT_EQ(eval(guarded, Environment{five, none}).f, 2);
}

TEST(Eval, Contraction) {
  Expr x = var("x", DType::float32());
  Expr e = x * x - fimm(1);
  Value v = float_value(1 + 0x1p-20, DType::float32());
  EXPECT_EQ(eval(e, {{x, v}}).f, 0x1p-19);
  EXPECT_EQ(eval(e, {{x, v}}, true).f, 0x1p-19 + 0x1p-40);
}

}  // namespace
}  // namespace relay::scalar
