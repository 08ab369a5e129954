// form_segments: groups primitive calls into segments, functions that are compiled as a whole: one plan for memory and
// layouts, one call at run time.
//
//   let %a = fn (.., Primitive=1) { .. }(%x);  let %b = fn (.., Primitive=1) { .. }(%a);  @f(%b)
//     becomes   let %b = fn (%x, Segment=1) { .. the two calls .. }(%x);  @f(%b)
//
// Other bindings keep their order. A primitive call may move between the last of them that it needs and the first that
// needs it. The number of places with a segment is minimised, and each call goes to the last of its places, so that
// results stay inside of segments. Sizes `?` become shape variables of the segment (specialise.h). Equal segments are
// one node. Unused primitive calls are dropped.
#include <algorithm>
#include <set>
#include <unordered_map>

#include "relay/ir/attribute_names.h"
#include "relay/ir/fields.h"
#include "relay/ir/node_map.h"
#include "relay/ir/rewrite.h"
#include "relay/op/op.h"
#include "relay/scalar/solve.h"
#include "relay/transform/algebra/specialise.h"
#include "relay/transform/control/forgotten_sizes.h"
#include "relay/transform/control/to_a_normal_form.h"
#include "relay/transform/group/dataflow.h"
#include "relay/transform/pass.h"
#include "relay/typing/typing.h"

namespace relay::transform {

using namespace ir;

namespace {

bool is_tensors(const Type& type) {
  if (as<TensorType>(type)) return true;
  const TupleType* t = as<TupleType>(type);
  return t && !t->fields.empty() &&
         std::all_of(t->fields.begin(), t->fields.end(), [](const Type& f) { return as<TensorType>(f) != nullptr; });
}

// True for a call that becomes kernels: of a primitive function or an operator, on tensors.
bool is_kernel_call(const Expr& e) {
  const Call* call = as<Call>(e);
  if (!call || !is_tensors(e->type)) return false;
  const Function* f = as<Function>(call->callee);
  const Op* op = as<Op>(call->callee);
  if (!(f && f->is_primitive()) && !(op && !op->def->by_executor)) return false;
  return std::all_of(call->args.begin(), call->args.end(), [](const Expr& a) { return is_tensors(a->type); });
}

Expr typed(Expr e, const Type& type) {
  e->type = type;
  return e;
}

// The segments of all functions of a module, each once. Sizes with other names make another segment: a name stands for
// one size in all of the function around it.
class Segments {
 public:
  FunctionRef unique(const FunctionRef& f) {
    std::vector<FunctionRef>& same = known_[hash(f)];
    for (const FunctionRef& other : same)
      if (equal(Expr(f), Expr(other)) &&
          std::ranges::equal(f->params, other->params,
                             [](const VarRef& a, const VarRef& b) { return equal(a->type, b->type); }))
        return other;
    same.push_back(f);
    return f;
  }

 private:
  std::unordered_map<uint64_t, std::vector<FunctionRef>> known_;
};

// The variables that branching nodes and functions use and do not bind, computed once for each: scopes may be nested
// deeply.
class InnerUses {
 public:
  // Calls f(variable) for the variables that `root` uses, inner scopes included.
  template <class F>
  void for_each(const Expr& root, F f) const {
    NodeSet seen;
    std::vector<const Expr*> work{&root};
    while (!work.empty()) {
      const Expr& e = *work.back();
      work.pop_back();
      if (e->kind == ExprKind::Var) {
        f(e);
      } else if (const Exprs* known = uses_.find(e.get())) {
        for (const Expr& v : *known) f(v);
      } else if (seen.insert(e.get())) {
        for_each_open_child(e, [&](const Expr& c) { work.push_back(&c); });
      }
    }
  }

