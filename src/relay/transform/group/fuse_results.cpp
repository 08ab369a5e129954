#include "relay/transform/group/fuse_results.h"

#include <algorithm>
#include <set>

#include "relay/ir/attribute_names.h"
#include "relay/ir/rewrite.h"
#include "relay/op/op.h"
#include "relay/te/te.h"
#include "relay/transform/group/dataflow.h"

namespace relay::transform {

using namespace ir;
using op::Fusion;

namespace {

bool same_shape(const Type& a, const Type& b) {
  const TensorType *x = as<TensorType>(a), *y = as<TensorType>(b);
  return x && y && x->shape.size() == y->shape.size() &&
         std::equal(x->shape.begin(), x->shape.end(), y->shape.begin(),
                    [](const Dim& m, const Dim& n) { return !scalar::is_any(m) && scalar::equal(m, n); });
}

const op::OpDef* operator_of(const Call& call) {
  const Op* op = as<Op>(call.callee);
  return op ? op->def : nullptr;
}

// True if the call computes each element of its result, which has the shape of its first argument, from the element at
// the same position and from reductions over whole rows: softmax, layer_norm.
bool computes_rows(const Call& call) {
  const op::OpDef* def = operator_of(call);
  if (!def || def->fusion != Fusion::OutputFusable || call.args.empty() || !same_shape(call.args[0]->type, call.type))
    return false;
  te::Tensors inputs;
  for (const Expr& a : call.args) {
    const TensorType* t = as<TensorType>(a->type);
    if (!t) return false;
    inputs.push_back(te::placeholder("in", t->shape, t->dtype));
  }
  const te::Tensors outputs = def->compute(call.attrs, inputs, call.type);
  if (outputs.size() != 1) return false;
  bool reduces = false, is_rows = true;
  for (const te::Tensor& t : te::topological(outputs)) {
    if (t->is_placeholder()) continue;
    if (!t->body || t->before) return false;
    const bool is_reduction = t->combiner != te::Combiner::None;
    reduces |= is_reduction;
    te::visit(*t, [&](const scalar::Expr& e) {
      if (e->kind != scalar::Kind::Load) return;
      const bool of_data = e->source.get() == static_cast<const scalar::Source*>(inputs[0].get());
      const bool of_weights = !of_data && std::any_of(inputs.begin(), inputs.end(), [&](const te::Tensor& in) {
        return e->source.get() == static_cast<const scalar::Source*>(in.get());
      });
      if (is_reduction) is_rows &= !of_weights;
      for (size_t d = 0; of_data && d < e->args.size(); ++d)
        is_rows &= is_reduction ? scalar::is_var(e->args[d]) : d < t->axes.size() && e->args[d] == t->axes[d].var;
    });
  }
  return reduces && is_rows;
}

// The class of a group by the elements of a parameter that its calls read: at the same position, rows, or others.
enum class Kind : uint8_t { Elements, Rows, Other };

Kind kind_of(const Function& group, const Type& result) {
  if (!as<TensorType>(result)) return Kind::Other;
  Kind kind = Kind::Elements;
  visit(group.body, [&](const Expr& e) {
    const Call* call = as<Call>(e);
    const op::OpDef* def = call ? operator_of(*call) : nullptr;
    if (as<Tuple>(e) || as<TupleGetItem>(e) || (call && !def)) kind = Kind::Other;
    if (!def || kind == Kind::Other) return;
    const bool elements = def->fusion <= Fusion::Broadcast && !def->checked && same_shape(call->type, result);
    if (elements) return;
    kind = kind == Kind::Elements && same_shape(call->type, result) && computes_rows(*call) ? Kind::Rows : Kind::Other;
  });
  return kind;
}

// True if the group reads elements of this parameter, which has the shape of its result, or rows of them.
bool reads_elements(const Function& group, const Var& parameter) {
  bool all = true, any = false;
  visit(group.body, [&](const Expr& e) {
    const Call* call = as<Call>(e);
    if (!call) return;
    for (size_t i = 0; i < call->args.size(); ++i) {
      if (call->args[i].get() != &parameter) continue;
      any = true;
      all &= same_shape(call->args[i]->type, call->type) && (operator_of(*call)->fusion <= Fusion::Broadcast || i == 0);
    }
  });
  return any && all;
}

class ResultFuser {
 public:
  ResultFuser(const FunctionRef& f, int max_group, int max_results)
      : flow_(f, /*of_lets=*/true), max_group_(max_group), max_results_(max_results) {
    units_.resize(flow_.nodes.size());
    users_.resize(flow_.nodes.size());
  }

  FunctionRef run(const FunctionRef& unchanged) {
    find_units();
    bool some = false;
    for (int n = 0; n < flow_.size(); ++n) {
      if (!may_be_shared(n)) continue;
      int last = is_unit(n) ? n : -1;  // the last group that reads the array or produces it
      for (int user : users_[at(n)]) {
        if (!is_unit(user) || !reads(user, n)) continue;
        const bool joined = last >= 0 && root(last) != root(user) && can_join(root(last), root(user));
        if (joined) join(root(last), root(user)), some = true;
        if (last < 0 || joined || !is_unit(n)) last = user;
      }
    }
    return some ? rebuild() : unchanged;
  }

