// simplify_expr: the algebraic rules of rules.def, and the composition of transposes.
//
//   reshape(reshape(multiply(%x, 1f)))    becomes    reshape(%x)
//   transpose(transpose(%x, axes=[0, 2, 3, 1]), axes=[0, 3, 1, 2])    becomes    %x
//
// The rules are text, parsed once into small trees; a node is matched against those of its operator, again until none
// fits.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <unordered_map>

#include "relay/ir/rewrite.h"
#include "relay/op/conditions.h"
#include "relay/op/registry.h"
#include "relay/transform/attributes.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;

namespace {

// A pattern or a replacement.
struct Term {
  enum Kind { Letter, Number, Operator } kind;
  std::string name;  // Letter, Operator
  double number = 0;
  std::vector<Term> args;
};

// "add(x, 0)". Our own table: a mistake in it is a bug.
Term parse_term(std::string_view& text) {
  text = trim(text);
  size_t end = text.find_first_of("(), ");
  std::string_view word = text.substr(0, end);
  RELAY_CHECK(!word.empty(), "a rule ends early");
  text.remove_prefix(word.size());
  Term term{Term::Letter, std::string(word), 0, {}};
  if (std::isdigit(static_cast<unsigned char>(word[0]))) {
    term.kind = Term::Number;
    std::from_chars(word.data(), word.data() + word.size(), term.number);
  } else if (starts_with(text, "(")) {
    term.kind = Term::Operator;
    while (!starts_with(text, ")")) {
      text.remove_prefix(1);  // '(' or ','
      term.args.push_back(parse_term(text));
      text = trim(text);
    }
    text.remove_prefix(1);
  }
  return term;
}
Term parse_rule(std::string_view text) {
  Term term = parse_term(text);
  RELAY_CHECK(trim(text).empty(), "a rule goes on with '{}'", text);
  return term;
}

struct Rule {
  Term pattern, replacement;
  std::string text;  // "add(x, 0) becomes x"
};

// By the operator at the top of the pattern.
const std::unordered_map<std::string, std::vector<Rule>>& rules() {
  static const std::unordered_map<std::string, std::vector<Rule>> table = [] {
    std::unordered_map<std::string, std::vector<Rule>> t;
    auto add = [&](const char* pattern, const char* replacement) {
      Term p = parse_rule(pattern);
      t[p.name].push_back({p, parse_rule(replacement), format("{} becomes {}", pattern, replacement)});
    };
#define RELAY_RULE(pattern, replacement) add(pattern, replacement);
#include "relay/transform/rules.def"
#undef RELAY_RULE
    return t;
  }();
  return table;
}

bool is_filled_with(const Expr& e, double number) {
  const Constant* c = as<Constant>(e);
  if (!c || c->value.elements() == 0 || c->value.elements() > 4096) return false;
  for (int64_t i = 0; i < c->value.elements(); ++i)
    if (c->value.at(i) != number) return false;
  return true;
}

using Letters = std::unordered_map<std::string, Expr>;

bool matches(const Term& term, const Expr& e, Letters* letters) {
  switch (term.kind) {
    case Term::Letter: return letters->emplace(term.name, e).first->second == e;
    case Term::Number: return is_filled_with(e, term.number);
    case Term::Operator: break;
  }
  const Call* call = as<Call>(e);
  const Op* op = call ? as<Op>(call->callee) : nullptr;
  if (!op || op->name != term.name || call->args.size() != term.args.size()) return false;
  for (size_t i = 0; i < term.args.size(); ++i)
    if (!matches(term.args[i], call->args[i], letters)) return false;
  return true;
}

// The replacement, or null when it would not have type `type`.
Expr build(const Term& term, const Letters& letters, const Type& type, const Span& span) {
  if (term.kind == Term::Letter) {
    const Expr& e = letters.at(term.name);
    return e->type && equal(e->type, type) ? e : nullptr;
  }
  if (term.kind == Term::Number) {
    const TensorType* scalar = as<TensorType>(type);
    if (!scalar || !scalar->shape.empty()) return nullptr;
    const Expr number = constant(term.number, scalar->dtype);
    number->type = type;
    return number;
  }
  Exprs args;
  Types types;
  for (const Term& t : term.args) {
    RELAY_CHECK(t.kind == Term::Letter, "replacements are one operator deep");
    args.push_back(letters.at(t.name));
    if (!args.back()->type) return nullptr;
    types.push_back(args.back()->type);
  }
  std::vector<std::pair<std::string, AttrValue>> attrs;
  const TensorType* tensor = as<TensorType>(type);
  if (term.name == "reshape") {
    if (!tensor || std::any_of(tensor->shape.begin(), tensor->shape.end(), scalar::is_any)) return nullptr;
    attrs.push_back({"newshape", tensor->shape});
    // In newshape 0 means "as in the input": a tensor without elements keeps its reshapes.
    if (std::any_of(tensor->shape.begin(), tensor->shape.end(), [](const Dim& d) { return scalar::is_int(d, 0); }))
      return nullptr;
  }
  Expr e = op::make(term.name, std::move(args), attrs, span);
  const op::OpDef* def = as<Op>(as<Call>(e)->callee)->def;
  op::Assumptions assumed;  // what the call needs is known where it came from
  Result<Type> made = def->infer(as<Call>(e)->attrs, types);
  if (!made || !equal(*made, type)) return nullptr;
  e->type = *made;
  return e;
}

// transpose(transpose(x)) as one transpose, or none.
Expr compose_transposes(const Expr& e, const Type& type) {
  const Call* outer = as<Call>(e);
  const Call* inner = outer ? as<Call>(outer->args[0]) : nullptr;
  const TensorType* tensor = as<TensorType>(type);
  if (!inner || !tensor || !(inner->callee == outer->callee)) return nullptr;
  int64_t rank = static_cast<int64_t>(tensor->shape.size());
  auto axes_of = [&](const Call& call) {
    OptInts axes = attribute<OptInts>(call, "axes", std::nullopt);
    Ints result(static_cast<size_t>(rank));
    for (int64_t i = 0; i < rank; ++i) {
      int64_t axis = axes && !axes->empty() ? (*axes)[static_cast<size_t>(i)] : rank - 1 - i;
      result[static_cast<size_t>(i)] = axis < 0 ? axis + rank : axis;
    }
    return result;
  };
  Ints first = axes_of(*inner), second = axes_of(*outer), both;
  bool identity = true;
  for (int64_t i = 0; i < rank; ++i) {
    both.push_back(first[static_cast<size_t>(second[static_cast<size_t>(i)])]);
    identity = identity && both.back() == i;
  }
  if (identity) return inner->args[0];
  Expr r = op::make("transpose", {inner->args[0]}, {{"axes", both}}, e->span);
  r->type = type;
  return r;
}

Expr simplify(const Expr& e, const Type& type, Applied& applied) {
  const Call* call = as<Call>(e);
  const Op* op = call ? as<Op>(call->callee) : nullptr;
  if (!op || !type) return nullptr;
  if (op->name == "transpose") {
    Expr one = compose_transposes(e, type);
    if (one) ++applied["transpose(transpose(x)) becomes transpose(x) or x"];
    return one;
  }
  std::unordered_map<std::string, std::vector<Rule>>::const_iterator found = rules().find(op->name);
  if (found == rules().end()) return nullptr;
  for (const Rule& rule : found->second) {
    Letters letters;
    if (!matches(rule.pattern, e, &letters)) continue;
    if (Expr r = build(rule.replacement, letters, type, e->span)) {
      ++applied[rule.text];
      return r;
    }
  }
  return nullptr;
}

}  // namespace

Result<Module> simplify_expr(const Module& module, PassContext& context) {
  return for_each_function(module, [&](const FunctionRef& f) {
    Expr result = rewrite(f, [&](const Expr& before, const Expr& now) -> Expr {
      Expr e = now;
      for (int i = 0; i < 16; ++i) {
        Expr simpler = simplify(e, before->type, context.applied);
        if (!simpler) break;
        e = simpler;
      }
      return e;
    });
    return FunctionRef(as<Function>(result));
  });
}

}  // namespace relay::transform