  // `e`: an if, match or function whose inner scopes have been added.
  void add(const Expr& e) {
    NodeSet seen, bound;
    Exprs used, free;
    std::vector<const Expr*> work{&e};
    while (!work.empty()) {
      const Expr& n = *work.back();
      work.pop_back();
      if (n->kind == ExprKind::Var) {
        used.push_back(n);
      } else if (const Exprs* known = uses_.find(n.get())) {
        used.insert(used.end(), known->begin(), known->end());
      } else if (seen.insert(n.get())) {
        for_each_binder(n, [&](const VarRef& v) { bound.insert(v.get()); });
        for_each_open_child(n, [&](const Expr& c) { work.push_back(&c); });
      }
    }
    for (const Expr& v : used)
      if (bound.insert(v.get())) free.push_back(v);  // each once
    uses_[e.get()] = std::move(free);
  }

 private:
  NodeMap<Exprs> uses_;
};

// A scope: the bindings of a chain of lets and its result.
class Scope {
 public:
  Scope(const Function& owner, Segments& segments, const InnerUses& inner)
      : owner_(owner), segments_(segments), inner_(inner) {}

  Result<Expr> run(const Expr& body) {
    flatten(body);
    if (std::none_of(bindings_.begin(), bindings_.end(), [](const Binding& b) { return b.kernel; })) return body;
    find_places();
    open_places();
    return rebuild();
  }

 private:
  struct Binding {
    VarRef var;
    Expr value;
    bool kernel = false;      // a kernel call, ...
    int field_of = -1;        // ... or a field of the result of that one
    int place = 0;            // not a kernel: its number; places are before it
    int first = 0, last = 0;  // the possible places
    int at = -1;              // the chosen place
    bool used = false;
    bool dropped = false;  // a tuple that nothing but kernel calls used
  };

  void flatten(Expr body) {
    for (; const Let* let = as<Let>(body); body = let->body) add(let->var, let->value);
    if (is_kernel_call(body)) {
      VarRef v = var("result", nullptr, body->span);
      add(v, body);
      body = typed(v, body->type);
    }
    result_ = body;
    if (taken_.empty()) return;
    NodeSet used;
    auto use = [&](const Expr& value) { for_each_use(value, [&](const Expr& v) { used.insert(v.get()); }); };
    use(result_);
    for (const Binding& b : bindings_) use(b.value);
    for (Binding& b : bindings_) b.dropped = taken_.contains(b.var.get()) && !used.contains(b.var.get());
  }

  void add(const VarRef& v, const Expr& value) {
    Binding b{.var = v, .value = value, .kernel = is_kernel_call(value)};
    if (b.kernel) b.value = of_tensors(value);
    if (const TupleGetItem* item = as<TupleGetItem>(value)) {
      const int* of = number_.find(item->tuple.get());
      if (of && at(*of).kernel) b.field_of = *of;
    }
    number_[v.get()] = static_cast<int>(bindings_.size());
    bindings_.push_back(std::move(b));
  }

  // The call with tuples of tensors for the variables that are tuples: a segment takes tensors. A function of a group
  // does so already.
  Expr of_tensors(const Expr& e) {
    const Call* call = as<Call>(e);
    const bool is_tuple = std::any_of(call->args.begin(), call->args.end(),
                                      [](const Expr& a) { return as<Var>(a) && as<TupleType>(a->type); });
    if (!is_tuple || !as<Op>(call->callee)) return e;
    Exprs children{call->callee};
    for (const Expr& a : call->args) children.push_back(as<Var>(a) && as<TupleType>(a->type) ? tensors_of(a) : a);
    return typed(with_children(e, children), e->type);
  }

  // The tuple that a variable is bound to, or a tuple of its fields, which become bindings.
  Expr tensors_of(const Expr& v) {
    const int* i = number_.find(v.get());
    if (i && as<Tuple>(at(*i).value)) {
      taken_.insert(v.get());
      return at(*i).value;
    }
    if (const Expr* known = fields_.find(v.get())) return *known;
    Exprs elements;
    for (const Type& type : as<TupleType>(v->type)->fields) {
      VarRef field = var(as<Var>(v)->name, nullptr, v->span);
      field->type = type;
      add(field, typed(get(v, static_cast<int64_t>(elements.size()), v->span), type));
      elements.push_back(field);
    }
    return fields_[v.get()] = typed(tuple(std::move(elements), v->span), v->type);
  }

