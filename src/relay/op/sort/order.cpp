#include "relay/op/sort/order.h"

#include "relay/op/sort/radix.h"

namespace relay::op {

namespace {

// Up to this length, counting ranks in lanes takes less time than radix sorting. Measured (Zen 4, float32): ranks are
// faster for 50 elements, radix sorting for 100.
constexpr int64_t few = 96;
// Up to this length, all words of a line stay in the L1 cache with their indices, and elements are gathered by index:
// then values are exact even if a program is evaluated in double precision, which 32-bit keys would round.
constexpr int64_t gathered = 2048;
constexpr int place_bits = 32;

const DType i64 = DType::int64();

Expr bit_and(const Expr& a, int64_t mask) { return scalar::binary(BinaryOp::BitAnd, a, imm(mask, a->dtype)); }
Expr bit_xor(const Expr& a, int64_t mask) { return scalar::binary(BinaryOp::BitXor, a, imm(mask, a->dtype)); }
Expr bit_or(const Expr& a, const Expr& b) { return scalar::binary(BinaryOp::BitOr, a, b); }
Expr up(const Expr& a, int64_t by) { return scalar::binary(BinaryOp::Shl, a, imm(by, a->dtype)); }
Expr down(const Expr& a, const Expr& by) { return scalar::binary(BinaryOp::Shr, a, cast(a->dtype, by)); }
Expr inverted(const Expr& a) { return scalar::unary(UnaryOp::BitNot, a); }
Expr is_nan(const Expr& a) { return scalar::unary(UnaryOp::IsNan, a); }

// Floats of 16 bits are sorted as float32, integers of fewer than 32 bits as int32.
DType key_type(DType t) { return t.bits == 64 && !t.is_bool() ? i64 : DType::int32(); }
DType sorted_as(DType t) { return t.is_float() ? t.bits == 64 ? t : DType::float32() : key_type(t); }
int64_t top_bit(DType t) { return t.bits == 64 ? INT64_MIN : INT32_MIN; }
bool inverts_top(DType t) { return t.code == DType::Code::UInt && !t.is_bool() && t.bits >= 32; }

// An integer key that is less if x comes first. For floats it is the bits, with all bits but the sign inverted for
// negative numbers. Zeros of both signs have the same key; with `signs` that of the negative one is less.
Expr key(Expr x, bool ascend, bool signs) {
  const DType t = key_type(x->dtype);
  Expr k;
  if (x->dtype.is_float()) {
    x = cast(sorted_as(x->dtype), x);
    const Expr zero = scalar::fimm(0, x->dtype);
    const Expr bits = scalar::reinterpret(t, signs ? x : select(scalar::eq(x, zero), zero, x));
    k = select(lt(bits, imm(0, t)), bit_xor(bits, ~top_bit(t)), bits);
    k = select(is_nan(x), imm(~top_bit(t), t), k);
  } else {
    k = inverts_top(x->dtype) ? bit_xor(scalar::reinterpret(t, x), top_bit(t)) : cast(t, x);
  }
  return ascend ? k : inverted(k);
}

// The element of type t with this key, made with `signs`.
Expr element_of(Expr k, DType t, bool ascend) {
  if (!ascend) k = inverted(k);
  if (inverts_top(t)) return scalar::reinterpret(t, bit_xor(k, top_bit(k->dtype)));
  if (!t.is_float()) return t.is_bool() ? ne(k, imm(0, k->dtype)) : cast(t, k);
  const Expr bits = select(lt(k, imm(0, k->dtype)), bit_xor(k, ~top_bit(k->dtype)), k);
  return cast(t, scalar::reinterpret(sorted_as(t), bits));
}

// The number of elements that come before each, including equal ones with lower indices.
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

Exprs without(Exprs all, size_t axis) {
  all.erase(all.begin() + static_cast<std::ptrdiff_t>(axis));
  return all;
}

Exprs with(Exprs line, size_t axis, const Expr& k) {
  line.insert(line.begin() + static_cast<std::ptrdiff_t>(axis), k);
  return line;
}

// A line of the work space at `k` of `half`.
Exprs table_index(Exprs line, const Expr& half, const Expr& k) {
  line.push_back(half), line.push_back(k);
  return line;
}

bool is_short(const Expr& n, int64_t limit) { return scalar::is_int(n) && n->ivalue <= limit; }

// The keys of all elements, and the least and the greatest of each line.
struct Keys {
  te::Tensor of, least, greatest;
  size_t axis;

