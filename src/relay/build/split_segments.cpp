#include "relay/build/split_segments.h"

#include <algorithm>

#include "relay/build/batch_calls.h"
#include "relay/ir/attribute_names.h"
#include "relay/ir/rewrite.h"

namespace relay::build {

using namespace ir;

namespace {

Expr typed(Expr e, const Type& type) {
  e->type = type;
  return e;
}

// Operands inside a segment, without callees.
template <class F>
void for_each_operand(const Expr& e, F f) {
  for_each_child(e, [&](const Expr& c) {
    if (c->kind != ExprKind::Function && c->kind != ExprKind::Op) f(c);
  });
}

// The nodes inside a segment from which `roots` are computed, each once, operands first; not below nodes of `without`.
Exprs nodes_below(const Exprs& roots, const NodeSet& without) {
  NodeSet seen;
  Exprs out;
  std::vector<std::pair<Expr, bool>> work;
  for (const Expr& root : roots) {
    work.emplace_back(root, false);
    while (!work.empty()) {
      auto [e, left] = work.back();
      work.pop_back();
      if (left) {
        out.push_back(e);
      } else if (seen.insert(e.get())) {
        work.emplace_back(e, true);
        if (!without.contains(e.get())) for_each_operand(e, [&](const Expr& c) { work.emplace_back(c, false); });
      }
    }
  }
  return out;
}

int64_t constant_bytes(const Expr& e) {
  const Call* call = as<Call>(e);
  int64_t bytes = 0;
  if (call && as<TensorType>(e->type))
    for (const Expr& a : call->args)
      if (const Constant* c = as<Constant>(a)) bytes += static_cast<int64_t>(c->value.bytes());
  return bytes;
}

// A part of a split segment. Values are numbered: the parameters of the original segment, then the results of earlier
// pieces.
struct Piece {
  FunctionRef segment;
  std::vector<size_t> args;
  std::vector<Type> results;  // of the last one: the segment's results
};

class Splitter {
 public:
  Splitter(int64_t least, const lower::LowerOptions& lowering) : least_(least), how_(lowering) {}

  // Empty if the segment is not split.
  Result<std::vector<Piece>> split(const FunctionRef& segment) {
    std::vector<Piece> pieces;
    body_ = segment->body;
    values_.assign(segment->params.begin(), segment->params.end());
    found_.clear();
    for (Exprs heavy = find_heavy(); !heavy.empty(); heavy = find_heavy()) {
      const Exprs results = results_of(heavy);
      if (results.empty()) continue;
      Piece piece{segment_of(results), params_of(results), {}};
      const size_t known = values_.size();
      VarMap made;
      for (const Expr& r : results) {
        VarRef v = var("part", nullptr, r->span);
        v->type = r->type;
        piece.results.push_back(r->type);
        values_.push_back(v);
        made[r.get()] = v;
      }
      Expr rest = rewrite(body_, [&](const Expr& before, const Expr& now) -> Expr {
        VarMap::const_iterator it = made.find(before.get());
        return it == made.end() ? now : it->second;
      });
      RELAY_ASSIGN(CallCost cost, cost_of_call(piece.segment, how_));
      RELAY_ASSIGN(CallCost cost_of_rest, cost_of_call(segment_of({rest}), how_));
      if (cost.constant_bytes < least_ || !cost.may_wait() || !cost_of_rest.may_wait()) {
        values_.resize(known);
        continue;
      }
      pieces.push_back(std::move(piece));
      body_ = rest;
    }
    if (!pieces.empty()) pieces.push_back({segment_of({body_}), params_of({body_}), {segment->body->type}});
    return pieces;
  }

 private:
  std::vector<size_t> params_of(const Exprs& results) const {
    NodeSet below;
    for (const Expr& e : nodes_below(results, {}))
      if (e->kind == ExprKind::Var) below.insert(e.get());
    std::vector<size_t> out;
    for (size_t i = 0; i < values_.size(); ++i)
      if (below.contains(values_[i].get())) out.push_back(i);
    return out;
  }

  FunctionRef segment_of(const Exprs& results) const {
    std::vector<VarRef> params;
    VarMap inside;
    Types taken, given;
    for (size_t i : params_of(results)) {
      const VarRef& v = values_[i];
      params.push_back(var(v->name, v->type, v->span));
      params.back()->type = v->type;
      inside[v.get()] = params.back();
      taken.push_back(v->type);
    }
    Expr body = results[0];
    if (results.size() > 1) {
      for (const Expr& r : results) given.push_back(r->type);
      body = typed(tuple(results, body->span), tuple_type(std::move(given)));
    }
    Type type = body->type;
    FunctionRef f =
        function(params, substitute(body, inside), type, {}, {{ir::attribute::segment, int64_t{1}}}, body->span);
    f->type = func_type(std::move(taken), type);
    return f;
  }

