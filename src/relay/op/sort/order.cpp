#include "relay/op/sort/order.h"

#include <algorithm>

namespace relay::op {

namespace {

constexpr int digit_bits = 8;
constexpr int64_t digits = int64_t{1} << digit_bits;
// Beyond, counting ranks in lanes takes longer than counting digits. Measured (Zen 4, float32): of 50 ranks are faster,
// of 100 digits.
constexpr int64_t few = 96;

const DType i64 = DType::int64();

Expr bit_and(const Expr& a, int64_t mask) { return scalar::binary(BinaryOp::BitAnd, a, dim(mask)); }
Expr shifted(const Expr& a, int64_t by) { return by == 0 ? a : scalar::binary(BinaryOp::Shr, a, dim(by)); }
Expr inverted(const Expr& a) { return scalar::unary(UnaryOp::BitNot, a); }

// Halves of 16 bits are sorted as the float32 that they are.
DType sorted_as(DType t) { return t.is_float() && t.bits < 32 ? DType::float32() : t; }
int key_bits(DType t) { return t.is_bool() ? 8 : sorted_as(t).bits; }

// A number without sign, in the lowest key_bits of an int64, that is less where x comes first.
Expr key(Expr x, bool ascend) {
  x = scalar::cast(sorted_as(x->dtype), x);
  const DType t = x->dtype;
  const int bits = key_bits(t);
  Expr k;
  if (t.is_float()) {
    const Expr zero = scalar::fimm(0, t);  // of both signs
    const Expr b = scalar::cast(i64, scalar::reinterpret(DType{DType::Code::Int, static_cast<uint8_t>(bits)},
                                                         scalar::select(scalar::eq(x, zero), zero, x)));
    const Expr top = dim(bits == 64 ? INT64_MIN : int64_t{1} << 31);
    k = scalar::select(lt(b, dim(0)), inverted(b), scalar::binary(BinaryOp::BitXor, b, top));
    k = scalar::select(scalar::unary(UnaryOp::IsNan, x), dim(bits == 64 ? -1 : (int64_t{1} << 32) - 1), k);
  } else if (t.code == DType::Code::UInt && bits == 64) {
    k = scalar::reinterpret(i64, x);
  } else if (t.is_bool() || t.code == DType::Code::UInt) {
    k = scalar::cast(i64, x);
  } else if (bits == 64) {
    k = scalar::binary(BinaryOp::BitXor, x, dim(INT64_MIN));
  } else {
    k = scalar::cast(i64, x) + (int64_t{1} << (bits - 1));
  }
  if (ascend) return k;
  return bits == 64 ? inverted(k) : dim((int64_t{1} << bits) - 1) - k;
}

// a > b, where NaN is greater than every number.
Expr greater(const Expr& a, const Expr& b) {
  auto no = [](const Expr& e) { return scalar::unary(UnaryOp::Not, e); };
  if (!a->dtype.is_float()) return lt(b, a);
  return logical_and(no(le(a, b)), no(scalar::unary(UnaryOp::IsNan, b)));
}

// The number of elements that come before each: in front of it the equal ones do, too.
te::Tensor ranks(const te::Tensor& data, size_t axis, bool ascend) {
  return te::reduce("ranks", data->shape, {data->shape[axis]}, Combiner::Sum, [&](const Exprs& i, const Exprs& r) {
    Exprs at = i;
    at[axis] = r[0];
    const Expr self = (*data)(i), other = (*data)(at);
    const Expr behind = ascend ? greater(other, self) : greater(self, other);
    const Expr before = ascend ? greater(self, other) : greater(other, self);
    const Expr equal = logical_and(scalar::unary(UnaryOp::Not, behind), lt(r[0], i[axis]));
    return cast(DType::int32(), logical_or(before, equal));
  });
}

}  // namespace

Order::Order(const te::Tensor& data, size_t axis, bool ascend) : data_(data), axis_(axis), ascend_(ascend) {
  const Expr& n = data->shape[axis];
  const int bits = key_bits(data->dtype);
  rounds_ = bits == 64 ? 2 : 1;
  passes_ = std::min(bits, 32) / digit_bits;
  half_ = rounds_ * passes_ % 2;
  Exprs shape = data->shape;
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  const size_t batch = shape.size();
  shape.push_back(dim(scalar::is_int(n) && n->ivalue <= few ? 1 : 2)), shape.push_back(n);
  const std::vector<size_t> all = axes_but(batch, {});
  if (scalar::is_int(n) && n->ivalue <= few) {
    half_ = 0;
    const te::Tensor rank = ranks(data, axis, ascend);
    order_ = te::program("order", shape, i64, all, [&](const Exprs& i, const BufferRef& result) {
      return each("k", n, [&](const Expr& k) {
        return loop::store(result, at(i, dim(0), cast(i64, (*rank)(in_data(i, k)))), k);
      });
    });
  } else {
    order_ = te::program("order", shape, i64, all,
                         [&](const Exprs& i, const BufferRef& result) { return by_digits(i, result); });
  }
}

Exprs Order::at(const Exprs& batch, const Expr& half, const Expr& k) const {
  Exprs out = batch;
  out.push_back(half), out.push_back(k);
  return out;
}

Exprs Order::in_data(const Exprs& batch, const Expr& k) const {
  Exprs out = batch;
  out.insert(out.begin() + static_cast<std::ptrdiff_t>(axis_), k);
  return out;
}

Stmt Order::by_digits(const Exprs& batch, const BufferRef& result) const {
  const Expr& n = data_->shape[axis_];
  const BufferRef counts = loop::buffer("counts", i64, {dim(passes_), dim(digits)}, loop::Scope::Scratch);
  auto digit = [&](const Expr& pair, int pass) { return bit_and(shifted(pair, 32 + pass * digit_bits), digits - 1); };
  auto load = [&](int half, const Expr& k) { return scalar::load(result, at(batch, dim(half), k)); };
  auto count_digits = [&](const Expr& pair) {
    loop::Stmts out;
    for (int pass = 0; pass < passes_; ++pass)
      out.push_back(let("digit", digit(pair, pass), [&](const Expr& d) {
        return loop::store(counts, {dim(pass), d}, scalar::load(counts, {dim(pass), d}) + 1);
      }));
    return loop::block(std::move(out));
  };
  loop::Stmts steps;
  int half = 0;
  for (int round = 0; round < rounds_; ++round) {
    steps.push_back(each("pass", dim(passes_), [&](const Expr& pass) {
      return each("digit", dim(digits), [&](const Expr& d) { return loop::store(counts, {pass, d}, dim(0)); });
    }));
    steps.push_back(each("i", n, [&](const Expr& i) {
      const Expr place = round == 0 ? i : bit_and(load(half, i), UINT32_MAX);
      return let("place", place, [&](const Expr& p) {
        const Expr all = key((*data_)(in_data(batch, p)), ascend_);
        const Expr part = rounds_ == 1 ? all : bit_and(shifted(all, 32 * round), UINT32_MAX);
        const Expr pair = scalar::binary(BinaryOp::BitOr, scalar::binary(BinaryOp::Shl, part, dim(32)), p);
        return let("pair", pair, [&](const Expr& v) {
          return loop::block({loop::store(result, at(batch, dim(half), i), v), count_digits(v)});
        });
      });
    }));
    for (int pass = 0; pass < passes_; ++pass, half = 1 - half) {
      steps.push_back(with_cell("sum", dim(0), [&](const Cell& sum) {
        return each("digit", dim(digits), [&](const Expr& d) {
          return let("count", scalar::load(counts, {dim(pass), d}), [&](const Expr& count) {
            return loop::block({loop::store(counts, {dim(pass), d}, sum.get()), sum.set(sum.get() + count)});
          });
        });
      }));
      steps.push_back(each("i", n, [&](const Expr& i) {
        return let("pair", load(half, i), [&](const Expr& pair) {
          return let("digit", digit(pair, pass), [&](const Expr& d) {
            return let("to", scalar::load(counts, {dim(pass), d}), [&](const Expr& to) {
              return loop::block({loop::store(result, at(batch, dim(1 - half), to), pair),
                                  loop::store(counts, {dim(pass), d}, to + 1)});
            });
          });
        });
      }));
    }
  }
  return loop::alloc(counts, loop::block(std::move(steps)));
}

Expr Order::place(const Exprs& i) const {
  Exprs batch = i;
  batch.erase(batch.begin() + static_cast<std::ptrdiff_t>(axis_));
  return bit_and((*order_)(at(batch, dim(half_), i[axis_])), UINT32_MAX);
}

Expr Order::element(const Exprs& i) const {
  Exprs from = i;
  from[axis_] = max(min(place(i), data_->shape[axis_] - 1), dim(0));
  return (*data_)(from);
}

}  // namespace relay::op
