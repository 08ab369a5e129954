#include "relay/scalar/math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "relay/scalar/eval.h"

namespace relay::scalar {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// The distance of `got` from `want`, in units in the last place of `want` in the type T.
template <class T>
double ulps(double got, long double want) {
  T rounded = static_cast<T>(want);
  if (std::isnan(got) || std::isnan(rounded)) return std::isnan(got) == std::isnan(rounded) ? 0 : infinity;
  if (std::isinf(rounded) || rounded == 0) {
    bool same = got == static_cast<double>(rounded) && std::signbit(got) == std::signbit(rounded);
    // A single step from overflow or underflow counts as in the normal range.
    bool step = static_cast<T>(got) == std::nextafter(rounded, T{0}) ||
                std::abs(got) == static_cast<double>(std::numeric_limits<T>::denorm_min());
    return same ? 0 : step ? 1 : infinity;
  }
  T a = std::abs(rounded);
  T next = std::nextafter(a, std::numeric_limits<T>::infinity());
  long double unit =
      std::isinf(next) ? static_cast<long double>(a) - std::nextafter(a, T{0}) : static_cast<long double>(next) - a;
  return static_cast<double>(std::abs(static_cast<long double>(got) - want) / unit);
}

std::vector<double> samples32(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> out{0.0, -0.0, 1, -1, infinity, -infinity, std::nan(""), 1e-45f, -1e-45f, 0x1p-126,
                          0x1.fffffep127, 88.72284f, -87.33655f, -103.97f, 0.625f, 0.65625f, 2.4142135f,
                          // The worst cases of log and tan.
                          0x1.69fa6ap-1f, 0x1.487bep-1f, 0x1.24b82ep+17f};
  for (uint32_t exponent = 0; exponent < 256; ++exponent)
    for (int i = 0; i < 6; ++i) {
      uint32_t bits = exponent << 23 | (static_cast<uint32_t>(random()) & 0x807FFFFF);
      out.push_back(std::bit_cast<float>(bits));
    }
  for (int i = 0; i < 1500; ++i)
    out.push_back(static_cast<float>(std::uniform_real_distribution<double>(-100, 100)(random)));
  for (int i = 0; i < 1500; ++i)
    out.push_back(static_cast<float>(std::uniform_real_distribution<double>(-4, 4)(random)));
  return out;
}

std::vector<double> samples64(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> out{
      0.0, -0.0, 1, -1, infinity, -infinity, std::nan(""), 5e-324, -5e-324, 0x1p-1022, 0x1.fffffffffffffp1023};
  for (int i = 0; i < 1500; ++i) out.push_back(std::bit_cast<double>(random()));
  for (int i = 0; i < 1500; ++i) out.push_back(std::uniform_real_distribution<double>(-750, 750)(random));
  for (int i = 0; i < 1500; ++i) out.push_back(std::uniform_real_distribution<double>(-5, 5)(random));
  return out;
}

struct Case {
  UnaryOp op;
  long double (*exact)(long double);
  double float32_ulps, float64_ulps;
};

const Case cases[] = {
    {UnaryOp::Exp, [](long double x) { return std::exp(x); }, 1.1, 1},
    {UnaryOp::Expm1, [](long double x) { return std::expm1(x); }, 1.7, 1.8},
    {UnaryOp::Log, [](long double x) { return std::log(x); }, 1.1, 1},
    {UnaryOp::Log1p, [](long double x) { return std::log1p(x); }, 1.6, 1.6},
    {UnaryOp::Tanh, [](long double x) { return std::tanh(x); }, 2.6, 1.4},
    {UnaryOp::Erf, [](long double x) { return std::erf(x); }, 2, 1.4},
    {UnaryOp::Erfc, [](long double x) { return std::erfc(x); }, 4, 6},
    {UnaryOp::Sin, [](long double x) { return std::sin(x); }, 0.51, 2},
    {UnaryOp::Cos, [](long double x) { return std::cos(x); }, 0.51, 2},
    {UnaryOp::Tan, [](long double x) { return std::tan(x); }, 0.51, 4},
    {UnaryOp::Atan, [](long double x) { return std::atan(x); }, 1.1, 1},
    {UnaryOp::Rsqrt, [](long double x) { return 1 / std::sqrt(x); }, 1.5, 1.5},
};

TEST(Math, UnaryErrors) {
  for (const Case& test : cases)
    for (DType t : {DType::float32(), DType::float64()}) {
      Expr x = var("x", t), e = expand(test.op, x);
      ASSERT_TRUE(e);
      bool wide = t.bits == 64;
      for (bool contract : {false, true})
        for (double v : wide ? samples64(7) : samples32(7)) {
          double got = eval(e, {{x, float_value(v, t)}}, contract).f;
          long double want = test.exact(v);
          double error = wide ? ulps<double>(got, want) : ulps<float>(got, want);
          ASSERT_LE(error, wide ? test.float64_ulps : test.float32_ulps)
              << name(test.op) << "(" << v << ") in " << t.str() << " gives " << got << ", exact "
              << static_cast<double>(want) << (contract ? ", fused" : "");
        }
    }
}

TEST(Math, Power) {
  DType t = DType::float32();
  Expr x = var("x", t), y = var("y", t), e = expand_power(x, y);
  std::vector<std::pair<double, double>> pairs;
  std::vector<double> special{0.0, -0.0, 1,  -1, infinity, -infinity, std::nan(""), 0.5,
                              2,   3,    -2, -3, -0.5,     1e-45f,    3e38f,        1e10f};
  for (double a : special)
    for (double b : special) pairs.push_back({a, b});
  std::mt19937_64 random(3);
  for (int i = 0; i < 4000; ++i) {
    double b = std::uniform_real_distribution<double>(-40, 40)(random);
    pairs.push_back(
        {std::bit_cast<float>(static_cast<uint32_t>(random())), static_cast<float>(i & 1 ? std::round(b) : b)});
  }
  for (auto [a, b] : pairs) {
    double got = eval(e, {{x, float_value(a, t)}, {y, float_value(b, t)}}).f;
    ASSERT_LE(ulps<float>(got, std::pow(static_cast<long double>(static_cast<float>(a)),
                                        static_cast<long double>(static_cast<float>(b)))),
              0.51)
        << a << " to the " << b << " gives " << got;
  }
}

TEST(Math, PowerOfDoubles) {
  DType t = DType::float64();
  Expr x = var("x", t), y = var("y", t), e = expand_power(x, y);
  auto power = [&](double a, double b, bool contract) {
    return eval(e, {{x, float_value(a, t)}, {y, float_value(b, t)}}, contract).f;
  };
  std::vector<std::pair<double, double>> pairs;
  for (double a : {0.0, -0.0, 1.0, -1.0, infinity, -infinity, std::nan(""), 0.5, 2.0, -3.0, 5e-324, 1e308, 1 + 1e-15})
    for (double b : {0.0, -0.0, 1.0, -1.0, infinity, -infinity, std::nan(""), 0.5, 2.0, -3.0, 5e-324, 1e308, 1e15})
      pairs.push_back({a, b});
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> near(0.5, 2), far(-300, 300), exponents(-700, 700);
  for (int i = 0; i < 2000; ++i) {
    const double a = i & 1 ? near(random) : std::exp(far(random));
    pairs.push_back({a, exponents(random) / std::max(1e-3, std::abs(std::log(a)))});
  }
  for (bool contract : {false, true}) {
    for (auto [a, b] : pairs)
      ASSERT_LE(ulps<double>(power(a, b, contract), std::pow(static_cast<long double>(a), static_cast<long double>(b))),
                0.85)
          << a << " to the " << b;
    for (int a = 1; a < 60; ++a)  // results that are doubles
      for (double b = 0, exact = 1; b < 10 && exact < 0x1p53; ++b, exact *= a) ASSERT_EQ(power(a, b, contract), exact);
  }
}

TEST(Math, AnyLaneCountAndSmallFloats) {
  Expr v = var("v", DType::float32().with_lanes(8));
  EXPECT_EQ(expand(UnaryOp::Exp, v)->dtype, v->dtype);
  EXPECT_EQ(expand(UnaryOp::Sin, v)->dtype, v->dtype);
  Expr h = var("h", DType::float16()), e = expand_math(unary(UnaryOp::Exp, h) + h);
  EXPECT_EQ(eval(e, {{h, float_value(1, DType::float16())}}).f,
            round_to(DType::float16(), round_to(DType::float16(), std::exp(1.0)) + 1));
  EXPECT_FALSE(expand(UnaryOp::Sqrt, h));
}

}  // namespace
}  // namespace relay::scalar
