// Expansions of mathematical functions. The coefficients come from dev/math_coefficients.py.
#include "relay/scalar/math.h"

#include <cmath>
#include <limits>
#include <span>

#include "relay/base/diagnostics.h"

namespace relay::scalar {

namespace {

constexpr double exp32_terms[] = {  // error 6.5e-8
    0.5, 0.1666657667, 0.04166655421, 0.008363232884, 0.001392625083};
constexpr double exp64_terms[] = {  // error 1.4e-18
    0.5,
    0.16666666666666671,
    0.0416666666666666698,
    0.00833333333332608312,
    0.00138888888888837112,
    0.000198412698750022788,
    0.0000248015873256774619,
    2.75572551700008874e-6,
    2.75572734787185805e-7,
    2.51053127296221018e-8,
    2.09147553258932022e-9};
constexpr double log32_terms[] = {  // error 1.8e-7
    0.3333333073, -0.2500030642, 0.2000104509, -0.1664128146,
    0.1421449592, -0.1299818376, 0.1262231985, -0.07902743772};
constexpr double log64_terms[] = {  // error 2.1e-18
    0.666666666666666665, 0.400000000000008776, 0.2857142857080323,   0.222222223918004693,
    0.181817956308847532, 0.153862402058134779, 0.132687596685606127, 0.130867670099481737};
constexpr double tanh64_terms[] = {  // error 1.4e-19
    -0.333333333333333333,    0.133333333333333208,     -0.0539682539682359013,    0.021869488535133222,
    -0.00886323549980199257,  0.00359212750759925223,   -0.00145582839983032459,   0.000589981815838823207,
    -0.000238889446367511739, 0.0000960410915702626599, -0.0000370810692154423339, 0.0000122099217901627817,
    -2.4388316314720878e-6};
constexpr double erf32_terms[] = {  // error 4.0e-9, of erf
    0.1283791716,   0.6366193822,     0.1027778275,   -0.01915304958,  -0.0001604266838,
    0.001667061353, -0.0006328568789, 0.000117647233, -9.256964781e-06};
constexpr double erf64_small_terms[] = {  // error 2.2e-21
    0.128379167095512574,    -0.376126389031837524,   0.112837916709551202,    -0.0268661706451298408,
    0.00522397762542329831,  -0.00085483270219348296, 0.000120553329028887354, -0.0000149256475675193321,
    1.64620454414684189e-6,  -1.63646421581676153e-7, 1.4792401209404813e-8,   -1.21645600572834501e-9,
    8.70904512905310669e-11, -4.23094582429533782e-12};
constexpr double erf64_middle_terms[] = {  // error 3.8e-17
    7.92281363066938497e-7,  1.12837103483504435,       0.636658598566291117,   0.102658224713638432,
    -0.018896004348512385,   -0.000554031068279847841,  0.00208105804922742679, -0.000917264294429862662,
    0.000236530407023019043, -0.0000346717232836547227, 3.78914814675922524e-7, 1.09264005876670795e-6,
    -2.55465800200235418e-7, 2.76838006669525115e-8,    -1.25770728474477617e-9};
constexpr double erf64_large_terms[] = {  // error 2.1e-17
    3.45828575066697827e-6,  1.12832706538534815,      0.636864095506730156,     0.102146698790775359,
    -0.0180734418383935012,  -0.00148826568870400488,  0.00286697601726020255,   -0.00141975526090498697,
    0.000483662096977758936, -0.000128324918538269448, 0.0000275271093963996218, -4.830809572339287e-6,
    6.93658561625186694e-7,  -8.08818109425301591e-8,  7.54611180920203264e-9,   -5.50152799214160722e-10,
    3.01986957673243263e-11, -1.17367437053503002e-12, 2.87853964878719124e-14,  -3.34931120835028482e-16};
constexpr double erfc32_terms[] = {  // error 5.3e-9
    0.702269388,   0.6436745163,   0.02681618728, -0.3131829705, 0.08078336895,  0.1964465806,
    -0.2100014004, -0.01574004176, 0.2357789034,  -0.1786623018, -0.08806881649, 0.1381377098};
constexpr double erfc64_terms[] = {  // error 1.1e-18
    0.324979921859796872,     0.553047113512130737,    0.795124312177312636,   0.949749397671431522,
    0.91138620869104509,      0.652846301768210355,    0.278790405064695394,   -0.0232624057804057122,
    -0.123225120852011052,    -0.0547844507511855108,  0.0335177125402425874,  0.0391179443695880825,
    -0.00716602013502602159,  -0.0234245416501940814,  0.00116815209092815845, 0.0145587159647652396,
    -0.000675037319576198183, -0.00961184181931884785, 0.00150965178931031035, 0.00614209171306489906,
    -0.00227074479001154667,  -0.00272815893315231631, 0.00176218661999730836};
constexpr double half_turn32_terms[] = {  // error 2.8e-11
    -0.166666666638784659, 0.00833333276830504895, -0.000198410864525061944, 2.75364553239091393e-6,
    -2.4079999732104639e-8};
constexpr double sin64_terms[] = {  // error 1.2e-20
    -0.166666666666666667,   0.00833333333333333149,  -0.000198412698412650602, 2.75573192193354534e-6,
    -2.50521062311579055e-8, 1.60585314145890108e-10, -7.58668507009126716e-13};
constexpr double tan32_over[] = {1, -0.111355246829651991, 0.0010747250857913726};  // error 2.5e-11
constexpr double tan32_under[] = {1, -0.444688578971213888, 0.0159709006821419051};
constexpr double cos64_terms[] = {  // error 6.5e-22
    0.0416666666666666667,  -0.00138888888888888879,  0.0000248015873015846438, -2.755731922140076e-7,
    2.08767557903633961e-9, -1.14704607739693246e-11, 4.74586520378745511e-14};
constexpr double atan32_terms[] = {  // error 6.5e-9
    -0.3333333267, 0.1999985012, -0.1428012223, 0.1103129633, -0.08531396028, 0.0555817141, -0.02050883551};
constexpr double atan64_terms[] = {  // error 8.5e-22
    -0.333333333333333333,  0.199999999999999999,   -0.142857142857142469,   0.111111111111068652,
    -0.0909090909066317634, 0.0769230768359707876,  -0.0666666646111965422,  0.0588234952536647574,
    -0.0526311637468042794, 0.0476152570489829255,  -0.0434517838550672552,  0.0398567108361061387,
    -0.0364314119416882635, 0.0324747896579840208,  -0.0270252889825057985,  0.0195691373871222094,
    -0.0111558087319844139, 0.00430926187672629303, -0.000825492297496379695};

// The terms of e_pow.c.
constexpr double power_log_terms[] = {5.99999999999994648725e-01, 4.28571428578550184252e-01,
                                      3.33333329818377432918e-01, 2.72728123808534006489e-01,
                                      2.30660745775561754067e-01, 2.06975017800338417784e-01};
constexpr double power_exp_terms[] = {1.66666666666666019037e-01, -2.77777777770155933842e-03,
                                      6.61375632143793436117e-05, -1.65339022054652515390e-06,
                                      4.13813679705723846039e-08};

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double pi = 3.14159265358979323846;

// Builds expressions in one float type (float32 or float64) and the integer type of its width.
class Build {
 public:
  explicit Build(DType t) : real_(t), integer_(DType{DType::Code::Int, t.bits, t.lanes}), wide_(t.bits == 64) {}

