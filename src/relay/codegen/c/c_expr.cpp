#include <cmath>

#include "relay/base/diagnostics.h"
#include "relay/codegen/c/c_kernel.h"

namespace relay::codegen {

using scalar::BinaryOp;
using scalar::Expr;
using scalar::Kind;
using scalar::UnaryOp;

// Compilers limit the nesting of parentheses (clang: 256), and readers far earlier.
constexpr int max_depth = 16;

std::string CKernelWriter::in(const Text& text, Binding least) {
  return text.binding <= least ? text.text : "(" + text.text + ")";
}

CKernelWriter::Text CKernelWriter::call(const std::string& function, std::initializer_list<Text> args) {
  Text out{function + "("};
  for (const Text& a : args) {
    out.text += (&a == args.begin() ? "" : ", ") + a.text;
    out.depth = std::max(out.depth, a.depth + 1);
  }
  out.text += ")";
  return out;
}

CKernelWriter::Text CKernelWriter::converted(const std::string& type, const Text& a) const {
  if (form_.dialect->names_first) return {format("{}({})", type, a.text), Atom, a.depth + 1};
  return {format("({}){}", type, in(a, Atom)), Prefix, a.depth + 1};
}

// Chooses between two values, which are both computed in WGSL.
CKernelWriter::Text CKernelWriter::chosen(const Text& condition, const Text& yes, const Text& no) const {
  const int depth = std::max({condition.depth, yes.depth, no.depth}) + 1;
  if (form_.dialect->names_first) return {format("select({}, {}, {})", no.text, yes.text, condition.text), Atom, depth};
  return {format("({} ? {} : {})", in(condition, Disjunction), in(yes, Disjunction), in(no, Disjunction)), Atom, depth};
}

CKernelWriter::Text CKernelWriter::infix(const char* symbol, const Text& a, const Text& b, Binding binding,
                                         Binding left, Binding right) {
  return {format("{} {} {}", in(a, left), symbol, in(b, right)), binding, std::max(a.depth, b.depth) + 1};
}

bool CKernelWriter::is_index(const Expr& e) {
  if (e->kind == Kind::Load || of_loads_.count(e.get())) return false;
  if (e->args.empty()) return true;
  if (auto it = indices_.find(e.get()); it != indices_.end()) return it->second;
  bool index = true;
  for (const Expr& a : e->args) index = index && is_index(a);
  return indices_[e.get()] = index;
}

CKernelWriter::Text CKernelWriter::value(const Expr& e) {
  if (e->kind == Kind::Int || e->kind == Kind::Float) return constant(e);
  if (e->kind == Kind::Var) {
    auto it = names_.find(e.get());
    RELAY_CHECK(it != names_.end(), "variable {} of kernel {} is not in scope", e->name, kernel_.name);
    used_.insert(e.get());
    return {it->second};
  }
  for (const Block& block : blocks_)
    if (auto it = block.known.find(e.get()); it != block.known.end()) return {it->second};
  Text text = compute(e);
  const bool shared = uses_[e.get()] > 1 && text.depth > 0;
  return shared || text.depth > max_depth ? named(e, text) : text;
}

CKernelWriter::Text CKernelWriter::named(const Expr& e, const Text& text) {
  const std::string name = unique("t");
  line(form_.dialect->constant(type_of(e), name, text.text));
  blocks_.back().known[e.get()] = name;
  return {name};
}

CKernelWriter::Text CKernelWriter::compute(const Expr& e) {
  RELAY_CHECK(e->dtype.lanes == 1, "kernel {} has vectors before vectorise()", kernel_.name);
  switch (e->kind) {
    case Kind::Unary: return unary(e);
    case Kind::Binary: return binary(e);
    case Kind::Select: return select(e);
    case Kind::Cast: return cast(e);
    case Kind::Reinterpret: return reinterpret(e);
    case Kind::Load: return load(e);
    case Kind::Dot: return dot(e, {});
    default: break;
  }
  RELAY_CHECK(false, "an expression of kernel {} cannot be written in C: {}", kernel_.name, scalar::str(e));
}

CKernelWriter::Text CKernelWriter::constant(const Expr& e) {
  const DType t = e->dtype;
  const Dialect& d = *form_.dialect;
  if (t.is_float()) {
    const double v = e->kind == Kind::Int ? static_cast<double>(e->ivalue) : e->fvalue;
    if (std::isnan(v)) return {d.nan};
    if (std::isinf(v)) return v > 0 ? Text{d.infinity} : Text{format("-{}", d.infinity), Prefix};
    std::string text = t.bits == 64 ? format("{}", v) : format("{}", static_cast<float>(v));
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    return {text + (t.bits == 64 ? "" : "f"), std::signbit(v) ? Prefix : Atom};
  }
  const int64_t v = e->ivalue;
  if (t.is_bool()) return v == 0 ? Text{d.no} : Text{d.yes};
  if (t == DType::uint64() && v < 0) return {format("{}{}{}", d.uint64_begin, static_cast<uint64_t>(v), d.uint64_end)};
  if (v == INT64_MIN) return {d.least[3]};
  if (t == DType::int32() && v == INT32_MIN) return {d.least[2]};
  if (v >= INT32_MIN + int64_t{1} && v <= INT32_MAX) return {format("{}", v), v < 0 ? Prefix : Atom};
  return {format("{}{}{}", d.int64_begin, v, d.int64_end), v < 0 && !*d.int64_begin ? Prefix : Atom};
}

CKernelWriter::Text CKernelWriter::rounded(Text text, DType t) {
  return is_half(t) ? call(helpers_.round(t), {text}) : text;
}

CKernelWriter::Text CKernelWriter::float_unary(const Expr& e) {
  const DType t = e->dtype;
  const Text a = value(e->args[0]);
  auto function = [&](const char* name) {
    return rounded(call(format("{}{}", name, t.bits == 64 ? "" : form_.dialect->float_end), {a}), t);
  };
  switch (e->unary) {
    case UnaryOp::Neg: return {"-" + in(a, Atom), Prefix, a.depth + 1};
    case UnaryOp::Abs: return function(form_.dialect->abs);
    case UnaryOp::Sign: return call(helpers_.unary(UnaryOp::Sign, is_half(t) ? DType::float32() : t), {a});
    case UnaryOp::Rsqrt:
      return rounded({format("{} / {}", t.bits == 64 ? "1.0" : "1.0f", function("sqrt").text), Product, a.depth + 2},
                     t);
    case UnaryOp::Round: return function(form_.dialect->rint);
    case UnaryOp::Rounded: return a;
    case UnaryOp::Exp:
    case UnaryOp::Expm1:
    case UnaryOp::Log:
    case UnaryOp::Log1p:
    case UnaryOp::Sqrt:
    case UnaryOp::Tanh:
    case UnaryOp::Erf:
    case UnaryOp::Erfc:
    case UnaryOp::Sin:
    case UnaryOp::Cos:
    case UnaryOp::Tan:
    case UnaryOp::Atan:
    case UnaryOp::Floor:
    case UnaryOp::Ceil:
    case UnaryOp::Trunc: return function(scalar::name(e->unary));
    default: break;
  }
  RELAY_CHECK(false, "{} of a float", scalar::name(e->unary));
}

CKernelWriter::Text CKernelWriter::unary(const Expr& e) {
  const DType t = e->args[0]->dtype;
  if (e->unary == UnaryOp::IsNan || e->unary == UnaryOp::IsInf) {
    if (!t.is_float()) return {form_.dialect->no};
    const Text a = value(e->args[0]);
    std::string test = e->unary == UnaryOp::IsNan ? form_.dialect->is_nan : form_.dialect->is_inf;
    return {test.replace(test.find("$A"), 2, a.text), Comparison, a.depth + 1};
  }
  if (t.is_float()) return float_unary(e);
  const Text a = value(e->args[0]);
  const std::string type = value_type(t);
  const int depth = a.depth + 1;
  switch (e->unary) {
    case UnaryOp::Not: return {"!" + in(a, Atom), Prefix, depth};
    case UnaryOp::BitNot:
      return t.is_bool() ? Text{"!" + in(a, Atom), Prefix, depth}
                         : converted(type, {"~" + in(a, Atom), Prefix, a.depth});
    case UnaryOp::Neg:
      if (e->index && (narrow_ || is_index(e))) return {"-" + in(a, Atom), Prefix, depth};
      if (wraps(t)) return {"-" + in(a, Atom), Prefix, depth};
      return {format("({})(0 - ({}){})", type, unsigned_type(std::max<int>(t.bits, 32)), in(a, Atom)), Prefix, depth};
    case UnaryOp::Abs: return t.code == DType::Code::Int ? call(helpers_.unary(UnaryOp::Abs, computed_in(e)), {a}) : a;
    case UnaryOp::Sign: return t.is_bool() ? a : call(helpers_.unary(UnaryOp::Sign, computed_in(e)), {a});
    default: return a;  // an integer rounded to an integer
  }
}

// The same sums as those that codegen/llvm contracts: a product that may not be fused is Rounded.
CKernelWriter::Text CKernelWriter::multiply_add(const Expr& e) {
  auto is_product = [](const Expr& x) { return x->kind == Kind::Binary && x->binary == BinaryOp::Mul; };
  const DType t = e->dtype;
  if (!form_.fuses_products || !t.is_float() || t.bits < 32 || e->binary == BinaryOp::Mul) return {};
  const bool subtract = e->binary == BinaryOp::Sub, first = is_product(e->args[0]);
  const Expr &product = e->args[first ? 0 : 1], &other = e->args[first ? 1 : 0];
  if (!is_product(product)) return {};
  auto negated = [](const Text& text) { return Text{"-" + in(text, Atom), Prefix, text.depth + 1}; };
  Text p = value(product->args[0]), q = value(product->args[1]), sum = value(other);
  if (subtract && first) sum = negated(sum);
  if (subtract && !first) p = negated(p);
  return call(helpers_.multiply_add(t), {p, q, sum});
}

// Sums, differences and products. Those of loaded integers wrap around, as unsigned numbers do in C.
CKernelWriter::Text CKernelWriter::arithmetic(const Expr& e) {
  const DType t = e->dtype;
  if (const Text fused = multiply_add(e); !fused.text.empty()) return fused;
  if (const Text sum = dot_added(e); !sum.text.empty()) return sum;
  const Text a = value(e->args[0]), b = value(e->args[1]);
  const bool product = e->binary == BinaryOp::Mul;
  const char* symbol = product ? "*" : e->binary == BinaryOp::Add ? "+" : "-";
  const Binding binding = product ? Product : Sum;
  if (t.is_bool())
    return infix(product ? "&&" : "||", a, b, product ? Conjunction : Disjunction, Comparison, Comparison);
  if (t.is_float() || wraps(t) || (t == DType::int64() && e->index && (narrow_ || is_index(e))))
    return rounded(infix(symbol, a, b, binding, binding, product ? Prefix : Product), t);
  const std::string wide = unsigned_type(std::max<int>(t.bits, 32));
  return {format("({0})(({1}){2} {3} ({1}){4})", value_type(t), wide, in(a, Atom), symbol, in(b, Atom)), Prefix,
          std::max(a.depth, b.depth) + 2};
}

CKernelWriter::Text CKernelWriter::binary(const Expr& e) {
  const DType t = e->args[0]->dtype;
  const BinaryOp op = e->binary;
  if (op == BinaryOp::Add || op == BinaryOp::Sub || op == BinaryOp::Mul) return arithmetic(e);
  const Text a = value(e->args[0]), b = value(e->args[1]);
  switch (op) {
    case BinaryOp::Div: return rounded(infix("/", a, b, Product, Product, Prefix), t);
    case BinaryOp::Eq: return infix("==", a, b, Comparison, Sum, Sum);
    case BinaryOp::Ne: return infix("!=", a, b, Comparison, Sum, Sum);
    case BinaryOp::Lt: return infix("<", a, b, Comparison, Sum, Sum);
    case BinaryOp::Le: return infix("<=", a, b, Comparison, Sum, Sum);
    case BinaryOp::And: return infix("&&", a, b, Conjunction, Comparison, Comparison);
    case BinaryOp::Or: return infix("||", a, b, Disjunction, Comparison, Comparison);
    case BinaryOp::BitAnd:
    case BinaryOp::BitOr:
    case BinaryOp::BitXor: {
      const char* symbol = op == BinaryOp::BitAnd ? "&" : op == BinaryOp::BitOr ? "|" : "^";
      return converted(value_type(t), {format("{} {} {}", in(a, Atom), symbol, in(b, Atom)), Disjunction,
                                       std::max(a.depth, b.depth) + 1});
    }
    default: break;
  }
  if (t.is_bool())  // Min is "and", Max is "or"
    return infix(op == BinaryOp::Min ? "&&" : "||", a, b, op == BinaryOp::Min ? Conjunction : Disjunction, Comparison,
                 Comparison);
  const bool indices = e->args[0]->index && e->args[1]->index;
  return rounded(call(helpers_.binary(op, indices ? computed_in(e) : is_half(t) ? DType::float32() : t), {a, b}), t);
}

// Only the chosen side is evaluated: if it needs lines of its own, these are written inside a branch.
CKernelWriter::Text CKernelWriter::select(const Expr& e) {
  const Text condition = value(e->args[0]);
  Text side[2];
  std::string before[2];
  for (int i = 0; i < 2; ++i) {
    blocks_.push_back({});
    ++indent_;
    side[i] = value(e->args[static_cast<size_t>(i) + 1]);
    --indent_;
    before[i] = std::move(blocks_.back().lines);
    blocks_.pop_back();
  }
  if (before[0].empty() && before[1].empty()) return chosen(condition, side[0], side[1]);
  const std::string name = unique("t");
  line(form_.dialect->variable(type_of(e), name));
  line(format("if ({}) {{", condition.text));
  for (int i = 0; i < 2; ++i) {
    lines() += before[i];
    ++indent_;
    line(format("{} = {};", name, side[i].text));
    --indent_;
    line(i ? "}" : "} else {");
  }
  blocks_.back().known[e.get()] = name;
  return {name};
}

// Without the limits of an integer type around a float: min(max(x, -128.0), 127.0), in either order.
static Expr without_limits(Expr e, double least, double most) {
  for (int i = 0; i < 2; ++i) {
    if (e->kind != Kind::Binary || e->args[1]->kind != Kind::Float) return e;
    const bool is_limit = (e->binary == BinaryOp::Max && e->args[1]->fvalue == least) ||
                          (e->binary == BinaryOp::Min && e->args[1]->fvalue == most);
    if (!is_limit) return e;
    e = e->args[0];
  }
  return e;
}

// The float may have an integer added: cast<int8>(round(x) + 3.0). Limits of the integer are left out, since the result
// is saturated.
CKernelWriter::Text CKernelWriter::nearest_integer(const Expr& e) {
  constexpr double most_added = 1 << 20;  // sums of it and a number that is rounded by an addition are exact
  const DType to = e->dtype;
  if (!form_.is_scalar || e->args[0]->dtype != DType::float32() || to.is_float() || to.bits > 16 || to.bits < 8)
    return {};
  const bool is_signed = to.code == DType::Code::Int;
  const double least = is_signed ? -std::ldexp(1.0, to.bits - 1) : 0, most = least + std::ldexp(1.0, to.bits) - 1;
  Expr rounded = without_limits(e->args[0], least, most);
  int64_t zero = 0;
  if (rounded->kind == Kind::Binary && rounded->binary == BinaryOp::Add && rounded->args[1]->kind == Kind::Float) {
    const double added = rounded->args[1]->fvalue;
    if (!(std::abs(added) <= most_added) || added != std::trunc(added)) return {};
    zero = static_cast<int64_t>(added), rounded = rounded->args[0];
  }
  if (rounded->kind != Kind::Unary || rounded->unary != UnaryOp::Round) return {};
  const Expr& number = zero == 0 ? without_limits(rounded->args[0], least, most) : rounded->args[0];
  return call(helpers_.nearest(to), {value(number), Text{format("{}", zero), zero < 0 ? Prefix : Atom}});
}

CKernelWriter::Text CKernelWriter::cast(const Expr& e) {
  if (const Text nearest = nearest_integer(e); !nearest.text.empty()) return nearest;
  const DType from = e->args[0]->dtype, to = e->dtype;
  const Text a = value(e->args[0]);
  const std::string type = value_type(to);
  if (to.is_bool()) return {in(a, Sum) + " != 0", Comparison, a.depth + 1};
  if (is_half(to)) {
    const std::string narrow = helpers_.narrow(from);
    return call(helpers_.round(to), {narrow.empty() ? a : call(narrow, {a})});
  }
  if (from.is_float() && !to.is_float()) return call(helpers_.to_integer(to, from), {a});
  if (narrow_ && scalar::is_relabel(e) && e->index != e->args[0]->index && !scalar::is_int(e->args[0]))
    return converted(type_of(e), a);
  if (type == value_type(from)) return a;
  return converted(type, a);
}

CKernelWriter::Text CKernelWriter::reinterpret(const Expr& e) {
  const DType from = e->args[0]->dtype, to = e->dtype;
  const Text a = value(e->args[0]);
  if (from.is_float() == to.is_float()) return converted(value_type(to), a);
  if (from.is_float()) {
    const Text bits = call(is_half(from) ? helpers_.store(from) : helpers_.bits_of(from), {a});
    return converted(value_type(to), {bits.text, Atom, bits.depth - 1});
  }
  Text bits = converted(unsigned_type(to.bits), a);
  bits.depth = a.depth;
  return call(is_half(to) ? helpers_.load(to) : helpers_.from_bits(to), {bits});
}

std::string CKernelWriter::element(const loop::Buffer& buffer, const scalar::Exprs& indices) {
  if (const std::optional<std::string> scalar = scalar_of(buffer, indices)) return *scalar;
  const Expr flat = flat_index_of(buffer, indices);
  kept_.push_back(flat);
  used_.insert(&buffer);
  const std::string& name = names_.at(&buffer);
  if (!is_in_memory(buffer)) return format("{}[{}]", name, top(flat));
  const std::string at =
      scalar::is_int(scalar::simplify(flat), 0) ? name : format("{} + {}", name, in(value(flat), Sum));
  return format("{}[{}]", form_.dialect->memory, at);
}

bool CKernelWriter::is_in_memory(const loop::Buffer& buffer) const {
  return *form_.dialect->memory && (buffer.scope == loop::Scope::Param || buffer.scope == loop::Scope::Scratch);
}

std::string CKernelWriter::as_word(const std::string& to, const std::string& from, const std::string& text) {
  return to == from ? text : format("bitcast<{}>({})", to, text);
}

CKernelWriter::Text CKernelWriter::load(const Expr& e) {
  const loop::Buffer& buffer = static_cast<const loop::Buffer&>(*e->source);
  Text text{element(buffer, e->args), Atom, 1};
  if (is_in_memory(buffer))
    text.text = as_word(stored_type(buffer.dtype), form_.dialect->integer(false, 32), text.text);
  if (is_half(buffer.dtype)) return call(helpers_.load(buffer.dtype), {text});
  if (buffer.dtype.is_bool()) return {text.text + " != 0", Comparison, 1};
  return text;
}

}  // namespace relay::codegen
