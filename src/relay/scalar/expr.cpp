#include "relay/scalar/expr.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "relay/base/diagnostics.h"

namespace relay::scalar {

static const char* const unary_names[] = {
    "neg",  "not",   "abs",  "sign",  "exp",   "log",   "sqrt",  "rsqrt",  "tanh",  "erf",   "sin",  "cos",    "tan",
    "atan", "floor", "ceil", "round", "trunc", "isnan", "isinf", "bitnot", "expm1", "log1p", "erfc", "rounded"};
static const char* const binary_names[] = {
    "add", "subtract", "multiply", "divide", "floordiv", "floormod", "truncdiv", "truncmod", "min",    "max", "power",
    "and", "or",       "eq",       "ne",     "lt",       "le",       "bitand",   "bitor",    "bitxor", "shl", "shr"};

const char* name(UnaryOp op) { return unary_names[static_cast<int>(op)]; }
const char* name(BinaryOp op) { return binary_names[static_cast<int>(op)]; }

const char* symbol(BinaryOp op) {
  switch (op) {
    case BinaryOp::Add: return "+";
    case BinaryOp::Sub: return "-";
    case BinaryOp::Mul: return "*";
    case BinaryOp::Div: return "/";
    case BinaryOp::FloorDiv: return "//";
    case BinaryOp::FloorMod: return "%";
    case BinaryOp::And: return "&&";
    case BinaryOp::Or: return "||";
    case BinaryOp::Eq: return "==";
    case BinaryOp::Ne: return "!=";
    case BinaryOp::Lt: return "<";
    case BinaryOp::Le: return "<=";
    default: return nullptr;
  }
}

bool is_comparison(BinaryOp op) {
  return op == BinaryOp::Eq || op == BinaryOp::Ne || op == BinaryOp::Lt || op == BinaryOp::Le;
}

static bool is_constant(const Expr& e) { return is_int(e->kind == Kind::Broadcast ? e->args[0] : e); }

// Index arithmetic consists of index arithmetic. An operation on constants alone is data: most have no node, and the
// others overflow, or are what remains of an operation on data.
static bool is_index(const Node& n) {
  if (n.dtype.element() != DType::int64()) return false;
  auto both = [&](size_t i, size_t j) {
    return n.args[i]->index && n.args[j]->index && !(is_constant(n.args[i]) && is_constant(n.args[j]));
  };
  switch (n.kind) {
    case Kind::Int:
    case Kind::Any: return true;
    case Kind::Unary: return both(0, 0);
    case Kind::Binary: return both(0, 1);
    case Kind::Select: return both(1, 2);
    case Kind::Ramp:
    case Kind::Broadcast: return n.args[0]->index;
    case Kind::Var:
    case Kind::Cast: return n.index;  // the constructor decides
    case Kind::Float:
    case Kind::Reinterpret:
    case Kind::Load:
    case Kind::Dot:
    case Kind::Tuple:
    case Kind::Get: break;
  }
  return false;
}

static Expr build(Node node) {
  node.index = is_index(node);
  return Expr(new Node(std::move(node)));
}

Expr imm(int64_t value, DType dtype) {
  if (dtype.is_float()) return fimm(static_cast<double>(value), dtype);
  if (dtype.is_storage()) return reinterpret(dtype, imm(value, DType::uint8().with_lanes(dtype.lanes)));
  if (dtype.lanes > 1) return broadcast(imm(value, dtype.element()), dtype.lanes);
  Node n;
  n.kind = Kind::Int, n.dtype = dtype, n.ivalue = dtype.is_bool() ? value != 0 : value;
  return build(std::move(n));
}

Expr fimm(double value, DType dtype) {
  if (dtype.lanes > 1) return broadcast(fimm(value, dtype.element()), dtype.lanes);
  Node n;
  n.kind = Kind::Float, n.dtype = dtype, n.fvalue = value;
  return build(std::move(n));
}

static Expr variable(std::string name, DType dtype, bool index) {
  // The order of creation distinguishes variables of the same name in compare(): addresses differ from run to run.
  static std::atomic<int64_t> serial{0};
  Node n;
  n.kind = Kind::Var, n.dtype = dtype, n.name = std::move(name), n.index = index,
  n.ivalue = serial.fetch_add(1, std::memory_order_relaxed);
  return build(std::move(n));
}

Expr var(std::string name, DType dtype) { return variable(std::move(name), dtype, true); }
Expr data_var(std::string name, DType dtype) { return variable(std::move(name), dtype, false); }
Expr var_like(std::string name, const Expr& value) { return variable(std::move(name), value->dtype, value->index); }

Expr any_dim() {
  Node n;
  n.kind = Kind::Any, n.dtype = DType::int64();
  return build(std::move(n));
}

static int64_t floor_div(int64_t a, int64_t b) { return a / b - ((a % b != 0) && ((a < 0) != (b < 0))); }

Expr unary(UnaryOp op, Expr a) {
  bool test = op == UnaryOp::IsNan || op == UnaryOp::IsInf;
  if (op == UnaryOp::Neg && a->kind == Kind::Int && a->dtype == DType::int64() && a->ivalue != INT64_MIN)
    return imm(-a->ivalue, a->dtype);
  if (op == UnaryOp::Not && a->kind == Kind::Int) return imm(!a->ivalue, a->dtype);
  // An exponential becomes a product with a power of two.
  if (op == UnaryOp::Rounded && !(a->kind == Kind::Binary && a->binary == BinaryOp::Mul) &&
      !(a->kind == Kind::Unary && a->unary == UnaryOp::Exp))
    return a;
  Node n;
  n.kind = Kind::Unary, n.unary = op, n.dtype = test ? DType::boolean().with_lanes(a->dtype.lanes) : a->dtype;
  n.args = {std::move(a)};
  return build(std::move(n));
}

// Folds a op b for index integers (int64) and Booleans; an empty Expr if it does not apply.
static Expr fold(BinaryOp op, const Expr& a, const Expr& b) {
  if (a->dtype.is_float()) return {};
  if (a->kind == Kind::Int && b->kind == Kind::Int && (a->dtype == DType::int64() || a->dtype.is_bool())) {
    int64_t x = a->ivalue, y = b->ivalue, r = 0;
    switch (op) {
      case BinaryOp::Add: return __builtin_add_overflow(x, y, &r) ? Expr{} : imm(r, a->dtype);
      case BinaryOp::Sub: return __builtin_sub_overflow(x, y, &r) ? Expr{} : imm(r, a->dtype);
      case BinaryOp::Mul: return __builtin_mul_overflow(x, y, &r) ? Expr{} : imm(r, a->dtype);
      case BinaryOp::FloorDiv: return y == 0 || y == -1 ? Expr{} : imm(floor_div(x, y));
      case BinaryOp::FloorMod: return y == 0 || y == -1 ? Expr{} : imm(x - y * floor_div(x, y));
      case BinaryOp::TruncDiv: return y == 0 || y == -1 ? Expr{} : imm(x / y);
      case BinaryOp::TruncMod: return y == 0 || y == -1 ? Expr{} : imm(x % y);
      case BinaryOp::Min: return imm(std::min(x, y), a->dtype);
      case BinaryOp::Max: return imm(std::max(x, y), a->dtype);
      case BinaryOp::And: return imm(x && y, DType::boolean());
      case BinaryOp::Or: return imm(x || y, DType::boolean());
      case BinaryOp::Eq: return imm(x == y, DType::boolean());
      case BinaryOp::Ne: return imm(x != y, DType::boolean());
      case BinaryOp::Lt: return imm(x < y, DType::boolean());
      case BinaryOp::Le: return imm(x <= y, DType::boolean());
      default: return {};
    }
  }
  bool same = equal(a, b) && !is_any(a);
  switch (op) {
    case BinaryOp::Add:
      if (is_int(a, 0)) return b;
      if (is_int(b, 0)) return a;
      break;
    case BinaryOp::Sub:
      if (is_int(b, 0)) return a;
      if (same) return imm(0, a->dtype);
      break;
    case BinaryOp::Mul:
      if (is_int(a, 1) || is_int(b, 0)) return b;
      if (is_int(b, 1) || is_int(a, 0)) return a;
      break;
    case BinaryOp::FloorDiv:
      if (is_int(b, 1)) return a;
      break;
    case BinaryOp::FloorMod:
      if (is_int(b, 1)) return imm(0, a->dtype);
      break;
    case BinaryOp::Min:
    case BinaryOp::Max:
      if (same) return a;
      break;
    case BinaryOp::And:
      if (is_int(a, 1) || is_int(b, 0)) return b;
      if (is_int(b, 1) || is_int(a, 0)) return a;
      break;
    case BinaryOp::Or:
      if (is_int(a, 0) || is_int(b, 1)) return b;
      if (is_int(b, 0) || is_int(a, 1)) return a;
      break;
    case BinaryOp::Le:
    case BinaryOp::Eq:
      if (same) return imm(1, DType::boolean().with_lanes(a->dtype.lanes));
      break;
    case BinaryOp::Lt:
    case BinaryOp::Ne:
      if (same) return imm(0, DType::boolean().with_lanes(a->dtype.lanes));
      break;
    default: break;
  }
  return {};
}

// Makes both operands data if one of them is: neither may become index arithmetic when the other is replaced.
static void make_alike(Expr* a, Expr* b) {
  if ((*a)->index != (*b)->index) *a = as_data(std::move(*a)), *b = as_data(std::move(*b));
}

Expr binary(BinaryOp op, Expr a, Expr b) {
  RELAY_CHECK(a->dtype == b->dtype, "operands of {} have types {} and {}", name(op), a->dtype.str(), b->dtype.str());
  if (is_comparison(op))  // of the numbers
    a = Expr(without_relabel(a)), b = Expr(without_relabel(b));
  else
    make_alike(&a, &b);
  if (Expr folded = fold(op, a, b)) return folded;
  if ((is_any(a) || is_any(b)) && !is_comparison(op)) return any_dim();
  Node n;
  n.kind = Kind::Binary, n.binary = op;
  n.dtype = is_comparison(op) ? DType::boolean().with_lanes(a->dtype.lanes) : a->dtype;
  n.args = {std::move(a), std::move(b)};
  return build(std::move(n));
}

Expr select(Expr condition, Expr then, Expr otherwise) {
  RELAY_CHECK(then->dtype == otherwise->dtype, "branches of select have types {} and {}", then->dtype.str(),
              otherwise->dtype.str());
  make_alike(&then, &otherwise);
  if (condition->kind == Kind::Int) return condition->ivalue ? then : otherwise;
  Node n;
  n.kind = Kind::Select, n.dtype = then->dtype;
  n.args = {std::move(condition), std::move(then), std::move(otherwise)};
  return build(std::move(n));
}

static Expr relabel(Expr a, bool index) {
  const Node& n = *a;
  if (n.dtype.element() != DType::int64() || n.index == index || is_constant(a)) return a;
  if (is_relabel(a)) return a->args[0];
  switch (n.kind) {
    case Kind::Select:
      if (is_constant(a->args[1]) && is_constant(a->args[2])) break;
      return select(a->args[0], relabel(a->args[1], index), relabel(a->args[2], index));
    case Kind::Broadcast: return broadcast(relabel(a->args[0], index), n.dtype.lanes);
    case Kind::Ramp: return ramp(relabel(a->args[0], index), n.ivalue, n.dtype.lanes);
    default: break;
  }
  Node out;
  out.kind = Kind::Cast, out.dtype = n.dtype, out.index = index;
  out.args = {std::move(a)};
  return build(std::move(out));
}

Expr as_index(Expr a) { return relabel(std::move(a), true); }
Expr as_data(Expr a) { return relabel(std::move(a), false); }

Expr cast(DType dtype, Expr a) {
  if (a->dtype == dtype) return a;
  a = Expr(without_relabel(a));
  if (a->kind == Kind::Int && dtype == DType::int64()) return imm(a->ivalue, dtype);
  if (a->kind == Kind::Int && a->dtype == DType::int64() && dtype.is_float() && dtype.lanes == 1 &&
      std::abs(a->ivalue) < (1 << 24))
    return fimm(static_cast<double>(a->ivalue), dtype);
  Node n;
  n.kind = Kind::Cast, n.dtype = dtype;
  n.args = {std::move(a)};
  return build(std::move(n));
}

Expr reinterpret(DType dtype, Expr a) {
  RELAY_CHECK(a->dtype.bits == dtype.bits && a->dtype.lanes == dtype.lanes, "reinterpret {} as {}", a->dtype.str(),
              dtype.str());
  if (a->dtype == dtype) return a;
  Node n;
  n.kind = Kind::Reinterpret, n.dtype = dtype;
  n.args = {std::move(a)};
  return build(std::move(n));
}

Expr load(Ref<const Source> source, Exprs indices) {
  Node n;
  n.kind = Kind::Load, n.dtype = source->dtype;
  for (Expr& i : indices) n.dtype.lanes = std::max(n.dtype.lanes, i->dtype.lanes), i = as_index(std::move(i));
  n.source = std::move(source), n.args = std::move(indices);
  return build(std::move(n));
}

Expr ramp(Expr base, int64_t stride, int lanes) {
  if (lanes == 1) return base;
  Node n;
  n.kind = Kind::Ramp, n.dtype = base->dtype.with_lanes(lanes), n.ivalue = stride;
  n.args = {std::move(base)};
  return build(std::move(n));
}

Expr broadcast(Expr a, int lanes) {
  if (lanes == 1) return a;
  Node n;
  n.kind = Kind::Broadcast, n.dtype = a->dtype.with_lanes(lanes);
  n.args = {std::move(a)};
  return build(std::move(n));
}

// `is_short`: 1 for short_dot().
static Expr dot(DType dtype, Exprs a, Exprs b, int64_t is_short) {
  RELAY_CHECK(!a.empty() && a.size() == b.size(), "a dot product of {} with {} numbers", a.size(), b.size());
  Node n;
  n.kind = Kind::Dot, n.dtype = dtype.with_lanes(a[0]->dtype.lanes), n.ivalue = is_short;
  n.args = std::move(a);
  n.args.insert(n.args.end(), b.begin(), b.end());
  return build(std::move(n));
}

Expr dot(DType dtype, Exprs a, Exprs b) { return dot(dtype, std::move(a), std::move(b), 0); }

Expr without_dot(const Expr& dot) {
  const size_t n = dot->args.size() / 2;
  Expr sum;
  for (size_t i = 0; i < n; ++i) {
    Expr product = cast(dot->dtype, dot->args[i]) * cast(dot->dtype, dot->args[n + i]);
    sum = sum ? sum + product : product;
  }
  return sum;
}

Expr tuple(Exprs values) {
  RELAY_CHECK(values.size() > 1, "an element of {} values", values.size());
  for (Expr& v : values) v = as_data(std::move(v));
  Node n;
  n.kind = Kind::Tuple, n.dtype = values[0]->dtype;
  n.args = std::move(values);
  return build(std::move(n));
}

Expr get(Expr element, int64_t index, DType dtype) {
  if (element->kind == Kind::Tuple) return element->args.at(static_cast<size_t>(index));
  Node n;
  n.kind = Kind::Get, n.dtype = dtype, n.ivalue = index;
  n.args = {std::move(element)};
  return build(std::move(n));
}

template <class T>
static int order(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

namespace {

// Comparing two structures with shared nodes takes time proportional to the nodes, not to the paths to them: after the
// first few pairs, equal pairs are remembered (the first differing pair ends the comparison).
class Comparison {
 public:
  // A number as an index and as data are neighbours.
  int compare(const Expr& a, const Expr& b) {
    if (a == b) return 0;
    const int c = compare_numbers(without_relabel(a), without_relabel(b));
    return c ? c : order(is_relabel(a), is_relabel(b));
  }

 private:
  int compare_numbers(const Expr& a, const Expr& b) {
    if (a == b) return 0;
    if (int c = order(a->kind, b->kind)) return c;
    if (int c = order(std::tuple(a->dtype.code, a->dtype.bits, a->dtype.lanes),
                      std::tuple(b->dtype.code, b->dtype.bits, b->dtype.lanes)))
      return c;
    switch (a->kind) {
      case Kind::Int: return order(a->ivalue, b->ivalue);
      case Kind::Float:
        return a->fvalue == b->fvalue ? order(std::signbit(a->fvalue), std::signbit(b->fvalue))
               : std::isnan(a->fvalue) && std::isnan(b->fvalue) ? 0
               : a->fvalue < b->fvalue                          ? -1
                                                                : 1;
      case Kind::Var:
        if (int c = order(a->name, b->name)) return c;
        return order(a->ivalue, b->ivalue);
      case Kind::Any: return order(a.get(), b.get());
      case Kind::Unary:
        if (int c = order(a->unary, b->unary)) return c;
        break;
      case Kind::Binary:
        if (int c = order(a->binary, b->binary)) return c;
        break;
      case Kind::Load:
        if (a->source != b->source) {
          int c = order(a->source->name, b->source->name);
          return c ? c : order(a->source.get(), b->source.get());
        }
        break;
      case Kind::Ramp:
      case Kind::Get:
      case Kind::Dot:
        if (int c = order(a->ivalue, b->ivalue)) return c;
        break;
      case Kind::Select:
      case Kind::Cast:
      case Kind::Reinterpret:
      case Kind::Broadcast:
      case Kind::Tuple: break;
    }
    if (int c = order(a->args.size(), b->args.size())) return c;
    const bool remembered = !a->args.empty() && ++pairs_ > 64;
    if (remembered && equal_.count({a.get(), b.get()})) return 0;
    for (size_t i = 0; i < a->args.size(); ++i)
      if (int c = compare(a->args[i], b->args[i])) return c;
    if (remembered) equal_.insert({a.get(), b.get()});
    return 0;
  }

  int pairs_ = 0;
  std::set<std::pair<const Node*, const Node*>> equal_;
};

}  // namespace

int compare(const Expr& a, const Expr& b) { return a == b ? 0 : Comparison().compare(a, b); }

bool equal(const Expr& a, const Expr& b) { return compare(a, b) == 0; }

static uint64_t hash(const Node& e, const std::unordered_map<const Node*, uint64_t>& of_args) {
  uint64_t h =
      static_cast<uint64_t>(e.kind) * 0x9E3779B97F4A7C15ull + static_cast<uint64_t>(e.dtype.code) * 31 + e.dtype.bits;
  auto mix = [&](uint64_t v) { h = (h ^ v) * 0xFF51AFD7ED558CCDull, h ^= h >> 32; };
  mix(static_cast<uint64_t>(e.unary) << 8 | static_cast<uint64_t>(e.binary));
  mix(static_cast<uint64_t>(e.ivalue));
  mix(std::hash<double>()(e.fvalue));
  if (e.kind == Kind::Var || e.kind == Kind::Any) mix(reinterpret_cast<uintptr_t>(&e));
  mix(reinterpret_cast<uintptr_t>(e.source.get()));
  for (const Expr& a : e.args) mix(of_args.at(a.get()));
  return h;
}

uint64_t hash(const Expr& root) {
  std::unordered_map<const Node*, uint64_t> done;
  visit(root, [&](const Expr& e) { done[e.get()] = hash(*e, done); });
  return done.at(root.get());
}

Expr with_args(const Expr& e, Exprs args) {
  if (args == e->args) return e;
  switch (e->kind) {
    case Kind::Unary: return unary(e->unary, args[0]);
    case Kind::Binary: return binary(e->binary, args[0], args[1]);
    case Kind::Select: return select(args[0], args[1], args[2]);
    case Kind::Cast:
      if (is_relabel(e)) return relabel(args[0], e->index);
      return cast(e->dtype.with_lanes(args[0]->dtype.lanes), args[0]);
    case Kind::Reinterpret: return reinterpret(e->dtype.with_lanes(args[0]->dtype.lanes), args[0]);
    case Kind::Load: return load(e->source, std::move(args));
    case Kind::Ramp: return ramp(args[0], e->ivalue, e->dtype.lanes);
    case Kind::Broadcast: return broadcast(args[0], e->dtype.lanes);
    case Kind::Dot: {
      const auto half = args.begin() + static_cast<std::ptrdiff_t>(args.size() / 2);
      return dot(e->dtype.element(), {args.begin(), half}, {half, args.end()}, e->ivalue);
    }
    case Kind::Tuple: return tuple(std::move(args));
    case Kind::Get: return get(args[0], e->ivalue, e->dtype);
    case Kind::Int:
    case Kind::Float:
    case Kind::Var:
    case Kind::Any: break;
  }
  return e;
}

static int precedence(const Expr& e) {
  if (e->kind != Kind::Binary || !symbol(e->binary)) return 100;
  switch (e->binary) {
    case BinaryOp::Or: return 1;
    case BinaryOp::And: return 2;
    case BinaryOp::Eq:
    case BinaryOp::Ne:
    case BinaryOp::Lt:
    case BinaryOp::Le: return 3;
    case BinaryOp::Add:
    case BinaryOp::Sub: return 4;
    default: return 5;
  }
}

static std::string float_text(const Node& n) {
  const char* suffix = n.dtype.bits == 64             ? "f64"
                       : n.dtype == DType::float16()  ? "f16"
                       : n.dtype == DType::bfloat16() ? "bf16"
                                                      : "f";
  if (std::isnan(n.fvalue)) return format("nan{}", suffix);
  if (std::isinf(n.fvalue)) return format("{}inf{}", n.fvalue < 0 ? "-" : "", suffix);
  return n.dtype.bits == 64 ? format("{}{}", n.fvalue, suffix) : format("{}{}", static_cast<float>(n.fvalue), suffix);
}

// True if `e` is data without saying so: its text contains a load or another type.
static bool evidently_data(const Expr& e) {
  return e->dtype.element() == DType::int64() && !e->index && !is_relabel(e);
}

// The expression whose text represents `e`. as_data appears only where the text would be index arithmetic without it.
static const Expr& shown(const Expr& e, bool among_data) {
  if (!is_relabel(e)) return e;
  bool loads = e->index || among_data;
  if (!loads) visit(e->args[0], [&](const Expr& n) { loads |= n->kind == Kind::Load; });
  return loads ? e->args[0] : e;
}

static const Expr& shown(const Node& n, size_t i) {
  switch (n.kind) {
    case Kind::Binary: return shown(n.args[i], is_comparison(n.binary) || evidently_data(n.args[1 - i]));
    case Kind::Select: return shown(n.args[i], i > 0 && evidently_data(n.args[3 - i]));
    case Kind::Tuple: return shown(n.args[i], true);
    default: return shown(n.args[i], false);
  }
}

static std::string text(const Expr& e) {
  auto list = [&] {
    std::string out;
    for (size_t i = 0; i < e->args.size(); ++i) out += (out.empty() ? "" : ", ") + text(shown(*e, i));
    return out;
  };
  switch (e->kind) {
    case Kind::Int:
      if (e->dtype.is_bool()) return e->ivalue ? "true" : "false";
      return e->dtype == DType::int64()
                 ? format("{}", e->ivalue)
                 : format("{}{}{}", e->ivalue, e->dtype.code == DType::Code::UInt ? "u" : "i", e->dtype.bits);
    case Kind::Float: return float_text(*e);
    case Kind::Var: return e->name;
    case Kind::Any: return "?";
    case Kind::Unary: return format("{}({})", name(e->unary), list());
    case Kind::Binary: {
      const char* op = symbol(e->binary);
      if (!op) return format("{}({})", name(e->binary), list());
      int p = precedence(e);
      auto wrap = [&](const Expr& a, bool right) {
        return precedence(a) < p || (right && precedence(a) == p) ? "(" + text(a) + ")" : text(a);
      };
      return format("{} {} {}", wrap(shown(*e, 0), p == 3), op, wrap(shown(*e, 1), true));
    }
    case Kind::Select: return format("select({})", list());
    case Kind::Cast: return format("{}({})", e->dtype.str(), list());
    case Kind::Reinterpret: return format("as_{}({})", e->dtype.str(), list());
    case Kind::Load: return format("{}[{}]", e->source->name, list());
    case Kind::Ramp: return format("ramp({}, {}, {})", list(), e->ivalue, e->dtype.lanes);
    case Kind::Broadcast: return format("broadcast({}, {})", list(), e->dtype.lanes);
    case Kind::Dot: return format("{}dot_{}({})", e->ivalue ? "short_" : "", e->dtype.element().str(), list());
    case Kind::Tuple: return format("({})", list());
    case Kind::Get: return format("{}.{}", list(), e->ivalue);
  }
  return "";
}

std::string str(const Expr& e) { return text(shown(e, true)); }

}  // namespace relay::scalar
