#include "relay/op/conditions.h"

#include <algorithm>
#include <utility>

#include "relay/ir/attribute_names.h"
#include "relay/ir/node_map.h"
#include "relay/ir/rewrite.h"
#include "relay/op/op.h"
#include "relay/scalar/simplify.h"

namespace relay::op {

using ir::as;
using ir::Dim;
using scalar::BinaryOp;
using scalar::imm;
using Kind = Condition::Kind;

// --- one condition ---

std::optional<bool> Condition::proven() const {
  switch (kind) {
    case Kind::Equal: return scalar::prove_equal(a, b);
    case Kind::AtLeast: return scalar::prove(le(b, a));
    case Kind::Multiple: return scalar::prove_equal(floormod(a, b), imm(0));
  }
  return std::nullopt;
}

// A size as written in programs: `/` rounds down.
static std::string text(const Dim& d) {
  std::string out = scalar::str(d);
  for (size_t at = out.find("//"); at != std::string::npos; at = out.find("//", at)) out.erase(at, 1);
  return out;
}

std::string Condition::str() const {
  switch (kind) {
    case Kind::Equal: return format("{} == {}", text(a), text(b));
    case Kind::AtLeast:
      return scalar::is_int(a) ? format("{} <= {}", text(b), text(a)) : format("{} >= {}", text(a), text(b));
    case Kind::Multiple: break;
  }
  return scalar::is_var(a) ? format("{} % {} == 0", text(a), text(b)) : format("({}) % {} == 0", text(a), text(b));
}

std::string Condition::message() const {
  const std::string place = place_text(span);
  return format("{}{} needs `{}`", op, place.empty() ? "" : format(" ({})", place), str());
}

// --- finding them ---

static thread_local Assumptions* current_assumptions = nullptr;

Assumptions::Assumptions() : outer_(std::exchange(current_assumptions, this)) {}
Assumptions::~Assumptions() { current_assumptions = outer_; }

static bool has_unknown(const Dim& d) {
  bool found = false;
  scalar::visit(d, [&](const Dim& part) { found = found || scalar::is_any(part); });
  return found;
}

bool Assumptions::assume(Condition condition) {
  if (!current_assumptions || has_unknown(condition.a) || has_unknown(condition.b)) return false;
  current_assumptions->found_.push_back(std::move(condition));
  return true;
}

// True unless all sizes are known: then a relation may have stated an undecided condition.
static bool may_depend(const Type& type) {
  if (const ir::TensorType* t = as<ir::TensorType>(type))
    return !std::all_of(t->shape.begin(), t->shape.end(), [](const Dim& d) { return scalar::is_int(d); });
  const ir::TupleType* tuple = as<ir::TupleType>(type);
  return !tuple || std::any_of(tuple->fields.begin(), tuple->fields.end(), may_depend);
}

// No size of a result is below 0. The runtime sees only those of arrays, and a result may stay inside of a kernel.
static void assume_sizes(const Type& result) {
  if (const ir::TupleType* tuple = as<ir::TupleType>(result))
    for (const Type& field : tuple->fields) assume_sizes(field);
  const ir::TensorType* tensor = as<ir::TensorType>(result);
  for (const Dim& d : tensor ? tensor->shape : ir::Dims()) {
    if (scalar::is_var(d)) continue;
    Condition condition{Condition::Kind::AtLeast, d, imm(0)};
    if (!condition.proven()) Assumptions::assume(std::move(condition));
  }
}

std::vector<Condition> conditions_of(const ir::Expr& body) {
  Conditions out;
  ir::NodeSet seen;
  std::vector<ir::Expr> work = {body};
  auto add_call = [&](const ir::Call* call, const ir::Op* op) {
    ir::Types inputs;
    for (const ir::Expr& arg : call->args) inputs.push_back(arg->type);
    if (std::any_of(inputs.begin(), inputs.end(), [](const Type& t) { return !t; })) return;
    if (std::none_of(inputs.begin(), inputs.end(), may_depend) && call->type && !may_depend(call->type)) return;
    Assumptions assumed;
    const Result<Type> result = op->def->infer(call->attrs, inputs);
    if (!result) return;
    assume_sizes(*result);
    for (Condition c : assumed.found()) {
      c.op = op->name, c.span = call->span;
      out.add(c);
    }
  };
  while (!work.empty()) {
    ir::Expr e = work.back();
    work.pop_back();
    if (!seen.insert(e.get())) continue;
    const ir::Call* call = as<ir::Call>(e);
    if (const ir::If* branch = as<ir::If>(e)) {
      work.push_back(branch->condition);
    } else if (const ir::Match* match = as<ir::Match>(e)) {
      work.push_back(match->data);
    } else if (!as<ir::Function>(e)) {
      if (const ir::Op* op = call ? as<ir::Op>(call->callee) : nullptr) add_call(call, op);
      if (const ir::Function* f = call ? as<ir::Function>(call->callee) : nullptr;
          f && f->attrs.count(ir::attribute::primitive))
        work.push_back(f->body);  // over the same variables
      ir::for_each_child(e, [&](const ir::Expr& child) { work.push_back(child); });
    }
  }
  return out.list();
}

std::vector<Condition> substitute(std::vector<Condition> conditions, const std::vector<scalar::Binding>& bindings) {
  for (Condition& c : conditions) {
    c.a = scalar::simplify(scalar::substitute(c.a, bindings));
    c.b = scalar::simplify(scalar::substitute(c.b, bindings));
  }
  return conditions;
}

// --- sets ---

void Conditions::add(const std::vector<Condition>& conditions) {
  for (const Condition& c : conditions) add(c);
}

static const Dim* binary(const Dim& e, BinaryOp op) {
  return e->kind == scalar::Kind::Binary && e->binary == op ? e->args.data() : nullptr;
}
static int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b > 0); }