  Expr exp(const Expr& x) const {
    // Beyond these bounds all results are 0 or infinite. A NaN stays. At the lower bound both factors below are 0:
    // products that underflow are slow, and masks produce many of them.
    Expr least = c(wide_ ? -1418 : -176), bounded = clamp_above(select(lt(x, least), least, x), wide_ ? 710 : 89);
    Power p = reduced_exp(bounded);
    // Two factors, because 2^n alone can be too small or too large for the type. The bits that the magic number leaves
    // in n are shifted out of both.
    Expr n = p.n + reinterpret_magic(), half = binary(BinaryOp::Shr, n, k(1)), factor = power_of_two(half);
    return (p.less_one * factor + factor) * power_of_two(n - half);
  }

  // 2^n - 1 is less_one * 2^n + (2^n - 1), with two factors as in exp. Near 0 only less_one is left, which is exact.
  Expr expm1(const Expr& x) const {
    Expr least = c(wide_ ? -40 : -18), bounded = clamp_above(select(lt(x, least), least, x), wide_ ? 710 : 89);
    Power p = reduced_exp(bounded);
    Expr n = p.n + reinterpret_magic(), half = binary(BinaryOp::Shr, n, k(1)), rest = n - half;
    Expr factor = power_of_two(half), down = power_of_two(k(0) - rest);
    return with_sign_of((p.less_one * factor + (factor - down)) * power_of_two(rest), x);
  }