  Binding& at(int i) { return bindings_[static_cast<size_t>(i)]; }

  // The kernel call whose result, or a field of it, the variable is; -1 if none.
  int producer(const ExprNode* var) {
    const int* i = number_.find(var);
    if (!i) return -1;
    return at(*i).kernel ? *i : at(*i).field_of;
  }

  // Calls f(variable) for the variables of this scope that the value uses, inner scopes included.
  template <class F>
  void for_each_use(const Expr& value, F f) {
    inner_.for_each(value, [&](const Expr& v) {
      if (number_.contains(v.get())) f(v);
    });
  }

  // Determines the possible places of each kernel call: after its operands, before its users.
  void find_places() {
    int others = 0;
    for (Binding& b : bindings_)
      if (!b.kernel && b.field_of < 0) b.place = ++others;
    end_ = others + 1;
    for (Binding& b : bindings_) {
      b.first = 1, b.last = end_;
      if (!b.kernel) continue;
      for_each_use(b.value, [&](const Expr& v) {
        int p = producer(v.get());
        const Binding& needed = at(p >= 0 ? p : *number_.find(v.get()));
        b.first = std::max(b.first, p >= 0 ? needed.first : needed.place + 1);
      });
    }
    auto use = [&](const Expr& value, int place) {
      for_each_use(value, [&](const Expr& v) {
        if (int p = producer(v.get()); p >= 0) at(p).last = std::min(at(p).last, place), at(p).used = true;
      });
    };
    use(result_, end_);
    for (size_t i = bindings_.size(); i-- > 0;) {
      Binding& b = bindings_[i];
      if (b.field_of >= 0 || b.dropped || (b.kernel && !b.used)) continue;
      use(b.value, b.kernel ? b.last : b.place);
    }
  }

  // Chooses the fewest places such that each call has one, then for each call the last of them.
  void open_places() {
    std::vector<const Binding*> order;
    for (const Binding& b : bindings_)
      if (b.kernel && b.used) order.push_back(&b);
    std::sort(order.begin(), order.end(), [](const Binding* a, const Binding* b) { return a->last < b->last; });
    for (const Binding* b : order)
      if (open_.empty() || *open_.rbegin() < b->first) open_.insert(b->last);
    for (Binding& b : bindings_)
      if (b.kernel && b.used) b.at = *std::prev(open_.upper_bound(b.last));
  }

  // --- rebuilding the program ---

  Result<Expr> rebuild() {
    std::vector<std::vector<int>> members(static_cast<size_t>(end_) + 1);
    for (size_t i = 0; i < bindings_.size(); ++i)
      if (bindings_[i].at >= 0) members[static_cast<size_t>(bindings_[i].at)].push_back(static_cast<int>(i));
    find_outputs();
    for (Binding& b : bindings_) {
      if (b.kernel || b.field_of >= 0) continue;
      RELAY_RETURN_IF_ERROR(add_segment(members[static_cast<size_t>(b.place)]));
      if (!b.dropped) out_.emplace_back(b.var, b.value);
    }
    RELAY_RETURN_IF_ERROR(add_segment(members.back()));
    Expr body = result_;
    if (!out_.empty() && out_.back().first == body && out_.back().second->kind == ExprKind::Call &&
        !forgets_sizes(*out_.back().first, out_.back().second)) {
      body = out_.back().second;
      out_.pop_back();
    }
    for (size_t i = out_.size(); i-- > 0;) {
      Type type = body->type;
      body = typed(let(out_[i].first, out_[i].second, body, out_[i].second->span), type);
    }
    return body;
  }

