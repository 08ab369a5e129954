// Instructions that compute registers from registers.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>

#include "ptx_thread.h"

namespace relay::mock {

namespace {

using U = uint64_t;

unsigned bits_of(const std::string& type) {
  return type == "pred" ? 1 : static_cast<unsigned>(std::stoul(type.substr(type.find_first_of("0123456789"))));
}
U mask_of(unsigned bits) { return bits >= 64 ? ~U{0} : (U{1} << bits) - 1; }
int64_t signed_of(U v, unsigned bits) {
  if (bits >= 64) return static_cast<int64_t>(v);
  const U sign = U{1} << (bits - 1);
  return static_cast<int64_t>(((v & mask_of(bits)) ^ sign)) - static_cast<int64_t>(sign);
}
float f32(U v) { return std::bit_cast<float>(static_cast<uint32_t>(v)); }
double f64(U v) { return std::bit_cast<double>(v); }
U of(float v) { return std::bit_cast<uint32_t>(std::isnan(v) ? std::bit_cast<float>(0x7fffffffu) : v); }
U of(double v) { return std::bit_cast<U>(v); }

Step put(const Parsed& p, std::function<U(const Thread&)> make) {
  const size_t to = static_cast<size_t>(p.operands[0][0].reg);
  return [to, make = std::move(make)](Thread& t) { t.registers[to] = make(t); };
}
template <class F>
Step one(const Parsed& p, F f) {
  const Operand a = p.operands[1][0];
  const size_t to = static_cast<size_t>(p.operands[0][0].reg);
  return [to, a, f](Thread& t) { t.registers[to] = f(a.of(t)); };
}
template <class F>
Step two(const Parsed& p, F f) {
  const Operand a = p.operands[1][0], b = p.operands[2][0];
  const size_t to = static_cast<size_t>(p.operands[0][0].reg);
  return [to, a, b, f](Thread& t) { t.registers[to] = f(a.of(t), b.of(t)); };
}
template <class F>
Step three(const Parsed& p, F f) {
  const Operand a = p.operands[1][0], b = p.operands[2][0], c = p.operands[3][0];
  const size_t to = static_cast<size_t>(p.operands[0][0].reg);
  return [to, a, b, c, f](Thread& t) { t.registers[to] = f(a.of(t), b.of(t), c.of(t)); };
}

// --- floating point, in T
template <class T>
T real(U v) {
  if constexpr (sizeof(T) == 4)
    return f32(v);
  else
    return f64(v);
}
template <class T>
T least(T a, T b, bool nan) {
  if (std::isnan(a) || std::isnan(b)) return nan ? std::numeric_limits<T>::quiet_NaN() : std::isnan(a) ? b : a;
  return a == b ? (std::signbit(a) ? a : b) : std::min(a, b);
}
template <class T>
T most(T a, T b, bool nan) {
  if (std::isnan(a) || std::isnan(b)) return nan ? std::numeric_limits<T>::quiet_NaN() : std::isnan(a) ? b : a;
  return a == b ? (std::signbit(a) ? b : a) : std::max(a, b);
}
template <class T>
Step float_step(const Parsed& p) {
  const std::string& op = p.op;
  const bool nan = p.has("NaN");
  if (op == "add") return two(p, [](U a, U b) { return of(real<T>(a) + real<T>(b)); });
  if (op == "sub") return two(p, [](U a, U b) { return of(real<T>(a) - real<T>(b)); });
  if (op == "mul") return two(p, [](U a, U b) { return of(real<T>(a) * real<T>(b)); });
  if (op == "div" && p.has("rn")) return two(p, [](U a, U b) { return of(real<T>(a) / real<T>(b)); });
  if (op == "min") return two(p, [nan](U a, U b) { return of(least(real<T>(a), real<T>(b), nan)); });
  if (op == "max") return two(p, [nan](U a, U b) { return of(most(real<T>(a), real<T>(b), nan)); });
  if (op == "fma") return three(p, [](U a, U b, U c) { return of(std::fma(real<T>(a), real<T>(b), real<T>(c))); });
  if (op == "neg") return one(p, [](U a) { return a ^ (U{1} << (sizeof(T) * 8 - 1)); });
  if (op == "abs") return one(p, [](U a) { return a & ~(U{1} << (sizeof(T) * 8 - 1)); });
  if (op == "sqrt" && p.has("rn")) return one(p, [](U a) { return of(std::sqrt(real<T>(a))); });
  if (op == "rcp" && p.has("rn")) return one(p, [](U a) { return of(T{1} / real<T>(a)); });
  if (op == "copysign")
    return two(p, [](U a, U b) {
      const U sign = U{1} << (sizeof(T) * 8 - 1);
      return (a & sign) | (b & ~sign);
    });
  if (op == "testp" && p.has("nan")) return one(p, [](U a) { return U{std::isnan(real<T>(a))}; });
  if (op == "testp" && p.has("infinite")) return one(p, [](U a) { return U{std::isinf(real<T>(a))}; });
  return {};
}

// Sums and differences of numbers in several registers: add.cc, addc, sub.cc, subc.
Step carried(const Parsed& p, unsigned n) {
  const Operand a = p.operands[1][0], b = p.operands[2][0];
  const size_t to = static_cast<size_t>(p.operands[0][0].reg);
  const bool writes = p.has("cc"), reads = p.op.back() == 'c', is_sum = p.op[0] == 'a';
  return [=](Thread& t) {
    using Wide = unsigned __int128;
    const Wide x = a.of(t) & mask_of(n), y = b.of(t) & mask_of(n), in = reads && t.carry;
    const Wide out = is_sum ? x + y + in : x - y - in;
    t.registers[to] = static_cast<U>(out) & mask_of(n);
    if (writes) t.carry = (out >> n & 1) != 0;  // a difference below 0 has all bits above
  };
}

// --- integers of `n` bits; each of these returns an empty step for the operations of the others
Step product_step(const Parsed& p, unsigned n, bool is_signed) {
  const std::string& op = p.op;
  const U m = mask_of(n);
  using Wide = __int128;
  auto wide = [is_signed, n, m](U a) { return is_signed ? Wide{signed_of(a, n)} : static_cast<Wide>(a & m); };
  const bool high = p.has("hi"), full = p.has("wide");
  auto part = [high, full, n, m](Wide product) {
    if (full) return static_cast<U>(product) & mask_of(2 * n);
    return static_cast<U>(high ? product >> n : product) & m;
  };
  if (op == "mul") {
    if (n == 64 && high && !is_signed)
      return two(p, [](U a, U b) { return static_cast<U>((static_cast<unsigned __int128>(a) * b) >> 64); });
    return two(p, [wide, part](U a, U b) { return part(wide(a) * wide(b)); });
  }
  if (op == "mad")
    return three(p, [wide, part, full, n, m](U a, U b, U c) {
      return (part(wide(a) * wide(b)) + c) & (full ? mask_of(2 * n) : m);
    });
  // The hardware's result of a division by zero is not defined: kernels must not depend on it.
  if (op == "div" || op == "rem") {
    const bool quotient = op == "div";
    return two(p, [m, n, is_signed, quotient](U a, U b) -> U {
      if ((b & m) == 0) return 0xdeadbeefdeadbeef & m;
      if (!is_signed) return quotient ? (a & m) / (b & m) : (a & m) % (b & m);
      const Wide x = signed_of(a, n), y = signed_of(b, n);
      return static_cast<U>(quotient ? x / y : x % y) & m;
    });
  }
  return {};
}

Step bit_field_step(const Parsed& p, unsigned n, bool is_signed) {
  const std::string& op = p.op;
  const U m = mask_of(n);
  if (op == "bfe") {
    return three(p, [n, m, is_signed](U a, U at, U count) -> U {
      const unsigned begin = at & 255, length = std::min<unsigned>(count & 255, n);
      if (length == 0) return 0;
      const U found = begin >= 64 ? 0 : ((a & m) >> begin) & mask_of(length);
      return is_signed ? static_cast<U>(signed_of(found, length)) & m : found;
    });
  }
  if (op == "lop3") {
    const Operand a = p.operands[1][0], b = p.operands[2][0], c = p.operands[3][0];
    const U table = p.operands[4][0].constant;
    return put(p, [=](const Thread& t) {
      U out = 0;
      for (unsigned i = 0; i < 32; ++i) {
        const U index = (a.of(t) >> i & 1) << 2 | (b.of(t) >> i & 1) << 1 | (c.of(t) >> i & 1);
        out |= (table >> index & 1) << i;
      }
      return out;
    });
  }
  if (op == "prmt")
    return three(p, [](U a, U b, U select) {
      const U both = (a & 0xffffffff) | b << 32;
      U out = 0;
      for (unsigned i = 0; i < 4; ++i) {
        const U code = select >> (4 * i) & 15, byte = both >> (8 * (code & 7)) & 255;
        out |= (code & 8 ? (byte & 128 ? U{255} : U{0}) : byte) << (8 * i);
      }
      return out;
    });
  if (op == "shf") {
    const bool left = p.has("l"), wraps = p.has("wrap");
    return three(p, [left, wraps](U a, U b, U by) {
      const U pair = (a & 0xffffffff) | b << 32, n = wraps ? by & 31 : std::min<U>(by & 0xffffffff, 32);
      return (left ? (pair << n) >> 32 : pair >> n) & 0xffffffff;
    });
  }
  if (op == "bfi") {
    const Operand a = p.operands[1][0], b = p.operands[2][0], at = p.operands[3][0], count = p.operands[4][0];
    return put(p, [=](const Thread& t) {
      const unsigned begin = at.of(t) & 255, length = std::min<unsigned>(count.of(t) & 255, n);
      const U field = begin >= 64 ? 0 : (mask_of(length) << begin) & m;
      return (b.of(t) & ~field) | ((a.of(t) << (begin & 63)) & field);
    });
  }
  return {};
}

Step integer_step(const Parsed& p, unsigned n, bool is_signed) {
  const std::string& op = p.op;
  const U m = mask_of(n);
  if (op == "addc" || op == "subc" || ((op == "add" || op == "sub") && p.has("cc"))) return carried(p, n);
  if (op == "add") return two(p, [m](U a, U b) { return (a + b) & m; });
  if (op == "sub") return two(p, [m](U a, U b) { return (a - b) & m; });
  if (op == "neg") return one(p, [m](U a) { return (U{0} - a) & m; });
  if (op == "and") return two(p, [m](U a, U b) { return a & b & m; });
  if (op == "or") return two(p, [m](U a, U b) { return (a | b) & m; });
  if (op == "xor") return two(p, [m](U a, U b) { return (a ^ b) & m; });
  if (op == "not") return one(p, [m](U a) { return ~a & m; });
  if (op == "cnot") return one(p, [m](U a) { return U{(a & m) == 0}; });
  if (op == "abs") return one(p, [m, n](U a) { return (signed_of(a, n) < 0 ? U{0} - a : a) & m; });
  if (op == "popc") return one(p, [m](U a) { return static_cast<U>(std::popcount(a & m)); });
  if (op == "clz") return one(p, [m, n](U a) { return static_cast<U>(std::countl_zero(a & m)) - (64 - n); });
  if (op == "brev")
    return one(p, [n](U a) {
      U out = 0;
      for (unsigned i = 0; i < n; ++i) out |= (a >> i & 1) << (n - 1 - i);
      return out;
    });
  if (op == "shl") return two(p, [m, n](U a, U b) { return (b & 0xffffffff) >= n ? 0 : (a << b) & m; });
  if (op == "shr" && is_signed)
    return two(p,
               [m, n](U a, U b) { return static_cast<U>(signed_of(a, n) >> std::min<U>(b & 0xffffffff, n - 1)) & m; });
  if (op == "shr") return two(p, [m, n](U a, U b) { return (b & 0xffffffff) >= n ? 0 : (a & m) >> b; });
  auto pick = [&](bool want_least) {
    return two(p, [m, n, is_signed, want_least](U a, U b) {
      const bool less = is_signed ? signed_of(a, n) < signed_of(b, n) : (a & m) < (b & m);
      return less == want_least ? a : b;
    });
  };
  if (op == "min" || op == "max") return pick(op == "min");
  if (Step step = product_step(p, n, is_signed)) return step;
  return bit_field_step(p, n, is_signed);
}

// --- comparisons
template <class T>
bool compared(const std::string& how, T a, T b) {
  if (how == "eq") return a == b;
  if (how == "ne") return a < b || a > b;
  if (how == "lt" || how == "lo") return a < b;
  if (how == "le" || how == "ls") return a <= b;
  if (how == "gt" || how == "hi") return a > b;
  if (how == "ge" || how == "hs") return a >= b;
  const bool unordered = a != a || b != b;
  if (how == "num") return !unordered;
  if (how == "nan") return unordered;
  if (how.size() == 3 && how[2] == 'u') return unordered || compared(how.substr(0, 2), a, b);
  throw PtxError("unknown comparison " + how);
}
Step comparison(const Parsed& p) {
  const std::string how = p.modifiers[0], type = p.type();
  const unsigned n = bits_of(type);
  std::function<bool(U, U)> test;
  if (type == "f32")
    test = [how](U a, U b) { return compared(how, f32(a), f32(b)); };
  else if (type == "f64")
    test = [how](U a, U b) { return compared(how, f64(a), f64(b)); };
  else if (type[0] == 's')
    test = [how, n](U a, U b) { return compared(how, signed_of(a, n), signed_of(b, n)); };
  else
    test = [how, n](U a, U b) { return compared(how, a & mask_of(n), b & mask_of(n)); };
  if (p.operands.size() == 3) return two(p, [test](U a, U b) { return U{test(a, b)}; });
  const std::string with = p.modifiers[1];
  return three(p, [test, with](U a, U b, U c) {
    const U r = test(a, b);
    return with == "and" ? r & c : with == "or" ? r | c : r ^ c;
  });
}

// --- conversions
double whole(double v, const Parsed& p, bool to_integer) {
  if (p.has("rni")) return std::nearbyint(v);
  if (p.has("rmi")) return std::floor(v);
  if (p.has("rpi")) return std::ceil(v);
  if (p.has("rzi") || to_integer) return std::trunc(v);
  return v;
}
U saturated(double v, unsigned n, bool is_signed) {
  if (std::isnan(v)) return n == 64 ? U{1} << 63 : 0;
  const double low = is_signed ? -std::ldexp(1.0, static_cast<int>(n) - 1) : 0.0,
               high = std::ldexp(1.0, static_cast<int>(n) - (is_signed ? 1 : 0));
  if (v <= low) return static_cast<U>(is_signed ? U{1} << (n - 1) : 0);
  if (v >= high) return mask_of(is_signed ? n - 1 : n);
  return is_signed ? static_cast<U>(static_cast<int64_t>(v)) & mask_of(n) : static_cast<U>(v);
}
Step conversion(const Parsed& p) {
  const std::string to = p.modifiers[p.modifiers.size() - 2], from = p.type();
  const unsigned n = bits_of(to), m = bits_of(from);
  const bool from_float = from[0] == 'f', to_float = to[0] == 'f', from_signed = from[0] == 's',
             to_signed = to[0] == 's';
  if ((from_float && m == 16) || (to_float && n == 16) || from[0] == 'b' || p.has("ftz")) return {};
  if (!from_float && !to_float) {
    if (p.has("sat")) return {};
    return one(p, [=](U a) { return (from_signed ? static_cast<U>(signed_of(a, m)) : a & mask_of(m)) & mask_of(n); });
  }
  auto value = [m](U a) { return m == 32 ? static_cast<double>(f32(a)) : f64(a); };
  const Parsed copy = p;
  if (from_float && !to_float) return one(p, [=](U a) { return saturated(whole(value(a), copy, true), n, to_signed); });
  if (from_float) {
    const bool towards_zero = p.has("rz");
    return one(p, [=](U a) {
      const double v = whole(value(a), copy, false);
      if (n == 64) return of(v);
      float near = static_cast<float>(v);
      if (towards_zero && std::abs(static_cast<double>(near)) > std::abs(v)) near = std::nextafter(near, 0.0f);
      return of(near);
    });
  }
  if (!p.has("rn")) return {};
  return one(p, [=](U a) {
    if (n == 64)
      return from_signed ? of(static_cast<double>(signed_of(a, m))) : of(static_cast<double>(a & mask_of(m)));
    return from_signed ? of(static_cast<float>(signed_of(a, m))) : of(static_cast<float>(a & mask_of(m)));
  });
}

// --- products of a warp
double half(U bits) {
  const int exponent = static_cast<int>(bits >> 10 & 31), fraction = static_cast<int>(bits & 1023);
  const double sign = bits >> 15 & 1 ? -1 : 1;
  if (exponent == 31) return fraction ? std::nan("") : sign * std::numeric_limits<double>::infinity();
  return sign * (exponent ? std::ldexp(1024 + fraction, exponent - 25) : std::ldexp(fraction, -24));
}
double number(U bits, const std::string& type) {
  if (type == "f16") return half(bits & 0xffff);
  if (type == "bf16") return f32((bits & 0xffff) << 16);
  return type == "s8" ? static_cast<double>(signed_of(bits, 8)) : static_cast<double>(bits & 255);
}

// The elements of matrices that a lane holds, by the figures of the PTX manual: lane = 4 * group + thread, and a
// register of a factor holds several numbers next to each other along k.
struct WarpProduct {
  std::vector<Operand> d, a, b, c;
  std::string left, right;
  int rows = 0, columns = 0, depth = 0;
  bool is_float = false;