  // The logarithm of w = 1 + x, plus the rounding error of w divided by w.
  Expr log1p(const Expr& x) const {
    Expr w = c(1) + x, added = w - c(1), error = (c(1) - (w - added)) + (x - added);
    return with_sign_of(log(w, divide(error, w)), x);
  }

  // log(x) + rest, where rest is far smaller than 1 or x is 1.
  Expr log(const Expr& x, const Expr& rest = {}) const {
    int mantissa = mantissa_bits();
    Expr tiny = lt(x, c(wide_ ? 0x1p-1022 : 0x1p-126));
    Expr normal = select(tiny, x * c(wide_ ? 0x1p54 : 0x1p25), x);
    // x = 2^e * m, m in [sqrt(1/2), sqrt(2))
    Expr origin = k(wide_ ? 0x3FE6A09E667F3BCD : 0x3F3504F3);
    Expr bits = reinterpret(integer_, normal) - origin;
    Expr e = cast(real_, binary(BinaryOp::Shr, bits, k(mantissa))) - select(tiny, c(wide_ ? 54 : 25), c(0));
    Expr m = reinterpret(real_, binary(BinaryOp::BitAnd, bits, k((int64_t{1} << mantissa) - 1)) + origin);
    Expr f = m - c(1);
    Expr low = e * c(wide_ ? 0x1.a39ef35793c76p-33 : 0x1.7f7d1cf79abcap-20);
    Expr high = e * c(wide_ ? 0x1.62e42fee00000p-1 : 0x1.62e4p-1);
    if (rest) low = low + rest;
    Expr value;
    if (wide_) {
      Expr s = divide(f, f + c(2)), z = s * s, half_square = c(0.5) * f * f;
      value = high + (f - (half_square - (s * (half_square + z * horner(log64_terms, z)) + low)));
    } else {
      value = high + (f * f * (f * horner(log32_terms, f) - c(0.5)) + (low + f));
    }
    Expr finite = select(lt(x, c(infinity)), value, x);  // also keeps a NaN
    Expr zero = select(eq(x, c(0)), c(-infinity), finite);
    return select(lt(x, c(0)), c(std::numeric_limits<double>::quiet_NaN()), zero);
  }

  // e / (e + 2), e = exp(2 |x|) - 1. In float32 2^n * less_one + (2^n - 1) is exact enough near 0 too.
  Expr tanh(const Expr& x) const {
    Expr a = magnitude(x), z = a * a;
    if (!wide_) {
      Power p = reduced_exp(c(2) * clamp_above(a, 10));
      Expr power = power_of_two(p.n), e = p.less_one * power + (power - c(1));
      return with_sign_of(divide(e, e + c(2)), x);
    }
    Expr small = a + a * z * horner(tanh64_terms, z);
    Expr large = c(1) - divide(c(2), moderate_exp(c(2) * clamp_above(a, 20)) + c(1));
    return with_sign_of(select(lt(a, c(0.625)), small, large), x);
  }

