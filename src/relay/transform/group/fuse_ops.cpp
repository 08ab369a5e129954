// fuse_ops: groups calls of operators into primitive functions; each becomes one kernel.
//
//   nn.relu(add(nn.conv2d(%x, %w), %b))
//     becomes   fn (%p0, %p1, %p2, Primitive=1) { nn.relu(add(nn.conv2d(%p0, %p1), %p2)) }(%x, %w, %b)
//
// The method is the paper's. Every operator has a class (op::Fusion); an edge has the class of its user, where a
// broadcast that leaves this operand's shape unchanged counts as elementwise. The immediate post-dominator of a node is
// the first node that everything computed from it flows into. A node is merged with its post-dominator, and with all
// nodes on the paths between, if the classes allow it:
//
//   - a heavy node (conv2d, dense) takes elementwise and broadcast followers along elementwise edges, residual
//     additions too;
//   - elementwise and broadcast nodes join any elementwise ... injective follower, a reduction, or the followers of a
//     heavy node;
//   - injective nodes (transpose, slice, pad, concatenate) join elementwise ... injective followers, in a second phase.
//
// So a group has one result and at most one heavy node. Finally, groups that read the same array are merged into one
// with several results (fuse_results.h). Nodes of different scopes (branches, function bodies) are never merged. Scalar
// constants are placed in the function, everything else becomes a parameter; a tuple argument becomes one parameter per
// field. A qnn.dequantize at the end of a group moves to the groups that read it, so that bytes are stored; so do
// conversions of narrow weights (narrow_weights.h). All data is in flat arrays, each search is bounded by the group
// limit, and dominators are found with jump pointers: the time is O(n log n).
#include <algorithm>
#include <set>

#include "relay/ir/attribute_names.h"
#include "relay/ir/rewrite.h"
#include "relay/op/index/checks.h"
#include "relay/transform/attributes.h"
#include "relay/transform/group/dataflow.h"
#include "relay/transform/group/fuse_results.h"
#include "relay/transform/narrow_weights.h"
#include "relay/transform/pass.h"
#include "relay/typing/typing.h"

namespace relay::transform {

using namespace ir;
using op::Fusion;

namespace {

// True for the zero point 0 of sums in int32, which all of them have.
bool is_zero_of_sums(const Call& call, const Expr& e) {
  auto is_int32 = [](const Expr& x) {
    const TensorType* type = as<TensorType>(x->type);
    return type && type->dtype == DType::int32();
  };
  const Constant* c = as<Constant>(e);
  return c && c->value.rank() == 0 && c->value.at(0) == 0 && is_int32(e) && is_int32(call.args[0]);
}

// True for the zero point of results of qnn.requantize that are not negative, as after ReLU: the least number of int8.
// Kernels that know it need no integers of 64 bits.
bool is_least_number(const Call& call, const Expr& e) {
  const Constant* c = as<Constant>(e);
  const TensorType* result = as<TensorType>(call.type);
  return call.args.size() == 5 && e == call.args[4] && c && c->value.rank() == 0 && result &&
         result->dtype == DType::int8() && c->value.at(0) == INT8_MIN;
}

// Calls f for an operator's arguments, with tuple expressions flattened.
template <class F>
void for_each_operand(const Call& call, F f) {
  for (const Expr& a : call.args)
    if (const Tuple* t = as<Tuple>(a))
      for (const Expr& e : t->elements) f(e);
    else
      f(a);
}

const Call* op_call(const Expr& e) {
  const Call* call = as<Call>(e);
  const Op* op = call ? as<Op>(call->callee) : nullptr;
  return op && !(op->def && op->def->by_executor) ? call : nullptr;
}

// The operands that are checked before the call is computed. They must be arrays, so they are not grouped with the
// call.
std::set<const ExprNode*> checked_operands(const Call& call) {
  const op::OpDef* def = as<Op>(call.callee)->def;
  if (!def || !def->checked) return {};
  Types types;
  Exprs tensors;
  for (const Expr& a : call.args) {
    types.push_back(a->type);
    const Tuple* written = as<Tuple>(a);
    if (const TupleType* t = as<TupleType>(a->type))
      for (size_t k = 0; k < t->fields.size(); ++k) tensors.push_back(written ? written->elements[k] : a);
    else
      tensors.push_back(a);
  }
  std::set<const ExprNode*> out;
  for (const op::CheckedIndices& c : op::checks_of(*def, call.attrs, types))
    if (!c.values) out.insert(tensors[c.input].get());
  return out;
}

bool same_shape(const Type& a, const Type& b) {
  const TensorType *x = as<TensorType>(a), *y = as<TensorType>(b);
  if (!x || !y || x->shape.size() != y->shape.size()) return false;
  for (size_t i = 0; i < x->shape.size(); ++i)
    if (scalar::is_any(x->shape[i]) || !scalar::equal(x->shape[i], y->shape[i])) return false;
  return true;
}

// The post-dominator tree; a node's class towards its parent is the most general edge on the paths there.
struct Dominators {
  struct Entry {
    int parent = -1, jump = -1, depth = 0;
    Fusion to_parent = Fusion::Opaque, to_jump = Fusion::Opaque;
  };
  std::vector<Entry> entries;

