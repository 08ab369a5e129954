// Instructions over lanes. Common operations have separate loops; the rest is computed per lane by scalar::apply, which
// defines every operation.
#include "relay/eval/lanes.h"

#include <bit>
#include <cmath>

#pragma clang fp contract(off)

namespace relay::eval {

using scalar::Value;

namespace {

template <class T, class R, class F>
void map1(Operand a, R* out, int n, F f) {
  View<T> x = a.as<T>();
  if (a.uniform) {
    R r = f(x.data[0]);
    for (int l = 0; l < n; ++l) out[l] = r;
  } else {
    for (int l = 0; l < n; ++l) out[l] = f(x.data[l]);
  }
}

template <class T, class R, class F>
void map2(Operand a, Operand b, R* out, int n, F f) {
  const T *x = static_cast<const T*>(a.data), *y = static_cast<const T*>(b.data);
  if (a.uniform && b.uniform) {
    R r = f(x[0], y[0]);
    for (int l = 0; l < n; ++l) out[l] = r;
  } else if (a.uniform) {
    T v = x[0];
    for (int l = 0; l < n; ++l) out[l] = f(v, y[l]);
  } else if (b.uniform) {
    T v = y[0];
    for (int l = 0; l < n; ++l) out[l] = f(x[l], v);
  } else {
    for (int l = 0; l < n; ++l) out[l] = f(x[l], y[l]);
  }
}

bool is_half(DType t) { return t.is_float() && t.bits == 16; }

// Narrows results computed in a wider type: halves and narrow integers.
void narrow(DType t, void* out, int n) {
  if (is_half(t)) {
    float* p = static_cast<float*>(out);
    for (int l = 0; l < n; ++l) p[l] = static_cast<float>(scalar::round_to(t, p[l]));
  } else if (!t.is_float() && t.bits < 64) {
    int64_t* p = static_cast<int64_t*>(out);
    if (t.is_bool()) {
      for (int l = 0; l < n; ++l) p[l] = p[l] != 0;
    } else if (t.code == DType::Code::Int) {
      int shift = 64 - t.bits;
      for (int l = 0; l < n; ++l) p[l] = static_cast<int64_t>(static_cast<uint64_t>(p[l]) << shift) >> shift;
    } else {
      int64_t mask = (int64_t{1} << t.bits) - 1;
      for (int l = 0; l < n; ++l) p[l] &= mask;
    }
  }
}

template <class T>
bool float_binary(BinaryOp op, Operand a, Operand b, void* out, int n) {
  T* r = static_cast<T*>(out);
  int64_t* truth = static_cast<int64_t*>(out);
  switch (op) {
    case BinaryOp::Add: map2<T>(a, b, r, n, [](T x, T y) { return x + y; }); return true;
    case BinaryOp::Sub: map2<T>(a, b, r, n, [](T x, T y) { return x - y; }); return true;
    case BinaryOp::Mul: map2<T>(a, b, r, n, [](T x, T y) { return x * y; }); return true;
    case BinaryOp::Div: map2<T>(a, b, r, n, [](T x, T y) { return x / y; }); return true;
    case BinaryOp::Min: map2<T>(a, b, r, n, [](T x, T y) { return x < y || x != x ? x : y; }); return true;
    case BinaryOp::Max: map2<T>(a, b, r, n, [](T x, T y) { return x > y || x != x ? x : y; }); return true;
    case BinaryOp::Eq: map2<T>(a, b, truth, n, [](T x, T y) -> int64_t { return x == y; }); return true;
    case BinaryOp::Ne: map2<T>(a, b, truth, n, [](T x, T y) -> int64_t { return x != y; }); return true;
    case BinaryOp::Lt: map2<T>(a, b, truth, n, [](T x, T y) -> int64_t { return x < y; }); return true;
    case BinaryOp::Le: map2<T>(a, b, truth, n, [](T x, T y) -> int64_t { return x <= y; }); return true;
    default: return false;
  }
}

bool int_binary(BinaryOp op, DType from, Operand a, Operand b, void* out, int n) {
  using I = int64_t;
  I* r = static_cast<I*>(out);
  auto wrapping = [](auto f) {
    return [f](I x, I y) { return static_cast<I>(f(static_cast<uint64_t>(x), static_cast<uint64_t>(y))); };
  };
  bool unsigned64 = from.code == DType::Code::UInt && from.bits == 64;
  switch (op) {
    case BinaryOp::Add: map2<I>(a, b, r, n, wrapping([](uint64_t x, uint64_t y) { return x + y; })); return true;
    case BinaryOp::Sub: map2<I>(a, b, r, n, wrapping([](uint64_t x, uint64_t y) { return x - y; })); return true;
    case BinaryOp::Mul: map2<I>(a, b, r, n, wrapping([](uint64_t x, uint64_t y) { return x * y; })); return true;
    case BinaryOp::And: map2<I>(a, b, r, n, [](I x, I y) { return x & y; }); return true;
    case BinaryOp::Or: map2<I>(a, b, r, n, [](I x, I y) { return x | y; }); return true;
    case BinaryOp::BitAnd: map2<I>(a, b, r, n, [](I x, I y) { return x & y; }); return true;
    case BinaryOp::BitOr: map2<I>(a, b, r, n, [](I x, I y) { return x | y; }); return true;
    case BinaryOp::BitXor: map2<I>(a, b, r, n, [](I x, I y) { return x ^ y; }); return true;
    case BinaryOp::Eq: map2<I>(a, b, r, n, [](I x, I y) -> I { return x == y; }); return true;
    case BinaryOp::Ne: map2<I>(a, b, r, n, [](I x, I y) -> I { return x != y; }); return true;
    default: break;
  }
  if (unsigned64) return false;
  switch (op) {
    case BinaryOp::Lt: map2<I>(a, b, r, n, [](I x, I y) -> I { return x < y; }); return true;
    case BinaryOp::Le: map2<I>(a, b, r, n, [](I x, I y) -> I { return x <= y; }); return true;
    case BinaryOp::Min: map2<I>(a, b, r, n, [](I x, I y) { return x < y ? x : y; }); return true;
    case BinaryOp::Max: map2<I>(a, b, r, n, [](I x, I y) { return x > y ? x : y; }); return true;
    case BinaryOp::FloorDiv:
    case BinaryOp::FloorMod: {
      I c = b.uniform ? b.as<I>()[0] : 0;
      if (c <= 0) return false;
      bool divide = op == BinaryOp::FloorDiv;
      map1<I>(a, r, n, [c, divide](I x) {
        I q = x / c, m = x % c;
        return divide ? q - (m < 0) : m < 0 ? m + c : m;
      });
      return true;
    }
    default: return false;
  }
}

template <class T>
bool float_unary(UnaryOp op, Operand a, void* out, int n) {
  T* r = static_cast<T*>(out);
  auto through_double = [&](double (*f)(double)) { map1<T>(a, r, n, [f](T x) { return static_cast<T>(f(x)); }); };
  switch (op) {
    case UnaryOp::Neg: map1<T>(a, r, n, [](T x) { return -x; }); return true;
    case UnaryOp::Abs: map1<T>(a, r, n, [](T x) { return std::abs(x); }); return true;
    case UnaryOp::Sqrt: map1<T>(a, r, n, [](T x) { return std::sqrt(x); }); return true;
    case UnaryOp::Floor: map1<T>(a, r, n, [](T x) { return std::floor(x); }); return true;
    case UnaryOp::Exp: through_double(std::exp); return true;
    case UnaryOp::Expm1: through_double(std::expm1); return true;
    case UnaryOp::Log: through_double(std::log); return true;
    case UnaryOp::Log1p: through_double(std::log1p); return true;
    case UnaryOp::Tanh: through_double(std::tanh); return true;
    case UnaryOp::Erf: through_double(std::erf); return true;
    case UnaryOp::Erfc: through_double(std::erfc); return true;
    default: return false;
  }
}

template <class S, class T>
void load_as(const S* base, Operand lanes, Operand mask, T* out, int n) {
  auto widen = [](S v) -> T { return static_cast<T>(v); };
  if (!lanes.data) {
    if (!mask.data) {
      T v = widen(base[0]);
      for (int l = 0; l < n; ++l) out[l] = v;
    } else {
      View<int64_t> on = mask.as<int64_t>();
      for (int l = 0; l < n; ++l) out[l] = on[l] ? widen(base[0]) : T{};
    }
    return;
  }
  View<int64_t> at = lanes.as<int64_t>();
  if (!mask.data) {
    for (int l = 0; l < n; ++l) out[l] = widen(base[at[l]]);
  } else {
    View<int64_t> on = mask.as<int64_t>();
    for (int l = 0; l < n; ++l) out[l] = on[l] ? widen(base[at[l]]) : T{};
  }
}

// A byte, of which any except 0 is true: arrays that Relay did not make may have others than 1.
struct Bool {
  uint8_t byte;
  operator int64_t() const { return byte != 0; }
};

struct BFloat {
  uint16_t bits;
  operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
};

// Calls f with a null pointer of the type that stores `t`.
template <class F>
void with_storage(DType t, F f) {
  if (t == DType::float32()) return f(static_cast<float*>(nullptr));
  if (t == DType::float64()) return f(static_cast<double*>(nullptr));
  if (t == DType::float16()) return f(static_cast<_Float16*>(nullptr));
  if (t == DType::bfloat16()) return f(static_cast<BFloat*>(nullptr));
  if (t.is_bool()) return f(static_cast<Bool*>(nullptr));
  bool is_signed = t.code == DType::Code::Int;
  switch (t.bits) {
    case 8: return is_signed ? f(static_cast<int8_t*>(nullptr)) : f(static_cast<uint8_t*>(nullptr));
    case 16: return is_signed ? f(static_cast<int16_t*>(nullptr)) : f(static_cast<uint16_t*>(nullptr));
    case 32: return is_signed ? f(static_cast<int32_t*>(nullptr)) : f(static_cast<uint32_t*>(nullptr));
    case 64: return is_signed ? f(static_cast<int64_t*>(nullptr)) : f(static_cast<uint64_t*>(nullptr));
  }
  RELAY_CHECK(false, "no storage for {}", t.str());
}

}  // namespace

Value get_lane(DType dtype, Operand operand, int64_t lane) {
  Value v{dtype};
  switch (holder(dtype)) {
    case Holder::F32: v.f = operand.as<float>()[lane]; break;
    case Holder::F64: v.f = operand.as<double>()[lane]; break;
    case Holder::I64: v.i = operand.as<int64_t>()[lane]; break;
  }
  return v;
}

void put_lane(const Value& value, void* out, int64_t lane) {
  switch (holder(value.dtype)) {
    case Holder::F32: static_cast<float*>(out)[lane] = static_cast<float>(value.f); break;
    case Holder::F64: static_cast<double*>(out)[lane] = value.f; break;
    case Holder::I64: static_cast<int64_t*>(out)[lane] = value.i; break;
  }
}

void unary_lanes(const Instruction& in, Operand a, void* out, int n) {
  bool done = false;
  if (holder(in.from) == Holder::F32)
    done = float_unary<float>(in.unary, a, out, n);
  else if (holder(in.from) == Holder::F64)
    done = float_unary<double>(in.unary, a, out, n);
  else if (in.unary == UnaryOp::Not)
    map1<int64_t>(a, static_cast<int64_t*>(out), n, [](int64_t x) -> int64_t { return !x; }), done = true;
  if (done) return narrow(in.dtype, out, n);
  for (int l = 0; l < n; ++l) put_lane(scalar::apply(in.unary, get_lane(in.from, a, l)), out, l);
}

void binary_lanes(BinaryOp op, DType from, DType to, Operand a, Operand b, void* out, int n) {
  Holder h = holder(from);
  // Integers other than int64 narrower than the register wrap; a comparison needs no narrowing.
  bool done = h == Holder::F32   ? float_binary<float>(op, a, b, out, n)
              : h == Holder::F64 ? float_binary<double>(op, a, b, out, n)
                                 : int_binary(op, from, a, b, out, n);
  if (done) {
    if (!to.is_bool() || from.is_bool()) narrow(to, out, n);
    return;
  }
  for (int l = 0; l < n; ++l) put_lane(scalar::apply(op, get_lane(from, a, l), get_lane(from, b, l)), out, l);
}

void cast_lanes(const Instruction& in, Operand a, void* out, int n) {
  Holder from = holder(in.from), to = holder(in.dtype);
  bool unsigned64 = in.from.code == DType::Code::UInt && in.from.bits == 64;
  if (from == Holder::F32 && to == Holder::F64) {
    map1<float>(a, static_cast<double*>(out), n, [](float x) -> double { return x; });
  } else if (from == Holder::F64 && in.dtype == DType::float32()) {
    map1<double>(a, static_cast<float*>(out), n, [](double x) { return static_cast<float>(x); });
  } else if (from == Holder::F32 && to == Holder::F32) {
    map1<float>(a, static_cast<float*>(out), n, [](float x) { return x; });
    narrow(in.dtype, out, n);
  } else if (from == Holder::I64 && to == Holder::I64) {
    map1<int64_t>(a, static_cast<int64_t*>(out), n, [](int64_t x) { return x; });
    narrow(in.dtype, out, n);
  } else if (from == Holder::I64 && to == Holder::F64 && !unsigned64) {
    map1<int64_t>(a, static_cast<double*>(out), n, [](int64_t x) { return static_cast<double>(x); });
  } else if (from == Holder::I64 && in.dtype == DType::float32() && !unsigned64) {
    map1<int64_t>(a, static_cast<float*>(out), n, [](int64_t x) { return static_cast<float>(x); });
  } else {
    for (int l = 0; l < n; ++l) put_lane(scalar::convert(in.dtype, get_lane(in.from, a, l)), out, l);
  }
}

void reinterpret_lanes(const Instruction& in, Operand a, void* out, int n) {
  // The operand may be held wider than its type (float64 evaluation): round it to that type first.
  for (int l = 0; l < n; ++l) {
    Value v{in.from};
    if (in.from.is_float())
      v.f = scalar::round_to(in.from, get_lane(in.extra ? DType::float64() : in.from, a, l).f);
    else
      v = get_lane(in.from, a, l);
    Value r = scalar::reinterpret(in.to, v);
    r.dtype = in.dtype;
    put_lane(r, out, l);
  }
}

template <class T>
static void select_as(Operand c, Operand a, Operand b, T* out, int n) {
  View<int64_t> on = c.as<int64_t>();
  View<T> x = a.as<T>(), y = b.as<T>();
  for (int l = 0; l < n; ++l) out[l] = on[l] ? x[l] : y[l];
}

void select_lanes(DType dtype, Operand c, Operand a, Operand b, void* out, int n) {
  switch (holder(dtype)) {
    case Holder::F32: return select_as(c, a, b, static_cast<float*>(out), n);
    case Holder::F64: return select_as(c, a, b, static_cast<double*>(out), n);
    case Holder::I64: return select_as(c, a, b, static_cast<int64_t*>(out), n);
  }
}

void load_lanes(const Tensor& tensor, Operand lanes, int64_t uniform, Operand mask, void* out, int n) {
  with_storage(tensor.dtype(), [&](auto* type) {
    using S = std::remove_pointer_t<decltype(type)>;
    const S* base = static_cast<const S*>(tensor.data()) + uniform;
    if constexpr (std::is_same_v<S, double>)
      load_as(base, lanes, mask, static_cast<double*>(out), n);
    else if constexpr (std::is_integral_v<S> || std::is_same_v<S, Bool>)
      load_as(base, lanes, mask, static_cast<int64_t*>(out), n);
    else
      load_as(base, lanes, mask, static_cast<float*>(out), n);
  });
}

void store_lanes(Tensor* destination, int64_t begin, Operand value, int n) {
  with_storage(destination->dtype(), [&](auto* type) {
    using S = std::remove_pointer_t<decltype(type)>;
    S* to = static_cast<S*>(destination->mutable_data()) + begin;
    if constexpr (std::is_same_v<S, double>) {
      map1<double>(value, to, n, [](double x) { return x; });
    } else if constexpr (std::is_integral_v<S>) {
      map1<int64_t>(value, to, n, [](int64_t x) { return static_cast<S>(x); });
    } else if constexpr (std::is_same_v<S, Bool>) {
      map1<int64_t>(value, to, n, [](int64_t x) { return Bool{x != 0}; });
    } else if constexpr (std::is_same_v<S, BFloat>) {
      map1<float>(value, to, n,
                  [](float x) { return BFloat{static_cast<uint16_t>(std::bit_cast<uint32_t>(x) >> 16)}; });
    } else {
      map1<float>(value, to, n, [](float x) { return static_cast<S>(x); });
    }
  });
}

}  // namespace relay::eval
