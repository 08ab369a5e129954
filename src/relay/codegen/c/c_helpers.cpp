#include "relay/codegen/c/c_helpers.h"

#include "relay/base/diagnostics.h"

namespace relay::codegen {

using scalar::BinaryOp;
using scalar::UnaryOp;

std::string c_value_type(DType t) {
  if (t.is_bool()) return "int";
  if (t.is_float()) return t.bits == 64 ? "double" : "float";
  return format("{}int{}_t", t.code == DType::Code::UInt || t.is_storage() ? "u" : "", t.bits);
}

std::string c_stored_type(DType t) {
  if (t.is_bool()) return "uint8_t";
  return is_half(t) ? "uint16_t" : c_value_type(t);
}

// "f32", "bf16", "i8", "u64"
static std::string suffix(DType t) {
  const char* code = t.code == DType::Code::Float    ? "f"
                     : t.code == DType::Code::BFloat ? "bf"
                     : t.code == DType::Code::Int    ? "i"
                                                     : "u";
  return format("{}{}", code, t.bits);
}

// `text` with $T, $U and $f replaced: the type, the unsigned integer of its size, and the suffix of C's functions on
// it.
static std::string filled(std::string text, DType t) {
  const std::string type = c_value_type(t), wide = format("uint{}_t", std::max<int>(t.bits, 32));
  const std::string end = t == DType::float64() ? "" : "f";
  for (const auto& [mark, value] : {std::pair{"$T", type}, {"$U", wide}, {"$f", end}})
    for (size_t at; (at = text.find(mark)) != std::string::npos;) text.replace(at, 2, value);
  return text;
}

std::string CHelpers::add(const std::string& name, const std::string& text) {
  for (const auto& [known, its_text] : all_)
    if (known == name) return name;
  all_.emplace_back(name, text);
  return name;
}

static const char* float_body(BinaryOp op) {
  switch (op) {
    case BinaryOp::Min: return "return isnan(a) ? a : a < b ? a : b;";
    case BinaryOp::Max: return "return isnan(a) ? a : a > b ? a : b;";
    case BinaryOp::FloorDiv:
      return "if (b == 0) return a / b; double r = fmod(a, b), q = rint((a - r) / b); "
             "if (r != 0 && (r < 0) != (b < 0)) q -= 1; return ($T)(q == 0 ? copysign(0, a / b) : q);";
    case BinaryOp::FloorMod: return "$T r = fmod$f(a, b); return r != 0 && (r < 0) != (b < 0) ? r + b : r;";
    case BinaryOp::TruncDiv: return "return trunc$f(a / b);";
    case BinaryOp::TruncMod: return "return fmod$f(a, b);";
    case BinaryOp::Pow: return "return pow$f(a, b);";
    default: return nullptr;
  }
}

// Signed division of the least number by -1 wraps around.
static const char* integer_body(BinaryOp op, bool is_signed) {
  switch (op) {
    case BinaryOp::Min: return "return a < b ? a : b;";
    case BinaryOp::Max: return "return a < b ? b : a;";
    case BinaryOp::FloorDiv:
      return is_signed ? "if (b == 0) return 0; if (b == -1) return ($T)(0 - ($U)a); "
                         "return ($T)(a / b - (a % b != 0 && (a % b < 0) != (b < 0)));"
                       : "return b == 0 ? 0 : ($T)(a / b);";
    case BinaryOp::FloorMod:
      return is_signed ? "if (b == 0 || b == -1) return 0; $T r = ($T)(a % b); "
                         "return ($T)(r != 0 && (r < 0) != (b < 0) ? r + b : r);"
                       : "return b == 0 ? 0 : ($T)(a % b);";
    case BinaryOp::TruncDiv:
      return is_signed ? "if (b == 0) return 0; if (b == -1) return ($T)(0 - ($U)a); return ($T)(a / b);"
                       : "return b == 0 ? 0 : ($T)(a / b);";
    case BinaryOp::TruncMod:
      return is_signed ? "return b == 0 || b == -1 ? 0 : ($T)(a % b);" : "return b == 0 ? 0 : ($T)(a % b);";
    case BinaryOp::Pow:
      return is_signed ? "if (b < 0) return ($T)(a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0); "
                         "$U r = 1, p = ($U)a; for ($U e = ($U)b; e; e >>= 1, p *= p) if (e & 1) r *= p; return ($T)r;"
                       : "$U r = 1, p = a; for ($U e = b; e; e >>= 1, p *= p) if (e & 1) r *= p; return ($T)r;";
    default: return nullptr;
  }
}

std::string CHelpers::binary(BinaryOp op, DType t) {
  const std::string name = format("relay_{}_{}", scalar::name(op), suffix(t));
  const bool is_signed = t.code == DType::Code::Int;
  std::string body;
  if (op == BinaryOp::Shl || op == BinaryOp::Shr) {
    const std::string inside = is_signed ? format("b >= 0 && b < {}", t.bits) : format("b < {}", t.bits);
    body = op == BinaryOp::Shl ? format("return {} ? ($T)(($U)a << b) : 0;", inside)
           : is_signed         ? format("return ($T)({} ? (a < 0 ? ~(~a >> b) : a >> b) : a < 0 ? -1 : 0);", inside)
                               : format("return {} ? ($T)(a >> b) : 0;", inside);
  } else {
    const char* found = t.is_float() ? float_body(op) : integer_body(op, is_signed);
    RELAY_CHECK(found, "no helper for {} of {}", scalar::name(op), t.str());
    body = found;
  }
  return add(name, filled(format("static inline $T {}($T a, $T b) {{ {} }}\n", name, body), t));
}

std::string CHelpers::unary(UnaryOp op, DType t) {
  const std::string name = format("relay_{}_{}", scalar::name(op), suffix(t));
  const bool is_signed = t.code == DType::Code::Int;
  const char* body = t.is_float()         ? "return isnan(a) ? a : a > 0 ? 1 : a < 0 ? -1 : a;"
                     : op == UnaryOp::Abs ? "return a < 0 ? ($T)(0 - ($U)a) : a;"
                     : is_signed          ? "return ($T)((a > 0) - (a < 0));"
                                          : "return ($T)(a != 0);";
  return add(name, filled(format("static inline $T {}($T a) {{ {} }}\n", name, body), t));
}

std::string CHelpers::to_integer(DType t) {
  const std::string name = format("relay_to_{}", suffix(t));
  const bool is_signed = t.code == DType::Code::Int;
  const std::string limits = is_signed ? format("INT{}", t.bits) : format("UINT{}", t.bits);
  const std::string least = is_signed ? limits + "_MIN" : "0", greatest = limits + "_MAX";
  return add(
      name,
      format("static inline {0} {1}(double v) {{\n  if (isnan(v)) return 0;\n  if (v <= (double){2}) return {2};\n"
             "  if (v >= ldexp(1, {4})) return {3};\n  return ({0})v;\n}}\n",
             c_value_type(t), name, least, greatest, is_signed ? t.bits - 1 : t.bits));
}

std::string CHelpers::bits_of(DType t) {
  const std::string name = format("relay_bits_of_{}", suffix(t));
  return add(name, format("static inline uint{0}_t {1}({2} v) {{ uint{0}_t b; memcpy(&b, &v, sizeof b); return b; }}\n",
                          t.bits, name, c_value_type(t)));
}

std::string CHelpers::from_bits(DType t) {
  const std::string name = format("relay_{}_of_bits", suffix(t));
  return add(name, format("static inline {2} {1}(uint{0}_t b) {{ {2} v; memcpy(&v, &b, sizeof v); return v; }}\n",
                          t.bits, name, c_value_type(t)));
}

std::string CHelpers::multiply_add(DType t) {
  const std::string name = format("relay_multiply_add_{}", suffix(t));
  return add(name,
             filled(format("static inline $T {}($T a, $T b, $T c) {{\n#ifdef RELAY_FMA\n  return fma$f(a, b, c);\n"
                           "#else\n  return a * b + c;\n#endif\n}}\n",
                           name),
                    t));
}

// Half to even: 11 bits of significand and least exponent -14, or 8 and -126.
std::string CHelpers::round(DType half) {
  const bool brain = half == DType::bfloat16();
  const std::string name = format("relay_round_{}", suffix(half));
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
  if (half == DType::bfloat16())
    return add(name, format("static inline float {}(uint16_t b) {{ return {}((uint32_t)b << 16); }}\n", name,
                            from_bits(DType::float32())));
  return add(name, format("static inline float {}(uint16_t b) {{\n  int e = (b >> 10) & 31, m = b & 1023;\n"
                          "  double v = e == 31 ? (m ? NAN : INFINITY) : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);\n"
                          "  return (float)(b >> 15 ? -v : v);\n}}\n",
                          name));
}

std::string CHelpers::store(DType half) {
  const std::string name = format("relay_store_{}", suffix(half)), bits = bits_of(DType::float32());
  if (half == DType::bfloat16())
    return add(name, format("static inline uint16_t {}(float v) {{ return (uint16_t)({}(v) >> 16); }}\n", name, bits));
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