  // Inserts n below `parent` (-1 if it has no post-dominator).
  void add(int n, int parent, Fusion edge) {
    Entry& e = at(n);
    if (parent < 0) return;
    const Entry& p = at(parent);
    e.parent = parent, e.depth = p.depth + 1, e.to_parent = edge;
    // Jump twice as far if the parent's two last jumps have the same length.
    bool twice = p.jump >= 0 && at(p.jump).jump >= 0 &&
                 p.depth - at(p.jump).depth == at(p.jump).depth - at(at(p.jump).jump).depth;
    e.jump = twice ? at(p.jump).jump : parent;
    e.to_jump = twice ? std::max({edge, p.to_jump, at(p.jump).to_jump}) : edge;
  }

  // The common ancestor of a and b, or -1; `edge` is raised to the most general class on both paths.
  int meet(int a, int b, Fusion* edge) const {
    while (a != b) {
      if (a < 0 || b < 0) return -1;
      if (at(a).depth < at(b).depth) std::swap(a, b);
      bool deeper = at(a).depth > at(b).depth;
      // The deeper one goes up; on the same level both do, as far as they remain different.
      if (deeper) {
        bool far = at(a).jump >= 0 && at(at(a).jump).depth >= at(b).depth;
        *edge = std::max(*edge, far ? at(a).to_jump : at(a).to_parent);
        a = far ? at(a).jump : at(a).parent;
      } else {
        bool far = at(a).jump >= 0 && at(b).jump >= 0 && at(a).jump != at(b).jump;
        *edge = std::max({*edge, far ? at(a).to_jump : at(a).to_parent, far ? at(b).to_jump : at(b).to_parent});
        a = far ? at(a).jump : at(a).parent, b = far ? at(b).jump : at(b).parent;
      }
    }
    return a;
  }

  Entry& at(int n) { return entries[static_cast<size_t>(n)]; }
  const Entry& at(int n) const { return entries[static_cast<size_t>(n)]; }
};

class Fuser {
 public:
  Fuser(const FunctionRef& f, int max_group, bool reduce_epilogue, bool integer_blocks)
      : flow_(f), conversions_(weight_conversions(f)), max_group_(max_group), reduce_epilogue_(reduce_epilogue) {
    if (integer_blocks) add_data_in_blocks(f, conversions_);
    nodes_.resize(flow_.nodes.size());
  }

  FunctionRef run() {
    find_edges();
    find_dominators();
    for (int phase = 0; phase < 2; ++phase)
      for (int n = 0; n < flow_.size(); ++n) fuse(n, phase);
    return rebuild();
  }

 private:
  struct Edge {
    int user;
    Fusion kind;
  };
  struct Node {
    Fusion kind = Fusion::Opaque;
    bool is_call = false;
    bool escapes = false;  // has a user that is not an operator call of this scope
    std::vector<Edge> users;
    // Union-find; for a root, a description of the group.
    int group = -1, size = 1;
    Fusion group_kind = Fusion::Opaque;
    bool inlined = false;  // computed in the groups of its users
    int stamp = 0;         // the number of the last path search that visited it
  };
  Node& at(int n) { return nodes_[static_cast<size_t>(n)]; }
  const Expr& expr(int n) const { return flow_.nodes[static_cast<size_t>(n)]; }
  int scope(int n) const { return flow_.scopes[static_cast<size_t>(n)]; }

  void find_edges() {
    NodeSet inside_calls;  // tuple expressions that only operators use
    for (int n = 0; n < flow_.size(); ++n) {
      const Expr& e = expr(n);
      Node& node = at(n);
      node.group = n;
      if (const Call* call = op_call(e)) {
        const op::OpDef* def = as<Op>(call->callee)->def;
        node.is_call = true;
        // An operator with several results can only end a group, and followers cannot use its tile.
        bool fusable = def && as<TensorType>(e->type) && !is_conversion(n);
        node.kind = fusable ? def->fusion : Fusion::Opaque;
        node.group_kind = node.kind;
        const std::set<const ExprNode*> checked = checked_operands(*call);
        for_each_operand(*call,
                         [&](const Expr& a) { connect(a, n, e, checked.count(a.get()) ? Fusion::Opaque : node.kind); });
        for (const Expr& a : call->args)
          if (const Tuple* t = as<Tuple>(a)) {
            connect_tuple(a, n);
            node.size = std::max(1, static_cast<int>(t->elements.size() / 2));  // as many as would combine them
          }
      } else if (e->kind != ExprKind::Tuple) {
        for_each_open_child(e, [&](const Expr& c) { escape(c); });
      }
    }
    escape(flow_.nodes.back());
  }