  // The variables of kernel calls, and of fields of their results, that are used outside of the call's own segment.
  void find_outputs() {
    auto use = [&](const Expr& value, int place) {
      for_each_use(value, [&](const Expr& v) {
        int p = producer(v.get());
        if (p >= 0 && at(p).at != place) outputs_.insert(v.get());
      });
    };
    use(result_, -2);
    for (const Binding& b : bindings_)
      if (b.field_of < 0 && !b.dropped && (!b.kernel || b.used)) use(b.value, b.kernel ? b.at : -2);
  }

  Status add_segment(const std::vector<int>& members) {
    if (members.empty()) return ok();
    NodeMap<Expr> inside;
    std::vector<VarRef> params;
    Exprs args;
    auto parameter = [&](const Expr& v) {
      VarRef p = var(as<Var>(v)->name, v->type, v->span);
      p->type = v->type;
      params.push_back(p), args.push_back(v);
      inside[v.get()] = p;
    };
    auto tensor = [&](const Expr& e) -> Expr {
      if (e->kind != ExprKind::Var) return e;
      if (!inside.contains(e.get())) {
        // A field of a member's result; else a value from outside.
        const int* i = number_.find(e.get());
        int of = i ? at(*i).field_of : -1;
        const Expr* tuple = of >= 0 ? inside.find(at(of).var.get()) : nullptr;
        if (tuple)
          inside[e.get()] = typed(get(*tuple, as<TupleGetItem>(at(*i).value)->index, e->span), e->type);
        else
          parameter(e);
      }
      return *inside.find(e.get());
    };
    auto operand = [&](const Expr& e) -> Expr {
      const Tuple* fields = as<Tuple>(e);
      if (!fields) return tensor(e);
      Exprs elements;
      for (const Expr& field : fields->elements) elements.push_back(tensor(field));
      return typed(tuple(std::move(elements), e->span), e->type);
    };
    for (int m : members) {
      const Call* call = as<Call>(at(m).value);
      Exprs children{call->callee};
      for (const Expr& a : call->args) children.push_back(operand(a));
      inside[at(m).var.get()] = typed(with_children(at(m).value, children), at(m).value->type);
    }
    // The variables that are used outside, each with its value inside. A single one is the result itself; for several,
    // the result is a tuple of all their tensors.
    std::vector<std::pair<VarRef, Expr>> used;
    for (const Binding& b : bindings_) {
      int m = b.kernel ? static_cast<int>(&b - bindings_.data()) : b.field_of;
      if (m < 0 || at(m).at != at(members[0]).at || !outputs_.contains(b.var.get())) continue;
      b.var->type = b.value->type;
      used.emplace_back(b.var, operand(b.var));
    }
    RELAY_RETURN_IF_ERROR(add_sizes(inside, members, &params, &args, parameter));
    Outputs results;
    Expr body = used.size() == 1 ? used[0].second : nullptr;
    if (!body) {
      for (const auto& [outside, value] : used) results.add(value);
      Types types;
      for (const Expr& e : results.tensors) types.push_back(e->type);
      body = typed(tuple(results.tensors, at(members[0]).value->span), tuple_type(std::move(types)));
    }
    Type result = body->type;
    Types types;
    for (const VarRef& p : params) types.push_back(p->type);
    FunctionRef f =
        function(params, body, result, {}, {{ir::attribute::segment, int64_t{1}}}, at(members[0]).value->span);
    f->type = func_type(std::move(types), result);
    RELAY_ASSIGN(f, specialise(f));
    f = segments_.unique(f);
    Expr made = typed(call(f, std::move(args), {}, f->span), result);
    if (used.size() == 1) {
      out_.emplace_back(used[0].first, made);
      return ok();
    }
    give_fields(used, results, f, made);
    return ok();
  }

  // The tensors that a segment returns, each once.
  struct Outputs {
    Exprs tensors;
    std::vector<std::pair<const ExprNode*, int64_t>> keys;  // a value inside and, for a tuple, the field

