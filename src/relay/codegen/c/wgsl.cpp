// WGSL, the language of WebGPU: no pointers, no integers but those of 32 bits, no infinity and NaN among its constants.
// All arrays of kernels are parts of one array of words.
#include <algorithm>

#include "relay/codegen/c/c_kernel.h"
#include "relay/codegen/c/c_source.h"
#include "relay/codegen/scalar_form.h"
#include "relay/scalar/simplify.h"

namespace relay::codegen {

using scalar::BinaryOp;
using scalar::Expr;
using scalar::UnaryOp;

// Conditions of several parts are joined by | and &: for || and && compilers write branches, and SwiftShader's takes
// minutes for a kernel that has many.
static const char* wgsl_float_body(BinaryOp op) {
  switch (op) {
    case BinaryOp::Min: return "return select(b, a, (a < b) | ((bitcast<u32>(a) & 0x7fffffffu) > 0x7f800000u));";
    case BinaryOp::Max: return "return select(b, a, (a > b) | ((bitcast<u32>(a) & 0x7fffffffu) > 0x7f800000u));";
    case BinaryOp::FloorMod: return "let r = a % b; return select(r, r + b, (r != 0.0) & ((r < 0.0) != (b < 0.0)));";
    case BinaryOp::TruncDiv: return "return trunc(a / b);";
    case BinaryOp::TruncMod: return "return a % b;";
    default: return nullptr;
  }
}

static const char* wgsl_signed_body(BinaryOp op) {
  switch (op) {
    case BinaryOp::FloorDiv:
      return "if (b == 0) { return 0; } if (b == -1) { return -a; } let r = a % b; "
             "return a / b - select(0, 1, (r != 0) & ((r < 0) != (b < 0)));";
    case BinaryOp::FloorMod:
      return "if ((b == 0) | (b == -1)) { return 0; } let r = a % b; "
             "return select(r, r + b, (r != 0) & ((r < 0) != (b < 0)));";
    case BinaryOp::TruncDiv: return "if (b == 0) { return 0; } if (b == -1) { return -a; } return a / b;";
    case BinaryOp::TruncMod: return "if ((b == 0) | (b == -1)) { return 0; } return a % b;";
    case BinaryOp::Shl: return "if ((b < 0) | (b >= 32)) { return 0; } return a << u32(b);";
    case BinaryOp::Shr: return "return a >> select(31u, u32(b), (b >= 0) & (b < 32));";
    case BinaryOp::Pow:
      return "if (b < 0) { return select(select(0, select(-1, 1, b % 2 == 0), a == -1), 1, a == 1); } "
             "var r = 1; var p = a; for (var e = b; e != 0; e >>= 1u) { if ((e & 1) != 0) { r *= p; } p *= p; } "
             "return r;";
    default: return nullptr;
  }
}

static const char* wgsl_unsigned_body(BinaryOp op) {
  switch (op) {
    case BinaryOp::FloorDiv:
    case BinaryOp::TruncDiv: return "if (b == 0u) { return 0u; } return a / b;";
    case BinaryOp::FloorMod:
    case BinaryOp::TruncMod: return "if (b == 0u) { return 0u; } return a % b;";
    case BinaryOp::Shl: return "if (b >= 32u) { return 0u; } return a << b;";
    case BinaryOp::Shr: return "if (b >= 32u) { return 0u; } return a >> b;";
    case BinaryOp::Pow:
      return "var r = 1u; var p = a; for (var e = b; e != 0u; e >>= 1u) { if ((e & 1u) != 0u) { r *= p; } p *= p; } "
             "return r;";
    default: return nullptr;
  }
}

static const char* wgsl_binary_body(BinaryOp op, DType t) {
  if (t.is_float()) return wgsl_float_body(op);
  if (op == BinaryOp::Min) return "return min(a, b);";
  if (op == BinaryOp::Max) return "return max(a, b);";
  return t.code == DType::Code::Int ? wgsl_signed_body(op) : wgsl_unsigned_body(op);
}

static const char* wgsl_unary_body(UnaryOp op, DType t) {
  if (t.is_float())
    return "let b = $B(a); "
           "return select(select(1.0, -1.0, b >> 31u == 1u), a, (b & 0x7fffffffu) - 1u >= 0x7f800000u);";
  if (op == UnaryOp::Abs) return "return abs(a);";
  return t.code == DType::Code::Int ? "return sign(a);" : "return min(a, 1u);";
}

// The keywords and the reserved words of the specification.
static const char* const wgsl_keywords[] = {"NULL",
                                            "Self",
                                            "abstract",
                                            "active",
                                            "alignas",
                                            "alignof",
                                            "as",
                                            "asm",
                                            "asm_fragment",
                                            "async",
                                            "attribute",
                                            "auto",
                                            "await",
                                            "become",
                                            "cast",
                                            "catch",
                                            "class",
                                            "co_await",
                                            "co_return",
                                            "co_yield",
                                            "coherent",
                                            "column_major",
                                            "common",
                                            "compile",
                                            "compile_fragment",
                                            "concept",
                                            "const_cast",
                                            "consteval",
                                            "constexpr",
                                            "constinit",
                                            "crate",
                                            "debugger",
                                            "decltype",
                                            "delete",
                                            "demote",
                                            "demote_to_helper",
                                            "do",
                                            "dynamic_cast",
                                            "enum",
                                            "explicit",
                                            "export",
                                            "extends",
                                            "extern",
                                            "external",
                                            "fallthrough",
                                            "filter",
                                            "final",
                                            "finally",
                                            "friend",
                                            "from",
                                            "fxgroup",
                                            "get",
                                            "goto",
                                            "groupshared",
                                            "highp",
                                            "impl",
                                            "implements",
                                            "import",
                                            "inline",
                                            "instanceof",
                                            "interface",
                                            "layout",
                                            "lowp",
                                            "macro",
                                            "macro_rules",
                                            "match",
                                            "mediump",
                                            "meta",
                                            "mod",
                                            "module",
                                            "move",
                                            "mut",
                                            "mutable",
                                            "namespace",
                                            "new",
                                            "nil",
                                            "noexcept",
                                            "noinline",
                                            "nointerpolation",
                                            "non_coherent",
                                            "noncoherent",
                                            "noperspective",
                                            "null",
                                            "nullptr",
                                            "of",
                                            "operator",
                                            "package",
                                            "packoffset",
                                            "partition",
                                            "pass",
                                            "patch",
                                            "pixelfragment",
                                            "precise",
                                            "precision",
                                            "premerge",
                                            "priv",
                                            "protected",
                                            "pub",
                                            "public",
                                            "readonly",
                                            "ref",
                                            "regardless",
                                            "register",
                                            "reinterpret_cast",
                                            "require",
                                            "resource",
                                            "restrict",
                                            "self",
                                            "set",
                                            "shared",
                                            "sizeof",
                                            "smooth",
                                            "snorm",
                                            "static",
                                            "static_assert",
                                            "static_cast",
                                            "std",
                                            "subroutine",
                                            "super",
                                            "target",
                                            "template",
                                            "this",
                                            "thread_local",
                                            "throw",
                                            "trait",
                                            "try",
                                            "type",
                                            "typedef",
                                            "typeid",
                                            "typename",
                                            "typeof",
                                            "union",
                                            "unless",
                                            "unorm",
                                            "unsafe",
                                            "unsized",
                                            "use",
                                            "using",
                                            "varying",
                                            "virtual",
                                            "volatile",
                                            "wgsl",
                                            "where",
                                            "with",
                                            "writeonly",
                                            "yield",
                                            "alias",
                                            "break",
                                            "case",
                                            "const",
                                            "const_assert",
                                            "continue",
                                            "continuing",
                                            "default",
                                            "diagnostic",
                                            "discard",
                                            "else",
                                            "enable",
                                            "false",
                                            "fn",
                                            "for",
                                            "if",
                                            "let",
                                            "loop",
                                            "override",
                                            "requires",
                                            "return",
                                            "struct",
                                            "switch",
                                            "true",
                                            "var",
                                            "while"};
static const char* const wgsl_functions[] = {"memory", "scratch",
                                             "item",   "item_id",
                                             "group",  "group_id",
                                             "groups", "thread_id",
                                             "abs",    "bitcast",
                                             "ceil",   "fma",
                                             "floor",  "i32",
                                             "u32",    "f32",
                                             "bool",   "array",
                                             "vec3",   "ldexp",
                                             "max",    "min",
                                             "round",  "select",
                                             "sqrt",   "storageBarrier",
                                             "trunc",  "workgroupBarrier",
                                             "exp",    "log",
                                             "tanh",   "sin",
                                             "cos",    "tan",
                                             "atan",   "pow"};

// Infinity and NaN are computed from variables: an expression of constants must not have them.
const Dialect wgsl{
    .name = "WGSL",
    .signed_types = {"i32", "i32", "i32", "i32"},
    .unsigned_types = {"u32", "u32", "u32", "u32"},
    .float_type = "f32",
    .double_type = "f32",
    .bool_type = "bool",
    .least = {"-128", "-32768", "-2147483648", "-2147483648"},
    .greatest = {"127", "32767", "2147483647", "2147483647"},
    .unsigned_greatest = {"255u", "65535u", "4294967295u", "4294967295u"},
    .int64_begin = "",
    .int64_end = "",
    .uint64_begin = "",
    .uint64_end = "u",
    .infinity = "bitcast<f32>(relay_infinity)",
    .nan = "bitcast<f32>(relay_nan)",
    .yes = "true",
    .no = "false",
    .is_nan = "(bitcast<u32>($A) & 0x7fffffffu) > 0x7f800000u",
    .is_inf = "(bitcast<u32>($A) & 0x7fffffffu) == 0x7f800000u",
    .float_end = "",
    .abs = "abs",
    .rint = "round",
    .array_space = "",
    .shared_space = "<workgroup>",
    .barrier = "workgroupBarrier();",
    .barrier_of_arrays = "workgroupBarrier(); storageBarrier();",
    .memory = "memory",
    .names_first = true,
    .integers_wrap = true,
    .keywords = wgsl_keywords,
    .functions = wgsl_functions,
    .has_double = false,
    .towards_zero = nullptr,
    .bits_of = "return bitcast<$R>(v);",
    .from_bits = "return bitcast<$R>(b);",
    .multiply_add = " return fma(a, b, c); ",
    .to_integer =
        "if (!(v > f32($L))) { return select($R(0), $R($L), v <= f32($L)); } "
        "if (v >= ldexp(1.0, $E)) { return $G; } return $R(v);",
    .binary_body = wgsl_binary_body,
    .unary_body = wgsl_unary_body,
};

// Threads of a workgroup that share nothing.
constexpr int64_t usual_threads = 64;

// Each thread, or each workgroup of a kernel with blocks, runs every n-th task.
std::string CKernelWriter::entry_in_memory(const std::string& task, const std::string& body) {
  const Dialect& d = *form_.dialect;
  for (size_t i = 0; i < kernel_.params.size(); ++i)
    if (const loop::Buffer* b = kernel_.params[i].get(); used_.count(b))
      line(d.constant(index_type(), names_[b], format("relay_array_{}", i)));
  constexpr int64_t word_bytes = 4;
  if (scratch_most_ > 0)
    line(
        d.constant(index_type(), "scratch", format("relay_scratch + i32(item_id.x) * {}", scratch_most_ / word_bytes)));
  if (form_.thread && used_.count(form_.thread.get()))
    line(d.constant(index_type(), names_[form_.thread.get()], "i32(thread_id.x)"));
  const int64_t threads = form_.thread ? form_.threads : usual_threads;
  const std::string of = form_.thread ? "group" : "item";
  const std::string step = form_.thread ? "i32(groups.x)" : format("i32(groups.x) * {}", threads);
  statement_begins({kernel_.tasks});
  line(d.loop(index_type(), of, format("i32({}_id.x)", of), in(value(kernel_.tasks), Sum), step));
  ++indent_;
  line(d.constant(index_type(), task, of));
  --indent_;
  return format(
      "{}@compute @workgroup_size({})\nfn {}(@builtin(global_invocation_id) item_id: vec3<u32>,\n"
      "    @builtin(workgroup_id) group_id: vec3<u32>, @builtin(local_invocation_id) thread_id: vec3<u32>,\n"
      "    @builtin(num_workgroups) groups: vec3<u32>) {{\n{}{}{}  }}\n}}\n",
      shared_, threads, c_name(kernel_.name), lines(), body, shared_.empty() ? "" : format("    {}\n", d.barrier));
}

namespace {

CKernelForm form_of(const DeviceForm& device) {
  return {.entry = CKernelForm::Entry::WorkItems,
          .dialect = &wgsl,
          .per_task = device.per_task,
          .thread = device.thread,
          .threads = device.threads,
          .fuses_products = true};
}

// The number y of y + 1.5 * 2^23, whose last bit is worth 1; null for other expressions.
Expr shifted(const Expr& e) {
  constexpr double shift = 0x1.8p23;
  const bool is_sum = e->kind == scalar::Kind::Binary && e->binary == BinaryOp::Add && e->dtype == DType::float32();
  return is_sum && e->args[1]->kind == scalar::Kind::Float && e->args[1]->fvalue == shift ? e->args[0] : Expr{};
}

// Such sums round to integers (scalar/math.cpp), and are taken back or read as bits. Compilers of WGSL may take
// (y + c) - c for y, so this rounds by a function.
Expr rounded_by_function(const Expr& e) {
  const bool is_difference = e->kind == scalar::Kind::Binary && e->binary == BinaryOp::Sub;
  const bool is_bits = e->kind == scalar::Kind::Reinterpret && e->dtype == DType::int32();
  if (!is_difference && !is_bits) return e;
  const Expr y = shifted(e->args[0]);
  if (!y || (is_difference && !scalar::equal(e->args[1], e->args[0]->args[1]))) return e;
  const Expr whole = scalar::unary(UnaryOp::Round, y);
  constexpr int64_t bits_of_shift = 0x4B400000;
  return is_difference ? whole : scalar::cast(DType::int32(), whole) + scalar::imm(bits_of_shift, DType::int32());
}

DeviceForm wgsl_form(const loop::Kernel& kernel) {
  DeviceForm form = device_form(kernel, true);
  form.kernel.body = loop::rewrite(
      form.kernel.body, [](const loop::Stmt& s) { return s; },
      [](const Expr& e) { return scalar::rewrite(e, [](const Expr& part) { return rounded_by_function(part); }); });
  return form;
}

bool has_type(DType t) { return t == DType::float32() || t == DType::int32() || t == DType::uint32(); }

}  // namespace

std::optional<std::string> wgsl_problem(const loop::Kernel& kernel) {
  for (const loop::BufferRef& b : kernel.params)
    if (!has_type(b->dtype)) return format("array `{}` has elements of type {}", b->name, b->dtype.str());
  if (!kernel.shape_vars.empty()) return "its sizes are not constant";
  const DeviceForm device = wgsl_form(kernel);
  if (std::optional<std::string> found = missing_in(device.kernel, wgsl, has_type)) return found;
  if (!has_small_indices(device.kernel, form_of(device))) return "its indices need more than 32 bits";
  return {};
}

WgslSource wgsl_source(std::span<const loop::Kernel> kernels) {
  CHelpers helpers(wgsl);
  WgslSource out;
  std::string functions;
  size_t most_arrays = 0;
  bool has_scratch = false;
  for (const loop::Kernel& one : kernels) {
    const DeviceForm device = wgsl_form(one);
    CKernelWriter writer(device.kernel, helpers, form_of(device));
    functions += format("\n{}{}\n", wgsl_mark, c_name(one.name)) + writer.run();
    const int64_t items = scalar::simplify(device.kernel.tasks)->ivalue, scratch = writer.scratch_bytes();
    const int64_t threads = device.thread ? device.threads : usual_threads;
    int64_t groups = device.thread ? items : (items + threads - 1) / threads;
    groups = std::min(groups, most_wgsl_groups);
    if (scratch > 0) groups = std::clamp<int64_t>(most_wgsl_scratch / (scratch * threads), 1, groups);
    out.launches.push_back({c_name(one.name), groups, groups * threads * scratch});
    most_arrays = std::max(most_arrays, one.params.size());
    has_scratch |= scratch > 0;
  }
  const std::string all = helpers.text_for(functions) + functions;
  out.text =
      "// Kernels on arrays in one memory. `relay_array_N`: the first word of a kernel's N-th array.\n"
      "@group(0) @binding(0) var<storage, read_write> memory: array<u32>;\n";
  for (size_t i = 0; i < most_arrays; ++i) out.text += format("override relay_array_{}: i32 = 0;\n", i);
  if (has_scratch) out.text += "override relay_scratch: i32 = 0;\n";
  for (const auto& [name, bits] : {std::pair{"relay_infinity", "0x7f800000u"}, {"relay_nan", "0x7fc00000u"}})
    if (all.find(name) != std::string::npos) out.text += format("var<private> {}: u32 = {};\n", name, bits);
  out.text += "\n" + all;
  return out;
}

}  // namespace relay::codegen