  // 1 - exp(-q), q = -log(erfc(|x|)). In float32 exp is kept as 2^n * (1 + less_one), so that this is exact enough near
  // 0 too.
  Expr erf(const Expr& x) const {
    Expr a = magnitude(x), z = a * a;
    if (!wide_) {
      Expr t = clamp_above(a, 3.93);
      Power p = reduced_exp(c(0) - (t + t * horner(erf32_terms, t)));
      Expr power = power_of_two(p.n);
      return with_sign_of((c(1) - power) - p.less_one * power, x);
    }
    Expr small = a + a * horner(erf64_small_terms, z);
    Expr t = clamp_above(a, 6);
    Expr q = select(lt(a, c(2.25)), horner(erf64_middle_terms, t), horner(erf64_large_terms, t));
    return with_sign_of(select(lt(a, c(1)), small, c(1) - moderate_exp(c(0) - q)), x);
  }

  // exp(-t^2) * v * P(v), t = |x|, v = 1 / (1 + k * t). The square of the upper half of t's digits is exact; the rest
  // of t^2 is small, and added after the reduction. For x = y / sqrt(2), as in GELU, t^2 is taken as y^2 / 2: the
  // rounding error of x would be multiplied by t.
  Expr erfc(const Expr& x, const Expr& y) const {
    const double limit = wide_ ? 27.23 : 10.06;  // beyond it the result is 0, without a product that underflows slowly
    Expr t = clamp_above(magnitude(x), limit), root = y ? clamp_above(magnitude(y), limit * 1.5) : t;
    Expr digits = k(wide_ ? -(1 << 27) : -(1 << 12));
    Expr upper = reinterpret(real_, binary(BinaryOp::BitAnd, reinterpret(integer_, root), digits));
    Expr square = upper * upper, rest = (upper - root) * (upper + root), half_if = c(y ? 0.5 : 1);
    Power p = reduced_exp(c(0) - square * half_if, rest * half_if);
    Expr v = divide(c(1), c(1) + t * c(wide_ ? 0.3 : 0.75)), q = v - c(0.5);
    Expr factor = wide_ ? horner(erfc64_terms, q) : horner(erfc32_terms, q);
    Expr scale = select(lt(c(limit), magnitude(x)), c(0), v * factor);
    Expr n = p.n + reinterpret_magic(), half = binary(BinaryOp::Shr, n, k(1));
    Expr value = (p.less_one * scale + scale) * power_of_two(half) * power_of_two(n - half);
    return select(lt(x, c(0)), c(2) - value, value);
  }

  Expr atan(const Expr& x) const {
    Expr a = magnitude(x);
    Expr far = lt(c(2.41421356237309505), a), middle = lt(c(0.65625), a);
    Expr t = divide(select(far, c(-1), select(middle, a - c(1), a)), select(far, a, select(middle, a + c(1), c(1))));
    Expr z = t * t;
    Expr y = t + t * z * (wide_ ? horner(atan64_terms, z) : horner(atan32_terms, z));
    // pi / 2 and its rounding error
    double high = wide_ ? pi / 2 : static_cast<float>(pi / 2), low = wide_ ? 6.12323399573676604e-17 : pi / 2 - high;
    Expr base = select(far, c(high), select(middle, c(high / 2), c(0)));
    Expr rest = select(far, c(low), select(middle, c(low / 2), c(0)));
    return with_sign_of(base + (y + rest), x);
  }

  // Double only: x = r + quadrant * pi / 2 with r in [-pi/4, pi/4].
  struct Reduced {
    Expr r, quadrant;
  };
  Reduced quarter_turns(const Expr& bounded) const {
    Expr shifted = bounded * c(2 / pi) + c(magic());
    Expr n = shifted - c(magic());
    // The first products are exact; near a multiple of pi / 2, the last part decides the digits that are left.
    Expr r = ((bounded - n * c(0x1.921fb40000000p+0)) - n * c(0x1.4442d00000000p-24)) - n * c(0x1.8469880000000p-48);
    return {r - n * c(0x1.8cc51701b839ap-72), reinterpret(integer_, shifted)};
  }
  Expr is_odd(const Reduced& p) const { return eq(binary(BinaryOp::BitAnd, p.quadrant, k(1)), k(1)); }
  // The tangent of an angle from the sine and cosine of r.
  Expr tangent(const Reduced& p, const Expr& sine, const Expr& cosine) const {
    Expr odd = is_odd(p);
    return divide(select(odd, c(0) - cosine, sine), select(odd, sine, cosine));
  }

