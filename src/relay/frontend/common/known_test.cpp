// Arithmetic on elements that are known at import, with sizes that are variables.
#include "relay/frontend/common/known.h"

#include <gtest/gtest.h>

#include "relay/base/text.h"

namespace relay::frontend {
namespace {

using scalar::BinaryOp;
using scalar::UnaryOp;

scalar::Expr n = scalar::var("n"), h = scalar::var("h");

std::string str(const KnownRef& known) {
  if (!known) return "not known";
  std::vector<std::string> values;
  for (const scalar::Expr& e : known->values) values.push_back(scalar::str(e));
  return format("{}[{}] [{}]", known->dtype.str(), join(known->shape, ", "), join(values, ", "));
}
KnownRef ints(const scalar::Exprs& values) { return known_ints(values); }

TEST(Known, ListsAreTakenApartAndPutTogether) {
  KnownRef shape = ints({n, scalar::imm(3), h});
  EXPECT_EQ(str(picked(*shape, {2, 0}, {2})), "int64[2] [h, n]");
  EXPECT_EQ(str(picked(*shape, {3}, {1})), "not known");
  EXPECT_EQ(str(sliced(*shape, 0, 2, -1, -1)), "int64[3] [h, 3, n]");
  EXPECT_EQ(str(concat({shape, ints({scalar::imm(-1)})})), "int64[4] [n, 3, h, -1]");
  EXPECT_EQ(str(product(*shape)), "int64[] [h * n * 3]");
  EXPECT_EQ(str(reshaped(*shape, {3, 1})), "int64[3, 1] [n, 3, h]");
  EXPECT_EQ(str(reshaped(*shape, {2})), "not known");
  KnownRef matrix = reshaped(*ints({n, h, scalar::imm(1), scalar::imm(2)}), {2, 2});
  EXPECT_EQ(str(transposed(*matrix, {1, 0})), "int64[2, 2] [n, 1, h, 2]");
}

TEST(Known, ArithmeticStretchesAndSimplifies) {
  KnownRef list = ints({n, n + h}), one = known_scalar(n, DType::int64());
  EXPECT_EQ(str(binary(BinaryOp::Sub, *list, *one)), "int64[2] [0, h]");
  EXPECT_EQ(str(binary(BinaryOp::Add, *list, *ints({n, n, n}))), "not known");
  // Division is the type's: towards zero, which is floor for non-negative values.
  EXPECT_EQ(str(binary(BinaryOp::Div, *ints({scalar::imm(-7)}), *ints({scalar::imm(2)}))), "int64[1] [-3]");
  EXPECT_EQ(str(binary(BinaryOp::Div, *ints({n}), *ints({scalar::imm(0)}))), "not known");
  // Comparisons are known if they can be proved.
  EXPECT_EQ(str(binary(BinaryOp::Eq, *one, *one)), "bool[] [1]");
  EXPECT_EQ(str(binary(BinaryOp::Eq, *one, *known_scalar(h, DType::int64()))), "not known");
  EXPECT_EQ(str(where(*binary(BinaryOp::Eq, *one, *one), *list, *ints({h, h}))), str(list));
}

TEST(Known, SizesInFloatsStayExact) {
  KnownRef size = cast(*ints({h}), DType::float32());
  KnownRef half = binary(BinaryOp::Mul, *size, *known_of(Tensor::scalar(0.5, DType::float32())));
  EXPECT_EQ(str(cast(*unary(UnaryOp::Floor, *half), DType::int64())), "int64[1] [h // 2]");
  EXPECT_EQ(str(cast(*unary(UnaryOp::Ceil, *half), DType::int64())), "int64[1] [(h + 1) // 2]");
}

// 31 / 7 * 7 is 30.999998 in float32, and 10 * 10.7 is 107.
TEST(Known, RoundedProductsOfSizesAreLeftToTheRun) {
  const DType f32 = DType::float32();
  auto number = [&](double value) { return known_of(Tensor::scalar(value, f32)); };
  KnownRef size = cast(*ints({h}), f32), part = binary(BinaryOp::Div, *size, *number(7));
  EXPECT_EQ(str(unary(UnaryOp::Floor, *part)), "float32[1] [float64(h // 7)]");
  EXPECT_EQ(str(unary(UnaryOp::Floor, *binary(BinaryOp::Mul, *part, *number(7)))), "not known");
  EXPECT_EQ(str(unary(UnaryOp::Floor, *binary(BinaryOp::Mul, *size, *number(10.7f)))), "not known");
}

TEST(Known, EveryStepIsOfTheTypeOfItsTensor) {
  auto of = [](double v, DType t) { return known_of(Tensor::scalar(v, t)); };
  const DType u8 = DType::uint8(), i32 = DType::int32(), f16 = DType::float16();
  const KnownRef sum = binary(BinaryOp::Add, *of(200, u8), *of(100, u8));
  EXPECT_EQ(str(sum), "uint8[] [44]");
  EXPECT_EQ(str(cast(*sum, DType::float32())), "float32[] [44f64]");
  EXPECT_EQ(str(unary(UnaryOp::Neg, *of(1, u8))), "uint8[] [255]");
  EXPECT_EQ(str(binary(BinaryOp::Lt, *unary(UnaryOp::Neg, *of(-2147483648.0, i32)), *of(0, i32))), "bool[] [1]");
  EXPECT_EQ(str(product(*binary(BinaryOp::Mul, *of(16, u8), *of(16, u8)))), "uint8[] [0]");
  const KnownRef huge = binary(BinaryOp::Mul, *of(300, f16), *of(300, f16));
  EXPECT_EQ(str(binary(BinaryOp::Div, *huge, *of(300, f16))), "float16[] [inff64]");
  EXPECT_EQ(str(cast(*cast(*of(0.1, DType::float32()), f16), DType::float32())), "float32[] [0.0999755859375f64]");
  EXPECT_EQ(str(cast(*of(1e30, DType::float32()), DType::int8())), "int8[] [127]");
  EXPECT_EQ(str(cast(*of(300, i32), u8)), "uint8[] [44]");
}

TEST(Known, SizesThatMightWrapAroundAreNotKnown) {
  const KnownRef size = ints({n});
  EXPECT_EQ(str(binary(BinaryOp::Mul, *size, *ints({scalar::imm(int64_t{1} << 62)}))), "not known");
  EXPECT_EQ(str(binary(BinaryOp::Lt, *binary(BinaryOp::Sub, *size, *ints({scalar::imm(1)})), *size)), "bool[1] [1]");
  EXPECT_EQ(str(cast(*size, DType::uint8())), "not known");
  const KnownRef large = binary(BinaryOp::Mul, *size, *ints({scalar::imm(int64_t{1} << 30)}));
  EXPECT_EQ(str(large), "int64[1] [n * 1073741824]");
  EXPECT_EQ(str(cast(*large, DType::int32())), "not known");
  EXPECT_EQ(str(cast(*large, DType::float32())), "not known");
  EXPECT_EQ(str(cast(*size, DType::float16())), "not known");
}

TEST(Known, WhatIsTooLargeIsNotKnown) {
  EXPECT_FALSE(known_of(Tensor::full({max_known + 1}, DType::int64(), 0)));
  KnownRef square = known_scalar(n + h, DType::int64());
  for (int i = 0; square && i < 40; ++i) square = binary(BinaryOp::Mul, *square, *square);
  EXPECT_FALSE(square);
}

}  // namespace
}  // namespace relay::frontend