  void connect(const Expr& operand, int user, const Expr& e, Fusion kind) {
    int n = flow_.index(operand);
    if (scope(n) != scope(user) || operand->kind == ExprKind::Tuple) return escape(operand);
    bool stretched = kind == Fusion::Broadcast && !same_shape(operand->type, e->type);
    at(n).users.push_back({user, kind == Fusion::Broadcast && !stretched ? Fusion::Elementwise : kind});
  }
  // A tuple in another scope than its user is constructed there.
  void connect_tuple(const Expr& t, int user) {
    if (scope(flow_.index(t)) != scope(user)) escape(t);
  }
  // Tuple expressions pass it on to their fields (nested tuples too).
  void escape(const Expr& e) {
    std::vector<const Expr*> work{&e};
    while (!work.empty()) {
      const Expr& x = *work.back();
      work.pop_back();
      Node& node = at(flow_.index(x));
      if (node.escapes) continue;
      node.escapes = true;
      if (const Tuple* t = as<Tuple>(x))
        for (const Expr& f : t->elements) work.push_back(&f);
    }
  }

  // Users come after their inputs, so in reverse order the users' positions in the tree are known.
  void find_dominators() {
    tree_.entries.resize(nodes_.size());
    for (int n = flow_.size() - 1; n >= 0; --n) {
      const Node& node = at(n);
      if (node.escapes || node.users.empty()) continue;
      Fusion edge = Fusion::Elementwise;
      int dominator = node.users[0].user;
      for (const Edge& u : node.users) {
        edge = std::max(edge, u.kind);
        dominator = tree_.meet(dominator, u.user, &edge);
        if (dominator < 0) break;
      }
      tree_.add(n, dominator, edge);
    }
  }

  int root(int n) {
    while (at(n).group != n) n = at(n).group = at(at(n).group).group;
    return n;
  }

  // Collects all nodes on the paths from `from` to `to`, both included. Returns false if there are more than a group
  // may hold, one fails the test, or their groups would be too large together.
  bool path(int from, int to, function_ref<bool(Fusion group, bool is_end)> test) {
    path_.clear();
    path_.push_back(from);
    at(from).stamp = ++search_;
    int total = 0;
    for (size_t i = 0; i < path_.size(); ++i) {
      int n = path_[i];
      if (n != from && !test(at(root(n)).group_kind, n == to)) return false;
      if (n == to) continue;
      for (const Edge& u : at(n).users) {
        if (at(u.user).stamp == search_) continue;
        at(u.user).stamp = search_;
        path_.push_back(u.user);
        if (static_cast<int>(path_.size()) > max_group_) return false;
      }
    }
    roots_.clear();
    for (int n : path_) roots_.push_back(root(n));
    std::sort(roots_.begin(), roots_.end());
    roots_.erase(std::unique(roots_.begin(), roots_.end()), roots_.end());
    for (int r : roots_) total += at(r).size;
    return total <= max_group_;
  }

  // Merges the groups on the path into that of its end; the end's class becomes the most demanding one.
  void commit(int to) {
    int target = root(to);
    Fusion kind = at(target).group_kind;
    for (int r : roots_) {
      if (at(r).group_kind == Fusion::OutputFusable || at(r).group_kind == Fusion::Reduce)
        kind = std::max(kind, at(r).group_kind);
      else if (kind < Fusion::Reduce)
        kind = std::max(kind, at(r).group_kind);
      if (r == target) continue;
      at(r).group = target;
      at(target).size += at(r).size;
    }
    at(target).group_kind = kind;
  }