  // Double only, of a float32: a quotient of polynomials, which have fewer terms than a sine and a cosine.
  Expr short_tangent(const Expr& bounded) const {
    Reduced p = quarter_turns(bounded);
    Expr z = p.r * p.r;
    return tangent(p, p.r * horner(tan32_over, z), horner(tan32_under, z));
  }

  // Double only, of a float32: only the sine, of the remainder after whole half turns. One polynomial is enough,
  // whereas quarter turns take two and a choice. A cosine is the sine of the angle plus half a half turn.
  Expr half_turns(UnaryOp op, const Expr& bounded) const {
    Expr turns = bounded * c(1 / pi);
    if (op == UnaryOp::Cos) turns = turns - c(0.5);
    Expr shifted = turns + c(magic()), n = shifted - c(magic());
    Expr r;
    if (op == UnaryOp::Cos) {  // cos(x) = sin((n + 1/2) * pi - x) of an even n
      n = n + c(0.5);
      r = ((n * c(0x1.921fb4p+1) - bounded) + n * c(0x1.4442dp-23)) + n * c(0x1.8469898cc5170p-47);
    } else {
      r = ((bounded - n * c(0x1.921fb4p+1)) - n * c(0x1.4442dp-23)) - n * c(0x1.8469898cc5170p-47);
    }
    Expr z = r * r, odd = binary(BinaryOp::Shl, reinterpret(integer_, shifted), k(63));
    Expr value = r * (c(1) + z * horner(half_turn32_terms, z));
    return reinterpret(real_, binary(BinaryOp::BitXor, reinterpret(integer_, value), odd));
  }

  Expr trigonometric(UnaryOp op, const Expr& bounded) const {
    Reduced p = quarter_turns(bounded);
    Expr z = p.r * p.r;
    Expr of_sine = p.r * (c(1) + z * horner(sin64_terms, z));
    Expr of_cosine = c(1) - (c(0.5) * z - z * z * horner(cos64_terms, z));
    if (op == UnaryOp::Tan) return tangent(p, of_sine, of_cosine);
    bool sine = op == UnaryOp::Sin;
    Expr value = select(is_odd(p), sine ? of_cosine : of_sine, sine ? of_sine : of_cosine);
    Expr turn = sine ? p.quadrant : p.quadrant + k(1);
    return select(eq(binary(BinaryOp::BitAnd, turn, k(2)), k(2)), unary(UnaryOp::Neg, value), value);
  }

  // A power of float32 numbers in double, where the error of the logarithm times y does not reach the result.
  Expr power(const Expr& x, const Expr& y) const {
    Expr a = magnitude(x);
    return signed_power(x, y, select(eq(a, c(1)), c(1), exp(y * log(a))));
  }
  // The power from that of |x|.
  Expr signed_power(const Expr& x, const Expr& y, const Expr& value) const {
    Expr half = y * c(0.5);
    Expr whole = eq(unary(UnaryOp::Floor, y), y), odd = logical_and(whole, ne(unary(UnaryOp::Floor, half), half));
    Expr negative = logical_and(lt(x, c(0)), lt(c(-infinity), x));
    Expr signed_value = select(odd, with_sign_of(value, x), value);
    Expr real = select(logical_and(negative, unary(UnaryOp::Not, whole)), c(std::numeric_limits<double>::quiet_NaN()),
                       signed_value);
    return select(logical_or(eq(x, c(1)), eq(y, c(0))), c(1), real);
  }

