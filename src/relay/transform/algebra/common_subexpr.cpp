// common_subexpr: merges calls of one operator with the same arguments and attributes into one node, computed once.
//
//   add(exp(%x), exp(%x))        becomes        %0 = exp(%x); add(%0, %0)
//
// Equal constants of up to 4 Ki elements are merged. A node is replaced only by one of its own or an enclosing scope,
// so a computation in one branch of an `if` is never moved before it. Calls for which PassContext::skip holds are
// unchanged.
#include <unordered_map>

#include "relay/ir/rewrite.h"
#include "relay/op/op.h"
#include "relay/transform/group/dataflow.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;

static constexpr int64_t max_elements = 4096;
static constexpr int max_scopes = 16;  // the number of enclosing scopes that are searched

static uint64_t mix(uint64_t h, uint64_t v) {
  h = (h ^ v) * 0x9E3779B97F4A7C15ull;
  return h ^ h >> 32;
}

// Equal keys suggest, and different keys disprove, that nodes compute the same; 0 excludes the node. The children are
// already unique, so they are compared by identity.
static uint64_t key_of(const Expr& e) {
  uint64_t h = static_cast<uint64_t>(e->kind) + 1;
  switch (e->kind) {
    case ExprKind::Constant: {
      const Tensor& t = as<Constant>(e)->value;
      return t && t.elements() <= max_elements ? mix(h, hash(t)) : 0;
    }
    case ExprKind::Call: {
      const Call* call = as<Call>(e);
      const Op* op = as<Op>(call->callee);
      if (!op || call->args.empty() || starts_with(op->name, "random.")) return 0;
      h = mix(mix(h, reinterpret_cast<uintptr_t>(op)), hash(call->attrs));
      for (const Expr& a : call->args) h = mix(h, reinterpret_cast<uintptr_t>(a.get()));
      return h;
    }
    case ExprKind::Tuple:
      for (const Expr& a : as<Tuple>(e)->elements) h = mix(h, reinterpret_cast<uintptr_t>(a.get()));
      return h;
    case ExprKind::TupleGetItem:
      return mix(mix(h, reinterpret_cast<uintptr_t>(as<TupleGetItem>(e)->tuple.get())),
                 static_cast<uint64_t>(as<TupleGetItem>(e)->index));
    default: return 0;
  }
}

static bool same(const Expr& a, const Expr& b) {
  if (a->kind != b->kind) return false;
  switch (a->kind) {
    case ExprKind::Constant: return equal(as<Constant>(a)->value, as<Constant>(b)->value);
    case ExprKind::Call: {
      const Call *x = as<Call>(a), *y = as<Call>(b);
      return x->callee == y->callee && x->args == y->args && equal(x->attrs, y->attrs);
    }
    case ExprKind::Tuple: return as<Tuple>(a)->elements == as<Tuple>(b)->elements;
    case ExprKind::TupleGetItem:
      return as<TupleGetItem>(a)->tuple == as<TupleGetItem>(b)->tuple &&
             as<TupleGetItem>(a)->index == as<TupleGetItem>(b)->index;
    default: return false;
  }
}

Result<Module> common_subexpr(const Module& module, PassContext& context) {
  return for_each_function(module, [&](const FunctionRef& f) {
    Dataflow flow(f);
    std::unordered_multimap<uint64_t, Expr> known;
    std::vector<Expr> result(flow.nodes.size());
    Exprs children;
    for (int i = 0; i < flow.size(); ++i) {
      const Expr& before = flow.nodes[static_cast<size_t>(i)];
      children.clear();
      for_each_open_child(before,
                          [&](const Expr& c) { children.push_back(result[static_cast<size_t>(flow.index(c))]); });
      Expr now = is_closed(before) ? before : with_children(before, children);
      Expr& place = result[static_cast<size_t>(i)];
      place = now;
      uint64_t key = key_of(now);
      if (key == 0 || (context.hooks.skip && now->kind == ExprKind::Call && context.hooks.skip(now))) continue;
      int steps = 0;
      for (int scope = flow.scopes[static_cast<size_t>(i)]; scope >= 0 && steps < max_scopes && place == now;
           scope = flow.scope_parents[static_cast<size_t>(scope)], ++steps) {
        auto [begin, end] = known.equal_range(mix(key, static_cast<uint64_t>(scope)));
        for (; begin != end; ++begin)
          if (same(begin->second, now)) place = begin->second;
      }
      if (!(place == now)) ++context.applied[format("{} is shared", name_of(now))];
      if (place == now) known.emplace(mix(key, static_cast<uint64_t>(flow.scopes[static_cast<size_t>(i)])), now);
    }
    return FunctionRef(as<Function>(result.back()));
  });
}

}  // namespace relay::transform