  void fuse(int n, int phase) {
    const Dominators::Entry& d = tree_.at(n);
    if (!at(n).is_call || d.parent < 0 || root(n) == root(d.parent) || scope(n) != scope(d.parent) || is_conversion(n))
      return;
    Fusion way = d.to_parent;
    bool allowed = false;
    switch (at(root(n)).group_kind) {
      case Fusion::OutputFusable:
        allowed = phase == 0 && way == Fusion::Elementwise &&
                  path(n, d.parent, [](Fusion g, bool) { return g <= Fusion::Broadcast; });
        break;
      case Fusion::Reduce:
        allowed = reduce_epilogue_ && phase == 0 && way == Fusion::Elementwise &&
                  path(n, d.parent, [](Fusion g, bool) { return g <= Fusion::Broadcast; });
        break;
      case Fusion::Elementwise:
      case Fusion::Broadcast:
        allowed =
            way <= Fusion::Reduce && path(n, d.parent, [way](Fusion g, bool is_end) {
              // A heavy node's followers must read each other operand at one position per element, without moves.
              return g <= Fusion::Injective ||
                     (is_end && (g == Fusion::Reduce || (g == Fusion::OutputFusable && way <= Fusion::Broadcast)));
            });
        break;
      case Fusion::Injective:
        allowed = phase == 1 && way <= Fusion::Injective &&
                  path(n, d.parent, [](Fusion g, bool) { return g <= Fusion::Injective; });
        break;
      case Fusion::Opaque: break;
    }
    if (allowed) commit(d.parent);
  }

  // --- rebuilding the program ----------------------------------------------------------------------------------------

  // The replacement of node n outside of groups.
  Expr outside(const Expr& e) {
    const Expr& r = result_[static_cast<size_t>(flow_.index(e))];
    RELAY_CHECK(r, "a node inside a fused group is used outside of it");
    return r;
  }

  FunctionRef rebuild() {
    result_.resize(nodes_.size());
    std::vector<std::vector<int>> members(nodes_.size());
    for (int n = 0; n < flow_.size(); ++n) {
      at(n).inlined = is_conversion(n);
      if (at(n).is_call && !at(n).inlined) members[static_cast<size_t>(root(n))].push_back(n);
    }
    for (int n = flow_.size() - 1; n >= 0; --n)
      if (at(n).is_call && !at(n).inlined && members[static_cast<size_t>(root(n))].back() == n && is_left_to_users(n))
        members[static_cast<size_t>(root(n))].pop_back(), at(n).inlined = true;
    // The result of a group is its last node.
    for (int n = 0; n < flow_.size(); ++n) {
      const Expr& e = expr(n);
      Expr& place = result_[static_cast<size_t>(n)];
      if (at(n).is_call) {
        std::vector<int>& group = members[static_cast<size_t>(root(n))];
        if (!group.empty() && group.back() == n) place = make_group(group);
        continue;
      }
      if (e->kind == ExprKind::Tuple && !at(n).escapes) continue;
      if (is_closed(e)) {
        place = e;
        continue;
      }
      Exprs children;
      for_each_open_child(e, [&](const Expr& c) { children.push_back(c->kind == ExprKind::Op ? c : outside(c)); });
      place = with_children(e, children);
    }
    return FunctionRef(as<Function>(result_.back()));
  }

  bool is_conversion(int n) const { return conversions_.contains(flow_.nodes[static_cast<size_t>(n)].get()); }

  // True for the result of a group that each group that reads it computes again, because the narrow number that it is
  // computed from takes a quarter of the memory.
  bool is_left_to_users(int n) {
    const Call* call = call_of(expr(n), "qnn.dequantize");
    if (!call || at(n).escapes || call->args[1]->kind != ExprKind::Constant ||
        call->args[2]->kind != ExprKind::Constant || as<TensorType>(call->args[1]->type)->shape.size() != 0 ||
        as<TensorType>(call->args[0]->type)->dtype.bits > 8)
      return false;
    const int data = flow_.index(call->args[0]);
    if (!at(data).is_call || scope(data) != scope(n) || (root(data) == root(n) && at(data).users.size() != 1))
      return false;
    // A heavy node reads its operands again and again.
    return std::all_of(at(n).users.begin(), at(n).users.end(), [&](const Edge& u) {
      return root(u.user) != root(n) && at(u.user).kind <= Fusion::Reduce && scope(u.user) == scope(n);
    });
  }