// size >= least, solved for a variable: (h - 7) / 2 + 1 >= 1 is h >= 7.
void Conditions::add_bound(const Condition& from, const Dim& size, int64_t least) {
  constexpr int64_t most = int64_t{1} << 40;
  Dim e = size;
  while (least > -most && least < most) {
    const Dim* args = nullptr;
    auto constant = [&](int i) { return scalar::is_int(args[i]) && std::abs(args[i]->ivalue) < most; };
    if ((args = binary(e, BinaryOp::Add)) && constant(1)) {
      least -= args[1]->ivalue;
    } else if ((args = binary(e, BinaryOp::Sub)) && constant(1)) {
      least += args[1]->ivalue;
    } else if ((args = binary(e, BinaryOp::Mul)) && constant(1) && args[1]->ivalue > 0) {
      least = ceil_div(least, args[1]->ivalue);
    } else if ((args = binary(e, BinaryOp::FloorDiv)) && constant(1) && args[1]->ivalue > 0 &&
               std::abs(least) < most / args[1]->ivalue) {
      least *= args[1]->ivalue;
    } else if ((args = binary(e, BinaryOp::Min))) {
      add_bound(from, args[1], least);
    } else if ((args = binary(e, BinaryOp::Max)) && constant(1)) {
      if (args[1]->ivalue >= least) return;
    } else {
      break;
    }
    e = Dim(args[0]);
  }
  Condition bound = from;
  bound.a = e, bound.b = imm(least);
  // 8 - h * 2 >= 0 is 4 >= h.
  if (const Dim* args = binary(e, BinaryOp::Sub); args && scalar::is_int(args[0])) {
    const Dim* factors = binary(args[1], BinaryOp::Mul);
    const bool scaled = factors && scalar::is_int(factors[1]) && factors[1]->ivalue > 0;
    const int64_t most = args[0]->ivalue - least, factor = scaled ? factors[1]->ivalue : 1;
    bound.a = imm(-ceil_div(-most, factor)), bound.b = scaled ? factors[0] : args[1];
  }
  if (bound.proven() != true) insert(std::move(bound));
}

void Conditions::add(const Condition& condition) {
  if (condition.proven() == true) return;
  Condition c = condition;
  c.a = scalar::simplify(c.a), c.b = scalar::simplify(c.b);
  if (c.kind == Kind::AtLeast) return add_bound(c, scalar::simplify(c.a - c.b), 0);
  if (c.kind == Kind::Equal) {
    // h == h / 2 * 2 is h % 2 == 0.
    for (bool swapped : {false, true}) {
      const Dim &whole = swapped ? c.b : c.a, &part = swapped ? c.a : c.b;
      const Dim* factors = binary(part, BinaryOp::Mul);
      if (!factors || !scalar::is_int(factors[1]) || factors[1]->ivalue < 2) continue;
      if (scalar::prove_equal(floordiv(whole, Dim(factors[1])), factors[0]) != true) continue;
      Dim divisor = factors[1], number = whole;
      c.kind = Kind::Multiple, c.a = number, c.b = divisor;
      break;
    }
  }
  insert(std::move(c));
}

void Conditions::insert(Condition c) {
  // Conditions that may imply each other share a key: bounds of one size, and its divisors.
  uint64_t key = scalar::hash(c.a) * 4 + static_cast<uint64_t>(c.kind);
  if (c.kind == Kind::Equal || !scalar::is_int(c.b)) key = key * 31 + scalar::hash(c.b);
  for (size_t i : index_[key]) {
    Condition& known = list_[i];
    if (known.kind != c.kind || !scalar::equal(known.a, c.a)) continue;
    if (scalar::equal(known.b, c.b)) return;
    if (c.kind == Kind::Equal || !scalar::is_int(known.b) || !scalar::is_int(c.b)) continue;
    bool bound = c.kind == Kind::AtLeast;
    int64_t had = known.b->ivalue, now = c.b->ivalue;
    if (bound ? now <= had : had % now == 0) return;
    if (!bound && now % had != 0) continue;
    known = std::move(c);  // implies the other
    return;
  }
  index_[key].push_back(list_.size());
  list_.push_back(std::move(c));
}

std::vector<Condition> Conditions::list() const {
  // x % a == 0 and x / a % b == 0 are x % (a * b) == 0. Deep networks halve a few times, so there are only a few.
  constexpr size_t limit = 64;
  std::vector<Condition> out = list_;
  std::vector<size_t> multiples;
  for (size_t i = 0; i < out.size(); ++i)
    if (out[i].kind == Kind::Multiple && scalar::is_int(out[i].b)) multiples.push_back(i);
  if (multiples.size() > limit) return out;
  std::vector<bool> joined(out.size());
  for (bool again = true; again;) {
    again = false;
    for (size_t i : multiples)
      for (size_t k : multiples) {
        Condition &x = out[i], &y = out[k];
        if (i == k || joined[i] || joined[k] || !binary(y.a, BinaryOp::FloorDiv)) continue;
        if (scalar::prove_equal(y.a, floordiv(x.a, x.b)) != true) continue;
        x.b = imm(x.b->ivalue * y.b->ivalue), x.op = y.op, x.span = y.span;
        joined[k] = again = true;
      }
  }
  size_t kept = 0;
  for (size_t i = 0; i < out.size(); ++i)
    if (!joined[i] && kept++ != i) out[kept - 1] = std::move(out[i]);
  out.resize(kept);
  return out;
}

}  // namespace relay::op