  void operator()(std::span<Thread> warp) const {
    const int each = is_float ? 2 : 4, bits = 32 / each, row_groups = rows / 8;
    std::vector<double> x(static_cast<size_t>(rows * depth)), y(static_cast<size_t>(depth * columns));
    for (int lane = 0; lane < 32; ++lane) {
      const Thread& t = warp[static_cast<size_t>(lane)];
      const int group = lane / 4, thread = lane % 4;
      auto part = [&](const Operand& o, int e) { return o.of(t) >> (bits * e) & mask_of(static_cast<unsigned>(bits)); };
      for (int r = 0; r < static_cast<int>(a.size()); ++r)
        for (int e = 0; e < each; ++e) {
          const int row = group + 8 * (r % row_groups), k = (thread + 4 * (r / row_groups)) * each + e;
          x[static_cast<size_t>(row * depth + k)] = number(part(a[static_cast<size_t>(r)], e), left);
        }
      for (int r = 0; r < static_cast<int>(b.size()); ++r)
        for (int e = 0; e < each; ++e) {
          const int k = (thread + 4 * r) * each + e;
          y[static_cast<size_t>(k * columns + group)] = number(part(b[static_cast<size_t>(r)], e), right);
        }
    }
    for (int lane = 0; lane < 32; ++lane) {
      Thread& t = warp[static_cast<size_t>(lane)];
      std::vector<U> results;
      for (int r = 0; r < static_cast<int>(c.size()); ++r) {
        const int row = lane / 4 + 8 * (r / 2), column = lane % 4 * 2 + r % 2;
        const U before = c[static_cast<size_t>(r)].of(t);
        double sum = is_float ? f32(before) : static_cast<double>(signed_of(before, 32));
        for (int k = 0; k < depth; ++k)
          sum += x[static_cast<size_t>(row * depth + k)] * y[static_cast<size_t>(k * columns + column)];
        results.push_back(is_float ? of(static_cast<float>(sum))
                                   : static_cast<U>(static_cast<int64_t>(sum)) & mask_of(32));
      }
      for (size_t r = 0; r < d.size(); ++r) t.registers[static_cast<size_t>(d[r].reg)] = results[r];
    }
  }
};

}  // namespace

// Matrices of 8 rows of 16 bytes: lane 8 m + r has the address of row r of matrix m, and lane 4 r + c gets its four
// bytes number c.
static WarpStep load_of_matrices(const Parsed& p) {
  if (!p.has("m8n8") || !p.has("shared") || p.type() != "b16" || p.has("trans") || p.operands.size() != 2) return {};
  const std::vector<Operand> to = p.operands[0];
  const Operand from = p.operands[1][0];
  const uint64_t offset = p.offsets[1];
  return [=](std::span<Thread> warp) {
    for (size_t m = 0; m < to.size(); ++m)
      for (size_t r = 0; r < 8; ++r) {
        Thread& reader = warp[8 * m + r];
        const uint64_t row = from.of(reader) + offset;
        if (row % 16 != 0) throw PtxError("a row of a matrix is not aligned");
        for (size_t c = 0; c < 4; ++c)
          warp[4 * r + c].registers[static_cast<size_t>(to[m].reg)] = reader.load(row + 4 * c, 4);
      }
  };
}

WarpStep step_of_warp(const Parsed& p) {
  if (p.op == "ldmatrix") return load_of_matrices(p);
  // sync, aligned, sizes, row, col, and the types of d, a, b, c
  if (p.modifiers.size() != 9 || p.operands.size() != 4 || !p.has("sync") || !p.has("row") || !p.has("col")) return {};
  WarpProduct out{p.operands[0], p.operands[1], p.operands[2], p.operands[3], p.modifiers[6], p.modifiers[7]};
  if (std::sscanf(p.modifiers[2].c_str(), "m%dn%dk%d", &out.rows, &out.columns, &out.depth) != 3) return {};
  out.is_float = p.modifiers[5] == "f32";
  auto is_known = [&](const std::string& type) {
    return out.is_float ? type == "f16" || type == "bf16" : type == "s8" || type == "u8";
  };
  const int each = out.is_float ? 2 : 4;
  const bool fits = out.columns == 8 && out.rows % 8 == 0 && std::ssize(out.a) * 32 * each == out.rows * out.depth &&
                    std::ssize(out.b) * 32 * each == out.depth * 8 && std::ssize(out.c) * 32 == out.rows * 8 &&
                    out.d.size() == out.c.size();
  if (!is_known(out.left) || !is_known(out.right) || !fits || (!out.is_float && p.modifiers[5] != "s32")) return {};
  return out;
}

Step arithmetic(const Parsed& p) {
  if (p.operands.empty() || p.modifiers.empty() || p.operands[0][0].reg < 0) return {};
  const std::string& type = p.type();
  if (p.op == "setp") return comparison(p);
  if (p.op == "cvt") return conversion(p);
  if (p.op == "selp") return three(p, [](U a, U b, U c) { return c & 1 ? a : b; });
  if (type == "f32") return float_step<float>(p);
  if (type == "f64") return float_step<double>(p);
  if (type[0] == 'f') return {};
  return integer_step(p, bits_of(type), type[0] == 's');
}

}  // namespace relay::mock