  // A call of a primitive function that computes the group.
  Expr make_group(const std::vector<int>& group) {
    NodeMap<Expr> inner;  // nodes of the group and operands from outside -> their replacements in the function
    std::vector<VarRef> params;
    Exprs args;
    auto parameter = [&](const Expr& value, const Type& type) -> Expr {
      VarRef p = var(format("p{}", params.size()), type, value->span);
      p->type = type;
      params.push_back(p), args.push_back(value);
      return p;
    };
    std::function<Expr(const Expr&, bool)> operand = [&](const Expr& a, bool is_shared) -> Expr {
      if (const Expr* known = inner.find(a.get())) return *known;
      Expr r;
      const Constant* constant = as<Constant>(a);
      const TupleType* fields = as<TupleType>(a->type);
      if (constant && constant->value.rank() == 0 && !(is_shared && constant->value.at(0) != 1)) {
        r = a;
      } else if (const Call* call = as<Call>(a); call && at(flow_.index(a)).inlined) {
        // Layers have different scales; their zero points are often equal.
        Exprs children{call->callee};
        for (size_t i = 0; i < call->args.size(); ++i)
          children.push_back(operand(call->args[i], i == 1 || (i == 2 && !is_conversion(flow_.index(a)))));
        r = with_children(a, children);
      } else if (fields) {
        Exprs elements;
        for (size_t i = 0; i < fields->fields.size(); ++i) {
          Expr field = get(outside(a), static_cast<int64_t>(i));
          field->type = fields->fields[i];
          elements.push_back(parameter(field, fields->fields[i]));
        }
        r = tuple(std::move(elements), a->span);
        r->type = a->type;
      } else {
        r = parameter(outside(a), a->type);
      }
      inner[a.get()] = r;
      return r;
    };
    for (int n : group) {
      const Expr& e = expr(n);
      const Call* call = op_call(e);
      Exprs children{call->callee};
      // Layers have different scales and zero points; as parameters, these leave them one kernel. The scale 1 and the
      // zero point of sums have simpler kernels.
      const bool is_quantisation =
          call_of(e, "qnn.quantize") || call_of(e, "qnn.dequantize") || call_of(e, "qnn.requantize");
      for (const Expr& a : call->args) {
        if (const Tuple* t = as<Tuple>(a)) {
          Exprs elements;
          for (const Expr& x : t->elements) elements.push_back(operand(x, false));
          Expr made = tuple(std::move(elements), a->span);
          made->type = a->type;
          children.push_back(std::move(made));
        } else {
          children.push_back(operand(
              a, is_quantisation && a != call->args[0] && !is_zero_of_sums(*call, a) && !is_least_number(*call, a)));
        }
      }
      inner[e.get()] = with_children(e, children);
    }
    const Expr& last = expr(group.back());
    Expr body = *inner.find(last.get());
    Types types;
    for (const VarRef& p : params) types.push_back(p->annotation);
    FunctionRef f = function(std::move(params), std::move(body), last->type, {},
                             {{ir::attribute::primitive, int64_t{1}}}, last->span);
    f->type = func_type(std::move(types), last->type);
    Expr result = call(f, std::move(args), {}, last->span);
    result->type = last->type;
    return result;
  }

  Dataflow flow_;
  NodeSet conversions_;
  int max_group_;
  bool reduce_epilogue_;
  std::vector<Node> nodes_;
  Dominators tree_;
  std::vector<int> path_, roots_;
  int search_ = 0;
  std::vector<Expr> result_;
};

}  // namespace

static bool is_barrier(const Expr& e) {
  return call_of(e, "annotation.stop_fusion") || call_of(e, "annotation.checkpoint");
}

// Replaces groups that consist only of annotation.stop_fusion, which has kept its neighbours separate, or of
// annotation.checkpoint, which has kept recomputed values separate from the originals, by their arguments.
static FunctionRef without_barriers(const FunctionRef& f) {
  bool some = false;
  visit(f, [&](const Expr& e) { some = some || is_barrier(e); });
  if (!some) return f;
  const Expr result = rewrite(f, [](const Expr& now) -> Expr {
    const Call* call = as<Call>(now);
    const Function* group = call ? as<Function>(call->callee) : nullptr;
    if (!group || !group->is_primitive() || !is_barrier(group->body)) return now;
    return call->args.empty() ? as<Call>(group->body)->args[0] : call->args[0];  // a constant is inside the group
  });
  return FunctionRef(as<Function>(result));
}

Result<Module> fuse_ops(const Module& module, PassContext& context) {
  RELAY_ASSIGN(Module typed, typing::infer(module));
  int max_group = static_cast<int>(std::clamp<int64_t>(context.count("fuse_ops.max_group"), 1, 1 << 20));
  int max_results = static_cast<int>(std::clamp<int64_t>(context.count("fuse_ops.max_results"), 1, 1 << 20));
  bool reduce_epilogue = context.flag("fuse_ops.reduce_epilogue"),
       integer_blocks = context.flag("fuse_ops.integer_blocks");
  return for_each_function(typed, [&](const FunctionRef& f) {
    if (is_closed(f)) return f;
    const FunctionRef fused = Fuser(f, max_group, reduce_epilogue, integer_blocks).run();
    return without_barriers(fuse_results(fused, max_group, max_results));
  });
}

}  // namespace relay::transform
