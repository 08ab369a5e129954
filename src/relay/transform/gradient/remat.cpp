// remat: recomputes cheap values where they are used late, so that less memory is needed in between (rematerialisation;
// Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016).
//
//   %0 = exp(%x);                                      %0 = exp(%x);
//   %1 = nn.dense(%0, %w);                 becomes     %1 = nn.dense(%0, %w);
//   ...                                                ...
//   add(%9, %0)                                        add(%9, exp(%x))
//
// The memory in use at each time is estimated for values in the order of evaluation, each alive from its computation to
// its last use; parameters and constants are always in memory. At the peak, the pass selects values that are needed
// later but not there, and that an elementwise, broadcast or injective operator computes from values still available at
// their next use. The later uses get a separate call. That is repeated while it helps, or until at most remat.budget
// bytes are needed. fuse_ops places such a call in the kernels of its users, so the pass runs directly before fuse_ops:
// common_subexpr would merge the calls. Values of symbolic sizes, those inside of branches and functions, and those
// bound by let are unchanged.
#include <algorithm>

#include "relay/ir/rewrite.h"
#include "relay/op/op.h"
#include "relay/transform/group/dataflow.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;

namespace {

constexpr int most_rounds = 64;

// The size in bytes; 0 if empty or unknown.
int64_t bytes_of(const Type& type) {
  if (const TupleType* t = as<TupleType>(type)) {
    int64_t sum = 0;
    for (const Type& field : t->fields) sum += bytes_of(field);
    return sum;
  }
  const TensorType* t = as<TensorType>(type);
  int64_t bytes = t ? t->dtype.bytes() : 0;
  for (size_t i = 0; t && i < t->shape.size(); ++i)
    bytes = scalar::is_int(t->shape[i]) ? bytes * t->shape[i]->ivalue : 0;
  return bytes;
}

// The intervals in which the values of a function are in memory.
struct Lifetimes {
  explicit Lifetimes(const FunctionRef& f) : flow(f), body(flow.index(f->body)) {
    const size_t count = flow.nodes.size();
    users.resize(count), last_use.assign(count, -1), live.assign(count, 0);
    for (int n = flow.size() - 1; n >= 0; --n) {
      // The operands of a tuple, a projection or a let live as long as it does.
      const int until = is_alias(node(n)) || n == flow.size() - 1 ? std::max(n, last_use[at(n)]) : n;
      for_each_open_child(node(n), [&](const Expr& child) {
        const int c = flow.index(child);
        users[at(c)].push_back(n);
        last_use[at(c)] = std::max(last_use[at(c)], until);
      });
    }
    std::vector<int64_t> change(count + 1, 0);
    for (int n = 0; n < flow.size(); ++n) {
      if (!is_stored(node(n)) || last_use[at(n)] < 0) continue;
      change[at(n)] += bytes_of(node(n)->type);
      change[at(last_use[at(n)]) + 1] -= bytes_of(node(n)->type);
    }
    int64_t now = 0;
    for (int n = 0; n < flow.size(); ++n) {
      live[at(n)] = now += change[at(n)];
      if (live[at(n)] > most) most = live[at(n)], peak = n;
    }
  }

  static size_t at(int n) { return static_cast<size_t>(n); }
  const Expr& node(int n) const { return flow.nodes[at(n)]; }
  static bool is_alias(const Expr& e) { return e->kind != ExprKind::Call; }
  static bool is_stored(const Expr& e) { return e->kind == ExprKind::Call; }

  // True if the value is computed in the body itself, not in a branch or an inner function.
  bool is_in_body(int n) const { return flow.scopes[at(n)] == flow.scopes[at(body)]; }

  Dataflow flow;
  int body;
  std::vector<std::vector<int>> users;  // later ones first
  std::vector<int> last_use;
  std::vector<int64_t> live;
  int64_t most = 0;
  int peak = 0;
};

// True if it takes few operations per element.
bool is_cheap(const Expr& e) {
  const Call* call = as<Call>(e);
  const Op* op = call ? as<Op>(call->callee) : nullptr;
  return op && op->def->fusion <= op::Fusion::Injective && !op->def->by_executor && as<TensorType>(e->type);
}

// The first use after the peak, where the value would be recomputed; -1 if that is impossible or would not help.
int next_use(const Lifetimes& l, int n) {
  if (n >= l.peak || l.last_use[Lifetimes::at(n)] <= l.peak || !l.is_in_body(n)) return -1;
  if (!is_cheap(l.node(n)) || bytes_of(l.node(n)->type) == 0) return -1;
  int next = l.flow.size();
  for (int u : l.users[Lifetimes::at(n)]) {
    // For users that pass it on it is unknown when they are needed; the peak itself must not use it.
    if (l.node(u)->kind != ExprKind::Call || !l.is_in_body(u) || u == l.peak) return -1;
    if (u > l.peak) next = std::min(next, u);
  }
  return next == l.flow.size() ? -1 : next;
}

// True for operands that are in memory at a place anyway: parameters, constants, and values that are used there or
// later.
bool is_there(const Lifetimes& l, const Expr& operand, int place) {
  if (operand->kind == ExprKind::Constant || operand->kind == ExprKind::Op || operand->kind == ExprKind::Var)
    return true;
  return operand->kind == ExprKind::Call && l.last_use[Lifetimes::at(l.flow.index(operand))] >= place;
}

// The function with values dropped before the peak and recomputed after it; the same function if there are none.
FunctionRef without_peak(const FunctionRef& f, const Lifetimes& l) {
  NodeMap<int> dropped;  // by value: its next use
  for (int n = 0; n < l.peak; ++n) {
    const int next = next_use(l, n);
    if (next < 0) continue;
    bool there = true;
    for (const Expr& arg : as<Call>(l.node(n))->args)
      there = there && !dropped.contains(arg.get()) && is_there(l, arg, next);
    if (there) dropped[l.node(n).get()] = next;
  }
  if (dropped.size() == 0) return f;
  NodeMap<Expr> recomputed;
  const Expr out = rewrite(f, [&](const Expr& before, const Expr& now) -> Expr {
    if (dropped.contains(before.get())) {  // `recomputed` is made from the new arguments, which are the same nodes
      const Call& call = *as<Call>(now);
      recomputed[before.get()] = ir::call(call.callee, call.args, call.attrs, now->span);
      recomputed[before.get()]->type = before->type;
    }
    const int user = l.flow.index(before);
    if (before->kind != ExprKind::Call || user <= l.peak) return now;
    Exprs old, children;
    for_each_child(before, [&](const Expr& child) { old.push_back(child); });
    bool changed = false;
    size_t i = 0;
    for_each_child(now, [&](const Expr& child) {
      const Expr* copy = recomputed.find(old[i++].get());
      children.push_back(copy ? *copy : child);
      changed = changed || copy;
    });
    return changed ? with_children(now, children) : now;
  });
  return FunctionRef(as<Function>(out));
}

}  // namespace

Result<Module> remat(const Module& module, PassContext& context) {
  const int64_t budget = context.count("remat.budget");
  return for_each_function(module, [&](const FunctionRef& f) {
    if (is_closed(f)) return f;
    FunctionRef best = f;
    int64_t least = -1;
    for (int round = 0; round < most_rounds; ++round) {
      const Lifetimes lifetimes(best);
      if (least >= 0 && lifetimes.most >= least) break;
      least = lifetimes.most;
      if (least <= budget) break;
      const FunctionRef next = without_peak(best, lifetimes);
      if (next == best || Lifetimes(next).most >= least) break;
      best = next;
    }
    return best;
  });
}

}  // namespace relay::transform
