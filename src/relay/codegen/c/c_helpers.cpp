#include "relay/codegen/c/c_helpers.h"

#include "relay/base/diagnostics.h"

namespace relay::codegen {

using scalar::BinaryOp;
using scalar::UnaryOp;

// "f32", "bf16", "i8", "u64"
static std::string suffix(DType t) {
  const char* code = t.code == DType::Code::Float    ? "f"
                     : t.code == DType::Code::BFloat ? "bf"
                     : t.code == DType::Code::Int    ? "i"
                                                     : "u";
  return format("{}{}", code, t.bits);
}

static void replace_all(std::string& text, const std::string& mark, const std::string& value) {
  for (size_t at; (at = text.find(mark)) != std::string::npos;) text.replace(at, mark.size(), value);
}

// `text` with $T, $U, $R, $W and $f replaced (dialect.h).
std::string CHelpers::filled(std::string text, DType t, const std::string& result) const {
  const std::string type = dialect_.value_type(t), wide = dialect_.integer(false, std::max<int>(t.bits, 32));
  const std::string end = t == DType::float64() ? "" : dialect_.float_end;
  const std::string bits = format("{}", t.bits);
  for (const auto& [mark, value] : {std::pair{"$T", type}, {"$U", wide}, {"$f", end}, {"$R", result}, {"$W", bits}})
    replace_all(text, mark, value);
  return text;
}

std::string CHelpers::add(const std::string& name, const std::string& text) {
  for (const auto& [known, its_text] : all_)
    if (known == name) return name;
  all_.emplace_back(name, text);
  return name;
}

std::string CHelpers::binary(BinaryOp op, DType t) {
  const std::string name = format("relay_{}_{}", scalar::name(op), suffix(t));
  const char* const body = dialect_.binary_body(op, t);
  RELAY_CHECK(body, "no helper for {} of {}", scalar::name(op), t.str());
  return add(name, filled(dialect_.function("$T", name, "$T", {"a", "b"}, format(" {} ", body)), t));
}

std::string CHelpers::unary(UnaryOp op, DType t) {
  const std::string name = format("relay_{}_{}", scalar::name(op), suffix(t));
  std::string body = dialect_.unary_body(op, t);
  if (t.is_float()) replace_all(body, "$B", bits_of(t));
  return add(name, filled(dialect_.function("$T", name, "$T", {"a"}, format(" {} ", body)), t));
}

std::string CHelpers::to_integer(DType t, DType from) {
  const bool is_signed = t.code == DType::Code::Int;
  const DType taken = from == DType::float64() ? from : DType::float32();  // whose powers of two are exact, too
  const int at = t.bits == 8 ? 0 : t.bits == 16 ? 1 : t.bits == 32 ? 2 : 3;
  const std::string name = format("relay_to_{}_of_{}", suffix(t), suffix(taken));
  std::string body = dialect_.to_integer;
  for (const auto& [mark, value] : {std::pair{"$L", std::string(is_signed ? dialect_.least[at] : "0")},
                                    {"$G", is_signed ? dialect_.greatest[at] : dialect_.unsigned_greatest[at]},
                                    {"$E", format("{}", is_signed ? t.bits - 1 : t.bits)}})
    replace_all(body, mark, value);
  const bool lines = body[0] == '\n';
  return add(name, filled(dialect_.function("$R", name, "$T", {"v"}, lines ? body : format(" {} ", body)), taken,
                          dialect_.value_type(t)));
}

std::string CHelpers::bits_of(DType t) {
  const std::string name = format("relay_bits_of_{}", suffix(t));
  return add(name, filled(dialect_.function("$R", name, "$T", {"v"}, format(" {} ", dialect_.bits_of)), t,
                          dialect_.integer(false, t.bits)));
}

std::string CHelpers::from_bits(DType t) {
  const std::string name = format("relay_{}_of_bits", suffix(t));
  return add(name, filled(dialect_.function("$R", name, "$U", {"b"}, format(" {} ", dialect_.from_bits)), t,
                          dialect_.value_type(t)));
}

std::string CHelpers::multiply_add(DType t) {
  const std::string name = format("relay_multiply_add_{}", suffix(t));
  return add(name, filled(dialect_.function("$T", name, "$T", {"a", "b", "c"}, dialect_.multiply_add), t));
}

// A number of less than 22 bits is rounded by the addition of 1.5 * 2^23, whose last bit is worth 1.
std::string CHelpers::nearest(DType t) {
  const std::string bits = bits_of(DType::float32()), saturated = to_integer(t, DType::float32());
  const int at = t.bits == 8 ? 0 : 1;
  const bool is_signed = t.code == DType::Code::Int;
  const char *least = is_signed ? dialect_.least[at] : "0",
             *most = is_signed ? dialect_.greatest[at] : dialect_.unsigned_greatest[at];
  const std::string name = format("relay_nearest_{}_of_f32", suffix(t));
  return add(name, format("static inline {0} {1}(float v, int32_t zero) {{\n"
                          "  const uint32_t b = {2}(v + 12582912.0f);\n"
                          "  if (b - 0x4b000000u >= 0x800000u) return {3}(rintf(v) + (float)zero);\n"
                          "  const int32_t i = (int32_t)(b - 0x4b400000u + (uint32_t)zero);\n"
                          "#if defined(__ARM_FEATURE_SAT) && defined(__GNUC__)\n  int32_t r;\n"
                          "  __asm__(\"{4}sat %0, #{5}, %1\" : \"=r\"(r) : \"r\"(i));\n  return ({0})r;\n#else\n"
                          "  return ({0})(i < {6} ? {6} : i > {7} ? {7} : i);\n#endif\n}}\n",
                          dialect_.value_type(t), name, bits, saturated, is_signed ? "s" : "u", t.bits, least, most));
}

bool CHelpers::has_dot(DType left, DType right, size_t products) {
  const bool bytes = left.bits == 8 && right.bits == 8 && !left.is_float() && !right.is_float();
  return bytes && (products == 4 || (products == 16 && left == right));
}

std::string CHelpers::dot_of_vectors(DType t) {
  const bool is_signed = t == DType::int8();
  const std::string type = dialect_.stored_type(t), name = format("relay_dot16_{0}_{0}", suffix(t));
  const std::string by_vectors = is_signed ? "vmladavaq_s8(c, vldrbq_s8(a), vldrbq_s8(b))"
                                           : "(int32_t)vmladavaq_u8((uint32_t)c, vldrbq_u8(a), vldrbq_u8(b))";
  return add(name, format("#if defined(__ARM_FEATURE_MVE)\n#include <arm_mve.h>\n#endif\n"
                          "static inline int32_t {0}(const {1} *a, const {1} *b, int32_t c) {{\n"
                          "#if defined(__ARM_FEATURE_MVE)\n  return {2};\n#else\n"
                          "  int32_t sum = 0;\n  for (int i = 0; i < 16; ++i) sum += a[i] * b[i];\n"
                          "  return (int32_t)((uint32_t)c + (uint32_t)sum);\n#endif\n}}\n",
                          name, type, by_vectors));
}

// SMLAD adds the products of two pairs of 16-bit numbers. Of a word with four bytes, SXTB16 and UXTB16 widen the first
// and the third, or the second and the fourth after a rotation, which the same instruction does: GCC needs to be told.
std::string CHelpers::dot(DType left, DType right, size_t products) {
  if (products != 4) return dot_of_vectors(left);
  add("relay_word",
      "#ifdef __ARM_FEATURE_SIMD32\n#include <arm_acle.h>\n"
      "static inline uint32_t relay_word(const void *p) { uint32_t w; memcpy(&w, p, 4); return w; }\n#endif\n");
  for (DType t : {left, right}) {
    const bool is_signed = t == DType::int8();
    const char letter = is_signed ? 's' : 'u';
    const char *first = is_signed ? "__sxtb16((int8x4_t)w)" : "(int16x2_t)(w & 0x00ff00ffu)",
               *rest = is_signed ? "__sxtb16((int8x4_t)(w >> 8 | w << 24))" : "(int16x2_t)(w >> 8 & 0x00ff00ffu)";
    add(format("relay_even_{}", suffix(t)),
        format(
            "#ifdef __ARM_FEATURE_SIMD32\nstatic inline int16x2_t relay_even_{}(uint32_t w) {{ return {}; }}\n#endif\n",
            suffix(t), first));
    add(format("relay_odd_{}", suffix(t)),
        format("#ifdef __ARM_FEATURE_SIMD32\nstatic inline int16x2_t relay_odd_{0}(uint32_t w) {{\n"
               "#if defined(__GNUC__) && !defined(__clang__)\n  int16x2_t r;\n"
               "  __asm__(\"{1}xtb16 %0, %1, ror #8\" : \"=r\"(r) : \"r\"(w));\n  return r;\n"
               "#else\n  return {2};\n#endif\n}}\n#endif\n",
               suffix(t), letter, rest));
  }
  const std::string name = format("relay_dot_{}_{}", suffix(left), suffix(right));
  return add(
      name,
      format("static inline int32_t {0}(const {3} *a, const {4} *b, int32_t c) {{\n"
             "#ifdef __ARM_FEATURE_SIMD32\n  const uint32_t x = relay_word(a), y = relay_word(b);\n"
             "  return __smlad(relay_odd_{1}(x), relay_odd_{2}(y), __smlad(relay_even_{1}(x), relay_even_{2}(y), c));\n"
             "#else\n  return (int32_t)((uint32_t)c +\n"
             "                   (uint32_t)(a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]));\n#endif\n}}\n",
             name, suffix(left), suffix(right), dialect_.stored_type(left), dialect_.stored_type(right)));
}

std::string CHelpers::narrow(DType from) {
  if (dialect_.has_double || is_half(from) || from == DType::float32() || from.bits < 32) return {};
  const std::string name = format("relay_narrow_{}", suffix(from));
  const std::string bits = bits_of(DType::float32()), back = from_bits(DType::float32());
  const std::string begin = format(
      "/* Towards zero, with the last bit set if not exact: as good as v where fewer bits are kept. */\n"
      "{}float {}($T v) {{\n",
      dialect_.function_begin, name);
  if (dialect_.towards_zero) {
    const char* exact = from.is_float() ? "!((double)f == v || isnan(v))" : "($T)f != v";
    return add(name, filled(format("{}  float f = {}(v);\n  return {} ? {}({}(f) | 1) : f;\n}}\n", begin,
                                   dialect_.towards_zero, exact, back, bits),
                            from));
  }
  if (from.is_float())
    return add(name, filled(format("{}  float f = (float)v;\n  if (isnan(v) || (double)f == v) return f;\n"
                                   "  return {}((fabs((double)f) > fabs(v) ? {}(f) - 1 : {}(f)) | 1);\n}}\n",
                                   begin, back, bits, bits),
                            from));
  const bool is_signed = from.code == DType::Code::Int;
  return add(name, filled(format("{}  $U u = {};\n  int e = 0;\n"
                                 "  for (; u >= 0x1000000u; ++e) u = u >> 1 | (u & 1);\n"
                                 "  float f = ldexp{}((float)u, e);\n  return {};\n}}\n",
                                 begin, is_signed ? "v < 0 ? 0 - ($U)v : ($U)v" : "v", dialect_.float_end,
                                 is_signed ? "v < 0 ? -f : f" : "f"),
                          from));
}

// Half to even: 11 bits of significand and least exponent -14, or 8 and -126.
std::string CHelpers::round(DType half) {
  const bool brain = half == DType::bfloat16();
  const std::string name = format("relay_round_{}", suffix(half));
  if (!dialect_.has_double) {
    const std::string bits = bits_of(DType::float32()), back = from_bits(DType::float32());
    if (brain)
      return add(name, filled(format("{}float {}(float v) {{\n  $U b = {}(v);\n  return isnan(v) ? v : "
                                     "{}((b + 0x7fff + ((b >> 16) & 1)) & 0xffff0000u);\n}}\n",
                                     dialect_.function_begin, name, bits, back),
                              DType::float32()));
    return add(
        name,
        filled(format("{3}float {0}(float v) {{\n  $U b = {1}(v), a = b & 0x7fffffffu;\n"
                      "  if (a >= 0x7f800000u) return v;\n"
                      "  if (a < 0x38800000u) return copysign$f(rint$f(v * 16777216.0f) * 5.9604645e-8f, v);\n"
                      "  b = (b + 0xfff + ((b >> 13) & 1)) & 0xffffe000u;\n"
                      "  return {2}((b & 0x7fffffffu) > 0x477fe000u ? (b & 0x80000000u) | 0x7f800000u : b);\n}}\n",
                      name, bits, back, dialect_.function_begin),
               DType::float32()));
  }
  return add(
      name,
      format(
          "static inline float {}(double v) {{\n  int e;\n  if (v == 0 || isnan(v) || isinf(v)) return (float)v;\n"
          "  frexp(v, &e);\n  if (e < {}) e = {};\n  double unit = ldexp(1, e - {}), r = nearbyint(v / unit) * unit;\n"
          "  return (float)(fabs(r) > {} ? copysign(INFINITY, v) : r);\n}}\n",
          name, brain ? -125 : -13, brain ? -125 : -13, brain ? 8 : 11, brain ? "ldexp(255, 120)" : "65504"));
}

std::string CHelpers::load(DType half) {
  const std::string name = format("relay_load_{}", suffix(half));
  const std::string back = from_bits(DType::float32());
  if (half == DType::bfloat16())
    return add(name, format("{}float {}({} b) {{ return {}(({})b << 16); }}\n", dialect_.function_begin, name,
                            dialect_.integer(false, 16), back, dialect_.integer(false, 32)));
  if (!dialect_.has_double)
    return add(name,
               format("{5}float {0}({2} b) {{\n  {3} s = ({3})(b & 0x8000) << 16, a = b & 0x7fff;\n"
                      "  if (a < 0x400) return {1}(s | {4}((float)a * 5.9604645e-8f));\n"
                      "  return {1}(s | (a >= 0x7c00 ? 0x7f800000u | (a << 13) : (a << 13) + 0x38000000u));\n}}\n",
                      name, back, dialect_.integer(false, 16), dialect_.integer(false, 32), bits_of(DType::float32()),
                      dialect_.function_begin));
  return add(name, format("static inline float {}(uint16_t b) {{\n  int e = (b >> 10) & 31, m = b & 1023;\n"
                          "  double v = e == 31 ? (m ? NAN : INFINITY) : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);\n"
                          "  return (float)(b >> 15 ? -v : v);\n}}\n",
                          name));
}

std::string CHelpers::store(DType half) {
  const std::string name = format("relay_store_{}", suffix(half)), bits = bits_of(DType::float32());
  if (half == DType::bfloat16())
    return add(name, format("{3}{0} {1}(float v) {{ return ({0})({2}(v) >> 16); }}\n", dialect_.integer(false, 16),
                            name, bits, dialect_.function_begin));
  if (!dialect_.has_double)
    return add(name,
               format("{4}{2} {0}(float v) {{\n  {3} b = {1}(v), s = (b >> 16) & 0x8000, a = b & "
                      "0x7fffffffu;\n  if (a > 0x7f800000u) return ({2})(s | 0x7e00);\n"
                      "  if (a == 0x7f800000u) return ({2})(s | 0x7c00);\n"
                      "  if (a < 0x38800000u) return ({2})(s | ({3})(fabs(v) * 16777216.0f));\n"
                      "  return ({2})(s | ((a - 0x38000000u) >> 13));\n}}\n",
                      name, bits, dialect_.integer(false, 16), dialect_.integer(false, 32), dialect_.function_begin));
  return add(
      name,
      format("static inline uint16_t {}(float v) {{\n  int sign = (int)({}(v) >> 31) << 15, e;\n"
             "  if (isnan(v)) return (uint16_t)(sign | 0x7e00);\n  if (isinf(v)) return (uint16_t)(sign | 0x7c00);\n"
             "  if (v == 0) return (uint16_t)sign;\n  frexp(v, &e);\n"
             "  if (e < -13) return (uint16_t)(sign | (int)ldexp(fabs(v), 24));\n"
             "  return (uint16_t)(sign | (((e + 14) << 10) + (int)ldexp(fabs(v), 11 - e) - 1024));\n}}\n",
             name, bits));
}

std::string CHelpers::text_for(const std::string& code) const {
  std::string out;
  for (auto it = all_.rbegin(); it != all_.rend(); ++it)
    if (const std::string used = it->first + "("; (code + out).find(used) != std::string::npos)
      out = it->second + "\n" + out;
  return out;
}

}  // namespace relay::codegen
