#include "relay/transform/algebra/rules.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "relay/eval/eval.h"
#include "relay/op/registry.h"
#include "relay/transform/attributes.h"
#include "relay/transform/full_precision.h"
#include "relay/transform/typed.h"

namespace relay::transform {

using namespace ir;

namespace {

constexpr int64_t max_constant = 4096;  // elements that a number may match, and that are computed here

// "add(x, 0)". From our own table: an error in it is a bug.
Term next_term(std::string_view& text) {
  text = trim(text);
  const std::string_view word = text.substr(0, text.find_first_of("(), "));
  RELAY_CHECK(!word.empty(), "a rule ends early");
  text.remove_prefix(word.size());
  Term term{Term::Letter, std::string(word), 0, {}};
  if (std::isdigit(static_cast<unsigned char>(word[0])) || word[0] == '-') {
    term.kind = Term::Number;
    std::from_chars(word.data(), word.data() + word.size(), term.number);
  } else if (starts_with(text, "(")) {
    term.kind = Term::Operator;
    RELAY_CHECK(op::find(term.name), "a rule names {}, which is not an operator", term.name);
    text.remove_prefix(1);
    while (!starts_with(text, ")")) {
      if (!term.args.empty()) text.remove_prefix(1);  // ','
      term.args.push_back(next_term(text));
      text = trim(text);
    }
    text.remove_prefix(1);
  }
  return term;
}

// True for a constant, or an operator on two such.
bool is_constant(const Expr& e) {
  const Call* call = as<Call>(e);
  if (e->kind == ExprKind::Constant) return true;
  return call && call->args.size() == 2 && as<Op>(call->callee) && call->args[0]->kind == ExprKind::Constant &&
         call->args[1]->kind == ExprKind::Constant;
}
bool is_filled_with(const Expr& e, double number) {
  const Tensor& value = as<Constant>(e)->value;
  if (value.elements() == 0 || value.elements() > max_constant) return false;
  for (int64_t i = 0; i < value.elements(); ++i)
    if (value.at(i) != number || (value.dtype().is_float() && std::signbit(value.at(i)) != std::signbit(number)))
      return false;
  return true;
}

// True if a letter other than x, y and z can stand for `e`.
bool is_of_letter(const std::string& letter, const Expr& e) {
  const TensorType* type = as<TensorType>(e->type);
  if (!type) return false;
  const DType t = type->dtype;
  switch (letter[0]) {
    case 'f': return t.is_float();
    case 'i': return t.is_int() || t.is_bool();
    case 's': return t.is_float() || t.code == DType::Code::Int;
    case 'q': return t.is_int() && t.bits <= 16;
    default: break;
  }
  if (letter != "S" && letter != "P") return is_constant(e);
  const Constant* c = as<Constant>(e);
  if (!c || c->value.elements() != 1) return false;
  if (letter == "S") return t.is_int() && std::abs(c->value.at(0)) < 0x1p16;
  return t.is_float() && t.bits >= 32 && c->value.at(0) > 0x1p-60 && c->value.at(0) < 0x1p60;
}
bool is_of_wide_floats(const Expr& e) {
  const TensorType* type = as<TensorType>(e->type);
  return type && type->dtype.is_float() && type->dtype.bits >= 32;
}

pattern::Pattern pattern_of(const Term& term, Rule& rule) {
  if (term.kind == Term::Number)
    return pattern::where(pattern::constant(), [n = term.number](const Expr& e) { return is_filled_with(e, n); });
  if (term.kind == Term::Letter) {
    for (const auto& [name, known] : rule.letters)
      if (name == term.name) return known;
    pattern::Pattern made = pattern::wildcard();
    if (term.name != "x" && term.name != "y" && term.name != "z")
      made = pattern::where(made, [name = term.name](const Expr& e) { return is_of_letter(name, e); });
    rule.letters.push_back({term.name, made});
    return made;
  }
  const size_t place = rule.operators.size();
  rule.operators.push_back({term.name, nullptr});
  pattern::Patterns args;
  for (const Term& arg : term.args) args.push_back(pattern_of(arg, rule));
  pattern::Pattern made = pattern::call(pattern::op(term.name), std::move(args));
  // In 32 bits, small integers on a scale stay apart.
  if (term.name == "qnn.dequantize") made = pattern::where(made, is_of_wide_floats);
  return rule.operators[place].second = made;
}

// True if the operator can have this shape as an attribute.
bool can_be_attribute(const TensorType& type, const std::string& op) {
  return std::all_of(type.shape.begin(), type.shape.end(), [&](const Dim& d) {
    // In newshape 0 means "as in the input": a tensor without elements keeps its reshapes.
    return op == "reshape" ? !scalar::is_any(d) && !scalar::is_int(d, 0) : scalar::is_int(d);
  });
}

// The attributes that the type of the result determines; nullopt if there are none.
std::optional<op::AttrValues> decided_attributes(const std::string& name, const TensorType& type) {
  if (name == "reshape") return op::AttrValues{{"newshape", type.shape}};
  if (name == "cast") return op::AttrValues{{"dtype", type.dtype}};
  if (name == "broadcast_to") return op::AttrValues{{"shape", type.shape}};
  if (name == "full" || name == "zeros" || name == "ones")
    return op::AttrValues{{"shape", type.shape}, {"dtype", type.dtype}};
  return std::nullopt;
}

// The value of a call on small constants; null for other calls.
Expr computed(const Expr& e) {
  const Call& call = *as<Call>(e);
  const TensorType* type = as<TensorType>(e->type);
  int64_t elements = 1;
  for (const Dim& d : type ? type->shape : Dims())
    elements = scalar::is_int(d) && elements <= max_constant ? elements * d->ivalue : max_constant + 1;
  if (!type || elements > max_constant || call.args.empty()) return nullptr;
  eval::Values args;
  for (const Expr& arg : call.args) {
    const Constant* c = as<Constant>(arg);
    if (!c) return nullptr;
    args.push_back(eval::Value(c->value));
  }
  Result<eval::Value> value = eval::call_operator(*as<Op>(call.callee)->def, call.attrs, args);
  if (!value || !value->tensor) return nullptr;
  Expr made = constant(value->tensor, e->span);
  made->type = e->type;
  return made;
}

// True if `value`, the sum or product of two constants, can take the place of both: x * C * D is x * (C * D) unless one
// of them overflows where the other does not, and x + C + D is x + (C + D) unless C and D cancel.
bool keeps_digits(const std::string& op, const Exprs& args, const Expr& value) {
  const Tensor& result = as<Constant>(value)->value;
  const DType t = result.dtype();
  if (!t.is_float()) return true;
  constexpr double moderate = 0x1p30;
  const bool sum = op == "add", narrow = t == DType::float16();
  bool keeps = true, least_one = true, most_one = true, positive = true, negative = true;
  for (const Expr& arg : args) {
    const Tensor& c = as<Constant>(arg)->value;
    for (int64_t i = 0; i < c.elements(); ++i) {
      const double v = std::abs(c.at(i));
      keeps &= sum ? std::isfinite(v) : has_full_precision(t, v);
      keeps &= sum || narrow || (v <= moderate && v >= 1 / moderate);
      least_one &= v >= 1, most_one &= v <= 1, positive &= c.at(i) >= 0, negative &= c.at(i) <= 0;
    }
  }
  for (int64_t i = 0; i < result.elements(); ++i)
    keeps &= sum ? std::isfinite(result.at(i)) : has_full_precision(t, result.at(i));
  return keeps && (sum ? positive || negative : !narrow || least_one || most_one);
}

Expr build(const Rule& rule, const Term& term, const pattern::Match& match, const Type& type, const Span& span) {
  const TensorType* tensor = as<TensorType>(type);
  if (term.kind == Term::Letter) {
    for (const auto& [name, letter] : rule.letters)
      if (name == term.name) return match.at(letter);
    RELAY_CHECK(false, "{} has no letter {}", rule.name, term.name);
  }
  if (!tensor) return nullptr;
  if (term.kind == Term::Number) return typed_scalar(term.number, tensor->dtype);
  Exprs args;
  for (const Term& arg : term.args) {
    args.push_back(build(rule, arg, match, type, span));
    if (!args.back() || !args.back()->type) return nullptr;
  }
  const op::OpDef& def = *op::find(term.name);
  Attrs attrs;
  if (std::optional<op::AttrValues> decided = decided_attributes(term.name, *tensor)) {
    if (term.name != "cast" && !can_be_attribute(*tensor, term.name)) return nullptr;
    attrs = *op::attributes(def, *decided);
  } else {
    for (const auto& [name, call] : rule.operators)
      if (const Expr* e = name == term.name ? match.find(call) : nullptr) {
        attrs = as<Call>(*e)->attrs;
        break;
      }
  }
  Expr made = try_call(op::node(def), args, std::move(attrs), span);
  Expr value = made ? computed(made) : nullptr;
  const bool of_constants = std::all_of(args.begin(), args.end(), is_constant);
  if (made && rule.rounds && of_constants && (value ? !keeps_digits(term.name, args, value) : tensor->dtype.is_float()))
    return nullptr;
  return value ? value : made;
}

}  // namespace

Term parse_term(const char* text) {
  std::string_view rest = text;
  Term term = next_term(rest);
  RELAY_CHECK(trim(rest).empty(), "a rule goes on with '{}'", rest);
  return term;
}

const std::vector<Rule>& all_rules() {
  static const std::vector<Rule> table = [] {
    std::vector<Rule> rules;
    auto add = [&](const char* name, const char* pattern, const char* replacement, bool rounds) {
      Rule rule{name,
                format("{} becomes {}", pattern, replacement),
                rounds,
                parse_term(pattern),
                parse_term(replacement),
                {},
                {},
                {}};
      rule.matched = pattern_of(rule.pattern, rule);
      rules.push_back(std::move(rule));
    };
#define RELAY_RULE(name, pattern, replacement) add(#name, pattern, replacement, false);
#define RELAY_ROUNDING_RULE(name, pattern, replacement) add(#name, pattern, replacement, true);
#include "relay/transform/algebra/rules.def"
#undef RELAY_ROUNDING_RULE
#undef RELAY_RULE
    return rules;
  }();
  return table;
}

Expr replacement(const Rule& rule, const pattern::Match& match, const Type& type, const Span& span) {
  const Expr made = build(rule, rule.replacement, match, type, span);
  return made && made->type && equal(made->type, type) ? made : nullptr;
}

}  // namespace relay::transform