 private:
  struct Unit {
    Kind kind = Kind::Other;  // for a root: of all members
    int size = 0, parent = -1;
    std::vector<int> members{};  // for a root, ascending
  };
  static size_t at(int n) { return static_cast<size_t>(n); }
  Unit& unit(int n) { return units_[at(n)]; }
  const Expr& expr(int n) const { return flow_.nodes[at(n)]; }
  bool is_unit(int n) const { return units_[at(n)].parent >= 0; }
  const Function& group(int n) const { return *as<Function>(as<Call>(expr(n))->callee); }

  void find_units() {
    NodeSet named;  // values of lets: other nodes refer to them by their variables
    for (const Expr& e : flow_.nodes)
      if (const Let* let = as<Let>(e)) named.insert(let->value.get());
    for (int n = 0; n < flow_.size(); ++n) {
      const Expr& e = expr(n);
      std::set<int> read;
      for_each_open_child(e, [&](const Expr& c) { read.insert(flow_.index(c)); });
      for (int r : read) users_[at(r)].push_back(n);
      const Call* call = as<Call>(e);
      const Function* f = call ? as<Function>(call->callee) : nullptr;
      if (!f || !f->is_primitive() || f->attrs.count(attribute::compiler) || named.contains(e.get())) continue;
      const Kind kind = kind_of(*f, e->type);
      if (kind == Kind::Other) continue;
      int size = 0;
      visit(f->body, [&](const Expr& inner) { size += as<Call>(inner) ? 1 : 0; });
      units_[at(n)] = {kind, size, n, {n}};
    }
    // Nodes used in several scopes belong to the first of them: the other scopes would also compute everything that is
    // joined with them.
    for (int n = 0; n < flow_.size(); ++n)
      for (int user : users_[at(n)])
        if (flow_.scopes[at(user)] != flow_.scopes[at(n)]) units_[at(n)] = {};
  }

  // True for an array that several groups may share. Constants do not count: they are available everywhere.
  bool may_be_shared(int n) const { return as<TensorType>(expr(n)->type) && !as<Constant>(expr(n)); }

  bool reads(int user, int n) const {
    const Call& call = *as<Call>(expr(user));
    if (!same_shape(call.type, expr(n)->type)) return false;
    for (size_t i = 0; i < call.args.size(); ++i)
      if (call.args[i] == expr(n) && !reads_elements(group(user), *group(user).params[i])) return false;
    return true;
  }

  int root(int n) {
    while (unit(n).parent != n) n = unit(n).parent = unit(unit(n).parent).parent;
    return n;
  }

  // True if something outside of the groups a and b reads it.
  bool is_result(int n, int a, int b) {
    return std::any_of(users_[at(n)].begin(), users_[at(n)].end(),
                       [&](int user) { return !is_unit(user) || (root(user) != a && root(user) != b); });
  }

  bool can_join(int a, int b) {
    const Unit &x = unit(a), &y = unit(b);
    if (x.size + y.size > max_group_ || (x.kind == Kind::Rows && y.kind == Kind::Rows)) return false;
    int results = 0;
    for (const Unit* u : {&x, &y})
      for (int n : u->members) {
        if (flow_.scopes[at(n)] != flow_.scopes[at(a)] || !same_shape(expr(n)->type, expr(a)->type)) return false;
        results += is_result(n, a, b);
      }
    return results >= 2 && results <= max_results_ && !leads_around(a, b) && !leads_around(b, a);
  }

  // No node at this position or before it depends on `from`. Nodes read only earlier nodes, but a joined group is read
  // from its first member on and reads inputs up to its last one, so overlapping groups lead from one to the next. -1,
  // which bounds nothing, after `most` groups.
  int bound(int from, int to) const {
    constexpr int most = 256;
    const int first = units_[at(from)].members.front(), other = units_[at(to)].members.front();
    int before = first, seen = 0;
    for (auto span = spans_.rbegin(); span != spans_.rend() && span->first > before; ++span) {
      if (++seen > most) return -1;
      if (span->second != first && span->second != other) before = std::min(before, span->second);
    }
    return before;
  }

  // True if something outside of both has to be computed after `from` and before `to`, or if that is not known within
  // `max_visited` nodes.
  bool leads_around(int from, int to) {
    constexpr int max_visited = 256;
    const int before = bound(from, to);
    std::set<int> seen;
    std::vector<int> work;
    auto add_inputs = [&](int n, bool direct) {  // for `to` itself, its reads of `from` stay inside
      for_each_open_child(expr(n), [&](const Expr& c) {
        const int in = flow_.index(c);
        const int of = is_unit(in) ? root(in) : in;
        if (direct && (of == from || of == to)) return;
        if (seen.insert(of).second) work.push_back(of);
      });
    };
    for (int n : unit(to).members) add_inputs(n, true);
    for (int visited = 0; !work.empty(); ++visited) {
      const int n = work.back();
      work.pop_back();
      if (n == from || visited == max_visited) return true;
      if (n == to) continue;
      if (!is_unit(n)) {
        if (n > before) add_inputs(n, false);
      } else if (unit(n).members.back() > before) {
        for (int m : unit(n).members) add_inputs(m, false);
      }
    }
    return false;
  }