    static std::pair<const ExprNode*, int64_t> key(const Expr& tensor) {
      const TupleGetItem* item = as<TupleGetItem>(tensor);
      return item ? std::pair(item->tuple.get(), item->index) : std::pair(tensor.get(), int64_t{-1});
    }
    Expr field(const Expr& tuple, size_t i) const {
      return typed(get(tuple, static_cast<int64_t>(i), tuple->span), as<TupleType>(tuple->type)->fields[i]);
    }
    void add(const Expr& value) {
      const TupleType* fields = as<TupleType>(value->type);
      for (size_t i = 0; i < (fields ? fields->fields.size() : 1); ++i) {
        Expr tensor = fields ? field(value, i) : value;
        if (std::find(keys.begin(), keys.end(), key(tensor)) != keys.end()) continue;
        keys.push_back(key(tensor));
        tensors.push_back(std::move(tensor));
      }
    }
    int64_t number(const Expr& tensor) const { return std::find(keys.begin(), keys.end(), key(tensor)) - keys.begin(); }
  };

  // Binds the variables used outside to fields of the segment's result, or tuples of fields.
  void give_fields(const std::vector<std::pair<VarRef, Expr>>& used, const Outputs& results, const FunctionRef& f,
                   const Expr& made) {
    VarRef all = var("s", nullptr, f->span);
    all->type = made->type;
    out_.emplace_back(all, made);
    for (const auto& [outside, value] : used) {
      auto element = [&](const Expr& tensor) { return typed(get(all, results.number(tensor), f->span), tensor->type); };
      const TupleType* fields = as<TupleType>(value->type);
      if (!fields) {
        out_.emplace_back(outside, element(value));
        continue;
      }
      Exprs elements;
      for (size_t i = 0; i < fields->fields.size(); ++i) {
        VarRef v = var(outside->name, nullptr, f->span);
        v->type = fields->fields[i];
        out_.emplace_back(v, element(results.field(value, i)));
        elements.push_back(v);
      }
      out_.emplace_back(outside, typed(tuple(std::move(elements), f->span), value->type));
    }
  }

  // The path to a field of a tuple, or of tuples in it, whose type has a property; empty if there is none.
  template <class Holds>
  static std::vector<size_t> path_to_field(const Type& type, Holds holds) {
    const TupleType* tuple = as<TupleType>(type);
    for (size_t i = 0; tuple && i < tuple->fields.size(); ++i) {
      if (holds(tuple->fields[i])) return {i};
      std::vector<size_t> path = path_to_field(tuple->fields[i], holds);
      if (path.empty()) continue;
      path.insert(path.begin(), i);
      return path;
    }
    return {};
  }

  // A variable for a field, whose type has a property, of a tuple in scope; null if there is none.
  template <class Holds>
  Expr field_in_scope(Holds holds) {
    std::vector<VarRef> tuples = owner_.params;
    for (const auto& [variable, value] : out_) tuples.push_back(variable);
    for (const VarRef& variable : tuples) {
      Expr from = variable;
      for (const size_t i : path_to_field(variable->type, holds)) {
        const VarRef field = var(variable->name, nullptr, variable->span);
        field->type = as<TupleType>(from->type)->fields[i];
        out_.emplace_back(field, typed(get(from, static_cast<int64_t>(i), variable->span), field->type));
        from = field;
      }
      if (from != variable) return from;
    }
    return nullptr;
  }

