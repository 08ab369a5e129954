// Scalar expressions: the small arithmetic language shared by symbolic dimensions and by loop bodies.
//
//   m * 224          (n + 1) / 2          select(0 <= y, x[y], 0.0f)          C[o] + bias[o]
//
// All kinds share one node struct; `kind` determines which fields are used. Variables are identified by their node, not
// their name. Integer division and modulo round towards minus infinity ("floor"), so that index arithmetic has the
// usual laws. Constructors fold constants and drop neutral elements; simplify.h does the rest.
//
// An int64 expression is index arithmetic or data, and its node knows which (Node::index):
//
// - Index arithmetic is over sizes, loop variables and constants. It is bounded by the arrays that it addresses, never
//   overflows, and therefore has the laws of the integers: i - 1 < n is i <= n.
// - Data is loaded, converted from another type, or computed from either. It wraps around at 64 bits, so x - 1 < c says
//   nothing about x <= c.
//
// Constructors keep the two apart. An operation on data and an index is one on data, and an index of a load is index
// arithmetic. as_index and as_data convert; the number stays the same. A constant is both.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "relay/base/dtype.h"
#include "relay/base/function_ref.h"
#include "relay/base/ref.h"

namespace relay::scalar {

enum class Kind : uint8_t {
  Int,          // ivalue (also Bool: 0 or 1)
  Float,        // fvalue
  Var,          // name
  Any,          // an unknown dimension: `?`
  Unary,        // unary(args[0])
  Binary,       // binary(args[0], args[1]); both of one type; comparisons yield Bool
  Select,       // args[0] ? args[1] : args[2]; only the chosen side is evaluated (it may guard a load)
  Cast,         // args[0] to dtype; float to integer truncates and saturates (NaN becomes 0)
  Reinterpret,  // the bits of args[0] as dtype, of the same width: float32 <-> int32
  Load,         // source[args...]
  Ramp,         // args[0] + stride ivalue * (0, 1, ..., lanes - 1)
  Broadcast,    // args[0] in every lane
  Dot,          // args[0] * args[n] + args[1] * args[n + 1] + ..., of 2 n narrow numbers, in the wider type dtype
  Tuple,        // args: the values of a multi-value element (te/te.h); its dtype is that of the first
  Get,          // value number ivalue of args[0], a multi-value element
};

enum class UnaryOp : uint8_t {
  Neg,
  Not,
  Abs,
  Sign,
  Exp,
  Log,
  Sqrt,
  Rsqrt,
  Tanh,
  Erf,
  Sin,
  Cos,
  Tan,
  Atan,
  Floor,
  Ceil,
  Round /* half to even */,
  Trunc,
  IsNan,
  IsInf,
  BitNot,
  Expm1 /* exp(x) - 1, exact near 0 */,
  Log1p /* log(1 + x), exact near 0 */,
  Erfc /* 1 - erf(x), exact where it is small */,
  Rounded /* the value itself; a product in it is rounded before anything is added to it */
};

enum class BinaryOp : uint8_t {
  Add,
  Sub,
  Mul,
  Div,  // floats only
  FloorDiv,
  FloorMod,  // integers; floats: floor(a / b) and a - b * floor(a / b), both of the exact quotient
  TruncDiv,
  TruncMod,  // integers as in C, floats: trunc(a / b), fmod; dividing an integer by 0 yields 0 in all four
  Min,
  Max,  // a NaN operand yields NaN
  Pow,
  And,
  Or,  // Bool
  Eq,
  Ne,
  Lt,
  Le,
  BitAnd,
  BitOr,
  BitXor,
  Shl,
  Shr  // Shr of a signed type keeps the sign; a count outside [0, bits) yields 0 (Shr of a negative: -1)
};

const char* name(UnaryOp op);     // "exp"
const char* name(BinaryOp op);    // "add"; the infix form is in symbol()
const char* symbol(BinaryOp op);  // "+", "//", ... or nullptr for those written as a call: min(a, b)
bool is_comparison(BinaryOp op);

// The source of a Load: a te tensor or a loop buffer (they derive from this).
struct Source : Counted {
  std::string name;
  DType dtype;
};

struct Node;
using Expr = Ref<const Node>;
using Exprs = std::vector<Expr>;

struct Node : Counted {
  Kind kind = Kind::Int;
  UnaryOp unary{};
  BinaryOp binary{};
  bool index = false;  // index arithmetic (int64 only)
  DType dtype;
  int64_t ivalue = 0;
  double fvalue = 0;
  std::string name;
  Exprs args;
  Ref<const Source> source;
};

// --- constructors: each folds constants ------------------------------------------------------------------------------
Expr imm(int64_t value, DType dtype = DType::int64());  // any dtype: imm(0, float32) is 0.0f
Expr fimm(double value, DType dtype = DType::float32());
// An int64 variable is a size or a loop variable; data_var makes one that holds data.
Expr var(std::string name, DType dtype = DType::int64());
Expr data_var(std::string name, DType dtype);
Expr var_like(std::string name, const Expr& value);  // for `value`: of its type, index or data as it is
Expr any_dim();
Expr unary(UnaryOp op, Expr a);
Expr binary(BinaryOp op, Expr a, Expr b);
Expr select(Expr condition, Expr then, Expr otherwise);
Expr cast(DType dtype, Expr a);
// The same number as index arithmetic, or as data; other types stay unchanged. Casts from int64 to int64.
Expr as_index(Expr a);
Expr as_data(Expr a);
Expr reinterpret(DType dtype, Expr a);
Expr load(Ref<const Source> source, Exprs indices);
Expr ramp(Expr base, int64_t stride, int lanes);
Expr broadcast(Expr a, int lanes);
// The operation of dot-product instructions for narrow numbers: the sum of products of `a` with `b`, each converted to
// `dtype` first. Takes two or four terms, as machines do: all `a` of one type, all `b` of one type.
Expr dot(DType dtype, Exprs a, Exprs b);
// The same as products and sums, for machines without such an instruction.
Expr without_dot(const Expr& dot);
// Only for tensor expressions: loops have a separate buffer for each value.
Expr tuple(Exprs values);  // at least two
// `dtype`: the type of the value. Returns the value itself if `element` is a tuple.
Expr get(Expr element, int64_t index, DType dtype);

inline Expr operator+(Expr a, Expr b) { return binary(BinaryOp::Add, std::move(a), std::move(b)); }
inline Expr operator-(Expr a, Expr b) { return binary(BinaryOp::Sub, std::move(a), std::move(b)); }
inline Expr operator*(Expr a, Expr b) { return binary(BinaryOp::Mul, std::move(a), std::move(b)); }
inline Expr operator+(Expr a, int64_t b) {
  DType t = a->dtype;
  return std::move(a) + imm(b, t);
}
inline Expr operator-(Expr a, int64_t b) {
  DType t = a->dtype;
  return std::move(a) - imm(b, t);
}
inline Expr operator*(Expr a, int64_t b) {
  DType t = a->dtype;
  return std::move(a) * imm(b, t);
}
inline Expr floordiv(Expr a, Expr b) { return binary(BinaryOp::FloorDiv, std::move(a), std::move(b)); }
inline Expr floormod(Expr a, Expr b) { return binary(BinaryOp::FloorMod, std::move(a), std::move(b)); }
inline Expr floordiv(Expr a, int64_t b) {
  DType t = a->dtype;
  return floordiv(std::move(a), imm(b, t));
}
inline Expr floormod(Expr a, int64_t b) {
  DType t = a->dtype;
  return floormod(std::move(a), imm(b, t));
}
inline Expr min(Expr a, Expr b) { return binary(BinaryOp::Min, std::move(a), std::move(b)); }
inline Expr max(Expr a, Expr b) { return binary(BinaryOp::Max, std::move(a), std::move(b)); }
inline Expr lt(Expr a, Expr b) { return binary(BinaryOp::Lt, std::move(a), std::move(b)); }
inline Expr le(Expr a, Expr b) { return binary(BinaryOp::Le, std::move(a), std::move(b)); }
inline Expr eq(Expr a, Expr b) { return binary(BinaryOp::Eq, std::move(a), std::move(b)); }
inline Expr ne(Expr a, Expr b) { return binary(BinaryOp::Ne, std::move(a), std::move(b)); }
inline Expr logical_and(Expr a, Expr b) { return binary(BinaryOp::And, std::move(a), std::move(b)); }
inline Expr logical_or(Expr a, Expr b) { return binary(BinaryOp::Or, std::move(a), std::move(b)); }

// --- predicates ------------------------------------------------------------------------------------------------------
inline bool is_int(const Expr& e) { return e->kind == Kind::Int; }
inline bool is_int(const Expr& e, int64_t v) { return e->kind == Kind::Int && e->ivalue == v; }
inline bool is_var(const Expr& e) { return e->kind == Kind::Var; }
inline bool is_any(const Expr& e) { return e->kind == Kind::Any; }
// as_index(x) or as_data(x), which computes nothing.
inline bool is_relabel(const Expr& e) { return e->kind == Kind::Cast && e->dtype == e->args[0]->dtype; }
// The x of such an expression, or the expression itself.
inline const Expr& without_relabel(const Expr& e) { return is_relabel(e) ? e->args[0] : e; }

bool equal(const Expr& a, const Expr& b);  // structural; variables and sources by identity; Any equals only itself
uint64_t hash(const Expr& e);
int compare(const Expr& a, const Expr& b);  // a total order: by kind, then fields; for canonical forms

// --- traversal -------------------------------------------------------------------------------------------------------
// The same node with other children (the same pointer if they are unchanged).
Expr with_args(const Expr& e, Exprs args);
// Rewrites in post-order, each shared node once: `rule` sees a node whose children are already rewritten.
Expr rewrite(const Expr& e, function_ref<Expr(const Expr&)> rule);
// Visits each node once, children first.
void visit(const Expr& e, function_ref<void(const Expr&)> f);

struct Binding {
  Expr var;
  Expr value;
};
Expr substitute(const Expr& e, const std::vector<Binding>& bindings);
Exprs free_vars(const Expr& e);  // each once, in order of first use

// The text form, as in the comment at the top. Infix with the fewest parentheses.
std::string str(const Expr& e);

}  // namespace relay::scalar