  // The calls on large constants that need only some of the segment's arguments, limited to those that need the fewest.
  // No call is found twice.
  Exprs find_heavy() {
    const size_t all = params_of({body_}).size();
    std::vector<size_t> least;
    Exprs heavy;
    for (const Expr& e : nodes_below({body_}, {})) {
      if (constant_bytes(e) < least_ || std::find(found_.begin(), found_.end(), e) != found_.end()) continue;
      std::vector<size_t> needs = params_of({e});
      if (needs.empty() || needs.size() == all || (!heavy.empty() && needs.size() > least.size())) continue;
      if (heavy.empty() || needs.size() < least.size()) heavy.clear(), least = needs;
      if (needs == least) heavy.push_back(e);
    }
    found_.insert(found_.end(), heavy.begin(), heavy.end());
    return heavy;
  }

  // The values that the rest of the segment reads of these calls and their operands. The rest computes values without
  // arguments itself. Empty if a value is not a tensor.
  Exprs results_of(const Exprs& heavy) const {
    NodeSet varying, part;
    const Exprs all = nodes_below({body_}, {});
    for (const Expr& e : all) {
      bool varies = e->kind == ExprKind::Var;
      for_each_operand(e, [&](const Expr& c) { varies |= varying.contains(c.get()); });
      if (varies) varying.insert(e.get());
    }
    for (const Expr& e : nodes_below(heavy, {}))
      if (e->kind != ExprKind::Var && varying.contains(e.get())) part.insert(e.get());
    for (const Expr& e : all)  // a field of a call's results belongs to the call
      if (const TupleGetItem* item = as<TupleGetItem>(e); item && part.contains(item->tuple.get()))
        part.insert(e.get());
    Exprs results;
    for (const Expr& e : nodes_below({body_}, part)) {
      if (!part.contains(e.get())) continue;
      if (!as<TensorType>(e->type)) return {};
      results.push_back(e);
    }
    return results;
  }

  const int64_t least_;
  const lower::LowerOptions& how_;
  Expr body_;
  std::vector<VarRef> values_;
  Exprs found_;
};

// The calls of the pieces with these arguments.
Expr call_pieces(const std::vector<Piece>& pieces, Exprs values, const Expr& was) {
  std::vector<std::pair<VarRef, Expr>> bindings;
  auto bind = [&](const Expr& value, const char* name) {
    VarRef v = var(name, nullptr, was->span);
    v->type = value->type;
    bindings.emplace_back(v, value);
    return v;
  };
  Expr made;
  for (const Piece& p : pieces) {
    Exprs args;
    for (size_t i : p.args) args.push_back(values[i]);
    made = typed(call(p.segment, std::move(args), {}, was->span), p.segment->body->type);
    if (&p == &pieces.back()) break;
    VarRef all = bind(made, "part");
    for (size_t i = 0; i < p.results.size(); ++i)
      values.push_back(p.results.size() == 1
                           ? all
                           : bind(typed(get(all, static_cast<int64_t>(i), was->span), p.results[i]), "part"));
  }
  for (size_t i = bindings.size(); i-- > 0;)
    made = typed(let(bindings[i].first, bindings[i].second, made, was->span), was->type);
  return made;
}

// let %s = (let %a = %v; %b); %c   becomes   let %a = %v; let %s = %b; %c
Expr flat(const Expr& e) {
  const Let* outer = as<Let>(e);
  if (!outer || !as<Let>(outer->value)) return e;
  std::vector<const Let*> inner;
  Expr value = outer->value;
  for (; const Let* let = as<Let>(value); value = let->body) inner.push_back(let);
  Expr out = typed(let(outer->var, value, outer->body, e->span), e->type);
  for (size_t i = inner.size(); i-- > 0;)
    out = typed(let(inner[i]->var, inner[i]->value, out, inner[i]->span), e->type);
  return out;
}

}  // namespace

Result<Module> split_segments(const Module& module, BatchCalls batch, const lower::LowerOptions& lowering) {
  if (batch == BatchCalls::Never) return module;
  constexpr int64_t worth = 128 << 10;  // bytes of constants; reading this much takes several times the overhead of a
                                        // call
  NodeSet repeated = repeated_segments(module);
  Splitter splitter(batch == BatchCalls::WhereverLegal ? 1 : worth, lowering);
  NodeMap<std::vector<Piece>> pieces;
  Module out = module;
  for (auto& [name, f] : out.functions) {
    Diagnostics errors;
    visit(f->body, [&](const Expr& e) {
      const Function* s = as<Function>(e);
      if (!s || !s->attrs.count(ir::attribute::segment) || pieces.contains(s) || !errors.empty()) return;
      if (batch == BatchCalls::Automatic && !repeated.contains(s)) return;
      Result<std::vector<Piece>> made = splitter.split(FunctionRef(s));
      if (made)
        pieces[s] = std::move(*made);
      else
        errors = made.errors();
    });
    if (!errors.empty()) return errors;
    f = with_body(f, rewrite(f->body, [&](const Expr& e) -> Expr {
                    const Call* call = as<Call>(e);
                    const std::vector<Piece>* made = call ? pieces.find(call->callee.get()) : nullptr;
                    return made && !made->empty() ? call_pieces(*made, call->args, e) : flat(e);
                  }));
  }
  return out;
}

}  // namespace relay::build
