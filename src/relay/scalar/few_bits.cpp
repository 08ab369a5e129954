#include "relay/scalar/few_bits.h"

#include <bit>
#include <cmath>
#include <optional>

#include "relay/scalar/simplify.h"

namespace relay::scalar {

namespace {

constexpr int digits = 23;  // of a float32, behind the first

// The bits of 2^exponent as a float32.
int64_t bits_of_power(int exponent) { return static_cast<int64_t>(127 + exponent) << digits; }

// The same constant in all lanes.
std::optional<int64_t> constant(const Expr& e) {
  const Expr& one = e->kind == Kind::Broadcast ? e->args[0] : e;
  const Expr value = simplify(one->kind == Kind::Cast && one->dtype.is_int() ? one->args[0] : one);
  return is_int(value) ? std::optional(value->ivalue) : std::nullopt;
}

const Expr* operand(const Expr& e, BinaryOp op) {
  return e->kind == Kind::Binary && e->binary == op ? &e->args[0] : nullptr;
}

// `width` bits of `word`, an int32, from bit `low` on; with a sign, or without.
struct Field {
  Expr word;
  int low = 0, width = 0;
  bool is_signed = false;
};

// Removes operations that leave the lowest bits of the field's word unchanged, and shifts to the right.
void look_inside(Field& f) {
  for (;;) {
    const Expr e = f.word;
    const int needed = f.low + f.width;
    if ((e->kind == Kind::Cast || e->kind == Kind::Reinterpret) && !e->args[0]->dtype.is_float() &&
        !e->args[0]->dtype.is_bool() && e->dtype.bits >= needed && e->args[0]->dtype.bits >= needed) {
      f.word = e->args[0];
      continue;
    }
    if (const Expr* masked = operand(e, BinaryOp::BitAnd)) {
      const std::optional<int64_t> mask = constant(e->args[1]);
      const int64_t bits = ((int64_t{1} << f.width) - 1) << f.low;
      if (mask && (*mask & bits) == bits) {
        f.word = *masked;
        continue;
      }
    }
    if (const Expr* shifted = operand(e, BinaryOp::Shr)) {
      const std::optional<int64_t> by = constant(e->args[1]);
      if (by && *by >= 0 && needed + *by <= digits && needed + *by <= e->dtype.bits) {
        f.word = *shifted, f.low += static_cast<int>(*by);
        continue;
      }
    }
    return;
  }
}

std::optional<Field> field_of(const Expr& number) {
  Field f{number};
  if (const Expr* left = operand(number, BinaryOp::Shr)) {
    const Expr* word = operand(*left, BinaryOp::Shl);
    const std::optional<int64_t> right_by = constant(number->args[1]),
                                 left_by = word ? constant((*left)->args[1]) : std::nullopt;
    if (!left_by || left_by != right_by || *left_by < 24 || *left_by > 31) return std::nullopt;
    f = {*word, 0, static_cast<int>(32 - *left_by), true};
  } else if (const Expr* masked = operand(number, BinaryOp::BitAnd)) {
    const std::optional<int64_t> mask = constant(number->args[1]);
    if (!mask || *mask < 1 || *mask > 255 || !std::has_single_bit(static_cast<uint64_t>(*mask + 1)))
      return std::nullopt;
    f = {*masked, 0, std::countr_one(static_cast<uint64_t>(*mask)), false};
  } else {
    return std::nullopt;
  }
  look_inside(f);
  return f;
}

}  // namespace

Expr few_bits_as_float(const Expr& cast) {
  if (cast->kind != Kind::Cast || cast->dtype.element() != DType::float32()) return {};
  Expr number = cast->args[0];
  if (number->dtype.element() != DType::int32()) return {};
  // A zero point that is known.
  int64_t zero = 0;
  if (const Expr* less = operand(number, BinaryOp::Sub)) {
    const std::optional<int64_t> by = constant(number->args[1]);
    if (!by || std::abs(*by) > 255) return {};
    zero = *by, number = *less;
  }
  std::optional<Field> f = field_of(number);
  if (!f || f->width >= 8 || f->word->dtype.bits > 32) return {};
  if (f->word->dtype.is_storage()) f->word = reinterpret(DType::uint8().with_lanes(cast->dtype.lanes), f->word);
  const DType i32 = DType::int32().with_lanes(cast->dtype.lanes);
  const int64_t mask = ((int64_t{1} << f->width) - 1) << f->low;
  const int64_t half = f->is_signed ? int64_t{1} << (f->width - 1) : 0;
  const Expr bits = binary(BinaryOp::BitXor, binary(BinaryOp::BitAnd, scalar::cast(i32, f->word), imm(mask, i32)),
                           imm(bits_of_power(digits - f->low) | half << f->low, i32));
  // Has few enough digits: 2^(23 - low) plus a number of at most 9 bits.
  const double known = std::ldexp(1.0, digits - f->low) + static_cast<double>(half + zero);
  return reinterpret(cast->dtype, bits) - fimm(known, cast->dtype);
}

}  // namespace relay::scalar