  void join(int a, int b) {
    Unit &x = unit(a), &y = unit(b);
    std::vector<int> members;
    std::merge(x.members.begin(), x.members.end(), y.members.begin(), y.members.end(), std::back_inserter(members));
    for (const Unit* u : {&x, &y})
      if (u->members.size() > 1) spans_.erase({u->members.back(), u->members.front()});
    x.members = std::move(members), y.members.clear();
    spans_.insert({x.members.back(), x.members.front()});
    x.size += y.size, x.kind = std::max(x.kind, y.kind);
    y.parent = a;
  }

  // --- rebuilding the program ----------------------------------------------------------------------------------------

  // Groups of several members are placed where the last of their inputs is available: their results may be used before
  // the position of the last member.
  FunctionRef rebuild() {
    result_.resize(flow_.nodes.size());
    std::vector<bool> waits(flow_.nodes.size());  // by group, or node that is none
    std::vector<std::pair<int, bool>> work{{flow_.size() - 1, false}};
    while (!work.empty()) {
      const auto [n, ready] = work.back();
      work.pop_back();
      if (result_[at(n)]) continue;
      const std::vector<int> members = is_unit(n) ? unit(root(n)).members : std::vector<int>{n};
      if (!ready) {
        const size_t own = at(members[0]);
        RELAY_CHECK(!waits[own], "groups of node {} wait for each other", n);
        waits[own] = true;
        work.push_back({n, true});
        for (int m : members)
          for_each_open_child(expr(m), [&](const Expr& c) {
            const int in = flow_.index(c);
            if (!result_[at(in)] && std::find(members.begin(), members.end(), in) == members.end())
              work.push_back({in, false});
          });
      } else if (members.size() > 1) {
        make_group(members);
      } else {
        const Expr& e = expr(n);
        Exprs children;
        for_each_open_child(e, [&](const Expr& c) { children.push_back(result_[at(flow_.index(c))]); });
        result_[at(n)] = is_closed(e) ? e : with_children(e, children);
      }
    }
    return FunctionRef(as<Function>(result_.back()));
  }

  void make_group(const std::vector<int>& members) {
    NodeMap<Expr> inner;  // arguments, and calls of the members -> their replacements in the function
    std::vector<VarRef> params;
    Exprs args;
    for (int n : members) {
      const Call& call = *as<Call>(expr(n));
      VarMap values;
      for (size_t i = 0; i < call.args.size(); ++i) {
        const Expr& a = call.args[i];
        if (!inner.find(a.get())) {
          VarRef p = var(format("p{}", params.size()), a->type, a->span);
          p->type = a->type;
          params.push_back(p), args.push_back(result_[at(flow_.index(a))]);
          inner[a.get()] = p;
        }
        values[group(n).params[i].get()] = *inner.find(a.get());
      }
      inner[expr(n).get()] = substitute(group(n).body, values);
    }
    Exprs bodies;
    std::vector<int> results;
    Types types, param_types;
    const int own = root(members[0]);
    for (int n : members)
      if (is_result(n, own, own))
        results.push_back(n), bodies.push_back(*inner.find(expr(n).get())), types.push_back(expr(n)->type);
    const Span& span = expr(members.back())->span;
    const bool several = results.size() > 1;
    const Type type = several ? tuple_type(types) : types[0];
    Expr body = several ? tuple(std::move(bodies), span) : bodies[0];
    body->type = type;
    for (const VarRef& p : params) param_types.push_back(p->annotation);
    FunctionRef f = function(std::move(params), std::move(body), type, {}, {{attribute::primitive, int64_t{1}}}, span);
    f->type = func_type(std::move(param_types), type);
    Expr made = call(f, std::move(args), {}, span);
    made->type = type;
    for (size_t i = 0; i < results.size(); ++i) {
      Expr& place = result_[at(results[i])];
      place = several ? get(made, static_cast<int64_t>(i)) : made;
      place->type = types[i];
    }
    for (int n : members)
      if (!result_[at(n)]) result_[at(n)] = made;  // it has no other readers
  }

  Dataflow flow_;
  int max_group_, max_results_;
  std::vector<Unit> units_;              // by node; nodes that are not units have no parent
  std::set<std::pair<int, int>> spans_;  // the last and the first member of each joined group
  std::vector<std::vector<int>> users_;  // by node, ascending
  std::vector<Expr> result_;
};

}  // namespace

FunctionRef fuse_results(const FunctionRef& f, int max_group, int max_results) {
  return max_results < 2 ? f : ResultFuser(f, max_group, max_results).run(f);
}

}  // namespace relay::transform
