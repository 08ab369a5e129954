#include "relay/scalar/few_bits.h"

#include <gtest/gtest.h>

#include "relay/scalar/eval.h"

namespace relay::scalar {
namespace {

const DType i32 = DType::int32();

double value(const Expr& e, const Expr& byte, int64_t b) { return eval(e, {{byte, int_value(b, DType::uint8())}}).f; }

// Every byte, and every field of it: the value is that of the cast.
void expect_equal(const Expr& cast, const Expr& byte) {
  const Expr made = few_bits_as_float(cast);
  ASSERT_TRUE(made) << str(cast);
  for (int64_t b = 0; b < 256; ++b) ASSERT_EQ(value(made, byte, b), value(cast, byte, b)) << str(cast) << " of " << b;
}

TEST(FewBits, ConvertsFieldsOfAByteExactly) {
  const Expr byte = data_var("b", DType::uint8());
  auto shifted = [](BinaryOp op, const Expr& e, int by) { return binary(op, e, imm(by, i32)); };
  for (int width : {1, 2, 3, 4, 7})
    for (int low = 0; low + width <= 8; ++low) {
      const Expr word = shifted(BinaryOp::Shr, cast(i32, byte), low);
      const Expr unsigned_field = binary(BinaryOp::BitAnd, word, imm((1 << width) - 1, i32));
      const Expr signed_field = shifted(BinaryOp::Shr, shifted(BinaryOp::Shl, word, 32 - width), 32 - width);
      expect_equal(cast(DType::float32(), unsigned_field), byte);
      expect_equal(cast(DType::float32(), signed_field), byte);
      expect_equal(cast(DType::float32(), unsigned_field - imm(8, i32)), byte);
      // Through the byte of an element.
      const Expr element = cast(i32, cast(DType::uint8(), unsigned_field));
      expect_equal(
          cast(DType::float32(), shifted(BinaryOp::Shr, shifted(BinaryOp::Shl, element, 32 - width), 32 - width)),
          byte);
    }
}

TEST(FewBits, LeavesOtherConversions) {
  const Expr word = data_var("w", i32);
  EXPECT_FALSE(few_bits_as_float(cast(DType::float32(), word)));
  EXPECT_FALSE(few_bits_as_float(cast(DType::float64(), binary(BinaryOp::BitAnd, word, imm(15, i32)))));
  EXPECT_FALSE(few_bits_as_float(cast(DType::float32(), binary(BinaryOp::BitAnd, word, imm(14, i32)))));
  EXPECT_FALSE(few_bits_as_float(cast(DType::float32(), binary(BinaryOp::BitAnd, word, imm(1023, i32)))));
  // A shift of a variable distance.
  EXPECT_FALSE(few_bits_as_float(
      cast(DType::float32(), binary(BinaryOp::Shr, binary(BinaryOp::Shl, word, word), imm(28, i32)))));
}

}  // namespace
}  // namespace relay::scalar
