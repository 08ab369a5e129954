#include "relay/codegen/c/dialect.h"

namespace relay::codegen {

std::string Dialect::value_type(DType t) const {
  if (t.is_bool()) return "int";
  if (t.is_float()) return t.bits == 64 ? "double" : "float";
  return integer(t.code == DType::Code::Int && !t.is_storage(), t.bits);
}

std::string Dialect::stored_type(DType t) const {
  if (t.is_bool()) return integer(false, 8);
  return is_half(t) ? integer(false, 16) : value_type(t);
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
    .least = {"INT8_MIN", "INT16_MIN", "INT32_MIN", "INT64_MIN"},
    .greatest = {"INT8_MAX", "INT16_MAX", "INT32_MAX", "INT64_MAX"},
    .unsigned_greatest = {"UINT8_MAX", "UINT16_MAX", "UINT32_MAX", "UINT64_MAX"},
    .int64_begin = "INT64_C(",
    .int64_end = ")",
    .uint64_begin = "UINT64_C(",
    .uint64_end = ")",
    .float_end = "f",
    .array_space = "",
    .shared_space = "",
    .barrier = "",
    .barrier_of_arrays = "",
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
    .least = {"CHAR_MIN", "SHRT_MIN", "INT_MIN", "LONG_MIN"},
    .greatest = {"CHAR_MAX", "SHRT_MAX", "INT_MAX", "LONG_MAX"},
    .unsigned_greatest = {"UCHAR_MAX", "USHRT_MAX", "UINT_MAX", "ULONG_MAX"},
    .int64_begin = "",
    .int64_end = "L",
    .uint64_begin = "",
    .uint64_end = "UL",
    .float_end = "",
    .array_space = "__global ",
    .shared_space = "__local ",
    .barrier = "barrier(CLK_LOCAL_MEM_FENCE);",
    .barrier_of_arrays = "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);",
    .keywords = opencl_keywords,
    .functions = opencl_functions,
    .has_double = false,
    .towards_zero = "convert_float_rtz",
    .bits_of = "return as_$R(v);",
    .from_bits = "return as_$R(b);",
    .multiply_add = "\n#ifdef RELAY_FMA\n  return fma(a, b, c);\n#else\n  return a * b + c;\n#endif\n",
    .to_integer = "return isnan(v) ? ($R)0 : convert_$R_sat(v);",
};

}  // namespace relay::codegen