  Keys(const te::Tensor& data, size_t along, bool ascend, bool signs) : axis(along) {
    of = te::compute("keys", data->shape, [&](const Exprs& i) { return key((*data)(i), ascend, signs); });
    auto extreme = [&](const char* name, Combiner combiner) {
      return te::reduce(name, without(data->shape, axis), {data->shape[axis]}, combiner,
                        [&](const Exprs& i, const Exprs& r) { return (*of)(with(i, axis, r[0])); });
    };
    least = extreme("least", Combiner::Min), greatest = extreme("greatest", Combiner::Max);
  }

  // The unsigned difference of a key from the least of its line.
  static Expr above(const Expr& k, const Expr& from) {
    const DType t{DType::Code::UInt, static_cast<uint8_t>(k->dtype.bits)};
    return scalar::reinterpret(t, k) - scalar::reinterpret(t, from);
  }
  Expr above_least(const Exprs& line, const Expr& place) const {
    return above((*of)(with(line, axis, place)), (*least)(line));
  }
  Expr range(const Exprs& line) const {
    const Expr r = above((*greatest)(line), (*least)(line));
    return r->dtype.bits == 64 ? scalar::reinterpret(i64, r) : cast(i64, r);
  }
};

// 64-bit words: as many of the highest bits of a key as fit, and the index.
Stmt places_in_order(const Keys& keys, const Expr& needed, const Exprs& line, const BufferRef& result) {
  const DType word = DType::uint64();
  auto place = [](const Expr& w) { return cast(i64, bit_and(w, UINT32_MAX)); };
  return with_bits_of(keys.range(line), [&](const Expr& bits) {
    const bool fits = keys.of->dtype.bits == 32;
    RadixSort sort;
    sort.count = keys.of->shape[keys.axis];
    sort.word = word;
    sort.highest = min(bits, dim(place_bits)) + place_bits, sort.lowest = dim(place_bits);
    sort.needed = needed;
    const Expr left_out = max(bits - place_bits, dim(0));
    const Expr mask = scalar::binary(BinaryOp::Shl, dim(1), left_out) - 1;
    auto high = [&](const Expr& k, const Expr& p) {
      return bit_or(up(fits ? cast(word, k) : down(k, left_out), place_bits), cast(word, p));
    };
    sort.first = [&](const Expr& p) { return high(keys.above_least(line, p), p); };
    if (!fits) {
      sort.left_out = left_out;
      sort.with_high_bits = [&](const Expr& w) { return sort.first(place(w)); };
      sort.with_low_bits = [&](const Expr& w) {
        const Expr low = scalar::binary(BinaryOp::BitAnd, keys.above_least(line, place(w)), cast(word, mask));
        return bit_or(up(low, place_bits), bit_and(w, UINT32_MAX));
      };
      sort.before = [&](const Expr& a, const Expr& b) {
        const Expr one = keys.above_least(line, place(a)), other = keys.above_least(line, place(b));
        const Expr by_key = logical_or(lt(one, other), logical_and(eq(one, other), lt(place(a), place(b))));
        return select(eq(down(a, dim(place_bits)), down(b, dim(place_bits))), by_key, lt(a, b));
      };
    }
    sort.result = result;
    sort.at = [&](const Expr& half, const Expr& k) { return table_index(line, half, k); };
    return sort.loops();
  });
}

}  // namespace

Expr greater(const Expr& a, const Expr& b) {
  auto no = [](const Expr& e) { return scalar::unary(UnaryOp::Not, e); };
  if (!a->dtype.is_float()) return lt(b, a);
  return logical_and(no(le(a, b)), no(is_nan(b)));
}

Order::Order(const te::Tensor& data, size_t axis, bool ascend, Expr needed) : data_(data), axis_(axis) {
  const Expr& n = data->shape[axis];
  const Exprs line = without(data->shape, axis);
  const std::vector<size_t> all = axes_but(line.size(), {});
  if (is_short(n, few)) {
    const te::Tensor rank = ranks(data, axis, ascend);
    order_ = te::program("order", table_index(line, dim(1), n), i64, all, [&](const Exprs& i, const BufferRef& result) {
      return each("k", n, [&](const Expr& k) {
        return loop::store(result, table_index(i, dim(0), cast(i64, (*rank)(with(i, axis, k)))), k);
      });
    });
  } else {
    const Keys keys(data, axis, ascend, false);
    order_ =
        te::program("order", table_index(line, dim(2), n), DType::uint64(), all,
                    [&](const Exprs& i, const BufferRef& result) { return places_in_order(keys, needed, i, result); });
  }
}

Expr Order::place(const Exprs& i) const {
  return cast(i64, bit_and((*order_)(table_index(without(i, axis_), dim(0), i[axis_])), UINT32_MAX));
}

Expr Order::element(const Exprs& i) const {
  Exprs from = i;
  from[axis_] = max(min(place(i), data_->shape[axis_] - 1), dim(0));
  return (*data_)(from);
}

// steps(place), where place is that of the first of n sorted keys that is not less than `key`
Stmt with_lower_bound(const Expr& n, const std::function<Expr(const Expr& place)>& key_at, const Expr& key,
                      const std::function<Stmt(const Expr& place)>& steps) {
  return with_cell("low", dim(0), [&](const Cell& low) {
    return with_cell("high", n, [&](const Cell& high) {
      const Stmt halved = let("middle", floordiv(low.get() + high.get(), dim(2)), [&](const Expr& middle) {
        return loop::if_(lt(key_at(middle), key), low.set(middle + 1), high.set(middle));
      });
      const Stmt search =
          each("step", dim(63), [&](const Expr&) { return loop::if_(lt(low.get(), high.get()), halved); });
      return loop::block({search, steps(low.get())});
    });
  });
}

// Zeros of both signs are equal, and keep their order: if there is a negative one, all zeros are rewritten in the order
// of the data.
Stmt zeros_in_place(const te::Tensor& data, size_t axis, const Keys& keys, bool ascend, const Exprs& line,
                    const BufferRef& result) {
  const Expr& n = data->shape[axis];
  const DType type = keys.of->dtype;
  // Compared as keys: 64-bit differences from the least one may be too large for index arithmetic.
  auto key_at = [&](const Expr& place) {
    const Expr above = scalar::load(result, table_index(line, dim(0), place));
    return scalar::reinterpret(type, above + scalar::reinterpret(above->dtype, (*keys.least)(line)));
  };
  // Ascending, zeros have the keys -1 (negative) and 0; descending -1 (positive) and 0.
  const Expr minus = imm(ascend ? -1 : 0, type);
  const Stmt refill = with_lower_bound(n, key_at, imm(-1, type), [&](const Expr& first) {
    return with_cell("at", first, [&](const Cell& at) {
      return each("k", n, [&](const Expr& k) {
        const Expr is_zero = eq((*data)(with(line, axis, k)), imm(0, data->dtype));
        const Stmt put = loop::store(result, table_index(line, dim(0), at.get()), keys.above_least(line, k));
        return loop::if_(is_zero, loop::block({put, at.set(at.get() + 1)}));
      });
    });
  });
  return with_lower_bound(n, key_at, minus, [&](const Expr& place) {
    return loop::if_(lt(place, n), loop::if_(eq(key_at(place), minus), refill));
  });
}

te::Tensor sorted(const te::Tensor& data, size_t axis, bool ascend, const std::string& name) {
  const Expr& n = data->shape[axis];
  const DType t = data->dtype;
  if (is_short(n, gathered)) {
    const Order order(data, axis, ascend);
    return te::compute(name, data->shape, [&](const Exprs& i) { return order.element(i); });
  }
  const Keys keys(data, axis, ascend, true);
  const DType word{DType::Code::UInt, static_cast<uint8_t>(keys.of->dtype.bits)};
  const Exprs line = without(data->shape, axis);
  const te::Tensor order =
      te::program("order", table_index(line, dim(2), n), word, axes_but(line.size(), {}),
                  [&](const Exprs& i, const BufferRef& result) {
                    const Stmt all = with_bits_of(keys.range(i), [&](const Expr& bits) {
                      RadixSort sort;
                      sort.count = n, sort.word = word, sort.highest = bits;
                      sort.first = [&](const Expr& k) { return keys.above_least(i, k); };
                      sort.result = result;
                      sort.at = [&](const Expr& half, const Expr& k) { return table_index(i, half, k); };
                      return sort.loops();
                    });
                    return t.is_float() ? loop::block({all, zeros_in_place(data, axis, keys, ascend, i, result)}) : all;
                  });
  return te::compute(name, data->shape, [&](const Exprs& i) {
    const Exprs at = without(i, axis);
    const Expr above = (*order)(table_index(at, dim(0), i[axis]));
    const DType k = keys.of->dtype;
    return element_of(scalar::reinterpret(k, above + scalar::reinterpret(word, (*keys.least)(at))), t, ascend);
  });
}

}  // namespace relay::op