  // Handles shape variables that the segment's types mention and its inputs do not determine: a tensor in scope that
  // has one as a size becomes an input of which only the shape is read.
  template <class F>
  Status add_sizes(const NodeMap<Expr>& inside, const std::vector<int>& members, std::vector<VarRef>* params,
                   Exprs* args, F parameter) {
    auto shape_of = [](const Type& type) {
      const TensorType* t = as<TensorType>(type);
      return t ? t->shape : Dims{};
    };
    auto determines = [&](const Type& type, const Dim& v) {
      const Dims shape = shape_of(type);
      return std::any_of(shape.begin(), shape.end(),
                         [&](const Dim& d) { return scalar::determines(d, v).has_value(); });
    };
    Dims wanted;
    for (int m : members) {
      auto add = [&](const Type& type) {
        for (const Dim& d : shape_of(type))
          for (const Dim& v : scalar::free_vars(d))
            if (std::find(wanted.begin(), wanted.end(), v) == wanted.end()) wanted.push_back(v);
      };
      auto add_of = [&](const Expr& e) {
        add(e->type);
        if (const TupleType* t = as<TupleType>(e->type))
          for (const Type& f : t->fields) add(f);
      };
      // For a function of another compiler, whose sizes have their own names, only inputs and results matter.
      const Function* callee = as<Function>(as<Call>(at(m).value)->callee);
      if (!callee || !callee->attrs.count(ir::attribute::compiler)) {
        visit(at(m).value, add_of);
        continue;
      }
      add_of(at(m).value);
      for (const Expr& a : as<Call>(at(m).value)->args) add_of(a);
    }
    for (const Dim& v : wanted) {
      if (std::any_of(params->begin(), params->end(), [&](const VarRef& p) { return determines(p->type, v); }))
        continue;
      Expr from;
      for (const VarRef& p : owner_.params)
        if (!from && !inside.contains(p.get()) && determines(p->type, v)) from = p;
      for (const auto& [variable, value] : out_)
        if (!from && determines(variable->type, v)) from = variable;
      if (!from) from = field_in_scope([&](const Type& type) { return determines(type, v); });
      if (!from)
        return Diagnostic{DiagnosticKind::not_supported,
                          format("the size `{}` is needed here, but no tensor in scope has it", v->name),
                          at(members[0]).value->span,
                          {},
                          {},
                          format("give the function a parameter with a dimension `{}`", v->name)};
      parameter(from);
    }
    return ok();
  }

  const Function& owner_;
  Segments& segments_;
  const InnerUses& inner_;
  std::vector<Binding> bindings_;
  NodeMap<int> number_;              // of the variables of bindings
  NodeMap<Expr> fields_;             // tuples of the fields of variables
  std::set<const ExprNode*> taken_;  // variables of tuples whose fields are operands
  Expr result_;
  int end_ = 0;
  std::set<int> open_;
  NodeSet outputs_;
  std::vector<std::pair<VarRef, Expr>> out_;
};

}  // namespace

Result<Module> form_segments(const Module& module, PassContext&) {
  RELAY_ASSIGN(Module result, typing::infer(module));
  Segments segments;
  Diagnostics errors;
  for (auto& [name, f] : result.functions) {
    if (is_closed(f)) continue;
    FunctionRef normal = a_normal_form(f);
    const Function* owner = normal.get();
    InnerUses inner;
    auto scope = [&](const Expr& body) {
      Result<Expr> made = Scope(*owner, segments, inner).run(body);
      if (made) return *made;
      for (const Diagnostic& d : made.errors()) errors.push_back(d);
      return body;
    };
    // Inner scopes first.
    Expr now = rewrite(normal, [&](const Expr& before, const Expr& e) -> Expr {
      if (is_closed(before)) return before;
      if (e->kind != ExprKind::Function && e->kind != ExprKind::If && e->kind != ExprKind::Match) return e;
      Exprs children;
      for_each_child(e, [&](const Expr& c) {
        bool data = e->kind != ExprKind::Function && children.empty();
        children.push_back(data ? c : scope(c));
      });
      Expr made = typed(with_children(e, children), before->type);
      inner.add(made);
      return made;
    });
    f = FunctionRef(as<Function>(now));
  }
  if (!errors.empty()) return errors;
  return result;
}

}  // namespace relay::transform