  // x = 2^n * a, double only: a in [sqrt(3) / 2, sqrt(3)).
  struct Binade {
    Expr n, a;
  };
  Binade binade(const Expr& x) const {
    Expr tiny = lt(x, c(0x1p-1022)),
         bits = reinterpret(integer_, select(tiny, x * c(0x1p54), x)) - k(0x3FEBB67AE8584CAA);
    Expr n = cast(real_, binary(BinaryOp::Shr, bits, k(52))) - select(tiny, c(54), c(0));
    Expr a = binary(BinaryOp::BitAnd, bits, k((int64_t{1} << 52) - 1)) + k(0x3FEBB67AE8584CAA);
    return {n, reinterpret(real_, a)};
  }
  // Double only: the upper 21 digits.
  Expr upper_half(const Expr& x) const {
    return reinterpret(real_, binary(BinaryOp::BitAnd, reinterpret(integer_, x), k(-(int64_t{1} << 32))));
  }
  // Double only: 2^(high + low).
  Expr exp2(const Expr& high, const Expr& low) const {
    Expr sum = high + low, above = lt(c(1100), sum), below = lt(sum, c(-1200));
    Expr bounded = select(above, c(1100), select(below, c(-1200), high));
    Expr rest = select(logical_or(above, below), c(0), low);
    Expr shifted = (bounded + rest) + c(magic()), n = shifted - c(magic()), fraction = bounded - n;
    Expr t = upper_half(rest + fraction), u = t * c(6.93147182464599609375e-01);
    Expr v = (rest - (t - fraction)) * c(6.93147180559945286227e-01) + t * c(-1.90465429995776804525e-09);
    Expr z = u + v, w = v - (z - u), square = z * z, t1 = z - square * horner(power_exp_terms, square);
    Expr r = divide(z * t1, t1 - c(2)) - (w + z * w), value = c(1) - (r - z);
    Expr bits = reinterpret(integer_, shifted), half = binary(BinaryOp::Shr, bits, k(1));
    return value * power_of_two(half) * power_of_two(bits - half);
  }

  Expr c(double v) const { return fimm(v, real_); }
  Expr k(int64_t v) const { return imm(v, integer_); }

  Expr horner(std::span<const double> terms, const Expr& x) const {
    Expr sum = c(terms.back());
    for (size_t i = terms.size() - 1; i-- > 0;) sum = sum * x + c(terms[i]);
    return sum;
  }

 private:
  int mantissa_bits() const { return wide_ ? 52 : 23; }
  // Adding this number rounds to an integer and leaves it in the low bits.
  double magic() const { return wide_ ? 0x1.8p52 : 0x1.8p23; }

  static Expr divide(const Expr& a, const Expr& b) { return binary(BinaryOp::Div, a, b); }
  Expr clamp_above(const Expr& x, double limit) const { return select(lt(c(limit), x), c(limit), x); }

  Expr sign_bit() const { return k(wide_ ? INT64_MIN : INT32_MIN); }
  Expr magnitude(const Expr& x) const { return unary(UnaryOp::Abs, x); }
  Expr with_sign_of(const Expr& value, const Expr& x) const {
    Expr sign = binary(BinaryOp::BitAnd, reinterpret(integer_, x), sign_bit());
    return reinterpret(real_, binary(BinaryOp::BitOr, reinterpret(integer_, magnitude(value)), sign));
  }

  // 2^n for n in the exponent range of normal numbers.
  Expr power_of_two(const Expr& n) const {
    return reinterpret(real_, binary(BinaryOp::Shl, n + k(wide_ ? 1023 : 127), k(mantissa_bits())));
  }

  struct Power {
    Expr less_one, n;  // (1 + less_one) * 2^n
  };
  // Reduces x, or x + rest without rounding the sum, if the rest is far smaller.
  Power reduced_exp(const Expr& x, const Expr& rest = {}) const {
    Expr shifted = x * c(1.44269504088896341) + c(magic());
    Expr n = shifted - c(magic());
    Expr r = (x - n * c(wide_ ? 0x1.62e42fee00000p-1 : 0x1.62e4p-1)) -
             n * c(wide_ ? 0x1.a39ef35793c76p-33 : 0x1.7f7d1cf79abcap-20);
    if (rest) r = r + rest;
    Expr less_one = r * r * (wide_ ? horner(exp64_terms, r) : horner(exp32_terms, r)) + r;
    return {less_one, reinterpret(integer_, shifted) - reinterpret_magic()};
  }
  Expr reinterpret_magic() const { return k(wide_ ? 0x4338000000000000 : 0x4B400000); }

