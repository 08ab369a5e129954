#include "relay/codegen/c/dialect.h"

#include "relay/base/text.h"

namespace relay::codegen {

using scalar::BinaryOp;
using scalar::UnaryOp;

std::string Dialect::value_type(DType t) const {
  if (t.is_bool()) return bool_type;
  if (t.is_float()) return t.bits == 64 ? double_type : float_type;
  return integer(t.code == DType::Code::Int && !t.is_storage(), t.bits);
}

std::string Dialect::stored_type(DType t) const {
  if (t.is_bool()) return integer(false, 8);
  return is_half(t) ? integer(false, 16) : value_type(t);
}

std::string Dialect::declared(const std::string& type, const std::string& name) const {
  return names_first ? format("{}: {}", name, type) : format("{} {}", type, name);
}

std::string Dialect::constant(const std::string& type, const std::string& name, const std::string& value) const {
  return format("{} {} = {};", names_first ? "let" : "const", declared(type, name), value);
}

std::string Dialect::variable(const std::string& type, const std::string& name, const std::string& value) const {
  return format("{}{}{}{};", names_first ? "var " : "", declared(type, name), value.empty() ? "" : " = ", value);
}

std::string Dialect::array(const std::string& type, const std::string& name, int64_t elements,
                           const std::string& space) const {
  return names_first ? format("var{} {}: array<{}, {}>;", space, name, type, elements)
                     : format("{}{} {}[{}];", space, type, name, elements);
}

std::string Dialect::loop(const std::string& type, const std::string& name, const std::string& first,
                          const std::string& last, const std::string& step) const {
  const std::string next = !step.empty() ? format("{} += {}", name, step) : names_first ? name + "++" : "++" + name;
  return format("for ({}{} = {}; {} < {}; {}) {{", names_first ? "var " : "", declared(type, name), first, name, last,
                next);
}

std::string Dialect::function(const std::string& result, const std::string& name, const std::string& type,
                              const std::vector<std::string>& parameters, const std::string& body) const {
  std::vector<std::string> all;
  for (const std::string& parameter : parameters) all.push_back(declared(type, parameter));
  return names_first ? format("fn {}({}) -> {} {{{}}}\n", name, join(all, ", "), result, body)
                     : format("{}{} {}({}) {{{}}}\n", function_begin, result, name, join(all, ", "), body);
}

// Bodies of functions in C99 and OpenCL C.
static const char* float_body(BinaryOp op) {
  switch (op) {
    case BinaryOp::Min: return "return isnan(a) ? a : a < b ? a : b;";
    case BinaryOp::Max: return "return isnan(a) ? a : a > b ? a : b;";
    case BinaryOp::FloorDiv:
      return "if (b == 0) return a / b; double r = fmod(a, b), q = rint((a - r) / b); "
             "if (r != 0 && (r < 0) != (b < 0)) q -= 1; return ($T)(q == 0 ? copysign(0.0, (double)(a / b)) : q);";
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
    case BinaryOp::Shl:
      return is_signed ? "return b >= 0 && b < $W ? ($T)(($U)a << b) : 0;" : "return b < $W ? ($T)(($U)a << b) : 0;";
    case BinaryOp::Shr:
      return is_signed ? "return ($T)(b >= 0 && b < $W ? (a < 0 ? ~(~a >> b) : a >> b) : a < 0 ? -1 : 0);"
                       : "return b < $W ? ($T)(a >> b) : 0;";
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

static const char* c_binary_body(BinaryOp op, DType t) {
  return t.is_float() ? float_body(op) : integer_body(op, t.code == DType::Code::Int);
}

static const char* c_unary_body(UnaryOp op, DType t) {
  return t.is_float()                 ? "return isnan(a) || $B(a) << 1 == 0 ? a : $B(a) >> ($W - 1) ? -1 : 1;"
         : op == UnaryOp::Abs         ? "return a < 0 ? ($T)(0 - ($U)a) : a;"
         : t.code == DType::Code::Int ? "return ($T)((a > 0) - (a < 0));"
                                      : "return ($T)(a != 0);";
}

static const char* const c99_keywords[] = {
    "auto",   "break",    "case",     "char",     "const", "continue", "default", "do",     "double",
    "else",   "enum",     "extern",   "float",    "for",   "goto",     "if",      "inline", "int",
    "long",   "register", "restrict", "return",   "short", "signed",   "sizeof",  "static", "struct",
    "switch", "typedef",  "union",    "unsigned", "void",  "volatile", "while",   "asm"};
static const char* const c99_functions[] = {
    "params",   "shape", "begin",  "end",   "scratch", "exp",   "log",   "sqrt",   "tanh",  "erf",     "sin",   "cos",
    "tan",      "atan",  "floor",  "ceil",  "rint",    "trunc", "fabs",  "expf",   "logf",  "sqrtf",   "tanhf", "erff",
    "sinf",     "cosf",  "tanf",   "atanf", "floorf",  "ceilf", "rintf", "truncf", "fabsf", "isnan",   "isinf", "NAN",
    "INFINITY", "expm1", "expm1f", "log1p", "log1pf",  "erfc",  "erfcf", "fmod",   "fmodf", "copysign"};

const Dialect c99{
    .name = "C99",
    .signed_types = {"int8_t", "int16_t", "int32_t", "int64_t"},
    .unsigned_types = {"uint8_t", "uint16_t", "uint32_t", "uint64_t"},
    .float_type = "float",
    .double_type = "double",
    .bool_type = "int",
    .least = {"INT8_MIN", "INT16_MIN", "INT32_MIN", "INT64_MIN"},
    .greatest = {"INT8_MAX", "INT16_MAX", "INT32_MAX", "INT64_MAX"},
    .unsigned_greatest = {"UINT8_MAX", "UINT16_MAX", "UINT32_MAX", "UINT64_MAX"},
    .int64_begin = "INT64_C(",
    .int64_end = ")",
    .uint64_begin = "UINT64_C(",
    .uint64_end = ")",
    .float_end = "f",
    .abs = "fabs",
    .rint = "rint",
    .array_space = "",
    .shared_space = "",
    .barrier = "",
    .barrier_of_arrays = "",
    .memory = "",
    .names_first = false,
    .integers_wrap = false,
    .keywords = c99_keywords,
    .functions = c99_functions,
    .has_double = true,
    .towards_zero = nullptr,
    .bits_of = "$R b; memcpy(&b, &v, sizeof b); return b;",
    .from_bits = "$R v; memcpy(&v, &b, sizeof v); return v;",
    .multiply_add = "\n#ifdef RELAY_FMA\n  return fma$f(a, b, c);\n#else\n  return a * b + c;\n#endif\n",
    .to_integer =
        "\n  if (isnan(v)) return 0;\n  if (v <= ($T)$L) return $L;\n  if (v >= ($T)ldexp(1, $E)) return "
        "$G;\n  return ($R)v;\n",
    .binary_body = c_binary_body,
    .unary_body = c_unary_body,
};

// OpenCL C 1.2. Variables may have the names of its vector types, which kernels do not use.
static const char* const opencl_keywords[] = {
    "auto",    "break",     "case",     "char",      "const",     "continue",   "default",    "do",        "double",
    "else",    "enum",      "extern",   "float",     "for",       "goto",       "if",         "inline",    "int",
    "long",    "register",  "restrict", "return",    "short",     "signed",     "sizeof",     "static",    "struct",
    "switch",  "typedef",   "union",    "unsigned",  "void",      "volatile",   "while",      "asm",       "kernel",
    "global",  "local",     "constant", "private",   "generic",   "half",       "bool",       "uchar",     "ushort",
    "uint",    "ulong",     "size_t",   "ptrdiff_t", "read_only", "write_only", "read_write", "uniform",   "pipe",
    "complex", "imaginary", "vec_step", "quad",      "true",      "false",      "event_t",    "sampler_t", "queue_t"};
static const char* const opencl_functions[] = {"begin",
                                               "end",
                                               "item",
                                               "scratch",
                                               "sqrt",
                                               "exp",
                                               "log",
                                               "tanh",
                                               "erf",
                                               "sin",
                                               "cos",
                                               "tan",
                                               "atan",
                                               "floor",
                                               "ceil",
                                               "rint",
                                               "trunc",
                                               "fabs",
                                               "isnan",
                                               "isinf",
                                               "NAN",
                                               "INFINITY",
                                               "expm1",
                                               "log1p",
                                               "erfc",
                                               "fmod",
                                               "copysign",
                                               "fma",
                                               "pow",
                                               "as_int",
                                               "as_uint",
                                               "as_long",
                                               "as_ulong",
                                               "as_float",
                                               "as_double",
                                               "convert_float_rtz",
                                               "get_global_id",
                                               "get_global_size",
                                               "get_local_id",
                                               "get_group_id",
                                               "get_num_groups",
                                               "group",
                                               "barrier",
                                               "CLK_LOCAL_MEM_FENCE",
                                               "CLK_GLOBAL_MEM_FENCE",
                                               "scratch_memory"};

const Dialect opencl_c{
    .name = "OpenCL C",
    .signed_types = {"char", "short", "int", "long"},
    .unsigned_types = {"uchar", "ushort", "uint", "ulong"},
    .float_type = "float",
    .double_type = "double",
    .bool_type = "int",
    .least = {"CHAR_MIN", "SHRT_MIN", "INT_MIN", "LONG_MIN"},
    .greatest = {"CHAR_MAX", "SHRT_MAX", "INT_MAX", "LONG_MAX"},
    .unsigned_greatest = {"UCHAR_MAX", "USHRT_MAX", "UINT_MAX", "ULONG_MAX"},
    .int64_begin = "",
    .int64_end = "L",
    .uint64_begin = "",
    .uint64_end = "UL",
    .float_end = "",
    .abs = "fabs",
    .rint = "rint",
    .array_space = "__global ",
    .shared_space = "__local ",
    .barrier = "barrier(CLK_LOCAL_MEM_FENCE);",
    .barrier_of_arrays = "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);",
    .device = {.plain = "__kernel",
               .of_blocks = "__kernel __attribute__((reqd_work_group_size($N, 1, 1)))",
               .item = "get_global_id(0)",
               .thread = "get_local_id(0)",
               .block = "get_group_id(0)",
               .items = "get_global_size(0)",
               .blocks = "get_num_groups(0)",
               .has_positions = true},
    .memory = "",
    .names_first = false,
    .integers_wrap = false,
    .keywords = opencl_keywords,
    .functions = opencl_functions,
    .has_double = false,
    .towards_zero = "convert_float_rtz",
    .bits_of = "return as_$R(v);",
    .from_bits = "return as_$R(b);",
    .multiply_add = "\n#ifdef RELAY_FMA\n  return fma(a, b, c);\n#else\n  return a * b + c;\n#endif\n",
    .to_integer = "return isnan(v) ? ($R)0 : convert_$R_sat(v);",
    .binary_body = c_binary_body,
    .unary_body = c_unary_body,
};

// Keywords of C++ that are none of C.
static const char* const cpp_keywords[] = {
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern", "float",
    "for", "goto", "if", "inline", "int", "long", "register", "return", "short", "signed", "sizeof", "static", "struct",
    "switch", "typedef", "union", "unsigned", "void", "volatile", "while", "asm", "and", "and_eq", "bitand", "bitor",
    "compl", "not", "not_eq", "or", "or_eq", "xor", "xor_eq", "bool", "true", "false", "catch", "try", "throw", "class",
    "const_cast", "dynamic_cast", "static_cast", "reinterpret_cast", "constexpr", "consteval", "constinit", "decltype",
    "delete", "new", "explicit", "export", "friend", "mutable", "namespace", "noexcept", "nullptr", "operator",
    "private", "protected", "public", "requires", "concept", "co_await", "co_return", "co_yield", "static_assert",
    "template", "this", "thread_local", "typeid", "typename", "using", "virtual", "wchar_t", "char8_t", "char16_t",
    "char32_t", "alignas", "alignof",
    // of Metal
    "kernel", "device", "constant", "thread", "threadgroup", "vertex", "fragment", "half", "bfloat", "uchar", "ushort",
    "uint", "ulong", "size_t", "ptrdiff_t", "metal", "ray_data", "object_data", "mesh", "intersection", "visible",
    "threadgroup_imageblock"};
static const char* const cpp_functions[] = {
    "begin",    "end",      "item",     "group",   "sizes",   "scratch",   "scratch_memory", "memcpy", "threadIdx",
    "blockIdx", "blockDim", "gridDim",  "item_id", "items",   "thread_id", "group_id",       "groups", "as_type",
    "sqrt",     "floor",    "ceil",     "rint",    "trunc",   "fabs",      "fmod",           "fma",    "pow",
    "copysign", "ldexp",    "isnan",    "isinf",   "exp",     "log",       "tanh",           "erf",    "sin",
    "cos",      "tan",      "atan",     "expm1",   "log1p",   "erfc",      "sqrtf",          "floorf", "ceilf",
    "rintf",    "truncf",   "fabsf",    "fmodf",   "fmaf",    "powf",      "copysignf",      "ldexpf", "expf",
    "logf",     "tanhf",    "erff",     "sinf",    "cosf",    "tanf",      "atanf",          "expm1f", "log1pf",
    "erfcf",    "NAN",      "INFINITY", "INT_MIN", "LONG_MIN"};

static const char* const saturating_body =
    "\n  if (isnan(v)) return 0;\n  if (v <= ($T)$L) return $L;\n  if (v >= ldexp$f(($T)1, $E)) return $G;\n"
    "  return ($R)v;\n";

// C++ for GPUs of AMD, with what CUDA C++ has too. Both compilers have 64 bits in `long long` only.
const Dialect hip_c{
    .name = "HIP C++",
    .signed_types = {"signed char", "short", "int", "long long"},
    .unsigned_types = {"unsigned char", "unsigned short", "unsigned int", "unsigned long long"},
    .float_type = "float",
    .double_type = "double",
    .bool_type = "int",
    .least = {"-128", "-32768", "(-2147483647 - 1)", "(-9223372036854775807LL - 1)"},
    .greatest = {"127", "32767", "2147483647", "9223372036854775807LL"},
    .unsigned_greatest = {"255", "65535", "4294967295U", "18446744073709551615ULL"},
    .int64_begin = "",
    .int64_end = "LL",
    .uint64_begin = "",
    .uint64_end = "ULL",
    .infinity = "__int_as_float(0x7f800000)",
    .nan = "__int_as_float(0x7fc00000)",
    .float_end = "f",
    .abs = "fabs",
    .rint = "rint",
    .array_space = "",
    .shared_space = "__shared__ ",
    .barrier = "__syncthreads();",
    .barrier_of_arrays = "__syncthreads();",
    .device = {.plain = "extern \"C\" __global__",
               .of_blocks = "extern \"C\" __global__ __launch_bounds__($N)",
               .item = "(blockIdx.x * (long long)blockDim.x + threadIdx.x)",
               .thread = "threadIdx.x",
               .block = "blockIdx.x",
               .items = "(gridDim.x * (long long)blockDim.x)",
               .blocks = "gridDim.x"},
    .memory = "",
    .names_first = false,
    .integers_wrap = false,
    .keywords = cpp_keywords,
    .functions = cpp_functions,
    .has_double = false,
    .towards_zero = nullptr,
    .function_begin = "static __device__ inline ",
    .bits_of = "$R b; memcpy(&b, &v, sizeof b); return b;",
    .from_bits = "$R v; memcpy(&v, &b, sizeof v); return v;",
    .multiply_add = " return fma$f(a, b, c); ",
    .to_integer = saturating_body,
    .binary_body = c_binary_body,
    .unary_body = c_unary_body,
};

// A quotient that is rounded down is computed in double, which Metal lacks.
static const char* metal_binary_body(BinaryOp op, DType t) {
  return t.is_float() && op == BinaryOp::FloorDiv ? nullptr : c_binary_body(op, t);
}

const Dialect metal{
    .name = "Metal",
    .signed_types = {"char", "short", "int", "long"},
    .unsigned_types = {"uchar", "ushort", "uint", "ulong"},
    .float_type = "float",
    .double_type = "double",
    .bool_type = "int",
    .least = {"-128", "-32768", "(-2147483647 - 1)", "(-9223372036854775807L - 1)"},
    .greatest = {"127", "32767", "2147483647", "9223372036854775807L"},
    .unsigned_greatest = {"255", "65535", "4294967295u", "18446744073709551615ul"},
    .int64_begin = "",
    .int64_end = "L",
    .uint64_begin = "",
    .uint64_end = "ul",
    .float_end = "",
    .abs = "fabs",
    .rint = "rint",
    .array_space = "device ",
    .shared_space = "threadgroup ",
    .barrier = "threadgroup_barrier(mem_flags::mem_threadgroup);",
    .barrier_of_arrays = "threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);",
    .device = {.plain = "kernel",
               .of_blocks = "[[max_total_threads_per_threadgroup($N)]] kernel",
               .item = "item_id",
               .thread = "thread_id",
               .block = "group_id",
               .items = "items",
               .blocks = "groups",
               .sizes_space = "constant ",
               .number = " [[buffer($I)]]",
               .built_in = ",\n    uint item_id [[thread_position_in_grid]], uint items [[threads_per_grid]],\n"
                           "    uint thread_id [[thread_position_in_threadgroup]],\n"
                           "    uint group_id [[threadgroup_position_in_grid]], uint groups [[threadgroups_per_grid]]"},
    .memory = "",
    .names_first = false,
    .integers_wrap = false,
    .keywords = cpp_keywords,
    .functions = cpp_functions,
    .has_double = false,
    .towards_zero = nullptr,
    .bits_of = "return as_type<$R>(v);",
    .from_bits = "return as_type<$R>(b);",
    .multiply_add = " return fma(a, b, c); ",
    .to_integer = saturating_body,
    .binary_body = metal_binary_body,
    .unary_body = c_unary_body,
};

}  // namespace relay::codegen