  // exp(x) for |x| < 80.
  Expr moderate_exp(const Expr& x) const {
    Power p = reduced_exp(x);
    return (p.less_one + c(1)) * power_of_two(p.n);
  }

  DType real_, integer_;
  bool wide_;
};

bool has_expansion(UnaryOp op) {
  switch (op) {
    case UnaryOp::Exp:
    case UnaryOp::Expm1:
    case UnaryOp::Log:
    case UnaryOp::Log1p:
    case UnaryOp::Tanh:
    case UnaryOp::Erf:
    case UnaryOp::Erfc:
    case UnaryOp::Sin:
    case UnaryOp::Cos:
    case UnaryOp::Tan:
    case UnaryOp::Atan:
    case UnaryOp::Rsqrt: return true;
    default: return false;
  }
}

}  // namespace

// The y of y * sqrt(1/2) or its negative, rounded to the type; null of other expressions.
static Expr divided_by_root2(const Expr& x) {
  if (x->kind != Kind::Binary || x->binary != BinaryOp::Mul) return {};
  const Expr& by = x->args[1]->kind == Kind::Broadcast ? x->args[1]->args[0] : x->args[1];
  if (by->kind != Kind::Float) return {};
  const double root = std::sqrt(0.5), size = std::fabs(by->fvalue);
  const bool same = x->dtype.bits == 64 ? size == root : static_cast<float>(size) == static_cast<float>(root);
  return same ? x->args[0] : Expr();
}

std::span<const double> sine_terms() { return sin64_terms; }
std::span<const double> cosine_terms() { return cos64_terms; }

Expr expand(UnaryOp op, const Expr& x) {
  DType t = x->dtype;
  if (!t.is_float() || !has_expansion(op)) return {};
  if (t.bits == 16) return cast(t, expand(op, cast(DType::float32().with_lanes(t.lanes), x)));
  Build b(t);
  // Divisions by a constant, as x / sqrt(2) in GELU, become a multiplication: one more rounding, for a sixth of the
  // time.
  if ((op == UnaryOp::Erf || op == UnaryOp::Tanh) && x->kind == Kind::Binary && x->binary == BinaryOp::Div) {
    const Expr& by = x->args[1]->kind == Kind::Broadcast ? x->args[1]->args[0] : x->args[1];
    if (by->kind == Kind::Float && std::fabs(by->fvalue) > 1e-30 && std::fabs(by->fvalue) < 1e30)
      return expand(op, x->args[0] * b.c(1 / by->fvalue));
  }
  switch (op) {
    case UnaryOp::Exp: return b.exp(x);
    case UnaryOp::Expm1: return b.expm1(x);
    case UnaryOp::Log: return b.log(x);
    case UnaryOp::Log1p: return b.log1p(x);
    case UnaryOp::Tanh: return b.tanh(x);
    case UnaryOp::Erf: return b.erf(x);
    case UnaryOp::Erfc: return b.erfc(x, divided_by_root2(x));
    case UnaryOp::Atan: return b.atan(x);
    case UnaryOp::Rsqrt: return binary(BinaryOp::Div, b.c(1), unary(UnaryOp::Sqrt, x));
    default: break;
  }
  // The angle is reduced in double, and the rest costs little more there. A larger angle, which hardly ever occurs, is
  // left to code generation (codegen/llvm/far_angles.h).
  DType wide = DType::float64().with_lanes(t.lanes);
  Expr is_near = lt(unary(UnaryOp::Abs, x), b.c(0x1p28)), angle = cast(wide, select(is_near, x, b.c(0)));
  Build in_double(wide);
  Expr value = t.bits == 64         ? in_double.trigonometric(op, angle)
               : op == UnaryOp::Tan ? in_double.short_tangent(angle)
                                    : in_double.half_turns(op, angle);
  return select(is_near, cast(t, value), unary(op, x));
}

// Doubles: z = y * log2(|x|) in two parts with 20 digits more, so that a result that is a double is hit (FreeBSD's
// e_pow.c, by Sun Microsystems). |x| = 2^n * a, a in [sqrt(3) / 2, sqrt(3)), near 1 or 3/2.
static Expr power_of_doubles(const Expr& x, const Expr& y) {
  const Build b(x->dtype);
  auto c = [&](double v) { return b.c(v); };
  auto upper = [&](const Expr& v) { return b.upper_half(v); };
  const Expr size = unary(UnaryOp::Abs, x);
  // Larger exponents have the same results, and products with them are finite.
  const Expr e = select(lt(c(0x1p65), y), c(0x1p65), select(lt(y, c(-0x1p65)), c(-0x1p65), y));
  const Build::Binade parts = b.binade(size);
  const Expr middle = lt(c(1.22474487139158905), parts.a), base = select(middle, c(1.5), c(1));
  // ss = (a - base) / (a + base), in two parts
  const Expr u = parts.a - base, sum = parts.a + base, v = scalar::binary(BinaryOp::Div, c(1), sum), ss = u * v;
  const Expr s_high = upper(ss), sum_high = upper(sum), sum_low = parts.a - (sum_high - base);
  const Expr s_low = v * ((u - s_high * sum_high) - s_high * sum_low);
  // 3 * log(a / base) / (2 * ss) = 3 + ss^2 + .., in two parts
  const Expr z = ss * ss, high_square = s_high * s_high;
  const Expr rest = z * z * b.horner(power_log_terms, z) + s_low * (s_high + ss);
  const Expr t_high = upper(c(3) + high_square + rest), t_low = rest - ((t_high - c(3)) - high_square);
  const Expr first = s_high * t_high, second = s_low * t_high + t_low * ss;
  const Expr p_high = upper(first + second), p_low = second - (p_high - first);
  // log2(|x|), in two parts: 2 / (3 * log(2)) times that, plus log2(base) and n
  const Expr l_high = c(9.61796700954437255859e-01) * p_high;
  const Expr base_high = select(middle, c(5.84962487220764160156e-01), c(0));
  const Expr base_low = select(middle, c(1.35003920212974897128e-08), c(0));
  const Expr l_low = c(-7.02846165095275826516e-09) * p_high + p_low * c(9.61796693925975554329e-01) + base_low;
  const Expr log_high = upper(((l_high + l_low) + base_high) + parts.n);
  const Expr log_low = l_low - (((log_high - parts.n) - base_high) - l_high);
  const Expr e_high = upper(e), power_low = (e - e_high) * log_high + e * log_low, power_high = e_high * log_high;
  const Expr value = b.exp2(power_high, power_low);
  const Expr zero = eq(size, c(0)), extreme = logical_or(zero, eq(size, c(infinity)));
  const Expr at_extreme = select(eq(zero, lt(y, c(0))), c(infinity), c(0));
  const Expr usual = select(eq(size, size), value, x);
  return b.signed_power(x, y, select(extreme, select(eq(y, y), at_extreme, y), usual));
}

Expr expand_power(const Expr& x, const Expr& y) {
  DType t = x->dtype;
  if (!t.is_float()) return {};
  if (t.bits == 64) return power_of_doubles(x, y);
  DType wide = DType::float64().with_lanes(t.lanes);
  return cast(t, Build(wide).power(cast(wide, x), cast(wide, y)));
}

Expr expand_math(const Expr& e) {
  return rewrite(e, [](const Expr& n) -> Expr {
    Expr expanded;
    if (n->kind == Kind::Unary) expanded = expand(n->unary, n->args[0]);
    if (n->kind == Kind::Binary && n->binary == BinaryOp::Pow) expanded = expand_power(n->args[0], n->args[1]);
    return expanded ? expanded : n;
  });
}

}  // namespace relay::scalar
